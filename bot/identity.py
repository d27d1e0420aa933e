"""Who somebody is here, and how they come to be in a team: what the desk answers."""

from __future__ import annotations

import enum
from dataclasses import dataclass

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


LinkAnswer = LinkView | LinkAsked | LinkAnswered | LinkRefused
