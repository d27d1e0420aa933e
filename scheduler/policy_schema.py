"""The shape of a policy file: what an admin may write, field by field.

Only shape and range are checked here; `scheduler.policy` checks that names mean something.
"""

from __future__ import annotations

import enum
import re
from typing import Annotated, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator, model_validator

from scheduler.layout import AfterIdle, AfterLease, Order, Size
from scheduler.model import GPU, Priority, Spend, TaintEffect

_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 604800}
_DURATION = re.compile(r"(?P<number>\d+(?:\.\d+)?)\s*(?P<unit>[smhdw])")
_NAME = re.compile(r"[A-Za-z0-9]([A-Za-z0-9._{}-]*[A-Za-z0-9}])?")


def _seconds(value: object) -> object:
    """`90m`, `8h`, `7d` or a number of seconds."""
    match = _DURATION.fullmatch(value.strip()) if isinstance(value, str) else None
    if match is not None:
        return float(match["number"]) * _UNITS[match["unit"]]
    if type(value) in (int, float):
        return value
    raise ValueError("is no length of time")


def _name(value: object) -> object:
    if not isinstance(value, str) or _NAME.fullmatch(value) is None:
        raise ValueError("is no name: letters, digits, '-', '_' and '.', at most 63")
    return value


def _one_or_more(value: object) -> object:
    return [value] if isinstance(value, str) else value


Duration = Annotated[float, BeforeValidator(_seconds), Field(gt=0, le=10 * 365 * 86400.0)]
Span = Annotated[float, BeforeValidator(_seconds), Field(ge=0, le=86400.0)]
Name = Annotated[str, BeforeValidator(_name), Field(min_length=1, max_length=63)]
Count = Annotated[int, Field(strict=True, ge=0, le=1 << 50)]
Weight = Annotated[float, Field(ge=0, allow_inf_nan=False, le=1e6)]


class Part(BaseModel):
    """Unknown keys are mistakes, and values do not change afterwards."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class WithinWord(enum.StrEnum):
    """Whom a workload may stop in its own queue."""

    NEVER = "never"
    LOWER = "lower-priority"
    LOWER_OR_NEWER = "lower-or-newer-equal-priority"


class ReclaimWord(enum.StrEnum):
    """Whom a workload may stop in queues that borrow."""

    NEVER = "never"
    LOWER = "lower-priority"
    ANY = "any"


class StrategyWord(enum.StrEnum):
    """Whether a head that waits holds back those behind it."""

    BEST_EFFORT = "best-effort"
    STRICT = "strict"
    STRICT_PER_FLAVOR = "strict-per-flavor"


class SearchWord(enum.StrEnum):
    """Whether the flavor search may stop."""

    MAY_STOP = "may-stop"
    TRY_NEXT = "try-next-flavor"


class QuotaPart(Part):
    """Quota of one resource of one flavor. `team` stands for the team's own number."""

    nominal: Count | Literal["team"] = 0
    borrowing: Count | None = None
    lending: Count | None = None


