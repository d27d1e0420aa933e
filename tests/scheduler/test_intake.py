"""What the engine is told: contradictions are refused and leave no trace, the rest counts."""

from __future__ import annotations

import dataclasses

import pytest

from scheduler.events import (
    Amended,
    Boosted,
    Checkpointed,
    Counted,
    Displaced,
    Event,
    Evicted,
    Finished,
    Leaving,
    NodeCordoned,
    NodeLost,
    NodeObserved,
    NodeRemoved,
    NodeUncordoned,
    QueuePaused,
    QueueResumed,
    QuotaChanged,
    Restored,
    Stuck,
    Submitted,
    Unprotected,
    UsageRestored,
    Withdrawn,
)
from scheduler.invariants import check_invariants
from scheduler.layout import UsageRules
from scheduler.model import (
    GPU,
    Admission,
    FlavorName,
    NodeName,
    PodSetAssignment,
    QueueName,
    TeamName,
    Usage,
    WorkloadId,
)
from scheduler.standing import EngineError
from tests.scheduler.builders import H100, Cluster, a_layout, a_node, a_queue, a_workload

RUNS, LEAVES, WAITS, NOBODY = map(WorkloadId, ("runs", "leaves", "waits", "nobody"))


def a_cluster() -> Cluster:
    """Two nodes: one gang runs, one was told to stop, one is too large for what is left."""
    cluster = Cluster(
        a_layout(a_queue("a", 24), a_queue("b", 0)), a_node("n1"), a_node("n2"), a_node("n3")
    )
    cluster.start(a_workload("runs", "a", gpus=8), a_workload("leaves", "a", gpus=8))
    cluster.engine.apply(Leaving(workload=LEAVES))
    cluster.submit(a_workload("waits", "a", pods=3, gpus=8))
    cluster.cycle()
    return cluster


def a_grant(one: str, node: str = "n3", *, queue: str = "a", name: str = "main") -> Admission:
    part = PodSetAssignment(
        name=name, count=1, flavors={GPU: FlavorName("h100")}, nodes=((NodeName(node), 1),)
    )
    return Admission(
        workload=WorkloadId(one), queue=QueueName(queue), assignments=(part,), at=900.0
    )


CONTRADICTIONS: dict[str, Event] = {
    "a running one is submitted again": Submitted(workload=a_workload("runs", "a")),
    "a waiting one is submitted again": Submitted(workload=a_workload("waits", "a")),
    "its queue is in no policy": Submitted(workload=a_workload("new", "z")),
    "its overflow is in no policy": Submitted(workload=a_workload("new", "a", overflow=("z",))),
    "a known one is restored": Restored(
        workload=a_workload("runs", "a", gpus=8), admission=a_grant("runs")
    ),
    "it ran in a queue that is gone": Restored(
        workload=a_workload("old", "a", gpus=8), admission=a_grant("old", queue="z")
    ),
    "it was granted fewer pod sets": Restored(
        workload=a_workload("old", "a", gpus=8),
        admission=dataclasses.replace(a_grant("old"), assignments=()),
    ),
    "a running one is withdrawn": Withdrawn(workload=RUNS, at=1010.0),
    "nobody is withdrawn": Withdrawn(workload=NOBODY, at=1010.0),
    "a waiting one has finished": Finished(workload=WAITS, at=1010.0),
    "nobody has finished": Finished(workload=NOBODY, at=1010.0),
    "a waiting one was evicted": Evicted(workload=WAITS, at=1010.0),
    "a waiting one leaves": Leaving(workload=WAITS),
    "nobody outlives a lease": Unprotected(workload=NOBODY),
    "nobody is amended": Amended(workload=a_workload("nobody", "a"), at=1010.0),
    "it is amended into no queue": Amended(workload=a_workload("waits", "z"), at=1010.0),
    "a waiting one saved its work": Checkpointed(workload=WAITS, at=1010.0),
    "nobody is counted": Counted(workload=NOBODY, alive=(), at=1010.0),
    "other pod sets are counted": Counted(
        workload=RUNS, alive=a_grant("runs", name="other").assignments, at=1010.0
    ),
    "a queue of no policy is paused": QueuePaused(queue=QueueName("z")),
    "a queue of no policy is resumed": QueueResumed(queue=QueueName("z")),
    "a queue of no policy has quota": QuotaChanged(queue=QueueName("z"), nominal={(H100, GPU): 8}),
    "nobody is boosted": Boosted(workload=NOBODY, by=100),
    "nobody is displaced": Displaced(targets=(NOBODY,), preemptor=None, at=1010.0),
    "they give way to nobody there": Displaced(targets=(RUNS,), preemptor=NOBODY, at=1010.0),
    "a running one is stuck": Stuck(workload=RUNS),
}


