"""List, then watch: one kind of objects, kept up to date by a thread of its own.

A list gives the whole and a version; the watch goes on from there. What ends a watch without
harm (its time-out, a broken connection) is taken up again from the last that was heard, so that
nothing is heard twice: what was true minutes ago must not look true again. What leaves a
gap (410 in the stream, 410 as the answer) starts over with a list. So does what is silent for
longer than any bookmark takes: a server whose store was restored from a backup has lower versions
than we have heard, and answers a watch from one of those with 200, and nothing ever. That a watch
was opened is therefore no sign that it is up to date. Waits between tries grow while
nothing is heard and are spread at random; a server that says when to come back is obeyed.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

from bot.clusters.kubernetes.connection import Connection, Json, Refused, Unanswered
from bot.pauses import spread

log = logging.getLogger(__name__)

PAGE = 500  # objects a page of a list
_FORBIDDEN, _ABSENT, _GAP = 403, 404, 410


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """Seconds between full lists, and of one watch.

    `relist`: everything is listed anew although nothing seems wrong, so that what a watch has
    lost is found. `watch`: the server ends a watch that nothing else has ended. `absent`: a kind
    that is not there is asked for again. `first`, `longest`: the waits between tries that fail.
    """

    relist: float = 900.0
    watch: int = 240
    absent: float = 120.0
    first: float = 0.2
    longest: float = 30.0


class Sink(Protocol):
    """Where objects go. Called from the watcher's thread alone."""

    def replace(self, objects: Iterable[Json]) -> None:
        """All there are. They come as they are read: what that raises leaves all as it was."""
        ...

    def put(self, obj: Json) -> None:
        """One is new or changed."""
        ...

    def drop(self, obj: Json) -> None:
        """One is gone; `obj` is as it was last."""
        ...


class Watcher:
    """Follows one list path, such as `/api/v1/nodes`, and feeds a sink.

    Args:
        optional: the kind may not be there (no CRD), or we may not look (rights from before it
            was); that is an empty list, and it is asked for again from time to time.

    """

    def __init__(
        self,
        connection: Connection,
        path: str,
        sink: Sink,
        *,
        selector: str = "",
        pace: Pace | None = None,
        optional: bool = False,
    ) -> None:
        self.path = path
        self._connection, self._sink = connection, sink
        self._query: dict[str, str | int] = {"labelSelector": selector} if selector else {}
        self._pace = pace or Pace()
        self._optional = optional
        self._stopping = threading.Event()
        self._synced = threading.Event()
        self._heard = time.monotonic()
        self._present = False
        self._trouble: str | None = None
        self._version: str | None = None
        self._listed_at = ""  # the version of the list that was read last
        self._listed = time.monotonic()
        self._fruitful = False  # whether the watch that is open has told anything
        self._gaps = 0  # one after another, with nothing told in between
        self._thread = threading.Thread(target=self._follow, name=f"watch {path}", daemon=True)

    def start(self) -> None:
        """Begin to list and watch."""
        self._thread.start()

    def stop(self) -> None:
        """End; a watch that is open is left to its time-out."""
        self._stopping.set()

    def wait(self, seconds: float) -> bool:
        """Wait for the first full list; False if it did not come in time."""
        return self._synced.wait(seconds)

    @property
    def trouble(self) -> str | None:
        """Why it is not up to date; None while it is, as far as can be known."""
        return self._trouble if self._synced.is_set() else self._trouble or "not listed yet"

    @property
    def version(self) -> str | None:
        """The resourceVersion up to which the sink has everything; None before a list."""
        return self._version

    @property
    def silent(self) -> float:
        """Seconds since the server was last heard of; of a kind that is absent nothing is due."""
        absent = self._optional and self._synced.is_set() and not self._present
        return 0.0 if absent else time.monotonic() - self._heard

    def _follow(self) -> None:
        pause = self._pace.first
        while not self._stopping.is_set():
            self._fruitful, began = False, time.monotonic()
            try:
                if self._version is None or self._is_doubtful(began):
                    self._list()
                self._watch_from(str(self._version))
                pause, self._gaps = self._pace.first, 0
            except Unanswered as error:
                if self._fruitful or time.monotonic() - began > self._pace.longest:
                    pause = self._pace.first
                pause = self._rest(str(error), pause, error.after)
            except Refused as error:
                self._version = None
                self._gaps = self._gaps + 1 if error.status == _GAP else 0
                if self._is_absent(error):
                    self._be_empty()
                    self._stopping.wait(self._pace.absent)
                elif self._gaps != 1:  # one gap is filled at once; more are not to be a storm
                    pause = self._rest(str(error), pause, None)
            except Exception as error:  # a thread that dies would leave the mirror stale for good
                log.exception("watching %s failed", self.path)
                self._version = None
                pause = self._rest(repr(error), pause, None)

    def _is_doubtful(self, now: float) -> bool:
        """Whether to list all anew: it is time for that, or nothing was heard for too long."""
        silent = now - self._heard >= self._connection.silence
        return silent or now - self._listed > self._pace.relist

    def _is_absent(self, error: Refused) -> bool:
        """Whether an answer says that there are none, because the kind is not there.

        One that we could see and may see no more is there: that is trouble.
        """
        unseen = error.status == _FORBIDDEN and not self._present
        if not self._optional or not (unseen or error.status == _ABSENT):
            return False
        if unseen:
            log.warning("%s may not be looked at, and is taken for absent: %s", self.path, error)
        return True

    def _list(self) -> None:
        """Read all pages of one consistent list, of which one at a time is kept as it was sent."""
        self._sink.replace(self._pages())
        self._version = self._listed_at
        self._listed = time.monotonic()
        self._be_well()
        self._present = True
        self._synced.set()

    def _pages(self) -> Iterator[Json]:
        more = ""
        while True:
            query = {**self._query, "limit": PAGE}
            if more:
                query["continue"] = more
            page = self._connection.get(self.path, **query)
            yield from page.get("items") or ()
            more = page["metadata"].get("continue") or ""
            self._listed_at = str(page["metadata"]["resourceVersion"])
            if not more:
                return

    def _watch_from(self, version: str) -> None:
        """Follow one watch to its end."""
        stream = self._connection.stream(
            self.path,
            self._pace.watch,
            resourceVersion=version,
            allowWatchBookmarks="true",
            **self._query,
        )
        self._trouble = None
        with contextlib.closing(stream) as events:
            for event in events:
                if self._stopping.is_set():
                    break
                self._take(event)

    def _take(self, event: Json) -> None:
        kind, obj = event["type"], event["object"]
        if kind == "ERROR":
            raise Refused(
                int(obj.get("code") or 500), str(obj.get("reason")), str(obj.get("message"))
            )
        if kind == "DELETED":
            self._sink.drop(obj)
        elif kind != "BOOKMARK":
            self._sink.put(obj)
        self._version = str(obj["metadata"].get("resourceVersion") or self._version)
        self._fruitful, self._gaps = True, 0
        self._be_well()

    def _be_empty(self) -> None:
        self._present = False
        self._sink.replace(())
        self._be_well()
        self._synced.set()

    def _be_well(self) -> None:
        self._heard, self._trouble = time.monotonic(), None

    def _rest(self, trouble: str, pause: float, after: float | None) -> float:
        """Wait before the next try; the pause after that."""
        self._trouble = trouble
        log.warning("%s: %s", self.path, trouble)
        self._stopping.wait(max(spread(pause), after or 0.0))
        return min(self._pace.longest, 2 * pause)
