"""What lies ahead of a request that waits: when it will start, and what would start sooner."""

from __future__ import annotations

from dataclasses import dataclass

from bot.asks import Change
from bot.fields import FieldChange
from scheduler.forecast import Forecast
from scheduler.model import Seconds
from scheduler.offers import OfferKind

SOON: Seconds = 60.0
"""A start that is no further away than this is as good as at once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Offered:
    """A change that was tried, and when the request would start with it.

    `key` names the change of the request as it was: it fits no other change and no later
    state. `back` says that the place in line is lost by it.
    """

    key: str
    kind: OfferKind
    change: Change
    changes: tuple[FieldChange, ...]
    start: Seconds
    back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Prospect:
    """A forecast as of `at`, with the offers that start sooner, soonest first."""

    forecast: Forecast
    offers: tuple[Offered, ...] = ()
    at: Seconds
