"""The door itself: events that contradict, claims, overflow, restarts, pauses, sampling."""

from __future__ import annotations

import dataclasses

import pytest

from scheduler.engine import Engine
from scheduler.events import (
    Event,
    Evicted,
    Finished,
    NodeObserved,
    NodeRemoved,
    QueuePaused,
    QueueResumed,
    Restored,
    Submitted,
    UsageRestored,
    Withdrawn,
)
from scheduler.invariants import check_invariants
from scheduler.layout import Order, Reclaim, UsageRules
from scheduler.model import (
    GPU,
    Admission,
    FlavorName,
    NodeName,
    PodSet,
    PodSetAssignment,
    QueueName,
    ResourceName,
    TeamName,
    Usage,
    WaitReason,
    Workload,
    WorkloadId,
)
from scheduler.standing import EngineError
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload, names

W = WorkloadId


def a_cluster(nodes: int = 2) -> Cluster:
    layout = a_layout(a_queue("A", 8 * nodes, reclaim=Reclaim.ANY), a_queue("B"))
    return Cluster(layout, *[a_node(f"n{number}") for number in range(1, nodes + 1)])


def granted(workload: Workload, node: str, at: float = 0.0, queue: str | None = None) -> Admission:
    pods = workload.pod_sets[0]
    assignment = PodSetAssignment(
        name=pods.name,
        count=pods.count,
        flavors={GPU: FlavorName("h100")},
        nodes=((NodeName(node), pods.count),),
    )
    return Admission(
        workload=workload.id,
        queue=QueueName(queue or workload.queue),
        assignments=(assignment,),
        at=at,
    )


RUNS = a_workload("runs", "A", 1, 8)
WAITS = a_workload("waits", "A", 3, 8)
CONTRADICTIONS: dict[str, Event] = {
    "an id that runs already": Submitted(workload=RUNS),
    "an id that waits already": Submitted(workload=WAITS),
    "a queue that does not exist": Submitted(workload=a_workload("new", "Z")),
    "an overflow queue that does not exist": Submitted(
        workload=a_workload("new", "A", overflow=("Z",))
    ),
    "the end of somebody unknown": Finished(workload=W("nobody"), at=1.0),
    "the end of somebody who waits": Finished(workload=W("waits"), at=1.0),
    "the eviction of somebody who waits": Evicted(workload=W("waits"), at=1.0),
    "the withdrawal of somebody who runs": Withdrawn(workload=W("runs"), at=1.0),
    "the withdrawal of somebody unknown": Withdrawn(workload=W("nobody"), at=1.0),
    "a grant for an id that runs": Restored(workload=RUNS, admission=granted(RUNS, "n1")),
    "a grant in a queue that does not exist": Restored(
        workload=a_workload("new", "A"), admission=granted(a_workload("new", "A"), "n1", queue="Z")
    ),
    "a grant of other pod sets": Restored(
        workload=a_workload("new", "A"),
        admission=dataclasses.replace(granted(a_workload("new", "A"), "n1"), assignments=()),
    ),
    "a pause of no queue": QueuePaused(queue=QueueName("Z")),
}


@pytest.mark.parametrize("event", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_contradiction_is_an_error_and_changes_nothing(event: Event) -> None:
    cluster = a_cluster()
    cluster.start(RUNS)
    cluster.submit(WAITS)
    cluster.cycle()
    before = (cluster.running(), cluster.waiting(), cluster.engine.figures())
    with pytest.raises(EngineError):
        cluster.engine.apply(event)
    check_invariants(cluster.engine)
    assert (cluster.running(), cluster.waiting(), cluster.engine.figures()) == before


def test_without_nodes_nothing_starts() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8)))
    cluster.submit(a_workload("a", "A"))
    assert not cluster.cycle()
    cluster.engine.apply(NodeObserved(node=a_node("n1")))
    assert names(cluster.cycle().admissions) == ["a"]


def test_a_grant_names_queue_flavor_nodes_and_time() -> None:
    cluster = a_cluster()
    cluster.submit(a_workload("b", "B", 2, 8))
    (admission,) = cluster.cycle(5.0).admissions
    assert admission.queue == "B"
    assert admission.borrowing
    assert admission.at == 1005.0
    (part,) = admission.assignments
    assert part.flavors == {GPU: "h100"}
    assert part.nodes == (("n1", 1), ("n2", 1))


def test_pod_sets_of_one_gang_see_each_other() -> None:
    cluster = a_cluster(1)
    leader = PodSet(name="leader", count=1, requests={GPU: 4})
    workers = PodSet(name="workers", count=2, requests={GPU: 2})
    cluster.submit(a_workload("gang", "A", pod_sets=(leader, workers)))
    (admission,) = cluster.cycle().admissions
    assert [part.nodes for part in admission.assignments] == [(("n1", 1),), (("n1", 2),)]
    too_much = dataclasses.replace(workers, count=3)
    assert cluster.engine.check(a_workload("more", "A", pod_sets=(leader, too_much))) is not None
    check_invariants(cluster.engine)


