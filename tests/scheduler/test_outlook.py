"""The cheap bound never says no where the exact answer would be yes."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from unittest import mock

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.excess import NOBODY, Excess
from scheduler.glance import glance
from scheduler.lapse import LAPSED
from scheduler.layout import Queue, Reclaim, Within
from scheduler.nomination import Outcome, nominate
from scheduler.outlook import ANYBODY, Outlook, limits
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload
from tests.scheduler.worlds import World, layouts


@contextmanager
def without_the_bound() -> Iterator[None]:
    with (
        mock.patch.object(Outlook, "may_have", return_value=True),
        mock.patch.object(Outlook, "may_lie", return_value=True),
        mock.patch.object(Outlook, "has_room", return_value=True),
        mock.patch.object(Excess, "may_lie", return_value=True),
        mock.patch("scheduler.nomination.is_hopeless", return_value=False),
        mock.patch("scheduler.preemption.is_hopeless", return_value=False),
    ):
        yield


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large])
@given(data=st.data())
def test_what_could_be_done_is_worth_trying(data: st.DataObject) -> None:
    world = World(data.draw(layouts()))
    for _ in range(data.draw(st.integers(5, 30))):
        world.now += 1
        world.something(data.draw)
        world.cycle()
        state = world.engine._state
        for waiting in state.waiting.values():
            for number, shape in waiting.shapes:
                with without_the_bound():
                    found = nominate(state, number, waiting, shape)
                if found.outcome in (Outcome.FIT, Outcome.PREEMPT, Outcome.LATER):
                    assert state.outlook.worth_trying(number, shape)
                exact = nominate(state, number, waiting, shape)
                assert exact.outcome is found.outcome
                seen = glance(state, number, waiting, shape)
                assert seen is None or seen.outcome is found.outcome
                assert [t.running for t in exact.targets] == [t.running for t in found.targets]


def rules(**more: object) -> Queue:
    return a_queue("A", 8, **more)  # type: ignore[arg-type]


def test_who_may_be_stopped_by_priority() -> None:
    assert limits(rules(), 5) == (NOBODY, NOBODY)
    assert limits(rules(within=Within.LOWER), 5) == (5, NOBODY)
    assert limits(rules(within=Within.LOWER_OR_NEWER), 5) == (6, NOBODY)
    assert limits(rules(within=Within.LOWER, within_from=9), 5) == (NOBODY, NOBODY)
    assert limits(rules(within=Within.LOWER, within_from=9, lapses=True), 5)[0] == LAPSED + 1
    assert limits(rules(within=Within.LOWER, lapses=True), 5)[0] == 5
    assert limits(rules(reclaim=Reclaim.LOWER), 5) == (NOBODY, 5)
    assert limits(rules(reclaim=Reclaim.ANY), 5) == (NOBODY, ANYBODY)


def test_a_parked_shape_without_a_chance_stays_parked() -> None:
    cluster = Cluster(a_layout(a_queue("A", 16)), a_node("n1"), a_node("n2"))
    cluster.start(
        a_workload("r1", "A", 1, 6, preemptible=False),
        a_workload("r2", "A", 1, 6, preemptible=False),
        a_workload("r3", "A", 1, 2, preemptible=False),
    )
    cluster.submit(a_workload("whole", "A", 1, 8))
    assert not cluster.cycle()
    cluster.finish("r3")
    with mock.patch("scheduler.passes.nominate", side_effect=AssertionError("tried in vain")):
        assert not cluster.cycle()
    cluster.finish("r1")
    assert [a.workload for a in cluster.cycle().admissions] == ["whole"]


def test_the_books_never_go_back_to_an_earlier_version() -> None:
    """What was derived from the future must not be taken for the present after they join."""
    cluster = Cluster(a_layout(a_queue("A", 8, within=Within.LOWER)), a_node("n1"))
    cluster.start(a_workload("low", "A", 1, 8, priority=1))
    cluster.submit(a_workload("high", "A", 1, 8, priority=2))
    assert cluster.cycle().preemptions
    state = cluster.engine._state
    before = state.future.version
    cluster.evict_leaving()
    assert cluster.cycle().admissions
    assert state.future is state.present
    assert state.future.version > before
