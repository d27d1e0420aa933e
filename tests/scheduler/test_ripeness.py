"""Whether a cycle could start anybody, told from a few numbers."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler.events import Finished, Submitted
from scheduler.layout import Strategy
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload
from tests.scheduler.test_forecast import a_busy_world
from tests.scheduler.worlds import workloads


@given(st.data())
def test_where_nobody_simply_fits_a_cycle_starts_nobody(data: st.DataObject) -> None:
    world = a_busy_world(data.draw)
    engine = world.engine
    for workload, _ in engine.running():
        watch = engine.watch()
        if not watch.ripe():
            assert not engine.fork().cycle(world.now).admissions
        engine.apply(Finished(workload=workload.id, at=world.now))
        if data.draw(st.booleans()):
            engine.apply(Submitted(workload=data.draw(workloads(world.number))))
            world.number += 1


def test_room_and_quota_both_count() -> None:
    cluster = Cluster(a_layout(a_queue("a", 8), a_queue("b", 8)), a_node("n1"))
    watch = cluster.engine.watch()
    assert not watch.ripe()
    cluster.start(a_workload("r1", "a", gpus=4), a_workload("r2", "b", gpus=4))
    cluster.submit(a_workload("w1", "a", gpus=4))
    cluster.cycle()
    assert not cluster.engine.watch().ripe()
    cluster.finish("r2")
    assert cluster.engine.watch().ripe()


def test_who_fits_and_does_not_start_is_passed_over_for_a_while() -> None:
    strict = a_queue("a", 16, strategy=Strategy.STRICT)
    cluster = Cluster(a_layout(strict), a_node("n1"), a_node("n2"))
    cluster.start(a_workload("r1", "a", gpus=8), a_workload("r2", "a", gpus=4))
    cluster.submit(a_workload("w1", "a", gpus=8), a_workload("w2", "a", gpus=1, created=1.0))
    watch = cluster.engine.watch()
    tempted = 0
    for _ in range(40):
        if watch.ripe():
            tempted += 1
            watch.note(started=bool(cluster.cycle()))
    assert 1 < tempted < 10


def test_one_that_does_not_wait_may_be_asked_about() -> None:
    cluster = Cluster(a_layout(a_queue("a", 16)), a_node("n1"))
    cluster.start(a_workload("r1", "a", gpus=5))
    watch = cluster.engine.watch()
    assert watch.fits(cluster.engine.probe(a_workload("small", "a", gpus=3)))
    assert not watch.fits(cluster.engine.probe(a_workload("large", "a", gpus=4)))