def test_a_restored_gang_holds_its_places_even_before_its_nodes_are_seen() -> None:
    engine = Engine(a_layout(a_queue("A", 8)))
    old = a_workload("old", "A", 1, 6)
    engine.apply(Restored(workload=old, admission=granted(old, "n1")))
    engine.apply(Submitted(workload=a_workload("new", "A", 1, 2)))
    assert not engine.cycle(1.0)
    engine.apply(NodeObserved(node=a_node("n1")))
    assert names(engine.cycle(2.0).admissions) == ["new"]
    check_invariants(engine)
    assert engine.figures().free == 0


def test_one_who_was_leaving_at_the_restart_still_holds_its_place() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8)), a_node("n1"))
    old = a_workload("old", "A", 1, 8)
    cluster.engine.apply(Restored(workload=old, admission=granted(old, "n1"), leaving=True))
    cluster.submit(a_workload("new", "A", 1, 8, priority=1))
    assert not cluster.cycle()
    verdict = cluster.engine.explain(W("new"), cluster.now).verdict
    assert verdict.reason is WaitReason.WAITING_FOR_TARGETS
    cluster.evict_leaving()
    assert names(cluster.cycle().admissions) == ["new"]


def test_a_target_that_finishes_by_itself_frees_the_claim_and_is_gone() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("b", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8))
    assert [p.target for p in cluster.cycle().preemptions] == ["b"]
    cluster.finish("b")
    assert names(cluster.cycle().admissions) == ["a"]
    assert cluster.waiting() == []


def test_what_is_left_of_freed_room_is_not_given_before_it_is_free() -> None:
    """Six GPUs are being cleared for two: nobody starts on the other four until they are."""
    cluster = a_cluster(1)
    cluster.start(a_workload("two", "A", 1, 2, preemptible=False), a_workload("six", "B", 1, 6))
    cluster.submit(a_workload("claim", "A", 1, 2))
    assert [p.target for p in cluster.cycle().preemptions] == ["six"]
    cluster.submit(a_workload("quick", "A", 1, 4))
    assert not cluster.cycle()
    check_invariants(cluster.engine)
    cluster.evict_leaving()
    assert names(cluster.cycle().admissions) == ["claim", "quick"]


def test_a_claim_is_not_lost_to_higher_priority_that_comes_later() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("b", "B", 1, 8))
    cluster.submit(a_workload("first", "A", 1, 8, priority=1))
    cluster.cycle()
    cluster.submit(a_workload("second", "A", 1, 8, priority=9))
    cluster.cycle()
    cluster.evict_leaving()
    assert names(cluster.cycle().admissions) == ["first"]


def test_an_evicted_gang_returns_to_its_old_place_and_own_failure_to_the_back() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("x", "A", 1, 8, created=1.0))
    cluster.submit(a_workload("y", "A", 1, 8, created=2.0))
    cluster.engine.apply(Evicted(workload=W("x"), at=50.0))
    assert cluster.waiting() == ["x", "y"]
    cluster.cycle()
    cluster.engine.apply(Evicted(workload=W("x"), at=60.0, own_failure=True))
    assert cluster.waiting() == ["y", "x"]
    assert names(cluster.cycle().admissions) == ["y"]


def test_a_paused_queue_waits_and_says_so() -> None:
    cluster = a_cluster()
    cluster.engine.apply(QueuePaused(queue=QueueName("A")))
    cluster.submit(a_workload("a", "A"))
    assert not cluster.cycle()
    assert cluster.engine.explain(W("a"), cluster.now).verdict.reason is WaitReason.PAUSED
    cluster.engine.apply(QueueResumed(queue=QueueName("A")))
    assert names(cluster.cycle().admissions) == ["a"]


def test_a_node_that_is_lost_keeps_its_dead_until_they_are_reported() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("a", "A", 1, 8))
    cluster.engine.apply(NodeRemoved(node=NodeName("n1")))
    assert not cluster.cycle()
    assert cluster.running() == ["a"]
    cluster.engine.apply(Evicted(workload=W("a"), at=cluster.now))
    assert not cluster.cycle()
    check_invariants(cluster.engine)
    cluster.engine.apply(NodeObserved(node=a_node("n9")))
    assert names(cluster.cycle().admissions) == ["a"]


def test_an_overflow_request_can_be_withdrawn_from_all_its_queues() -> None:
    layout = a_layout(a_queue("home", 0, cohort=None), a_queue("shared", 0, cohort=None))
    cluster = Cluster(layout, a_node("n1"))
    cluster.submit(a_workload("a", "home", overflow=("shared",)))
    cluster.cycle()
    cluster.engine.apply(Withdrawn(workload=W("a"), at=1.0))
    check_invariants(cluster.engine)
    assert cluster.waiting() == []
    assert cluster.engine.workload(W("a")) is None


