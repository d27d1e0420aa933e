"""Objects that nobody expected hold up no others, in whatever namespace they are."""

from __future__ import annotations

import logging
import threading
import weakref
from collections.abc import Callable, Iterator
from typing import Any, cast

import pytest

from bot.clusters.kubernetes.connection import Connection, Unanswered
from bot.clusters.kubernetes.facts import pod_of, shape_of
from bot.clusters.kubernetes.gangs import MOST_PODS, read_grant, write_grant
from bot.clusters.kubernetes.leaderworkersets import MOST_REPLICAS, set_of
from bot.clusters.kubernetes.mirror import Shelf
from bot.clusters.kubernetes.watching import PAGE, Sink, Watcher
from bot.notices import NotTakenArgs
from scheduler.matching import meets
from scheduler.model import Admission, NodeName, PodSetAssignment, QueueName, WorkloadId
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import LEADER_WORKER_SETS
from tests.bot.clusters.kubernetes.world import TEAM
from tests.kube.samples import leader_worker_set, part, pod

META = {"name": "x", "namespace": TEAM, "uid": "u1", "resourceVersion": "7"}
SLIP = {  # of a custom kind, whose templates nobody checks before their pods are made
    "nodeAffinity": {
        "requiredDuringSchedulingIgnoredDuringExecution": {
            "nodeSelectorTerms": [
                {"matchExpressions": [{"key": "zone", "operator": "in", "values": ["a"]}]}
            ]
        }
    }
}


def make_job_set(house: KubeHouse) -> None:
    one = part("w")
    one["template"]["spec"]["template"]["spec"]["affinity"] = SLIP
    house.create_job_set("slip", one)


def make_leader_worker_set(house: KubeHouse) -> None:
    house.api.add_namespace("other")
    body = leader_worker_set("llama")
    body["spec"]["leaderWorkerTemplate"]["workerTemplate"]["spec"]["affinity"] = SLIP
    house.person.post(LEADER_WORKER_SETS.replace(TEAM, "other"), body)


def make_pod(house: KubeHouse) -> None:
    house.api.add_namespace("other")
    body = pod("odd", gpus=0, gated=False)
    body["metadata"]["annotations"] = {"batch.kubernetes.io/job-completion-index": "9" * 5000}
    house.person.post("/api/v1/namespaces/other/pods", body)


@pytest.mark.parametrize("make", [make_job_set, make_leader_worker_set, make_pod])
def test_what_is_garbled_stops_nobody_else(
    house: KubeHouse, make: Callable[[KubeHouse], None]
) -> None:
    house.api.serve_job_sets()
    house.api.serve_leader_worker_sets()
    house.restart()
    make(house)
    house.create_job("train", pods=2)
    house.run(4)
    assert house.state("train") is S.RUNNING
    assert [watcher.trouble for watcher in house.cluster.watchers if watcher.trouble] == []


def test_whoever_slipped_is_told(house: KubeHouse) -> None:
    house.api.serve_job_sets()
    house.restart()
    make_job_set(house)
    house.run()
    (told,) = house.said("not-taken")
    args = NotTakenArgs.model_validate(told.notice.args)
    assert (args.name, args.refusal["refused"]) == ("slip", "never-fits")


