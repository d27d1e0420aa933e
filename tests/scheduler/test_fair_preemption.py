"""Fair-sharing preemption: enough is stopped, nothing more, and never across the right's edge."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.candidates import Attack, Variant
from scheduler.fair_preemption import find_fair_targets
from scheduler.layout import FairStrategy, Layout, Reclaim, Within
from scheduler.state import State
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload
from tests.scheduler.worlds import World, layouts


def fair(layout: Layout) -> Layout:
    return replace(layout, fair_sharing=tuple(FairStrategy))


def attack(state: State, queue: int, gpus: int, priority: int = 5) -> Attack:
    """Who has to go for so many GPUs of quota."""
    return Attack(
        state=state,
        workload=a_workload("mine", "A", 1, gpus, priority=priority, created=state.now),
        queue=queue,
        amounts=((0, gpus),),
        short=frozenset((0,)),
    )


def stopped(cluster: Cluster, gpus: int) -> list[str]:
    found = find_fair_targets(attack(cluster.engine._state, 0, gpus))
    return [target.running.workload.id for target in found]


def lent(*starts: tuple[str, int], **of_a: object) -> Cluster:
    """A and B have eight GPUs each, C none; who starts where, with how many GPUs."""
    queues = (
        a_queue("A", 8, **{"reclaim": Reclaim.ANY, **of_a}),  # type: ignore[arg-type]  # passed on
        a_queue("B", 8),
        a_queue("C", 0),
    )
    cluster = Cluster(fair(a_layout(*queues)), a_node("n0"), a_node("n1"))
    for number, (queue, gpus) in enumerate(starts):
        cluster.start(a_workload(f"{queue.lower()}{number}", queue, 1, gpus))
    return cluster


def test_the_larger_borrower_gives_first() -> None:
    cluster = lent(("B", 8), ("C", 3), ("C", 3), ("B", 2))
    assert stopped(cluster, 3) == ["c2"]


def test_who_stays_inside_his_quota_takes_back_without_asking_for_shares() -> None:
    assert sorted(stopped(lent(("B", 8), ("C", 4), ("C", 4)), 8)) == ["c1", "c2"]


def test_nobody_is_stopped_where_all_together_would_not_do() -> None:
    assert stopped(lent(("A", 8), ("B", 8)), 8) == []


def test_own_work_of_lower_priority_is_taken_where_the_policy_allows_it() -> None:
    firm = lent(("A", 8), ("B", 8), reclaim=Reclaim.NEVER)
    assert stopped(firm, 4) == []
    own = lent(("A", 8), ("B", 8), reclaim=Reclaim.NEVER, within=Within.LOWER)
    assert stopped(own, 4) == ["a0"]


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(layouts(), st.data())
def test_with_the_targets_gone_it_fits_and_each_of_them_is_needed(
    layout: Layout, data: st.DataObject
) -> None:
    world = World(fair(layout))
    for _ in range(data.draw(st.integers(5, 30))):
        world.now += 1.0
        world.something(data.draw)
        world.cycle()
    state = world.engine._state
    for number in range(state.tree.queues):
        gpus = data.draw(st.integers(1, 12))
        before = (list(state.future.usage), state.future.version)
        question = attack(state, number, gpus)
        if state.tree.fits(state.future.usage, number, question.amounts):
            continue
        targets = find_fair_targets(question)
        assert (state.future.usage, state.future.version) == before, "a search leaves no trace"
        if not targets:
            continue
        usage = list(state.future.usage)
        for target in targets:
            charge = target.running.charge
            state.tree.discharge(usage, charge.queue, charge.amounts)
            assert not target.running.leaving
            own = target.running.charge.queue == number
            assert (target.variant is Variant.OWN_QUEUE) == own
        assert state.tree.fits(usage, number, question.amounts)
        for target in targets:
            charge = target.running.charge
            state.tree.charge(usage, charge.queue, charge.amounts)
            assert not state.tree.fits(usage, number, question.amounts)
            state.tree.discharge(usage, charge.queue, charge.amounts)
