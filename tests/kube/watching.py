"""Watches: each reads the history of its kind from where it is, and sleeps in between."""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from tests.kube.cluster import Cluster, Target
from tests.kube.reads import Query, check_options, is_true, parse_version, selection
from tests.kube.removal import gone
from tests.kube.selectors import Test
from tests.kube.statuses import expired
from tests.kube.store import Compacted, Entry, Stored
from tests.kube.views import WHOLE, View, show_one

_MINUTE = timedelta(seconds=60)
_BEFORE_END = timedelta(seconds=2)
_INITIAL_END = "k8s.io/initial-events-end"


class Hub:
    """Wakes the watches of one event loop when something was written or time moved."""

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pending = False
        self.muted = False  # open watches say nothing, as on a half-open connection
        self._watches: set[Watch] = set()

    def notice(self) -> None:
        """Something happened; callable from any thread."""
        if self._pending:
            return
        self._pending = True
        self._loop.call_soon_threadsafe(self._fire)

    def _fire(self) -> None:
        self._pending = False
        for watch in self._watches:
            watch.wake.set()

    def add(self, watch: Watch) -> None:
        self._watches.add(watch)

    def drop(self, watch: Watch) -> None:
        self._watches.discard(watch)

    @property
    def open(self) -> int:
        return len(self._watches)

    def stop_all(self, *, broken: bool) -> None:
        """End every watch, cleanly or by breaking the connection; loop thread only."""
        for watch in self._watches:
            watch.stopped = "broken" if broken else "ended"
            watch.wake.set()


class BrokenConnection(Exception):
    """The connection of a watch is cut without an end of the body."""


@dataclass(eq=False)
class Watch:
    """One open watch: where it is in the history, and when it ends."""

    target: Target
    test: Test | None
    version: int
    bookmarks: bool
    ends: datetime | None
    next_bookmark: datetime
    wake: asyncio.Event
    initial: list[Stored] | None = None
    marks_initial_end: bool = False
    bookmarked_end: bool = False
    stopped: str = ""
    view: View = WHOLE
    headed: bool = False  # the columns were shown


def open_watch(cluster: Cluster, target: Target, query: Query, view: View = WHOLE) -> Watch:
    """Check the options and settle where the watch starts.

    Raises:
        Refusal: 400, 422 or 500, before the stream begins.

    """
    check_options(query, watch=True)
    test = selection(target, query)
    text = query.get("resourceVersion", "")
    version = parse_version(text) if text else 0
    initial: list[Stored] | None = None
    if "sendInitialEvents" in query:
        if is_true(query, "sendInitialEvents"):
            initial = _matching(cluster, target, test)
            version = cluster.store.version
        elif not text:
            version = cluster.store.version
    elif version == 0:
        initial = _matching(cluster, target, test)
        version = cluster.store.version
    now = cluster.clock.now()
    seconds = int(query.get("timeoutSeconds") or 0)
    bookmarks = is_true(query, "allowWatchBookmarks")
    return Watch(
        target,
        test,
        version,
        bookmarks,
        now + timedelta(seconds=seconds) if seconds > 0 else None,
        now + _MINUTE,
        asyncio.Event(),
        initial,
        marks_initial_end=bookmarks and is_true(query, "sendInitialEvents"),
        view=view,
    )


def _matching(cluster: Cluster, target: Target, test: Test | None) -> list[Stored]:
    found = cluster.store.all(target.kind, target.namespace or None)
    return [each for each in found if test is None or test(each.body)]


def event_line(kind: str, body: bytes) -> bytes:
    return b'{"type":"' + kind.encode() + b'","object":' + body + b"}\n"


def _event(cluster: Cluster, watch: Watch, kind: str, stored: Stored) -> bytes:
    """The line of one object in the form that is asked for; columns come with the first only."""
    headed, watch.headed = not watch.headed, True
    return event_line(kind, show_one(stored, watch.view, cluster.clock.now(), headed=headed))


