"""Numbers that only grow."""

from __future__ import annotations

import enum

from sqlmodel import Session, col, select, update

from storage.errors import StaleLeader
from storage.tables import CounterRow


class Counter(enum.StrEnum):
    """The numbers kept; the value is the key of the row."""

    REQUEST = "request"
    FENCE = "fence"


class Counters:
    """The counters, inside one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def read(self, counter: Counter, *, start: int) -> int:
        """Return the value, or `start` if it was never raised."""
        value = self._session.exec(
            select(CounterRow.value).where(col(CounterRow.name) == counter.value)
        ).first()
        return start if value is None else value

    def take(self, counter: Counter, *, start: int, count: int = 1) -> range:
        """Raise the counter by `count` and return the new numbers; the first is `start` + 1."""
        before = self.read(counter, start=start)
        self._write(counter, before + count)
        return range(before + 1, before + count + 1)

    def check_fence(self, fence: int) -> None:
        """Raise StaleLeader if a later leader has written; else remember this one."""
        newest = self.read(Counter.FENCE, start=0)
        if fence < newest:
            raise StaleLeader(fence, newest)
        if fence > newest:
            self._write(Counter.FENCE, fence)

    def _write(self, counter: Counter, value: int) -> None:
        changed = self._session.exec(
            update(CounterRow).where(col(CounterRow.name) == counter.value).values(value=value)
        )
        if not changed.rowcount:
            self._session.add(CounterRow(name=counter.value, value=value))
            self._session.flush()