def test_usage_orders_the_shared_queue_and_is_restored() -> None:
    rules = UsageRules(half_life=3600.0, interval=60.0)
    cluster = Cluster(a_layout(a_queue("S", 8, order=Order.USAGE), usage=rules), a_node("n1"))
    cluster.engine.apply(UsageRestored(usage=Usage(team=TeamName("x"), chip_hours=10.0, at=1000.0)))
    cluster.submit(
        a_workload("x1", "S", 1, 8, team="x", priority=9, created=1.0),
        a_workload("y1", "S", 1, 8, team="y", created=2.0),
    )
    assert names(cluster.cycle().admissions) == ["y1"]
    usage = {str(u.team): u.chip_hours for u in cluster.engine.usage(1000.0 + 3600.0)}
    assert usage["x"] == pytest.approx(5.0)
    assert usage["y"] > 5.0
    assert cluster.engine.sample_usage(1000.0 + 3600.0) == cluster.engine.usage(1000.0 + 3600.0)


def test_without_usage_rules_there_is_no_usage() -> None:
    cluster = a_cluster()
    assert cluster.engine.usage(0.0) == ()
    assert cluster.engine.sample_usage(0.0) == ()


def test_an_idle_cycle_changes_nothing() -> None:
    cluster = a_cluster()
    cluster.start(a_workload("a", "A", 1, 8))
    cluster.submit(a_workload("big", "A", 2, 8))
    cluster.cycle()
    version = cluster.engine._state.future.version
    for _ in range(20):
        assert not cluster.cycle(3600.0)
    assert cluster.engine._state.future.version == version


def test_figures_count_used_free_stranded_and_whole() -> None:
    cluster = a_cluster()
    cluster.start(a_workload("a", "A", 1, 3))
    cluster.submit(a_workload("big", "A", 2, 8))
    cluster.cycle()
    figures = cluster.engine.figures()
    assert (figures.gpus, figures.used, figures.free) == (16, 3, 13)
    assert (figures.stranded, figures.whole_free_nodes, figures.nodes) == (5, 1, 2)
    assert (figures.running, figures.pending, figures.leaving) == (1, 1, 0)
    assert figures.fragmentation == pytest.approx(5 / 16)
    assert figures.flavors[0].flavor == "h100"
    assert (figures.pools[0].used, figures.pools[0].pending) == (3, 1)


def test_figures_of_an_empty_cluster_are_zero() -> None:
    assert Engine(a_layout(a_queue("A", 8))).figures().fragmentation == 0.0


def test_pending_can_be_asked_for_one_queue() -> None:
    cluster = a_cluster(1)
    cluster.submit(a_workload("a", "A", 9, 8), a_workload("b", "B", 9, 8))
    assert [w.id for w in cluster.engine.pending(QueueName("B"))] == ["b"]
    assert cluster.waiting() == ["a", "b"]


def test_a_resource_that_no_node_has_is_waited_for_and_explained() -> None:
    cluster = a_cluster(1)
    odd = PodSet(count=1, requests={GPU: 1, ResourceName("example.com/fpga"): 1})
    cluster.submit(a_workload("odd", "A", pod_sets=(odd,)))
    assert not cluster.cycle()
    verdict = cluster.engine.explain(W("odd"), cluster.now).verdict
    assert verdict.reason is WaitReason.EXCEEDS_LIMIT
    rare = a_node("n2", capacity={GPU: 8, ResourceName("example.com/fpga"): 1})
    cluster.engine.apply(NodeObserved(node=rare))
    assert names(cluster.cycle().admissions) == ["odd"]
    check_invariants(cluster.engine)


@pytest.mark.parametrize("first", ["finish", "evict"])
def test_a_claim_on_a_lost_node_starts_over_whatever_else_is_told_before_the_cycle(
    first: str,
) -> None:
    engine = Engine(
        a_layout(a_queue("A", 8, reclaim=Reclaim.ANY), a_queue("B"), a_queue("C", 8, cohort="two"))
    )
    for node in ("n1", "n2"):
        engine.apply(NodeObserved(node=a_node(node)))
    engine.apply(Submitted(workload=a_workload("b", "B", gpus=8, preemptible=True)))
    engine.apply(Submitted(workload=a_workload("c", "C", gpus=8)))
    (lost,) = (a.assignments[0].nodes[0][0] for a in engine.cycle(0.0).admissions[-1:])
    engine.apply(Submitted(workload=a_workload("a", "A", gpus=8)))
    assert [p.target for p in engine.cycle(1.0).preemptions] == ["b"]
    engine.apply(NodeRemoved(node=lost))
    told: list[Event] = [Finished(workload=W("c"), at=2.0), Evicted(workload=W("b"), at=2.0)]
    for event in told if first == "finish" else reversed(told):
        engine.apply(event)
    assert names(engine.cycle(2.0).admissions) == ["a"]
    check_invariants(engine)
