"""Orders of people that change the policy for a while: who gave one, why, and until when."""

from __future__ import annotations

import enum
from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.model import Figure, Seconds


class Hand(enum.StrEnum):
    """What people change that can end by itself."""

    PAUSE = "pause"
    QUOTA = "quota"
    DRAIN = "drain"
    BOOST = "boost"


@dataclass(frozen=True, slots=True, order=True)
class Held:
    """What somebody ordered: of a queue (a `flavor` and `resource` of it), node or workload."""

    hand: Hand
    where: str
    flavor: str = ""
    resource: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """Who ordered it, why, and until when (None: until it is taken back).

    The engine tells this to those who wait, and lets it end where it looks ahead; it does not end
    it by itself.
    """

    by: str = ""
    reason: str = ""
    until: Seconds | None = None

    @property
    def figures(self) -> Mapping[str, Figure]:
        """What it adds to the reason why somebody waits."""
        said: dict[str, Figure] = {}
        if self.by:
            said["by"] = self.by
        if self.reason:
            said["because"] = self.reason
        if self.until is not None:
            said["until"] = self.until
        return said


UNTOLD = Order()
"""An order of which nothing is known."""


@dataclass(frozen=True, slots=True, order=True)
class Ending:
    """Something set by hand that ends by itself, and when."""

    at: Seconds
    held: Held
