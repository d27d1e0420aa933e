"""The directory: read from a file, refreshed when it changes, wrong entries named."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from bot.people import Directory, PeopleError, read_people
from storage.records import Person, Role

GOOD = "U0ADA: {name: Ada Moreau, teams: [nlp, vision], role: lead}\nU0BEN: {name: Ben}\n"


def test_people_are_read() -> None:
    assert read_people(GOOD, "people.yaml") == (
        Person(id="U0ADA", name="Ada Moreau", teams=("nlp", "vision"), role=Role.LEAD),
        Person(id="U0BEN", name="Ben"),
    )


def test_somebody_unknown_is_a_researcher_without_a_team() -> None:
    directory = Directory()
    assert directory.person("U0NEW") == Person(id="U0NEW", name="U0NEW")
    assert not directory.knows("U0NEW")


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("U0ADA: {teams: [nlp]}", "U0ADA: name"),
        ("U0ADA: {name: Ada, role: boss}", "U0ADA: role"),
        ("U0ADA: {name: Ada, team: nlp}", "U0ADA: team"),
        ("- U0ADA", "one entry per Slack user id"),
        ("a: [", "not YAML"),
    ],
)
def test_a_wrong_entry_is_named(text: str, named: str) -> None:
    with pytest.raises(PeopleError, match=named):
        read_people(text, "people.yaml")


def test_a_broken_change_keeps_what_was_known(tmp_path: Path) -> None:
    path = tmp_path / "people.yaml"
    path.write_text(GOOD)
    directory = Directory(path=path)
    assert not directory.refresh()
    path.write_text("U0ADA: {name: 1")
    os.utime(path, ns=(1, 1))
    with pytest.raises(PeopleError):
        directory.refresh()
    assert directory.person("U0ADA").name == "Ada Moreau"
    path.write_text("U0ADA: {name: Ada Neu}")
    os.utime(path, ns=(2, 2))
    assert directory.refresh()
    assert directory.person("U0ADA").name == "Ada Neu"