def told(cluster: Cluster) -> tuple[object, ...]:
    """All that can be seen of an engine."""
    engine = cluster.engine
    return (
        engine.pending(),
        engine.running(),
        engine.leaving(),
        engine.figures(),
        engine.nodes(),
        engine.usage(1010.0),
        engine.next_alarm(),
        engine.shares(),
    )


@pytest.mark.parametrize("event", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_contradiction_is_refused_and_leaves_no_trace(event: Event) -> None:
    cluster, twin = a_cluster(), a_cluster()
    before = told(cluster)
    with pytest.raises(EngineError):
        cluster.engine.apply(event)
    assert told(cluster) == before
    check_invariants(cluster.engine)
    for each in (cluster, twin):
        each.engine.apply(Finished(workload=LEAVES, at=1020.0))
        each.engine.apply(Finished(workload=RUNS, at=1020.0))
    assert cluster.cycle(50.0) == twin.cycle(50.0)
    assert cluster.running() == ["waits"]


def test_every_kind_of_event_is_known_here() -> None:
    """A new kind of event needs its contradictions, or a reason why there are none."""
    without = {NodeObserved, NodeRemoved, NodeLost, NodeCordoned, NodeUncordoned, UsageRestored}
    names = {type(event).__name__ for event in CONTRADICTIONS.values()}
    names |= {kind.__name__ for kind in without} | {"ConsumptionRestored", "RunTimesRestored"}
    known = {kind.__name__ for kind in Event.__args__}
    assert names == known


def test_what_is_not_known_of_nodes_is_no_contradiction() -> None:
    cluster = a_cluster()
    before = told(cluster)
    for event in (
        NodeRemoved(node=NodeName("n9")),
        NodeLost(node=NodeName("n9")),
        NodeCordoned(node=NodeName("n9")),  # it may come one day
        NodeUncordoned(node=NodeName("n1")),
    ):
        cluster.engine.apply(event)
    assert told(cluster) == before


def test_own_failure_goes_to_the_back_of_the_queue() -> None:
    cluster = Cluster(a_layout(a_queue("a", 8)), a_node("n1"))
    cluster.start(a_workload("first", "a", gpus=8))
    cluster.submit(a_workload("second", "a", gpus=8, created=500.0))
    cluster.engine.apply(Evicted(workload=WorkloadId("first"), at=1500.0, own_failure=True))
    assert cluster.waiting() == ["second", "first"]


def test_eviction_keeps_the_place() -> None:
    cluster = Cluster(a_layout(a_queue("a", 8)), a_node("n1"))
    cluster.start(a_workload("first", "a", gpus=8))
    cluster.submit(a_workload("second", "a", gpus=8, created=500.0))
    cluster.engine.apply(Evicted(workload=WorkloadId("first"), at=1500.0))
    assert cluster.waiting() == ["first", "second"]


def test_a_restored_gang_holds_what_it_held() -> None:
    cluster = Cluster(a_layout(a_queue("a", 24)), a_node("n1"), a_node("n2"), a_node("n3"))
    cluster.engine.apply(
        Restored(workload=a_workload("old", "a", gpus=8), admission=a_grant("old", "n2"))
    )
    assert cluster.where("old") == {"n2": 1}
    cluster.start(a_workload("new", "a", pods=2, gpus=8))
    assert cluster.where("new") == {"n1": 1, "n3": 1}


def test_usage_that_is_read_back_goes_on_to_decay() -> None:
    layout = a_layout(a_queue("a", 8), usage=UsageRules(half_life=3600.0, interval=60.0))
    cluster = Cluster(layout, a_node("n1"))
    cluster.engine.apply(UsageRestored(usage=Usage(team=TeamName("t"), chip_hours=40.0, at=1000.0)))
    (usage,) = [u for u in cluster.engine.usage(1000.0) if u.team == "t"]
    assert usage.chip_hours == pytest.approx(40.0)
    (later,) = [u for u in cluster.engine.usage(1000.0 + 3600.0) if u.team == "t"]
    assert later.chip_hours == pytest.approx(20.0)
