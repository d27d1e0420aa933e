"""What people change at run time: quota, standing, cordons, who is stopped, who is stuck."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.engine import Engine
from scheduler.events import (
    Boosted,
    Displaced,
    Event,
    Evicted,
    Finished,
    NodeCordoned,
    NodeObserved,
    NodeUncordoned,
    QueuePaused,
    QueueResumed,
    QuotaChanged,
    Stuck,
)
from scheduler.forecast import Reach
from scheduler.invariants import check_invariants
from scheduler.layout import EvictionBounds, Options, Reclaim
from scheduler.model import GPU, FlavorName, LimitKind, NodeName, QueueName, WaitReason, WorkloadId
from scheduler.standing import EngineError
from tests.scheduler.builders import H100, Cluster, a_layout, a_node, a_queue, a_workload, names
from tests.scheduler.worlds import QUEUES, World, layouts

W = WorkloadId
A = QueueName("A")


def quota(queue: str, gpus: int | None) -> QuotaChanged:
    """So many H100 for a queue; None for what the policy says."""
    nominal = {} if gpus is None else {(H100, GPU): gpus}
    return QuotaChanged(queue=QueueName(queue), nominal=nominal)


def a_cluster(nodes: int = 2, options: Options | None = None) -> Cluster:
    home = a_queue("A", 8 * nodes, borrowing=0, reclaim=Reclaim.ANY)
    layout = a_layout(home, a_queue("B"), options=options)
    return Cluster(layout, *[a_node(f"n{number}") for number in range(1, nodes + 1)])


# -- quota


def test_lowered_quota_stops_nobody_and_admits_nobody_until_it_fits() -> None:
    cluster = a_cluster()
    cluster.start(a_workload("a", "A", 1, 8), a_workload("b", "A", 1, 8))
    cluster.engine.apply(quota("A", 8))
    cluster.submit(a_workload("c", "A", 1, 1))
    assert not cluster.cycle(3600.0)
    assert cluster.engine.over(A) == 8
    verdict = cluster.engine.explain(W("c"), cluster.now).verdict
    assert verdict.reason is WaitReason.QUOTA
    assert verdict.figures["available"] == 0
    cluster.finish("a")
    assert not cluster.cycle()
    assert cluster.engine.over(A) == 0
    cluster.finish("b")
    assert names(cluster.cycle().admissions) == ["c"]


def test_the_policys_quota_comes_back_and_with_it_those_who_wait() -> None:
    cluster = a_cluster()
    cluster.engine.apply(quota("A", 0))
    cluster.submit(a_workload("a", "A", 1, 8))
    assert not cluster.cycle()
    assert cluster.engine.in_force().quotas == {A: {(H100, GPU): 0}}
    cluster.engine.apply(quota("A", None))
    assert names(cluster.cycle().admissions) == ["a"]
    assert not cluster.engine.in_force().quotas
    check_invariants(cluster.engine)


@pytest.mark.parametrize("gpus", [0, 4])
def test_quota_that_is_lowered_for_a_while_is_waited_for(gpus: int) -> None:
    cluster = a_cluster()
    asks = a_workload("a", "A", 1, 8)
    cluster.engine.apply(quota("A", gpus))
    assert cluster.engine.check(asks) is None
    assert cluster.engine.barred(asks)
    assert cluster.engine.preview(asks, cluster.now).reason is Reach.STUCK
    cluster.submit(asks)
    assert not cluster.cycle()
    verdict = cluster.engine.explain(W("a"), cluster.now).verdict
    assert verdict.reason is WaitReason.QUOTA
    assert (verdict.figures["asked"], verdict.figures["limit"]) == (8, gpus)
    assert (verdict.figures["available"], verdict.figures["lowered"]) == (gpus, 1)
    assert cluster.engine.forecast(W("a"), cluster.now).reason is Reach.STUCK
    assert cluster.engine.fork().check(asks) is None
    cluster.engine.apply(quota("A", None))
    assert not cluster.engine.barred(asks)
    assert names(cluster.cycle().admissions) == ["a"]


def test_what_the_policy_never_gives_is_refused_whatever_quota_was_lowered() -> None:
    cluster = a_cluster()
    cluster.engine.apply(quota("A", 4))
    refusal = cluster.engine.check(a_workload("a", "A", 3, 8))
    assert refusal is not None
    assert (refusal.limit, refusal.where, refusal.most) == (LimitKind.QUEUE, "A", 16)


def test_quota_that_is_lent_no_more_for_a_while_is_waited_for_by_those_who_borrow() -> None:
    cluster = a_cluster()
    asks = a_workload("b", "B", 1, 8)
    cluster.engine.apply(quota("A", 0))
    assert cluster.engine.check(asks) is None
    cluster.submit(asks)
    assert not cluster.cycle()
    assert cluster.engine.explain(W("b"), cluster.now).verdict.reason is WaitReason.QUOTA
    cluster.engine.apply(quota("A", None))
    assert names(cluster.cycle().admissions) == ["b"]


def test_quota_that_is_raised_for_a_while_lets_more_be_asked_for() -> None:
    cluster = a_cluster()
    cluster.engine.apply(quota("A", 8))
    cluster.engine.apply(quota("B", 8))
    more = a_workload("b", "B", 3, 8)
    for number in (3, 4):
        cluster.engine.apply(NodeObserved(node=a_node(f"n{number}")))
    assert cluster.engine.check(more) is None  # A's 16 by the policy, and 8 by hand
    assert cluster.engine.barred(more)
    cluster.engine.apply(quota("B", None))
    assert cluster.engine.check(more) is not None


def test_raised_quota_is_taken_back_from_those_who_borrow() -> None:
    cluster = a_cluster()
    cluster.engine.apply(quota("A", 0))
    cluster.engine.apply(quota("B", 16))
    cluster.start(a_workload("b", "B", 1, 8), a_workload("b2", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8))
    assert not cluster.cycle()
    cluster.engine.apply(quota("A", 16))
    cluster.engine.apply(quota("B", 0))
    assert len(cluster.cycle().preemptions) == 1


def test_a_promise_that_quota_no_longer_holds_is_taken_back() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("b", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8))
    assert [p.target for p in cluster.cycle().preemptions] == ["b"]
    cluster.engine.apply(quota("A", 4))
    cluster.evict_leaving()
    cluster.cycle()
    check_invariants(cluster.engine)
    assert cluster.running() == []
    assert "a" in cluster.waiting()


CONTRADICTIONS: dict[str, Event] = {
    "quota of no queue": quota("Z", 1),
    "quota below nothing": quota("A", -1),
    "quota of a flavor that the queue lacks": QuotaChanged(
        queue=A, nominal={(FlavorName("a100"), GPU): 1}
    ),
    "a boost of nobody": Boosted(workload=W("nobody"), by=1),
    "the stop of somebody who waits": Displaced(targets=(W("waits"),), preemptor=None, at=1.0),
    "a stop for somebody who runs": Displaced(targets=(W("runs"),), preemptor=W("runs"), at=1.0),
    "a stop that does not help": Displaced(targets=(W("runs"),), preemptor=W("waits"), at=1.0),
    "somebody stuck who was not told to stop": Stuck(workload=W("runs")),
}


@pytest.mark.parametrize("event", CONTRADICTIONS.values(), ids=CONTRADICTIONS)
def test_a_contradiction_is_an_error_and_changes_nothing(event: Event) -> None:
    cluster = a_cluster()
    cluster.start(a_workload("runs", "A", 1, 8))
    cluster.submit(a_workload("waits", "A", 3, 8))
    cluster.cycle()
    before = (cluster.running(), cluster.waiting(), cluster.engine.figures())
    with pytest.raises(EngineError):
        cluster.engine.apply(event)
    check_invariants(cluster.engine)
    assert (cluster.running(), cluster.waiting(), cluster.engine.figures()) == before


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_changes_leave_the_sums_right_and_undone_they_leave_no_trace(data: st.DataObject) -> None:
    world = World(data.draw(layouts()))
    for _ in range(data.draw(st.integers(5, 25))):
        world.now += 1
        _change_something(world, data)
        world.something(data.draw)
        world.cycle()
        _sums_hold(world.engine)
    for name in QUEUES:
        world.engine.apply(quota(name, None))
    for one in list(world.engine.in_force().boosts):
        world.engine.apply(Boosted(workload=one, by=0))
    fresh = Engine(world.layout)._state
    state = world.engine._state
    assert state.layout == world.layout
    assert state.tree.subtree == fresh.tree.subtree
    assert state.tree.potential == fresh.tree.potential
    assert not state.overrides.boosts
    assert {w.priority for w in world.engine.pending()} <= {1, 5, 9}
    _sums_hold(world.engine)


def _change_something(world: World, data: st.DataObject) -> None:
    match data.draw(st.sampled_from(["quota", "boost", "displace", "stuck"])):
        case "quota":
            gpus = data.draw(st.sampled_from([None, 0, 4, 8, 16]))
            world.tell(quota(data.draw(st.sampled_from(QUEUES)), gpus))
        case "boost":
            known = [w.id for w in world.engine.pending()] + [
                w.id for w, _ in world.engine.running()
            ]
            if known:
                by = data.draw(st.sampled_from([0, 3, 100]))
                world.tell(Boosted(workload=data.draw(st.sampled_from(known)), by=by))
        case "displace":
            leaving = world.engine.leaving()
            stays = [w.id for w, _ in world.engine.running() if w.id not in leaving]
            if stays:
                target = data.draw(st.sampled_from(stays))
                world.tell(Displaced(targets=(target,), preemptor=None, at=world.now))
        case _:
            if leaving := world.engine.leaving():
                world.tell(Stuck(workload=data.draw(st.sampled_from(leaving))))


def _sums_hold(engine: Engine) -> None:
    """All invariants but the limit of quota, which a change may break for a while."""
    state = engine._state
    state.settle()
    running = list(state.running.values())
    held = [(r.charge.queue, r.charge.amounts) for r in running]
    assert state.present.usage == state.tree.recompute(held)
    promised = [(c.charge.queue, c.charge.amounts) for c in state.claims.values()]
    staying = [(r.charge.queue, r.charge.amounts) for r in running if r.expected]
    assert state.future.usage == state.tree.recompute(staying + promised)
    for number in range(state.tree.queues):
        ranks = sorted(r.rank for r in running if r.charge.queue == number and not r.leaving)
        assert state.ranks[number] == ranks


# -- pause


def test_a_pause_says_who_why_and_until_when() -> None:
    cluster = a_cluster()
    pause = QueuePaused(queue=A, by="U1", reason="new switches", until=5000.0)
    cluster.engine.apply(pause)
    cluster.submit(a_workload("a", "A"))
    verdict = cluster.engine.explain(W("a"), cluster.now).verdict
    assert verdict.reason is WaitReason.PAUSED
    assert verdict.figures == {
        "queue": "A",
        "by": "U1",
        "because": "new switches",
        "until": 5000.0,
    }


def test_in_a_paused_queue_nobody_starts_in_the_room_that_was_freed_for_it() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("b", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8))
    assert cluster.cycle().preemptions
    cluster.engine.apply(QueuePaused(queue=A))
    cluster.evict_leaving()
    assert not cluster.cycle().admissions
    cluster.engine.apply(QueueResumed(queue=A))
    assert names(cluster.cycle().admissions) == ["a"]


# -- standing


def test_a_boost_changes_the_order_and_ends_without_a_trace() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("runs", "A", 1, 8))
    cluster.submit(a_workload("x", "A", 1, 8, created=1.0), a_workload("y", "A", 1, 8, created=2.0))
    cluster.engine.apply(Boosted(workload=W("y"), by=100))
    assert cluster.waiting() == ["y", "x"]
    cluster.engine.apply(Boosted(workload=W("y"), by=50))
    y = cluster.engine.workload(W("y"))
    assert y is not None
    assert y.priority == 50
    cluster.engine.apply(Boosted(workload=W("y"), by=0))
    assert cluster.waiting() == ["x", "y"]
    assert not cluster.engine.in_force().boosts
    check_invariants(cluster.engine)


def test_a_boost_ends_while_it_runs_and_is_forgotten_with_its_end() -> None:
    cluster = a_cluster(1)
    cluster.submit(a_workload("x", "A", 1, 8))
    cluster.engine.apply(Boosted(workload=W("x"), by=100))
    cluster.cycle()
    cluster.engine.apply(Boosted(workload=W("x"), by=10))
    check_invariants(cluster.engine)
    cluster.finish("x")
    assert not cluster.engine.in_force().boosts


# -- nodes


def test_a_cordoned_node_takes_nothing_new_whatever_is_observed_of_it() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("runs", "A", 1, 4))
    cluster.engine.apply(NodeCordoned(node=NodeName("n1")))
    cluster.submit(a_workload("a", "A", 1, 4))
    assert not cluster.cycle()
    cluster.engine.apply(NodeObserved(node=a_node("n1", 16)))
    assert not cluster.cycle()
    assert cluster.running() == ["runs"]
    cluster.engine.apply(NodeUncordoned(node=NodeName("n1")))
    assert names(cluster.cycle().admissions) == ["a"]
    check_invariants(cluster.engine)


def test_a_node_that_the_cluster_cordoned_too_stays_so() -> None:
    cluster = a_cluster(1)
    cluster.engine.apply(NodeCordoned(node=NodeName("n1")))
    cluster.engine.apply(NodeObserved(node=a_node("n1", schedulable=False)))
    cluster.engine.apply(NodeUncordoned(node=NodeName("n1")))
    cluster.submit(a_workload("a", "A"))
    assert not cluster.cycle()


# -- who is stopped


def test_who_is_stopped_for_nobody_goes_to_the_back() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("x", "A", 1, 8, preemptible=False))
    cluster.submit(a_workload("y", "A", 1, 8, created=5.0))
    cluster.engine.apply(Displaced(targets=(W("x"),), preemptor=None, at=cluster.now))
    assert cluster.engine.leaving() == ("x",)
    cluster.evict_leaving()
    assert names(cluster.cycle().admissions) == ["y"]
    assert cluster.waiting() == ["x"]


def test_who_is_stopped_for_somebody_leaves_its_room_to_it() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("x", "A", 1, 8, preemptible=False))
    cluster.submit(
        a_workload("first", "A", 1, 8, created=1.0), a_workload("hero", "A", 1, 8, created=9.0)
    )
    assert cluster.engine.would_start(W("hero"), [W("x")])
    cluster.engine.apply(Displaced(targets=(W("x"),), preemptor=W("hero"), at=cluster.now))
    assert not cluster.cycle().admissions
    check_invariants(cluster.engine)
    cluster.evict_leaving()
    assert names(cluster.cycle().admissions) == ["hero"]
    assert cluster.waiting() == ["x", "first"]


def test_asking_what_would_start_changes_nothing() -> None:
    cluster = a_cluster(2)
    cluster.start(a_workload("x", "A", 1, 8), a_workload("y", "A", 1, 8))
    cluster.submit(a_workload("hero", "A", 2, 8))
    assert not cluster.engine.would_start(W("hero"), [W("x")])
    assert cluster.engine.would_start(W("hero"), [W("x"), W("y")])
    assert cluster.engine.leaving() == ()
    assert not cluster.cycle()
    check_invariants(cluster.engine)


# -- who is stuck


def test_for_a_target_that_does_not_go_another_set_is_chosen() -> None:
    cluster = a_cluster(2)
    cluster.start(a_workload("b1", "B", 1, 8), a_workload("b2", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8))
    (first,) = (p.target for p in cluster.cycle().preemptions)
    cluster.engine.apply(Stuck(workload=first))
    (second,) = (p.target for p in cluster.cycle().preemptions)
    assert {first, second} == {"b1", "b2"}
    cluster.engine.apply(Evicted(workload=second, at=cluster.now))
    assert "a" in names(cluster.cycle().admissions)
    check_invariants(cluster.engine)
    cluster.engine.apply(Evicted(workload=first, at=cluster.now))
    cluster.cycle()
    check_invariants(cluster.engine)


def test_a_stuck_target_that_goes_after_all_frees_its_room() -> None:
    cluster = a_cluster(1)
    cluster.start(a_workload("b", "B", 1, 8))
    cluster.submit(a_workload("a", "A", 1, 8))
    cluster.cycle()
    cluster.engine.apply(Stuck(workload=W("b")))
    assert not cluster.cycle()
    assert cluster.waiting() == ["a"]
    cluster.engine.apply(Finished(workload=W("b"), at=cluster.now))
    assert names(cluster.cycle().admissions) == ["a"]
    check_invariants(cluster.engine)


# -- how many at once


def _with_borrowers(bounds: EvictionBounds) -> Cluster:
    """Four nodes full of what A can take back, which asks for all of it one by one."""
    cluster = a_cluster(4, Options(evictions=bounds))
    cluster.start(*[a_workload(f"b{number}", "B", 1, 8) for number in range(4)])
    cluster.submit(*[a_workload(f"a{number}", "A", 1, 8) for number in range(4)])
    return cluster


def test_in_one_cycle_no_more_are_stopped_than_the_policy_says() -> None:
    cluster = _with_borrowers(EvictionBounds(per_cycle=2))
    assert len(cluster.cycle().preemptions) == 2
    assert cluster.cycle().preemptions == ()
    verdict = cluster.engine.explain(W("a2"), cluster.now).verdict
    assert verdict.reason is WaitReason.PROTECTED
    assert verdict.figures["recall_at"] == cluster.now + 1.0
    assert len(cluster.cycle(1.0).preemptions) == 2
    check_invariants(cluster.engine)


def test_in_one_hour_no_more_are_stopped_than_the_policy_says() -> None:
    cluster = _with_borrowers(EvictionBounds(per_hour=3))
    began = cluster.now
    assert len(cluster.cycle().preemptions) == 3
    assert cluster.cycle(1800.0).preemptions == ()
    assert cluster.engine.next_alarm() == began + 3600.0
    assert len(cluster.cycle(1800.0).preemptions) == 1


def test_one_who_needs_more_than_the_bound_goes_alone() -> None:
    cluster = a_cluster(4, Options(evictions=EvictionBounds(per_cycle=1, per_hour=1)))
    cluster.start(*[a_workload(f"b{number}", "B", 1, 8) for number in range(4)])
    cluster.submit(a_workload("gang", "A", 3, 8))
    assert len(cluster.cycle().preemptions) == 3
