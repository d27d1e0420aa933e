"""What the desk answers to changes of a request: codes and figures, ready to be put into words."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bot.fields import FieldChange
from bot.views import CardView


class ChangeKind(enum.StrEnum):
    """What kind of change was ordered."""

    EXTENDED = "extended"
    EDITED = "edited"
    GIVEN = "given"


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
