"""The pieces of core Kubernetes objects that decide something: pods, nodes, selectors.

Only those fields are modelled. `Part` keeps unknown fields, so that they can be named; `Quiet`
pieces (containers, conditions, …) have further fields, none of which has a bearing on
admission.
"""

from __future__ import annotations

from fractions import Fraction
from typing import Annotated, Any, ClassVar, Literal

from pydantic import (
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainValidator,
)
from pydantic.alias_generators import to_camel

from scheduler.model import Operator, TaintEffect
from scheduler.quantities import read_exact


def _positive(value: Fraction) -> Fraction:
    if value < 0:
        raise ValueError(f"must not be negative, but is {value}")
    return value


def _read_amount(value: object) -> Fraction:
    if not isinstance(value, (str, int, float)):
        raise ValueError(f"{value!r} is not a quantity")  # noqa: TRY004 - pydantic wants ValueError
    return _positive(read_exact(value))


Amount = Annotated[Fraction, PlainValidator(_read_amount)]
"""A quantity in whole units, exact and not negative."""


def _none_is_empty(value: object) -> object:
    return {} if value is None else value


class Part(BaseModel):
    """A piece of a manifest. Unknown fields are kept, to be named."""

    model_config = ConfigDict(extra="allow", alias_generator=to_camel, populate_by_name=True)
    idle: ClassVar[frozenset[str]] = frozenset()
    """Fields that are known and have no bearing on a decision."""


class Quiet(BaseModel):
    """A piece of a manifest of which the unknown rest has no bearing on a decision."""

    model_config = ConfigDict(extra="ignore", alias_generator=to_camel, populate_by_name=True)


class Metadata(Quiet):
    name: Annotated[str, Field(min_length=1)]
    namespace: str = "default"
    uid: str = ""
    creation_timestamp: AwareDatetime | None = None
    labels: Annotated[dict[str, str], BeforeValidator(_none_is_empty)] = {}
    annotations: Annotated[dict[str, str], BeforeValidator(_none_is_empty)] = {}


class TaintPart(Part):
    idle = frozenset({"timeAdded"})
    key: str
    value: str = ""
    effect: TaintEffect


class TolerationPart(Part):
    idle = frozenset({"tolerationSeconds"})
    key: str = ""
    operator: Literal["Exists", "Equal"] = "Equal"
    value: str = ""
    effect: TaintEffect | None = None


class Expression(Part):
    key: str
    operator: Operator
    values: list[str] = Field(default_factory=list)


class LabelSelector(Part):
    match_labels: dict[str, str] = Field(default_factory=dict)
    match_expressions: list[Expression] = Field(default_factory=list)


class Resources(Quiet):
    requests: dict[str, Amount] = Field(default_factory=dict)
    limits: dict[str, Amount] = Field(default_factory=dict)


class Container(Quiet):
    resources: Resources = Resources()
    restart_policy: str | None = None


class Term(Part):
    match_expressions: list[Expression] = Field(default_factory=list)


class Terms(Part):
    node_selector_terms: list[Term]


class NodeAffinity(Part):
    idle = frozenset({"preferredDuringSchedulingIgnoredDuringExecution"})
    required: Terms | None = Field(None, alias="requiredDuringSchedulingIgnoredDuringExecution")


class Affinity(Part):
    node_affinity: NodeAffinity | None = None


class PodSpec(Quiet):
    containers: list[Container] = Field(default_factory=list)
    init_containers: list[Container] = Field(default_factory=list)
    overhead: dict[str, Amount] = Field(default_factory=dict)
    node_selector: dict[str, str] = Field(default_factory=dict)
    node_name: str | None = None
    affinity: Affinity | None = None
    tolerations: list[TolerationPart] = Field(default_factory=list)
    # what would change a decision but is not understood; read so that it can be named
    topology_spread_constraints: list[dict[str, Any]] = Field(default_factory=list)
    resource_claims: list[dict[str, Any]] = Field(default_factory=list)
    runtime_class_name: str | None = None


class PodTemplate(Quiet):
    spec: PodSpec = PodSpec()


class Condition(Quiet):
    type: str
    status: str
    last_transition_time: AwareDatetime | None = None


class NodeSpec(Quiet):
    taints: list[TaintPart] = Field(default_factory=list)
    unschedulable: bool = False


class NodeStatus(Quiet):
    allocatable: dict[str, Amount] = Field(default_factory=dict)
    capacity: dict[str, Amount] = Field(default_factory=dict)
    conditions: list[Condition] = Field(default_factory=list)


class PodStatus(Quiet):
    phase: str = "Pending"
