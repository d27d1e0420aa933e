"""Short-lived rights: trigger ids that open a modal, and addresses to respond to."""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from bot.workspace.wire import SlackError


@dataclass(slots=True, kw_only=True)
class Trigger:
    """A right to open one modal for one person. `view` is the modal it was pressed in."""

    person: str
    at: float
    view: str | None = None
    used: bool = False


@dataclass(slots=True, kw_only=True)
class ResponseRight:
    """Where a response goes: to a person in a room, or in place of a message."""

    person: str
    room: str
    at: float
    message: str | None = None
    thread: str | None = None
    uses: int = 0


T = TypeVar("T", Trigger, ResponseRight)


def _forget_old(rights: dict[str, T], before: float) -> None:
    """Drop what expired long ago, oldest first, so that a long run does not grow."""
    for key in list(itertools.takewhile(lambda key: rights[key].at < before, rights)):
        del rights[key]


class Triggers:
    """Trigger ids, valid for a few seconds and once."""

    def __init__(self, life: float, now: Callable[[], float] = time.monotonic) -> None:
        self._life = life
        self._now = now
        self._triggers: dict[str, Trigger] = {}

    def issue(self, person: str, view: str | None = None) -> str:
        """A trigger id for what the person has just done."""
        _forget_old(self._triggers, self._now() - 60 - self._life)
        trigger_id = f"{secrets.randbelow(10**12)}.{secrets.token_hex(16)}"
        self._triggers[trigger_id] = Trigger(person=person, at=self._now(), view=view)
        return trigger_id

    def use(self, trigger_id: str) -> Trigger:
        """Use it up.

        Raises:
            SlackError: `invalid_trigger_id`, `expired_trigger_id` or `exchanged_trigger_id`.

        """
        trigger = self._triggers.get(trigger_id)
        if trigger is None:
            raise SlackError("invalid_trigger_id")
        if self._now() - trigger.at > self._life:
            raise SlackError("expired_trigger_id")
        if trigger.used:
            raise SlackError("exchanged_trigger_id")
        trigger.used = True
        return trigger


class ResponseRights:
    """Response addresses, valid for half an hour and five responses."""

    def __init__(self, life: float, uses: int, now: Callable[[], float] = time.monotonic) -> None:
        self._life = life
        self._uses = uses
        self._now = now
        self._rights: dict[str, ResponseRight] = {}

    def issue(
        self, person: str, room: str, *, message: str | None = None, thread: str | None = None
    ) -> str:
        """The secret part of a response address."""
        _forget_old(self._rights, self._now() - 60 - self._life)
        key = secrets.token_urlsafe(18)
        self._rights[key] = ResponseRight(
            person=person, room=room, at=self._now(), message=message, thread=thread
        )
        return key

    def use(self, key: str) -> ResponseRight:
        """Use it once. Raises SlackError `invalid_url`, `expired_url` or `used_url`."""
        right = self._rights.get(key)
        if right is None:
            raise SlackError("invalid_url")
        if self._now() - right.at > self._life:
            raise SlackError("expired_url")
        if right.uses >= self._uses:
            raise SlackError("used_url")
        right.uses += 1
        return right
