"""Forecasts play the end of what people set by hand, and say that they count on it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from scheduler.byhand import Ending, Hand, Held, Order
from scheduler.events import (
    Boosted,
    Event,
    NodeCordoned,
    NodeObserved,
    NodeUncordoned,
    QueuePaused,
    QueueResumed,
    QuotaChanged,
    Withdrawn,
)
from scheduler.forecast import Reach
from scheduler.layout import Options
from scheduler.model import GPU, NodeName, QueueName, WorkloadId
from tests.scheduler.builders import H100, Cluster, a_layout, a_node, a_queue, a_workload

HOUR = 3600.0
END = 1000.0 + HOUR
A, N2 = QueueName("a"), NodeName("n2")
PAIR = (H100, GPU)


def order(until: float | None = END) -> Order:
    return Order(by="Ana Costa", reason="new switches", until=until)


def paused(until: float | None = END) -> QueuePaused:
    return QueuePaused(queue=A, by="Ana Costa", reason="new switches", until=until)


def lowered(gpus: int, until: float | None = END, queue: QueueName = A) -> QuotaChanged:
    return QuotaChanged(queue=queue, nominal={PAIR: gpus}, orders={PAIR: order(until)})


def drained(until: float | None = END) -> NodeCordoned:
    return NodeCordoned(node=N2, order=order(until))


def a_cluster() -> Cluster:
    cluster = Cluster(a_layout(a_queue("a", 16), a_queue("b", 0)), a_node("n1"), a_node("n2"))
    cluster.cycle()
    return cluster


HELD: dict[str, tuple[Event, Held]] = {
    "a pause": (paused(), Held(Hand.PAUSE, "a")),
    "less quota": (lowered(0), Held(Hand.QUOTA, "a", H100, GPU)),
    "a drain": (drained(), Held(Hand.DRAIN, "n2")),
}


@pytest.mark.parametrize(("event", "held"), HELD.values(), ids=HELD)
def test_what_ends_by_itself_is_waited_for(event: Event, held: Held) -> None:
    """Both nodes are free and it needs both: nothing else has to end."""
    cluster = a_cluster()
    cluster.engine.apply(event)
    both = a_workload("both", "a", 2, 8)
    for found in (
        cluster.engine.preview(both, cluster.now),
        cluster.engine.consider(both, cluster.now, ()).forecast,
    ):
        assert (found.low, found.likely, found.high) == (END, END, END)
        assert (found.reason, found.hinge) == (Reach.ENDS, Ending(END, held))
    cluster.submit(both)
    assert not cluster.cycle().admissions
    found = cluster.engine.forecast(WorkloadId("both"), cluster.now)
    assert (found.likely, found.hinge) == (END, Ending(END, held))
    assert not cluster.cycle(later=2 * HOUR).admissions  # the engine itself ends nothing


@pytest.mark.parametrize("event", [paused(None), lowered(0, None), drained(None)], ids=repr)
def test_what_has_no_end_is_not(event: Event) -> None:
    cluster = a_cluster()
    cluster.engine.apply(event)
    found = cluster.engine.preview(a_workload("both", "a", 2, 8), cluster.now)
    assert (found.likely, found.reason, found.hinge) == (None, Reach.STUCK, None)


def test_a_drained_node_that_the_cluster_closed_as_well_is_open_after_the_drain() -> None:
    cluster = a_cluster()
    cluster.engine.apply(drained())
    cluster.engine.apply(NodeObserved(node=a_node("n2", schedulable=False)))
    found = cluster.engine.preview(a_workload("both", "a", 2, 8), cluster.now)
    assert (found.likely, found.hinge) == (END, Ending(END, Held(Hand.DRAIN, "n2")))
    cluster.engine.apply(NodeUncordoned(node=N2))  # in truth it opens when the cluster says so
    cluster.submit(a_workload("both", "a", 2, 8))
    assert not cluster.cycle().admissions
    cluster.engine.apply(NodeObserved(node=a_node("n2")))
    assert cluster.cycle().admissions


def test_a_drained_node_that_fails_does_not_come_back_with_the_end_of_the_drain() -> None:
    cluster = a_cluster()
    cluster.engine.apply(drained())
    cluster.engine.apply(NodeObserved(node=a_node("n2", ready=False, schedulable=False)))
    found = cluster.engine.preview(a_workload("both", "a", 2, 8), cluster.now)
    assert (found.likely, found.reason) == (None, Reach.STUCK)


def test_what_is_over_but_not_yet_ended_counts_as_over() -> None:
    cluster = a_cluster()
    cluster.engine.apply(paused(until=cluster.now - 5.0))
    found = cluster.engine.preview(a_workload("new", "a"), cluster.now)
    assert found.likely == cluster.now


def test_an_end_that_does_not_matter_is_not_named() -> None:
    cluster = a_cluster()
    cluster.start(a_workload("long", "a", 2, 8, duration=2 * HOUR), later=0.0)
    cluster.engine.apply(QueuePaused(queue=QueueName("b"), until=END))
    found = cluster.engine.preview(a_workload("new", "a", 1, 8), cluster.now)
    assert (found.likely, found.hinge) == (1000.0 + 2 * HOUR, None)
    cluster.engine.apply(lowered(32))  # more than the policy gives: less can start once it ends
    found = cluster.engine.preview(a_workload("new", "a", 1, 8), cluster.now)
    assert (found.likely, found.hinge) == (1000.0 + 2 * HOUR, None)


def test_raised_quota_is_counted_on_only_until_its_end() -> None:
    layout = a_layout(a_queue("a", 8, borrowing=0), a_queue("b", 8, lending=0))
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(a_workload("short", "b", 1, 8, duration=HOUR / 2), later=0.0)
    cluster.start(a_workload("mine", "a", 1, 8, duration=4 * HOUR), later=0.0)
    cluster.engine.apply(lowered(16))
    found = cluster.engine.preview(a_workload("new", "a", 1, 8), cluster.now)
    assert found.likely == 1000.0 + HOUR / 2
    cluster.engine.apply(lowered(16, until=1000.0 + HOUR / 4))
    found = cluster.engine.preview(a_workload("new", "a", 1, 8), cluster.now)
    assert found.likely == 1000.0 + 4 * HOUR


def test_a_boost_that_ends_lets_another_go_first() -> None:
    cluster = a_cluster()
    cluster.start(a_workload("first", "a", 2, 8, duration=2 * HOUR), later=0.0)
    cluster.submit(a_workload("old", "a", 2, 8, duration=HOUR))
    cluster.submit(a_workload("new", "a", 2, 8, duration=HOUR, created=1.0))
    cluster.engine.apply(Boosted(workload=WorkloadId("new"), by=100, order=order(None)))
    cluster.cycle()
    assert cluster.engine.forecast(WorkloadId("new"), cluster.now).likely == 1000.0 + 2 * HOUR
    cluster.engine.apply(Boosted(workload=WorkloadId("new"), by=100, order=order()))
    found = cluster.engine.forecast(WorkloadId("new"), cluster.now)
    assert found.likely == 1000.0 + 3 * HOUR


def test_with_many_about_the_end_is_exact_as_well() -> None:
    nodes = [a_node(f"n{number:03}") for number in range(400)]
    cluster = Cluster(a_layout(a_queue("a", 3200)), *nodes)
    for number in range(399):
        cluster.start(a_workload(f"r{number:03}", "a", 1, 8, duration=9 * HOUR), later=0.0)
    cluster.engine.apply(paused())
    found = cluster.engine.preview(a_workload("new", "a", 1, 8), cluster.now)
    assert (found.low, found.likely, found.high) == (END, END, END)
    assert found.hinge == Ending(END, Held(Hand.PAUSE, "a"))


def test_what_is_taken_back_leaves_no_order_behind() -> None:
    cluster = a_cluster()
    cluster.submit(a_workload("w", "a", 4, 8))
    boosted = Boosted(workload=WorkloadId("w"), by=5, order=order())
    ordered: tuple[Event, ...] = (paused(), lowered(0), drained(), boosted)
    for event in ordered:
        cluster.engine.apply(event)
    assert len(cluster.engine.in_force().orders) == 4
    assert cluster.engine.fork().in_force().orders == cluster.engine.in_force().orders
    for undone in (
        QueueResumed(queue=A),
        QuotaChanged(queue=A, nominal={}),
        NodeUncordoned(node=N2),
        Boosted(workload=WorkloadId("w"), by=0),
    ):
        cluster.engine.apply(undone)
    assert cluster.engine.in_force().orders == {}
    cluster.engine.apply(boosted)
    cluster.engine.apply(Withdrawn(workload=WorkloadId("w"), at=cluster.now))
    assert cluster.engine.in_force().orders == {}


def test_a_forecast_does_not_outlive_the_end_it_counted_on() -> None:
    cluster = a_cluster()
    cluster.engine.apply(paused())
    new = a_workload("new", "a")
    assert cluster.engine.preview(new, END - 1.0).likely == END
    cluster.engine.apply(replace(paused(), until=END + HOUR))
    assert cluster.engine.preview(new, END - 1.0).likely == END + HOUR
    assert cluster.engine.preview(new, END + HOUR).likely == END + HOUR


def test_strict_queues_wait_for_the_end_as_well() -> None:
    layout = a_layout(a_queue("a", 16), options=Options())
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.submit(a_workload("big", "a", 2, 8, duration=HOUR))
    cluster.engine.apply(drained())
    cluster.cycle()
    cluster.submit(a_workload("next", "a", 1, 8, duration=HOUR))
    cluster.cycle()
    assert cluster.engine.forecast(WorkloadId("big"), cluster.now).likely == END
