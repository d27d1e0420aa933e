"""The simulated cluster's memory on disk: one JSON line for each thing done to it.

A real cluster goes on when the bot is killed; the simulated one does so by replaying
what was done to it at the times it was done. A line is on disk before it has an effect.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

from pydantic import Field, TypeAdapter, ValidationError

from bot.clusters.base import Cordon, EndKind, Replace, Start, Stop
from scheduler.model import NodeName, Seconds, WorkloadId


class JournalBroken(Exception):
    """A line other than the last cannot be read: the file is not ours, or was edited."""

    def __init__(self, path: Path, line: int) -> None:
        self.path = path
        self.line = line
        super().__init__(f"{path}, line {line}: not an entry of a cluster journal")


@dataclass(frozen=True, slots=True, kw_only=True)
class StartEntry:
    """A gang was started."""

    at: Seconds
    action: Start
    kind: Literal["start"] = "start"


@dataclass(frozen=True, slots=True, kw_only=True)
class StopEntry:
    """A gang was told to stop."""

    at: Seconds
    action: Stop
    kind: Literal["stop"] = "stop"


@dataclass(frozen=True, slots=True, kw_only=True)
class ReplaceEntry:
    """A gang was given pods in place of lost ones."""

    at: Seconds
    action: Replace
    kind: Literal["replace"] = "replace"


@dataclass(frozen=True, slots=True, kw_only=True)
class EndEntry:
    """An attempt is over; kept so that the same decision never runs twice."""

    at: Seconds
    workload: WorkloadId
    decision: str
    end: EndKind
    kind: Literal["end"] = "end"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailEntry:
    """A gang was scripted to fail after it has been ready for `after` seconds."""

    at: Seconds
    workload: WorkloadId
    after: Seconds
    kind: Literal["fail"] = "fail"


@dataclass(frozen=True, slots=True, kw_only=True)
class OutageEntry:
    """A node was scripted to fail at `fails`, and to return at `until` if that is known."""

    at: Seconds
    node: NodeName
    fails: Seconds
    until: Seconds | None
    kind: Literal["outage"] = "outage"


@dataclass(frozen=True, slots=True, kw_only=True)
class CordonEntry:
    """A node was closed to new pods, or opened again."""

    at: Seconds
    action: Cordon
    kind: Literal["cordon"] = "cordon"


Entry = Annotated[
    StartEntry | StopEntry | ReplaceEntry | EndEntry | FailEntry | OutageEntry | CordonEntry,
    Field(discriminator="kind"),
]
_ENTRY: TypeAdapter[Entry] = TypeAdapter(Entry)


class Journal:
    """An append-only file of entries. `add` returns once they are on disk."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._file = path.open("ab")
        self._later = False

    def add(self, *entries: Entry) -> None:
        """Append and flush to disk, all with one sync."""
        self._file.write(b"".join(_line(entry) for entry in entries))
        if not self._later:
            self._sync()

    @contextmanager
    def one_sync(self) -> Iterator[None]:
        """What is added within is on disk together, at the end."""
        self._later = True
        try:
            yield
        finally:
            self._later = False
            self._sync()

    def _sync(self) -> None:
        self._file.flush()
        os.fsync(self._file.fileno())

    def close(self) -> None:
        """Close the file; a closed journal takes no more entries."""
        self._file.close()


def read_journal(path: Path) -> tuple[Entry, ...]:
    """All whole entries, in order; a torn last line is left out. Raises JournalBroken.

    A file that does not exist is an empty journal.
    """
    if not path.exists():
        return ()
    *whole, _torn = path.read_bytes().split(b"\n")
    entries: list[Entry] = []
    for number, line in enumerate(whole, start=1):
        try:
            entries.append(_ENTRY.validate_json(line))
        except ValidationError as error:
            raise JournalBroken(path, number) from error
    return tuple(entries)


def rewrite_journal(path: Path, entries: Iterable[Entry]) -> None:
    """Put `entries` in place of the whole file, at once or not at all."""
    fresh = path.with_name(path.name + ".new")
    with fresh.open("wb") as file:
        file.writelines(_line(entry) for entry in entries)
        file.flush()
        os.fsync(file.fileno())
    fresh.replace(path)
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def _line(entry: Entry) -> bytes:
    return _ENTRY.dump_json(entry) + b"\n"
