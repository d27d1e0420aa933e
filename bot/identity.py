"""Who somebody is here, and how they come to be in a team: what the desk answers."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bot.duty import DutyDoubt
from storage.records import Role


class LinkRefusal(enum.StrEnum):
    """Why somebody was not put into a team, and not asked about."""

    UNKNOWN_TEAM = "unknown-team"
    UNKNOWN_PERSON = "unknown-person"
    ALREADY_IN = "already-in"
    FILED = "filed"
    NOT_FOR_OTHERS = "not-for-others"
    NOT_YOURS_TO_ANSWER = "not-yours-to-answer"
    ANSWERED = "answered"
    NOBODY_TO_ASK = "nobody-to-ask"
    NOT_ON_CALL = "not-on-call"
    END_PASSED = "end-passed"
    END_TOO_FAR = "end-too-far"


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkRefused:
    """Nothing was changed. `near` are words that would do, or the people to ask, by id."""

    code: LinkRefusal
    team: str = ""
    person: str = ""
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkView:
    """Who the bot takes somebody for. `filed` says that the people file decides it."""

    person: str
    name: str
    teams: tuple[str, ...]
    role: Role
    filed: bool
    asked: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAsked:
    """The leads of the team were asked; it lapses at `until`, an epoch second."""

    team: str
    asked: tuple[str, ...]
    until: float
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class LinkAnswered:
    """A lead put somebody into the team, or would not."""

    person: str
    team: str
    agreed: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class OnCallView:
    """Who is on call: `called` is the id of a group or a person, `people` those in it, by id.

    `substitute` stands in until `until`, an epoch second, None for until it is ended. `changed`
    says that the asker has just set that.
    """

    called: str | None
    people: tuple[str, ...]
    doubt: DutyDoubt | None = None
    substitute: str | None = None
    until: float | None = None
    changed: bool = False


LinkAnswer = LinkView | LinkAsked | LinkAnswered | LinkRefused
