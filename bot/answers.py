"""What the desk answers to changes of a request: codes and figures, ready to be put into words."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bot.asks import Ask
from bot.fields import FieldChange
from bot.views import CardView
from storage.records import Estimate


class ChangeKind(enum.StrEnum):
    """What kind of change was ordered."""

    EXTENDED = "extended"
    EDITED = "edited"
    GIVEN = "given"


@dataclass(frozen=True, slots=True, kw_only=True)
class Kept:
    """Idle GPUs are kept; nobody asks again before `until` (epoch seconds)."""

    request: str
    until: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changed:
    """A change was stored and, if `decided`, carried out: the card shows it.

    `back` is true for a request that waits and lost its place by it; `again` for a delivery
    that was answered before.
    """

    kind: ChangeKind
    card: CardView
    changes: tuple[FieldChange, ...]
    back: bool = False
    decided: bool = True
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Tried:
    """What would become of an ask; nothing was created. The card has no id yet."""

    card: CardView
    ask: Ask


@dataclass(frozen=True, slots=True, kw_only=True)
class WhenView:
    """When a request is expected to start (its card says), and what was expected at first."""

    card: CardView
    first: Estimate | None = None
