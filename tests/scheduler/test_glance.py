"""A glance comes to the very nomination that a full look would come to."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.glance import glance
from scheduler.layout import Layout
from scheduler.model import WaitReason
from scheduler.nomination import Nomination, Outcome, nominate
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload
from tests.scheduler.worlds import World, layouts


def what(nomination: Nomination) -> tuple[object, ...]:
    """All that a decision goes by."""
    return (
        nomination.outcome,
        nomination.reason,
        nomination.charge,
        nomination.assignments,
        nomination.targets,
        nomination.level if nomination.outcome is not Outcome.NO_FIT else None,
        nomination.unfinished,
    )


@settings(max_examples=80, suppress_health_check=[HealthCheck.too_slow])
@given(layouts(), st.data())
def test_a_glance_and_a_full_look_agree(layout: Layout, data: st.DataObject) -> None:
    world = World(layout)
    for _ in range(data.draw(st.integers(1, 25))):
        world.now += 1.0
        world.something(data.draw)
        if data.draw(st.booleans()):
            world.cycle()
    state = world.engine._state
    state.settle()
    for waiting in list(state.waiting.values()):
        for number, shape in waiting.shapes:
            found = glance(state, number, waiting, shape)
            if found is not None:
                assert what(found) == what(nominate(state, number, waiting, shape))


def looked_at(cluster: Cluster) -> Nomination | None:
    """What a glance says of the one who waits."""
    state = cluster.engine._state
    state.settle()
    (waiting,) = state.waiting.values()
    ((number, shape),) = waiting.shapes
    return glance(state, number, waiting, shape)


def test_a_head_that_fits_takes_a_full_look() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8)), a_node("n"))
    cluster.submit(a_workload("w", "A", 1, 8))
    assert looked_at(cluster) is None


def test_a_head_that_may_stop_nobody_gets_nothing_at_a_glance() -> None:
    cluster = Cluster(a_layout(a_queue("A", 8)), a_node("n"))
    cluster.start(a_workload("first", "A", 1, 8))
    cluster.submit(a_workload("w", "A", 1, 8))
    found = looked_at(cluster)
    assert found is not None
    assert (found.outcome, found.reason) == (Outcome.NO_TARGETS, WaitReason.QUOTA)