def _by_resource(value: object) -> object:
    """A bare number or a bare set of limits is about GPUs."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int | str):
        return {GPU: {"nominal": value}}
    if isinstance(value, dict) and not any(isinstance(v, dict) for v in value.values()):
        return {GPU: value}
    return value


Quotas = dict[str, Annotated[dict[str, QuotaPart], BeforeValidator(_by_resource)]]


class TaintPart(Part):
    """A taint on a flavor or on nodes."""

    key: Annotated[str, Field(min_length=1)]
    value: str = ""
    effect: TaintEffect = TaintEffect.NO_SCHEDULE


class TolerationPart(Part):
    """A taint of its nodes that all work on a flavor puts up with; without a value, any value."""

    key: Annotated[str, Field(min_length=1)]
    value: str | None = None
    effect: TaintEffect | None = None


class FlavorPart(Part):
    """A kind of capacity."""

    model: Name
    provision: Literal["reserved", "spot", "flex-start"] = "reserved"
    node_labels: dict[str, str] = Field(min_length=1)
    taints: list[TaintPart] = []
    tolerations: list[TolerationPart] = []
    levels: list[str] = ["kubernetes.io/hostname"]
    weight: Weight = 1.0


class NodesPart(Part):
    """Nodes of one shape of the simulated cluster."""

    name: Name
    count: Annotated[int, Field(strict=True, ge=1, le=100_000)]
    gpus: Annotated[int, Field(strict=True, ge=0, le=1024)]
    resources: dict[str, Count] = {}
    labels: dict[str, str] = {}
    taints: list[TaintPart] = []
    levels: dict[str, Annotated[int, Field(strict=True, ge=1)]] = {}


class TeamPart(Part):
    """A team: its guaranteed GPUs and its weight in the shared queues."""

    gpus: Count = 0
    weight: Weight = 1.0
    budgets: dict[Priority, Count] = {}
    monthly_gpu_hours: Annotated[int, Field(strict=True, ge=1, le=1 << 50)] | None = None


class CohortPart(Part):
    """Queues that lend to each other."""

    parent: Name | None = None
    quota: Quotas = {}
    weight: Weight = 1.0


class LeasePart(Part):
    """How long a grant lasts if nothing is said, and at the most."""

    default: Duration
    max: Duration

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.default > self.max:
            raise ValueError("the default lease is longer than the maximum")
        return self


class BorrowPart(Part):
    """Stopping lower priorities while borrowing, up to `max_priority`."""

    max_priority: int | None = None


class FungibilityPart(Part):
    """When the search for a flavor stops."""

    when_can_borrow: SearchWord = SearchWord.MAY_STOP
    when_can_preempt: SearchWord = SearchWord.TRY_NEXT
    prefer: Literal["borrowing", "preemption"] = "borrowing"


class AgingPart(Part):
    """How waiting raises a priority number: `step` after `after`, and again after each `every`."""

    after: Duration
    every: Duration
    step: Annotated[int, Field(strict=True, ge=1, le=10**9)]
    most: Annotated[int, Field(strict=True, ge=1, le=10**9)]
    hold: Annotated[bool, Field(strict=True)] = False

    @model_validator(mode="after")
    def _bounded(self) -> Self:
        if self.most < self.step:
            raise ValueError("the most is less than one step")
        return self


class BackfillPart(Part):
    """Room is kept for work of `least` GPUs that has waited `after`, `at_once` times at most."""

    after: Duration
    least: Annotated[int, Field(strict=True, ge=1, le=10**9)] = 1
    at_once: Annotated[int, Field(strict=True, ge=1, le=64)] = 1
    patience: Duration | None = None


class CourtesyPart(Part):
    """What a pool gives all its queues and a queue may say otherwise; None is not said."""

    min_runtime: Span | None = None
    min_runtime_own_queue: Span | None = None
    aging: AgingPart | None = None
    fair_users: Annotated[bool, Field(strict=True)] | None = None
    backfill: BackfillPart | None = None


class QueuePart(CourtesyPart):
    """A queue; with `{team}` in its name, one for each team."""

    name: Name
    cohort: Name | None = None
    quota: Quotas = Field(min_length=1)
    order: Order = Order.PRIORITY
    strategy: StrategyWord = StrategyWord.BEST_EFFORT
    within: WithinWord = WithinWord.NEVER
    reclaim: ReclaimWord = ReclaimWord.NEVER
    borrow_within: BorrowPart | None = None
    fungibility: FungibilityPart = FungibilityPart()
    weight: Weight = 1.0
    preempts_from: Priority | None = None
    protected_until: Priority | None = None

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.borrow_within is not None and self.reclaim is ReclaimWord.NEVER:
            raise ValueError("borrow_within needs reclaim: lower-priority or any")
        return self


class IdlePart(Part):
    """When the owner of GPUs that do nothing is asked, and what follows without an answer."""

    below: Annotated[float, Field(gt=0, le=100, allow_inf_nan=False)] = 5.0
    after: Duration
    answer: Duration = 1800.0
    keep: Duration = 4 * 3600.0
    then: AfterIdle = AfterIdle.TELL


class PoolPart(CourtesyPart):
    """A family of queues that people see as one."""

    lease: LeasePart
    grace: Span
    after_lease: AfterLease = AfterLease.RELEASE
    idle: IdlePart | None = None
    queues: list[QueuePart] = Field(min_length=1)


class RulePart(Part):
    """A routing rule; what is left out matches everything."""

    queue: Name
    overflow: list[Name] = []
    spend: Spend | None = None
    preemptible: Annotated[bool, Field(strict=True)] | None = None
    size: Size | None = None
    priority: Annotated[list[Priority], BeforeValidator(_one_or_more)] | None = None
    priorities: dict[Priority, int] = {}


class UsagePart(Part):
    """How use is remembered."""

    half_life: Duration
    sampling_interval: Duration


class ShareWord(enum.StrEnum):
    """When fair sharing may stop work of another queue: by its share after, or before."""

    FINAL = "final-share"
    INITIAL = "initial-share"


class PlacementPart(Part):
    """How gangs are laid out; see `scheduler.layout.Options`."""

    balanced: bool = False
    defragment: bool = False
    moves_per_hour: Annotated[int, Field(strict=True, ge=1, le=100_000)] = 60
    hours_per_gpu: Annotated[float, Field(gt=0, le=10_000, allow_inf_nan=False)] = 1.0


class PreemptionPart(Part):
    """What holds for preemption everywhere."""

    by_cost: Annotated[bool, Field(strict=True)] = False
    flips_at_most: Annotated[int, Field(strict=True, ge=1, le=1000)] | None = None
    evictions_per_cycle: Annotated[int, Field(strict=True, ge=1, le=100_000)] | None = None
    evictions_per_hour: Annotated[int, Field(strict=True, ge=1, le=1_000_000)] | None = None


class ReadinessPart(Part):
    """How long pods may take to be ready, and what follows if they do not; see `scheduler.rest`."""

    ready_in: Duration = 900.0
    backoff: Duration = 60.0
    longest: Duration = 3600.0
    tries: Annotated[int, Field(strict=True, ge=1, le=1000)] = 4

    @model_validator(mode="after")
    def _ordered(self) -> Self:
        if self.backoff > self.longest:
            raise ValueError("the first pause (backoff) is longer than the longest")
        return self


class Policy(Part):
    """The whole file."""

    version: Literal[1]
    priorities: dict[Priority, Annotated[int, Field(strict=True, ge=-(10**9), le=10**9)]]
    target_wait: dict[Priority, Duration] = {}
    usage: UsagePart
    preemption: PreemptionPart = PreemptionPart()
    readiness: ReadinessPart = ReadinessPart()
    budgets: dict[Priority, Count] = {}
    flavors: dict[Name, FlavorPart] = Field(min_length=1)
    placement: PlacementPart = PlacementPart()
    nodes: list[NodesPart] = []
    teams: dict[Name, TeamPart] = {}
    cohorts: dict[Name, CohortPart] = {}
    pools: dict[Name, PoolPart] = Field(min_length=1)
    routing: list[RulePart] = Field(min_length=1)
    fair_sharing: Annotated[list[ShareWord], Field(min_length=1, max_length=2)] | None = None

    @field_validator("priorities")
    @classmethod
    def _complete(cls, value: dict[Priority, int]) -> dict[Priority, int]:
        missing = [p.value for p in Priority if p not in value]
        if missing:
            raise ValueError(f"has no number for {', '.join(missing)}")
        numbers = [value[p] for p in Priority]
        if numbers != sorted(set(numbers)):
            raise ValueError("must rise from low to critical")
        return value
