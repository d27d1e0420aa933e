"""Who is who: a Slack user id and the teams and the role that go with it.

The directory is a YAML file that an admin owns:

    U0ALICE: {name: Alice Meyer, teams: [nlp, vision], role: researcher}

People are never looked up by e-mail, and a person the file does not know still gets a
clear answer: they are a researcher without a team.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable
from pathlib import Path

import yaml
from pydantic import BaseModel, ConfigDict, ValidationError

from storage.records import Person, Role


class PeopleError(Exception):
    """The people file cannot be used; the message names file, entry, problem and an example."""


_EXAMPLE = "for example  U0ALICE: {name: Alice Meyer, teams: [nlp], role: researcher}"


class _Entry(BaseModel):
    model_config = ConfigDict(extra="forbid")

    name: str
    teams: tuple[str, ...] = ()
    role: Role = Role.RESEARCHER


class Directory:
    """People by Slack user id. Safe to read from any thread while it is refreshed."""

    def __init__(self, people: Iterable[Person] = (), *, path: Path | None = None) -> None:
        self._people = {person.id: person for person in people}
        self._path = path
        self._stamp: tuple[int, int] | None = None
        self._lock = threading.Lock()
        if path is not None:
            self.refresh()

    def person(self, person_id: str) -> Person:
        """The person, or a researcher without a team if the directory does not know them."""
        found = self._people.get(person_id)
        return found if found is not None else Person(id=person_id, name=person_id)

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

    def add(self, people: Iterable[Person]) -> None:
        """Let the directory know more people (the demo's own)."""
        with self._lock:
            self._people = {**self._people, **{person.id: person for person in people}}

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
            self._people, self._stamp = fresh, stamp
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
