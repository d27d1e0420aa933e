"""What is told of a gang that is stopped because it was not ready in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.clusters.base import ClusterEvent, EndKind, Evidence, GivenUp, NodeSlow
from bot.clusters.kubernetes.facts import Phase, PodFacts
from bot.clusters.kubernetes.gangs import Gang, is_granted, is_of_this_run
from bot.clusters.kubernetes.progress import still_needed
from bot.clusters.kubernetes.troubles import Trouble, blamed
from bot.clusters.kubernetes.unplaced import not_placed
from bot.clusters.kubernetes.works import WorkFacts
from scheduler.model import Seconds


def ending_of(gang: Gang, job: WorkFacts | None, pods: Sequence[PodFacts]) -> EndKind:
    """Why the gang of an object is given up: for itself, for its pods, or for want of nodes.

    That the cluster has refused to make pods stands in Events alone. So it is taken from there
    being too few, where their controller has seen that they may come and none of them has failed.
    """
    mine = [pod for pod in pods if is_granted(gang, pod) and is_of_this_run(gang, pod)]
    alive = [pod for pod in mine if not pod.finished and not pod.terminating]
    if job is None or any(pod.node is None and not pod.gated for pod in alive):
        return EndKind.UNPLACED
    if len(alive) >= still_needed(gang, job, mine):
        return EndKind.UNPLACED if any(pod.gated for pod in alive) else EndKind.LATE
    if any(pod.phase is Phase.FAILED for pod in mine):
        return EndKind.LATE  # another comes after a while
    if gang.ordered and any(pod.node is not None and not pod.ready for pod in alive):
        return EndKind.LATE  # the others come when those are ready
    ends = any(pod.terminating for pod in mine)
    return EndKind.UNPLACED if ends or job.parked or not gang.seen else EndKind.UNMADE


def given_up(gang: Gang, pods: Sequence[PodFacts], now: Seconds) -> Iterator[ClusterEvent]:
    """That it is given up, as its end will be told, and which nodes that speaks against."""
    yield GivenUp(workload=gang.workload, decision=gang.decision, kind=gang.ending, at=now)
    mine = [pod for pod in pods if is_of_this_run(gang, pod)]
    yield from not_placed(gang, mine, now)
    there = [pod for pod in mine if not pod.finished or pod.trouble is Trouble.REFUSED]
    for node, evidence in blamed(there):
        if gang.ending is EndKind.LATE or evidence is not Evidence.DOUBTFUL:
            yield NodeSlow(node=node, workload=gang.workload, at=now, evidence=evidence)


def refusals(
    gang: Gang, pods: Sequence[PodFacts], end: EndKind | None, now: Seconds
) -> Iterator[ClusterEvent]:
    """The nodes whose kubelets did not take pods of a gang, where it has failed by now."""
    if end is not EndKind.FAILED:
        return
    refused = [pod for pod in pods if pod.trouble is Trouble.REFUSED and is_of_this_run(gang, pod)]
    for node in sorted({pod.node for pod in refused if pod.node is not None}):
        yield NodeSlow(node=node, workload=gang.workload, at=now, evidence=Evidence.CERTAIN)
