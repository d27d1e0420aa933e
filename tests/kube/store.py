"""Every object with one rising resourceVersion, and the history that watches read.

Bodies in the store are never changed in place: who writes makes a copy, so a body read once may
be kept. The encoded form of an object is made once per version, which is what makes lists of
50,000 pods cheap.
"""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from threading import RLock

from tests.kube.documents import Json
from tests.kube.kinds import Kind
from tests.kube.tags import tags_of

Key = tuple[str, str]  # namespace ("" for cluster scope) and name


@dataclass(slots=True)
class Stored:
    """One version of one object, without kind and apiVersion."""

    kind: Kind
    key: Key
    version: int
    body: Json
    tags: tuple[str, ...] = ()
    _encoded: bytes | None = None

    def encoded(self) -> bytes:
        """The object as it stands in a list: no kind, no apiVersion."""
        if self._encoded is None:
            self._encoded = json.dumps(self.body, separators=(",", ":")).encode()
        return self._encoded

    def encoded_alone(self) -> bytes:
        """The object with kind and apiVersion, as a GET and an event show it."""
        head = f'{{"kind":"{self.kind.name}","apiVersion":"{self.kind.api_version}",'
        return head.encode() + self.encoded()[1:]

    def document(self) -> Json:
        return {"kind": self.kind.name, "apiVersion": self.kind.api_version, **self.body}


@dataclass(frozen=True, slots=True)
class Entry:
    """One write: what was there before and after."""

    version: int
    before: Stored | None
    after: Stored | None


@dataclass
class _Shelf:
    """The objects of one kind and their history."""

    objects: dict[Key, Stored] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)
    sorted_keys: list[Key] | None = None
    tagged: dict[str, set[Key]] = field(default_factory=dict)
    changed: int = 0

    def tag(self, stored: Stored) -> None:
        for each in stored.tags:
            self.tagged.setdefault(each, set()).add(stored.key)

    def untag(self, stored: Stored) -> None:
        for each in stored.tags:
            keys = self.tagged[each]
            keys.discard(stored.key)
            if not keys:
                del self.tagged[each]

    def copy(self) -> _Shelf:
        tagged = {tag: set(keys) for tag, keys in self.tagged.items()}
        return _Shelf(
            dict(self.objects), list(self.entries), self.sorted_keys, tagged, self.changed
        )


@dataclass(frozen=True)
class Snapshot:
    """All objects and their history at one moment."""

    version: int
    compacted: int
    shelves: dict[Kind, _Shelf]


class Compacted(Exception):
    """The version asked for is no longer kept."""


class Store:
    """Objects by kind and key under one lock."""

    def __init__(self, keep: int = 200_000) -> None:
        self.lock = RLock()
        self.version = 100
        self.compacted = 0
        self.epoch = 0  # how often the store went back, so that equal versions may differ
        self._keep = keep
        self._shelves: dict[Kind, _Shelf] = {}
        self._listeners: list[Callable[[], None]] = []
        self._followers: list[Callable[[Entry], None]] = []

    def _shelf(self, kind: Kind) -> _Shelf:
        return self._shelves.setdefault(kind, _Shelf())

    def listen(self, listener: Callable[[], None]) -> None:
        """Call listener after each write, in the writer's thread."""
        self._listeners.append(listener)

    def follow(self, follower: Callable[[Entry], None]) -> None:
        """Have follower see each write as it is made, with all else as it is at that instant."""
        self._followers.append(follower)

    def get(self, kind: Kind, key: Key) -> Stored | None:
        return self._shelf(kind).objects.get(key)

    def all(self, kind: Kind, namespace: str | None = None) -> list[Stored]:
        """The objects of a kind by namespace and name."""
        shelf = self._shelf(kind)
        if shelf.sorted_keys is None:
            shelf.sorted_keys = sorted(shelf.objects)
        found = (shelf.objects[key] for key in shelf.sorted_keys)
        return [each for each in found if namespace is None or each.key[0] == namespace]

    def tagged(self, kind: Kind, tag: str) -> list[Stored]:
        """The objects of a kind with a mark (see tags), by namespace and name."""
        shelf = self._shelf(kind)
        return [shelf.objects[key] for key in sorted(shelf.tagged.get(tag, ()))]

    def has_tag(self, kind: Kind, tag: str) -> bool:
        return tag in self._shelf(kind).tagged

    def tags(self, kind: Kind) -> list[str]:
        """All marks that any object of a kind has."""
        return list(self._shelf(kind).tagged)

    def put(self, kind: Kind, key: Key, body: Json) -> Stored:
        """Create or replace; the body gets its resourceVersion here."""
        self.version += 1
        body["metadata"]["resourceVersion"] = str(self.version)
        stored = Stored(kind, key, self.version, body, tags_of(kind, body))
        shelf = self._shelf(kind)
        before = shelf.objects.get(key)
        if before is None:
            shelf.sorted_keys = None
        elif before.tags != stored.tags:
            shelf.untag(before)
        if before is None or before.tags != stored.tags:
            shelf.tag(stored)
        shelf.objects[key] = stored
        self._note(shelf, Entry(self.version, before, stored))
        return stored

    def remove(self, kind: Kind, key: Key) -> Stored:
        """Take an object away; its last form carries the version of the deletion."""
        shelf = self._shelf(kind)
        before = shelf.objects.pop(key)
        shelf.untag(before)
        shelf.sorted_keys = None
        self.version += 1
        self._note(shelf, Entry(self.version, before, None))
        return before

    def _note(self, shelf: _Shelf, entry: Entry) -> None:
        shelf.entries.append(entry)
        shelf.changed = entry.version
        if len(shelf.entries) > 2 * self._keep:
            self.compacted = max(self.compacted, shelf.entries[self._keep - 1].version)
            del shelf.entries[: self._keep]
        for follower in self._followers:
            follower(entry)
        for listener in self._listeners:
            listener()

    def compact(self) -> None:
        """Forget all history: every older version is expired from now on."""
        self.version += 1  # even the newest list is older than the gap
        self.compacted = self.version
        for shelf in self._shelves.values():
            shelf.entries.clear()

    def since(self, kind: Kind, version: int) -> list[Entry]:
        """What was written to a kind after a version, in order.

        Raises:
            Compacted: part of it is no longer kept.

        """
        if version < self.compacted:
            raise Compacted
        entries = self._shelf(kind).entries
        return entries[bisect_right(entries, version, key=lambda entry: entry.version) :]

    def at(self, kind: Kind, version: int) -> dict[Key, Stored]:
        """The objects of a kind as they were at a version.

        Raises:
            Compacted: that state is no longer kept.

        """
        state = dict(self._shelf(kind).objects)
        for entry in reversed(self.since(kind, version)):
            if entry.before is not None:
                state[entry.before.key] = entry.before
            elif entry.after is not None:
                del state[entry.after.key]
        return state

    def changed(self, kind: Kind) -> int:
        """The version of the last write to a kind."""
        return self._shelf(kind).changed

    def snapshot(self) -> Snapshot:
        """The state now, to go back to."""
        shelves = {kind: shelf.copy() for kind, shelf in self._shelves.items()}
        return Snapshot(self.version, self.compacted, shelves)

    def put_back(self, snapshot: Snapshot) -> None:
        """Go back to a snapshot, which stays usable."""
        self.version, self.compacted = snapshot.version, snapshot.compacted
        self.epoch += 1
        self._shelves = {kind: shelf.copy() for kind, shelf in snapshot.shelves.items()}

    def kinds(self) -> Iterator[Kind]:
        return iter(tuple(self._shelves))