def _bookmark(target: Target, version: int, *, initial_end: bool = False) -> bytes:
    metadata: dict[str, object] = {"resourceVersion": str(version)}
    if initial_end:
        metadata["annotations"] = {_INITIAL_END: "true"}
    kind = target.kind
    document = {"kind": kind.name, "apiVersion": kind.api_version, "metadata": metadata}
    return json.dumps({"type": "BOOKMARK", "object": document}).encode() + b"\n"


def _in_selection(watch: Watch, stored: Stored | None) -> Stored | None:
    if stored is None:
        return None
    if watch.target.namespace and stored.key[0] != watch.target.namespace:
        return None
    if watch.target.name and stored.key[1] != watch.target.name:
        return None
    return stored if watch.test is None or watch.test(stored.body) else None


def event_of(watch: Watch, entry: Entry) -> tuple[str, Stored] | None:
    """What the watch sees of a write: an object that leaves its selection is DELETED to it."""
    before, after = _in_selection(watch, entry.before), _in_selection(watch, entry.after)
    if after is not None:
        return ("ADDED" if before is None else "MODIFIED"), after
    if before is not None:
        return "DELETED", gone(before, entry.version)
    return None


def _due(cluster: Cluster, watch: Watch) -> Iterator[bytes]:
    """Lines of everything that happened since the watch last looked."""
    for entry in cluster.store.since(watch.target.kind, watch.version):
        seen = event_of(watch, entry)
        watch.version = entry.version
        if seen is not None:
            yield _event(cluster, watch, *seen)


def _due_bookmarks(cluster: Cluster, watch: Watch) -> Iterator[bytes]:
    now, version = cluster.clock.now(), cluster.store.version
    if version < watch.version:  # it is from a version that is still to come
        return
    if watch.bookmarks and now >= watch.next_bookmark:
        watch.next_bookmark = now + _MINUTE
        watch.version = version
        yield _bookmark(watch.target, version)
    elif (
        watch.bookmarks
        and watch.ends is not None
        and not watch.bookmarked_end
        and now >= watch.ends - _BEFORE_END
    ):
        watch.bookmarked_end = True
        watch.version = version
        yield _bookmark(watch.target, version)


def _first_lines(cluster: Cluster, watch: Watch) -> list[bytes]:
    """The initial state, once, and the mark of its end."""
    lines = [_event(cluster, watch, "ADDED", each) for each in watch.initial or ()]
    watch.initial = None
    if watch.marks_initial_end:
        watch.marks_initial_end = False
        lines.append(_bookmark(watch.target, watch.version, initial_end=True))
    return lines


def look(cluster: Cluster, watch: Watch) -> tuple[list[bytes], bool]:
    """The lines that are due and whether the watch ends after them."""
    with cluster.store.lock:
        watch.wake.clear()
        lines = _first_lines(cluster, watch)
        try:
            lines += _due(cluster, watch)
        except Compacted:
            message = f"too old resource version: {watch.version} ({cluster.store.compacted})"
            status = expired(message).body()
            return [json.dumps({"type": "ERROR", "object": status}).encode() + b"\n"], True
        lines += _due_bookmarks(cluster, watch)
        over = watch.ends is not None and cluster.clock.now() >= watch.ends
    return lines, over


async def stream(cluster: Cluster, hub: Hub, watch: Watch) -> AsyncIterator[bytes]:
    """The chunks of an open watch until it ends.

    Raises:
        BrokenConnection: a test cut it off.

    """
    hub.add(watch)
    try:
        while True:
            if hub.muted and not watch.stopped:
                watch.wake.clear()
                await watch.wake.wait()
                continue
            lines, over = look(cluster, watch)
            if lines:
                yield b"".join(lines)
            if over or watch.stopped == "ended":
                return
            if watch.stopped == "broken":
                raise BrokenConnection
            await _sleep(cluster, watch)
    finally:
        hub.drop(watch)


async def _sleep(cluster: Cluster, watch: Watch) -> None:
    pause = cluster.clock.pause_until(watch.ends, watch.next_bookmark)
    if pause is None:
        await watch.wake.wait()
        return
    try:
        await asyncio.wait_for(watch.wake.wait(), pause)
    except TimeoutError:
        return
