"""Keeps the desk's idea of who is who up to date with Slack's users and user groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from slack_sdk import WebClient

from bot.chat.discreet import discreet_logger
from bot.chat.markup import is_user_id
from bot.chat.rollcall import RollCall, find_user
from bot.groups import GroupRule, SlackGroup, people_of, read_groups, unknown_groups
from bot.people import PeopleError
from storage.records import Person

_log = discreet_logger("gpubot.chat.register")


class Desk(Protocol):
    """Who takes the roll."""

    def take_roll(self, people: Sequence[Person], gone: Sequence[str]) -> tuple[str, ...]: ...

    def strangers(self) -> tuple[str, ...]: ...

    def meet(self, person: Person) -> None: ...


class Register:
    """Without a file that says what groups mean, groups mean nothing: only names are learnt."""

    def __init__(self, client: WebClient, desk: Desk, path: Path | None) -> None:
        self.roll_call = RollCall(client)
        self._client, self._desk, self._path = client, desk, path
        self._rules: tuple[GroupRule, ...] = ()
        self._groups: tuple[SlackGroup, ...] = ()
        self._asked: set[str] = set()

    def tick(self) -> None:
        """A call to Slack for the roll at the most, and one for somebody who is not in it yet."""
        self._meet_somebody()
        roll = self.roll_call.tick()
        if roll is None:
            return
        self._groups = roll.groups
        self._asked.clear()
        self._read_rules()
        for group in unknown_groups(self._rules, roll.groups):
            _log.warning("Slack has no user group %s, which the groups file names", group)
        gone = [user.id for user in roll.users if user.gone]
        given = self._desk.take_roll(people_of(self._rules, roll.groups, roll.users), gone)
        if given:
            _log.info("%d requests of people who left go to their leads", len(given))

    def _meet_somebody(self) -> None:
        """Who is new need not wait for the next roll; each is asked for once between two."""
        new = (one for one in self._desk.strangers() if one not in self._asked and is_user_id(one))
        stranger = next(new, None)
        if stranger is None:
            return
        self._asked.add(stranger)
        user = find_user(self._client, stranger)
        if user is not None and not user.gone:
            for person in people_of(self._rules, self._groups, [user]):
                self._desk.meet(person)

    def _read_rules(self) -> None:
        """What cannot be read leaves the rules as they were."""
        if self._path is None:
            return
        try:
            self._rules = read_groups(self._path.read_text(encoding="utf-8"), str(self._path))
        except (OSError, PeopleError) as error:
            _log.error("%s", error)
