"""From what a person says to a queue: three labels and a size, by the policy's rules.

The first rule that holds decides. A rule holds only where its queue offers the GPU model
that was asked for, so that a model which only on-demand capacity has finds its way there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from scheduler.layout import MODEL_LABEL, PROVISION_LABEL, Layout, Queue, Rule, Size
from scheduler.model import LimitKind, PoolName, Priority, QueueName, Refusal, Spend, TeamName

DEFAULT_NODE_SIZE = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Ask:
    """What routing looks at. `model` and `provision` None mean any."""

    team: TeamName
    spend: Spend
    preemptible: bool
    priority: Priority
    pods: int
    gpus_per_pod: int
    model: str | None = None
    provision: str | None = None

    @property
    def size(self) -> Size:
        """Several pods are multi-node work."""
        return Size.SINGLE if self.pods == 1 else Size.MULTI


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """Where a request goes: queue, overflow, the number of its priority, and which nodes."""

    queue: QueueName
    overflow: tuple[QueueName, ...]
    pool: PoolName
    priority: int
    node_selector: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Uneven:
    """GPUs that do not divide into whole nodes: the nearest sizes that do, and an even split.

    `below` is 0 if there is none; `even` is (pods, GPUs a pod) for the very number asked,
    None if it does not divide evenly into two or more pods.
    """

    gpus: int
    below: int
    above: int
    even: tuple[int, int] | None


def route(layout: Layout, ask: Ask) -> Route | Refusal:
    """Find the queue. A pure function of the policy and the request."""
    gpus = ask.pods * ask.gpus_per_pod
    if ask.model is not None and ask.model not in layout.models():
        return Refusal(limit=LimitKind.NO_FLAVOR, where=ask.model, asked=gpus, most=0)
    queues = {queue.name: queue for queue in layout.queues}
    for rule in layout.rules:
        queue = queues.get(_name(rule.queue, ask.team))
        if queue is None or not _holds(rule, ask) or not _offers(layout, queue, ask):
            continue
        overflow = (queues.get(_name(name, ask.team)) for name in rule.overflow)
        return Route(
            queue=queue.name,
            overflow=tuple(q.name for q in overflow if q and _offers(layout, q, ask)),
            pool=queue.pool,
            priority=rule.priorities.get(ask.priority, layout.priorities.get(ask.priority, 0)),
            node_selector=_selector(ask),
        )
    return Refusal(limit=LimitKind.NO_QUEUE, where=ask.team, asked=gpus, most=0)


def _name(template: str, team: TeamName) -> QueueName:
    return QueueName(template.replace("{team}", team))


def _holds(rule: Rule, ask: Ask) -> bool:
    return (
        rule.spend in (None, ask.spend)
        and rule.preemptible in (None, ask.preemptible)
        and rule.size in (None, ask.size)
        and (rule.classes is None or ask.priority in rule.classes)
    )


def _selector(ask: Ask) -> dict[str, str]:
    wanted = {MODEL_LABEL: ask.model, PROVISION_LABEL: ask.provision}
    return {label: value for label, value in wanted.items() if value is not None}


def _offers(layout: Layout, queue: Queue, ask: Ask) -> bool:
    """Whether one of the queue's flavors has the model and the provision that are asked for."""
    flavors = [layout.flavor(name) for group in queue.groups for name in group.flavors]
    return any(
        ask.model in (None, flavor.model)
        and ask.provision in (None, flavor.node_labels.get(PROVISION_LABEL))
        for flavor in flavors
    )


def split_gpus(gpus: int, node_size: int = DEFAULT_NODE_SIZE) -> tuple[int, int] | Uneven:
    """(pods, GPUs a pod): one pod up to a node's size, whole-node pods for its multiples.

    Raises ValueError for less than one GPU.
    """
    if gpus < 1:
        raise ValueError(f"{gpus} GPUs cannot be split")
    if gpus <= node_size:
        return 1, gpus
    if gpus % node_size == 0:
        return gpus // node_size, node_size
    below = gpus - gpus % node_size
    even = next(
        ((gpus // each, each) for each in range(node_size, 0, -1) if gpus % each == 0), None
    )
    if even is not None and even[1] == 1:
        even = None
    return Uneven(gpus=gpus, below=below, above=below + node_size, even=even)
