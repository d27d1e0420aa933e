"""Keeps the desk's idea of who is who up to date with Slack's users and user groups."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

from slack_sdk import WebClient

from bot.chat.discreet import discreet_logger
from bot.chat.rollcall import RollCall
from bot.groups import GroupRule, people_of, read_groups, unknown_groups
from bot.people import PeopleError
from storage.records import Person

_log = discreet_logger("gpubot.chat.register")


class Desk(Protocol):
    """Who takes the roll."""

    def take_roll(self, people: Sequence[Person], gone: Sequence[str]) -> tuple[str, ...]: ...


class Register:
    """Without a file that says what groups mean, groups mean nothing: only names are learnt."""

    def __init__(self, client: WebClient, desk: Desk, path: Path | None) -> None:
        self.roll_call = RollCall(client)
        self._desk, self._path = desk, path
        self._rules: tuple[GroupRule, ...] = ()

    def tick(self) -> None:
        """One call to Slack at the most; what the last of them completes is taken over."""
        roll = self.roll_call.tick()
        if roll is None:
            return
        self._read_rules()
        for group in unknown_groups(self._rules, roll.groups):
            _log.warning("Slack has no user group %s, which the groups file names", group)
        gone = [user.id for user in roll.users if user.gone]
        given = self._desk.take_roll(people_of(self._rules, roll.groups, roll.users), gone)
        if given:
            _log.info("%d requests of people who left go to their leads", len(given))

    def _read_rules(self) -> None:
        """What cannot be read leaves the rules as they were."""
        if self._path is None:
            return
        try:
            self._rules = read_groups(self._path.read_text(encoding="utf-8"), str(self._path))
        except (OSError, PeopleError) as error:
            _log.error("%s", error)
