"""What a person asked for, before routing: the output of the grammar and of the modal."""

from __future__ import annotations

import datetime as dt
import enum
from dataclasses import dataclass, fields, replace

from scheduler.model import Priority, Seconds, Spend

SHORTEST_LEASE: Seconds = 60.0
"""Less than a minute is a slip of the finger: the pods would not even have started."""

LONGEST_SPAN: Seconds = 366 * 86400.0
"""More than a year is far beyond anything here, for a lease and for what is set by hand."""
_LAST_DAY = dt.date(9999, 12, 29)  # the calendar ends soon after, whatever the time zone


class Nearness(enum.StrEnum):
    """How near each other the pods of a request shall lie; the values are the words for it."""

    SAME = "same"
    PREFER = "prefer"
    SPREAD = "spread"


@dataclass(frozen=True, slots=True)
class Together:
    """`same rack`, `prefer block` or `spread`: `level` is the word said, None for `spread`."""

    nearness: Nearness
    level: str | None = None


class Provision(enum.StrEnum):
    """How the nodes asked for are had: the values are those of the policy's flavors."""

    RESERVED = "reserved"
    SPOT = "spot"
    FLEX_START = "flex-start"


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """`pods` pods of `gpus_per_pod` GPUs of one model; None means "let the policy decide".

    `16 h100` leaves `pods` and `gpus_per_pod` None: the desk splits it into whole nodes.
    `2 nodes h100` sets `nodes`. Exactly one of `gpus`, `nodes` or the pair
    (`pods`, `gpus_per_pod`) is given. `minimum` is the smaller start that would do, counted
    as the size is: in GPUs, nodes or pods.
    """

    gpus: int | None = None
    nodes: int | None = None
    pods: int | None = None
    gpus_per_pod: int | None = None
    model: str | None = None
    duration: Seconds | None = None
    preemptible: bool = False
    spend: Spend = Spend.LOW
    priority: Priority | None = None
    team: str | None = None
    name: str | None = None
    text: str = ""
    topology: Together | None = None
    minimum: int | None = None
    provision: Provision | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What of a request shall be different; None leaves it as it is.

    A new size is given like that of an Ask and replaces the old one whole.
    """

    gpus: int | None = None
    nodes: int | None = None
    pods: int | None = None
    gpus_per_pod: int | None = None
    model: str | None = None
    duration: Seconds | None = None
    preemptible: bool | None = None
    spend: Spend | None = None
    priority: Priority | None = None
    team: str | None = None
    name: str | None = None
    topology: Together | None = None
    minimum: int | None = None
    provision: Provision | None = None

    @property
    def resizes(self) -> bool:
        """Whether there is a new size."""
        return any(each is not None for each in (self.gpus, self.nodes, self.pods))

    def of(self, ask: Ask) -> Ask:
        """The ask as it is with the change."""
        if self.resizes:
            ask = replace(ask, gpus=None, nodes=None, pods=None, gpus_per_pod=None, minimum=None)
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return replace(ask, **{name: value for name, value in values.items() if value is not None})


class Misplaced(enum.StrEnum):
    """Why nothing set by hand can end then: it is over, or more than LONGEST_SPAN ahead."""

    PASSED = "end-passed"
    TOO_FAR = "end-too-far"


@dataclass(frozen=True, slots=True, kw_only=True)
class End:
    """When something set by hand ends: after a span, or at a time of day, a day, or both.

    `minute` counts from midnight. All None: it has no end but the one that is set by hand.
    """

    after: Seconds | None = None
    day: dt.date | None = None
    minute: int | None = None

    def at(self, now: Seconds, zone: dt.tzinfo = dt.UTC) -> Seconds | None:
        """The moment, seen from `now`: a time without a day is the next one, a day ends whole."""
        if self.after is not None:
            return now + self.after
        if self.day is None and self.minute is None:
            return None
        here = dt.datetime.fromtimestamp(now, zone)
        first = min(self.day or here.date(), _LAST_DAY)
        if self.minute is None:
            day = first + dt.timedelta(days=1)
            return dt.datetime.combine(day, dt.time(), zone).timestamp()
        time = dt.time(self.minute // 60, self.minute % 60)
        found = dt.datetime.combine(first, time, zone)
        if self.day is None and found <= here:
            found = dt.datetime.combine(here.date() + dt.timedelta(days=1), time, zone)
        return found.timestamp()

    def misplaced(self, now: Seconds) -> Misplaced | None:
        """What is wrong with the moment, seen from `now`; None for a good one, or none at all."""
        at = self.at(now)
        if at is None:
            return None
        if at <= now:
            return Misplaced.PASSED
        return Misplaced.TOO_FAR if at > now + LONGEST_SPAN else None


class Preference(enum.StrEnum):
    """What a person may set for themselves, and the values each takes, as they are stored.

    LANGUAGE `en`, `zh` or `auto` (that of their Slack); QUIET `22:00-07:00` in their own time
    zone or `off`; ZONE that time zone, such as `Europe/Paris`, or `auto`; NOTICES `all`,
    `important` (what costs them something) or `none`; WHERE `dm` or `thread`, where notices to
    them alone go; DIGEST `daily`, `weekly` or `off`.
    """

    LANGUAGE = "language"
    QUIET = "quiet"
    NOTICES = "notices"
    DIGEST = "digest"
    WHERE = "where"
    ZONE = "zone"


class Period(enum.StrEnum):
    """The time a report is about, up to now."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
