"""What is told of a gang that is stopped because it was not ready in time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from bot.clusters.base import ClusterEvent, EndKind, Evidence, GivenUp, NodeSlow
from bot.clusters.kubernetes.facts import PodFacts
from bot.clusters.kubernetes.gangs import Gang, is_of_this_run
from bot.clusters.kubernetes.troubles import Trouble, blamed
from scheduler.model import Seconds


def given_up(gang: Gang, pods: Sequence[PodFacts], now: Seconds) -> Iterator[ClusterEvent]:
    """That it is given up, as its end will be told, and which nodes that speaks against."""
    yield GivenUp(workload=gang.workload, decision=gang.decision, kind=gang.ending, at=now)
    mine = [pod for pod in pods if is_of_this_run(gang, pod)]
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
