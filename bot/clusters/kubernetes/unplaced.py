"""Why pods that were let go find no place on the nodes that they were granted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.clusters.base import NotPlaced
from bot.clusters.kubernetes.facts import MAIN, PodFacts
from bot.clusters.kubernetes.gangs import Gang, part_of
from scheduler.model import ResourceName, Seconds


def not_placed(gang: Gang, pods: Sequence[PodFacts], now: Seconds) -> Iterator[NotPlaced]:
    """Tell it of the first of the pods that has no node although it was let go."""
    waiting = (pod for pod in pods if pod.node is None and not pod.gated)
    alive = [pod for pod in waiting if not pod.finished and not pod.terminating]
    for pod in sorted(alive, key=lambda pod: (pod.name, pod.uid))[:1]:
        larger, said = _larger(gang, pod), pod.unplaced
        if pod.rules or said or larger is not None:
            yield NotPlaced(ref=gang.ref, rules=pod.rules, said=said, at=now, larger=larger)


def _larger(gang: Gang, pod: PodFacts) -> tuple[ResourceName, int, int] | None:
    """The resource of which a pod asks for most beyond its grant, by share of that."""
    granted = gang.each.get(part_of(gang, pod) or MAIN)
    if granted is None:
        return None
    beyond = [
        (amount / max(1, granted.get(name, 0)), name, amount, granted.get(name, 0))
        for name, amount in pod.requests.items()
        if amount > granted.get(name, 0)
    ]
    _, name, asked, had = max(beyond, default=(0.0, ResourceName(""), 0, 0))
    return (name, asked, had) if name else None
