"""Who waits for what somebody set by hand is told who did, why, and until when."""

from __future__ import annotations

from collections.abc import Mapping

from scheduler.byhand import Order
from scheduler.events import NodeCordoned, NodeObserved, QuotaChanged
from scheduler.layout import HOSTNAME, Reclaim
from scheduler.model import (
    GPU,
    Figure,
    NodeName,
    PodSet,
    QueueName,
    TopologyMode,
    TopologyRequest,
    WaitReason,
    WorkloadId,
)
from tests.scheduler.builders import (
    H100,
    MODEL,
    Cluster,
    a_flavor,
    a_layout,
    a_node,
    a_queue,
    a_workload,
)

ORDER = Order(by="Ana Costa", reason="new switches", until=7200.0)
SAID: Mapping[str, Figure] = {"by": "Ana Costa", "because": "new switches", "until": 7200.0}


def lower(cluster: Cluster, queue: str, gpus: int) -> None:
    pair = (H100, GPU)
    event = QuotaChanged(queue=QueueName(queue), nominal={pair: gpus}, orders={pair: ORDER})
    cluster.engine.apply(event)


def drain(cluster: Cluster, *nodes: str) -> None:
    for node in nodes:
        cluster.engine.apply(NodeCordoned(node=NodeName(node), order=ORDER))


def told(cluster: Cluster, one: str, reason: WaitReason) -> Mapping[str, Figure]:
    """What is said of what was set by hand to one who waits for this reason."""
    cluster.cycle()
    verdict = cluster.engine.explain(WorkloadId(one), cluster.now).verdict
    assert verdict.reason is reason
    keys = ("hand", "set_queue", "set_to", "set_from", "drained", "nodes_drained", *SAID)
    return {key: verdict.figures[key] for key in keys if key in verdict.figures}


# -- quota


def test_lowered_quota_is_named_where_it_is_short() -> None:
    cluster = Cluster(a_layout(a_queue("a", 16)), a_node("n1"), a_node("n2"))
    cluster.start(a_workload("runs", "a", 1, 8))
    cluster.submit(a_workload("waits", "a", 1, 8))
    lower(cluster, "a", 8)
    assert told(cluster, "waits", WaitReason.QUOTA) == {
        "hand": "quota", "set_queue": "a", "set_to": 8, "set_from": 16, **SAID,
    }  # fmt: skip


def test_of_what_could_never_start_now_it_is_named_too() -> None:
    cluster = Cluster(a_layout(a_queue("a", 16)), a_node("n1"), a_node("n2"))
    cluster.submit(a_workload("waits", "a", 2, 8))
    lower(cluster, "a", 4)
    assert told(cluster, "waits", WaitReason.QUOTA)["set_to"] == 4


def test_quota_that_would_be_short_anyway_is_not_blamed_on_whoever_lowered_it() -> None:
    cluster = Cluster(a_layout(a_queue("a", 16, borrowing=0), a_queue("b", 8)), a_node("n1"))
    cluster.engine.apply(NodeObserved(node=a_node("n2")))
    cluster.start(a_workload("one", "a", 1, 8), a_workload("two", "a", 1, 8))
    cluster.submit(a_workload("waits", "a", 1, 8))
    lower(cluster, "a", 15)
    assert told(cluster, "waits", WaitReason.QUOTA) == {}


def test_raised_quota_is_nobodys_reason() -> None:
    cluster = Cluster(a_layout(a_queue("a", 8, borrowing=0)), a_node("n1"), a_node("n2"))
    cluster.engine.apply(NodeObserved(node=a_node("n3")))
    cluster.start(a_workload("one", "a", 1, 8))
    lower(cluster, "a", 12)
    cluster.submit(a_workload("waits", "a", 1, 8))
    assert told(cluster, "waits", WaitReason.QUOTA) == {}


def test_what_a_lender_was_left_with_is_named_to_those_who_borrow() -> None:
    layout = a_layout(a_queue("a", 16, reclaim=Reclaim.ANY), a_queue("b", 0), a_queue("c", 4))
    cluster = Cluster(layout, *[a_node(f"n{number}") for number in range(3)])
    cluster.submit(a_workload("waits", "b", 1, 8))
    lower(cluster, "c", 3)
    lower(cluster, "a", 0)
    found = told(cluster, "waits", WaitReason.QUOTA)
    assert (found["set_queue"], found["set_from"], found["set_to"]) == ("a", 16, 0)


# -- nodes


def test_a_drained_node_that_would_have_room_is_named() -> None:
    cluster = Cluster(a_layout(a_queue("a", 24)), a_node("n1"), a_node("n2"), a_node("n3"))
    cluster.start(a_workload("runs", "a", 1, 8))
    drain(cluster, "n2", "n3")
    cluster.submit(a_workload("waits", "a", 1, 8))
    assert told(cluster, "waits", WaitReason.TOPOLOGY) == {
        "hand": "drain", "drained": "n2", "nodes_drained": 2, **SAID,
    }  # fmt: skip


def test_a_drained_node_that_would_not_do_is_not_named() -> None:
    cluster = Cluster(a_layout(a_queue("a", 32)), a_node("n1"), a_node("n2"), a_node("n3"))
    cluster.start(a_workload("runs", "a", 1, 8), a_workload("too", "a", 1, 8))
    drain(cluster, "n3")
    cluster.submit(a_workload("waits", "a", 2, 8))
    assert told(cluster, "waits", WaitReason.TOPOLOGY) == {}
    cluster.engine.apply(NodeObserved(node=a_node("n4")))
    assert told(cluster, "waits", WaitReason.TOPOLOGY)["drained"] == "n3"


def test_a_drained_node_that_has_failed_is_not_to_blame() -> None:
    cluster = Cluster(a_layout(a_queue("a", 16)), a_node("n1"), a_node("n2"))
    cluster.start(a_workload("runs", "a", 1, 8))
    drain(cluster, "n2")
    cluster.engine.apply(NodeObserved(node=a_node("n2", ready=False)))
    cluster.submit(a_workload("waits", "a", 1, 8))
    assert told(cluster, "waits", WaitReason.TOPOLOGY) == {}


def test_where_one_rack_has_to_hold_it_the_drained_node_has_to_lie_there() -> None:
    labels = [{MODEL: "h100", "rack": f"r{1 + n // 2}", HOSTNAME: f"n{n}"} for n in range(4)]
    nodes = [a_node(f"n{n}", labels=labels[n]) for n in range(4)]
    layout = a_layout(a_queue("a", 64), flavors=(a_flavor(levels=("rack", HOSTNAME)),))
    cluster = Cluster(layout, *nodes)
    asks = PodSet(
        count=2,
        requests={GPU: 8},
        topology=TopologyRequest(mode=TopologyMode.REQUIRED, level="rack"),
    )
    cluster.start(a_workload("runs", "a", 1, 8))
    cluster.submit(a_workload("waits", "a", pod_sets=(asks,)))
    drain(cluster, "n1", "n3")  # of these, n1 lies beside what runs on n0
    found = told(cluster, "waits", WaitReason.TOPOLOGY)
    assert (found["drained"], found["nodes_drained"]) == ("n3", 1)
    cluster.engine.apply(NodeObserved(node=a_node("n2", labels=labels[2], ready=False)))
    assert told(cluster, "waits", WaitReason.TOPOLOGY) == {}
