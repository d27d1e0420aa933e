"""What can go wrong at the store, named so that callers need not know the database library."""

from __future__ import annotations


class StoreError(Exception):
    """The root of all that the store raises on its own account."""


class StoreUnavailable(StoreError):
    """The database cannot be reached, or its write lock was not free in time.

    Nothing of the transaction is kept, except when the connection broke during the commit
    itself: then only a fresh look at the store tells.
    """


class StoreMisconfigured(StoreError):
    """The database cannot give what the store relies on; the message says what to change."""


class SchemaTooNew(StoreError):
    """The database was written by a later version; migrations only run forward."""

    def __init__(self, found: str, known: str) -> None:
        super().__init__(
            f"the database has schema {found}, this version knows {known} at most: "
            "install the later version again, or restore a backup made before the upgrade"
        )
        self.found, self.known = found, known


class ReadOnly(StoreError):
    """A reading transaction tried to write, or the database lies on read-only ground."""


class StaleLeader(StoreError):
    """A later leader has written: this process leads no more and must not write."""

    def __init__(self, fence: int, newest: int) -> None:
        super().__init__(f"fencing number {fence} is older than {newest}, which is stored")
        self.fence, self.newest = fence, newest


class UnknownRequest(StoreError, LookupError):
    """A request was to change that is not stored."""

    def __init__(self, request: str) -> None:
        super().__init__(f"no request {request} is stored")
        self.request = request
