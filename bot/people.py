"""Who is who: a Slack user id and the teams and the role that go with it.

The directory is a YAML file that an admin owns:

    U0ALICE: {name: Alice Meyer, teams: [nlp, vision], role: researcher}

People are never looked up by e-mail, and a person the file does not know still gets a
clear answer: they are a researcher without a team.
"""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from storage.records import Person, Role


class PeopleError(Exception):
    """The people file cannot be used; the message names file, entry, problem and an example."""


_EXAMPLE = "for example  U0ALICE: {name: Alice Meyer, teams: [nlp], role: researcher}"


STRANGERS_AT_MOST = 1000
"""So many unknown ids are kept to be looked up; more are not people but a mistake."""


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    teams: tuple[str, ...] = ()
    role: Role = Role.RESEARCHER


class Directory:
    """People by Slack user id. Safe to read from any thread while it is refreshed.

    Where several sources know a person, the first that does decides: the people file, else
    the teams that leads have confirmed before those of Slack user groups, with the role of
    the groups. An entry of the file that names no teams leaves the teams to the others.
    """

    def __init__(self, people: Iterable[Person] = (), *, path: Path | None = None) -> None:
        self._filed = {person.id: person for person in people}
        self._grouped: dict[str, Person] = {}
        self._confirmed: dict[str, tuple[str, ...]] = {}
        self._people = dict(self._filed)
        self._gone: frozenset[str] = frozenset()
        self._strangers: set[str] = set()
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._lock = threading.Lock()
        if path is not None:
            self.refresh()

    def person(self, person_id: str) -> Person:
        """The person, or a researcher without a team if the directory does not know them."""
        found = self._people.get(person_id)
        if found is not None:
            return found
        if len(self._strangers) < STRANGERS_AT_MOST:
            self._strangers.add(person_id)
        return Person(id=person_id, name=person_id)

    def strangers(self) -> tuple[str, ...]:
        """Those who were asked about and are not known, by id."""
        with self._lock:
            return tuple(sorted(self._strangers))

    def knows(self, person_id: str) -> bool:
        """Whether the directory has an entry for this id."""
        return person_id in self._people

    def people(self) -> tuple[Person, ...]:
        """Everybody, by name and id."""
        return tuple(sorted(self._people.values(), key=lambda p: (p.name, p.id)))

    def leads(self, team: str) -> tuple[str, ...]:
        """The ids of a team's leads, in order."""
        found = (p.id for p in self._people.values() if p.role is Role.LEAD and team in p.teams)
        return tuple(sorted(found))

    def filed(self, person_id: str) -> bool:
        """Whether the people file decides in which teams this person is."""
        found = self._filed.get(person_id)
        return found is not None and bool(found.teams)

    @property
    def gone(self) -> frozenset[str]:
        """Those whose accounts are deactivated."""
        return self._gone

    def add(self, people: Iterable[Person]) -> None:
        """Let the directory know more people (the demo's own)."""
        with self._lock:
            self._filed = {**self._filed, **{person.id: person for person in people}}
            self._merge()

    def learn(self, people: Iterable[Person], gone: Iterable[str] = ()) -> None:
        """Take over what Slack's groups say of everybody."""
        with self._lock:
            self._grouped = {person.id: person for person in people}
            self._gone = frozenset(gone)
            self._merge()

    def meet(self, person: Person) -> None:
        """Take in somebody who was asked for alone."""
        with self._lock:
            self._grouped = {**self._grouped, person.id: person}
            self._merge()

    def confirm(self, teams: Mapping[str, tuple[str, ...]]) -> None:
        """Take over the teams that leads have confirmed, by person."""
        with self._lock:
            self._confirmed = dict(teams)
            self._merge()

    def _merge(self) -> None:
        merged = dict(self._grouped)
        for person_id, teams in self._confirmed.items():
            known = merged.get(person_id) or Person(id=person_id, name=person_id)
            every = tuple(dict.fromkeys((*teams, *known.teams)))
            merged[person_id] = dataclasses.replace(known, teams=every)
        for person_id, filed in self._filed.items():
            entry = filed
            others = merged.get(person_id)
            if others is not None and not entry.teams:
                entry = dataclasses.replace(entry, teams=others.teams)
            merged[person_id] = entry
        self._people = merged
        self._strangers.difference_update(merged)

    def refresh(self) -> bool:
        """Read the file again if it changed. Raises PeopleError, and keeps what it knew."""
        if self._path is None:
            return False
        try:
            stat = self._path.stat()
            stamp = (stat.st_mtime_ns, stat.st_size)
            if stamp == self._stamp:
                return False
            text = self._path.read_text(encoding="utf-8")
        except OSError as error:
            raise PeopleError(f"{self._path}: {error.strerror or error}") from error
        fresh = {person.id: person for person in read_people(text, str(self._path))}
        with self._lock:
            self._filed, self._stamp = fresh, stamp
            self._merge()
        return True


def read_people(text: str, source: str) -> tuple[Person, ...]:
    """The people of a directory file. Raises PeopleError that names the entry."""
    try:
        raw = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise PeopleError(f"{source}: not YAML: {error}") from error
    if raw is None:
        return ()
    if not isinstance(raw, dict):
        raise PeopleError(f"{source}: expected one entry per Slack user id, {_EXAMPLE}")
    people = []
    for person_id, entry in raw.items():
        try:
            checked = _Entry.model_validate(entry)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "entry"
            raise PeopleError(
                f"{source}: {person_id}: {field}: {first['msg']}; {_EXAMPLE}"
            ) from error
        people.append(
            Person(id=str(person_id), name=checked.name, teams=checked.teams, role=checked.role)
        )
    return tuple(people)
