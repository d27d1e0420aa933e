"""Who is on call: asked when a notice is sent, never remembered with it."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import Protocol


class DutyDoubt(enum.StrEnum):
    """Why who is named may not be who is on call."""

    NO_ANSWER = "no-answer"
    NO_GROUP = "no-group"
    NOBODY = "nobody"
    STALE = "stale"


@dataclass(frozen=True, slots=True, kw_only=True)
class OnCall:
    """Whom a notice for on-call names: the Slack id of a user group or a person, if any.

    `doubt` says why it is the fallback that is named, or why the answer may be out of date;
    None when all is well. `people` are those known to be on call.
    """

    called: str | None = None
    doubt: DutyDoubt | None = None
    people: frozenset[str] = frozenset()


class Duty(Protocol):
    """Who is on call now, overrides included. Never raises: a failed look-up is a doubt."""

    def oncall(self) -> OnCall:
        """As of this moment."""
        ...


class FixedDuty:
    """On-call as it is set: a user group whose members Slack knows."""

    def __init__(self, group: str | None) -> None:
        self._found = OnCall(called=group)

    def oncall(self) -> OnCall:
        """The group, whoever is in it."""
        return self._found