@pytest.mark.parametrize("operator", ["in", "", None, "Near"])
def test_an_operator_that_nobody_knows_is_met_by_no_node(operator: str | None) -> None:
    one = {"key": "zone", "operator": operator, "values": ["a"]}
    term = {"nodeSelectorTerms": [{"matchExpressions": [one]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": term}}
    (demands,) = shape_of({"affinity": affinity}, "x").affinity
    assert not meets({"zone": "a"}, demands)
    assert not meets({}, demands)


@pytest.mark.parametrize("text", ["9" * 5000, "-1", "1.5", "², 3", "", "1234567890"])
def test_an_index_that_is_none_is_left_out(text: str) -> None:
    marks = {"batch.kubernetes.io/job-completion-index": text}
    assert pod_of({"metadata": {**META, "annotations": marks}}).index is None


# ---- whatever else cannot be read


def length(obj: dict[str, Any]) -> int:
    return len(obj["spec"]["text"])


@pytest.fixture
def shelf() -> Shelf[int]:
    """Objects of which the length of a text is kept."""
    return Shelf(threading.Lock(), lambda o: str(o["metadata"]["name"]), length, lambda *_: None)


def text(name: str, said: object) -> dict[str, Any]:
    return {"metadata": {"name": name}, "spec": {"text": said}}


def test_what_cannot_be_read_stays_as_it_was_until_it_is_gone(
    shelf: Shelf[int], caplog: pytest.LogCaptureFixture
) -> None:
    shelf.replace([text("a", "one"), text("b", "four")])
    with caplog.at_level(logging.ERROR):
        shelf.put(text("a", 1))
    assert shelf.items == {"a": 3, "b": 4}
    assert "fault" in caplog.text
    shelf.replace([text("a", 1), text("c", "fives"), text("d", None)])
    assert shelf.items == {"a": 3, "c": 5}
    shelf.drop(text("a", 1))
    assert shelf.items == {"c": 5}


# ---- what can be read, and is more than anybody needs


class Raw(dict[str, Any]):
    """An object as it was sent, of which it can be seen whether somebody still has it."""


class Pager:
    """Gives a list of so many pages, and sees how many objects were kept of all that it gave."""

    def __init__(self, pages: int) -> None:
        self._pages, self.most = pages, 0
        self._given: list[weakref.ref[Raw]] = []

    def get(self, path: str, **query: str | int) -> dict[str, Any]:
        page = int(query.get("continue", 0)) + 1
        self.most = max(self.most, sum(one() is not None for one in self._given))
        items = [Raw(text(f"{path}-{page}-{n}", "x")) for n in range(PAGE)]
        self._given += map(weakref.ref, items)
        more = str(page) if page < self._pages else ""
        return {"metadata": {"resourceVersion": "9", "continue": more}, "items": items}


def test_a_list_is_read_page_by_page(shelf: Shelf[int]) -> None:
    pager = Pager(8)
    watcher = Watcher(cast("Connection", pager), "/a", cast("Sink", shelf))
    watcher._list()
    assert len(shelf.items) == 8 * PAGE
    assert watcher.version == "9"
    assert pager.most <= 2 * PAGE


def test_a_list_that_breaks_off_leaves_all_as_it_was(shelf: Shelf[int]) -> None:
    shelf.replace([text("a", "one")])

    def pages() -> Iterator[dict[str, Any]]:
        yield text("b", "four")
        raise Unanswered("gone")

    with pytest.raises(Unanswered):
        shelf.replace(pages())
    assert shelf.items == {"a": 3}


def test_replicas_without_end_are_not_all_listed() -> None:
    body = leader_worker_set("llama", replicas=2**31 - 1)
    body["metadata"] |= META
    assert len(set_of(body).replica_keys) == MOST_REPLICAS


def test_a_grant_of_pods_without_end_is_none() -> None:
    admission = Admission(
        workload=WorkloadId("R-1"),
        queue=QueueName("q"),
        assignments=(
            PodSetAssignment(
                name="main", count=1, flavors={}, nodes=((NodeName("n1"), MOST_PODS),)
            ),
        ),
        at=0.0,
    )
    assert read_grant(write_grant(admission)) == admission
    more = write_grant(admission).replace(str(MOST_PODS), str(2**31))
    assert read_grant(more) is None


@pytest.mark.parametrize(
    ("owner", "kept"),
    [("U0\x00AD\nA", "U0\ufffdAD\ufffdA"), ("x" * 9000, "x" * 256)],
    ids=["control characters", "long"],
)
def test_no_word_of_others_is_more_than_a_store_holds(
    house: KubeHouse, owner: str, kept: str
) -> None:
    house.create_job("train", annotations={"owner": owner})
    house.run()
    assert house.request("train").workload.owner == kept
    assert house.state("train") is S.RUNNING
