"""What only a button can say: commands that carry more than a person would type."""

from __future__ import annotations

from dataclasses import dataclass

from bot.asks import Ask
from bot.byhand import Wish


@dataclass(frozen=True, slots=True)
class Prolong:
    """Extend a lease by so many seconds, if it still ends when the button says."""

    request: str
    by: float
    ends: float


@dataclass(frozen=True, slots=True)
class End:
    """Release or cancel a request; what runs only in the grant that was confirmed."""

    request: str
    release: bool
    grant: int | None


@dataclass(frozen=True, slots=True)
class Rewrite:
    """Let a request ask for this instead: the form that was opened from its card."""

    request: str
    ask: Ask


@dataclass(frozen=True, slots=True)
class TakeOffer:
    """Change a request as an offer says, if that still starts it sooner."""

    request: str
    offer: str


@dataclass(frozen=True, slots=True)
class AnswerLink:
    """A lead says whether somebody is in the team."""

    person: str
    team: str
    agree: bool


@dataclass(frozen=True, slots=True)
class Confirmed:
    """An order of an admin, after it was shown what it would do: `seen` stands for that."""

    wish: Wish
    seen: str


@dataclass(frozen=True, slots=True)
class Keep:
    """Idle GPUs are still needed."""

    request: str


Press = End | Prolong | Rewrite | TakeOffer | Confirmed | AnswerLink | Keep
