"""What the bot adds to a template and takes out again leaves what its maker wrote there."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.additions import NONE, additions_in
from scheduler.model import TaintEffect, Toleration
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.meddling import change_job
from tests.bot.clusters.kubernetes.world import JOB_SETS, TEAM
from tests.bot.house import LEA, small_layout
from tests.kube.samples import job, job_set, part
from tests.kube.server import ApiServer

JOBS = f"/apis/batch/v1/namespaces/{TEAM}/jobs"
GRACE = 601.0
GATE = {"name": names.GATE}
SPOT = {"key": "spot", "operator": "Equal", "value": "true", "effect": "NoSchedule"}
OWN = {"key": "mine", "operator": "Exists"}


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet installed."""
    api.serve_job_sets()
    return api


@pytest.fixture
def house(api: ApiServer, tmp_path: Path) -> Iterator[KubeHouse]:
    """Every flavor wants one more toleration."""
    layout = small_layout()
    spot = Toleration(key="spot", value="true", effect=TaintEffect.NO_SCHEDULE)
    flavors = tuple(replace(one, tolerations=(spot,)) for one in layout.flavors)
    made = KubeHouse(api, tmp_path, layout=replace(layout, flavors=flavors))
    made.step()
    yield made
    made.close()


def create(house: KubeHouse, name: str, pods: int = 1, gpus: int = 8, **template: Any) -> None:
    """A Job of team nlp that others may stop, and what its maker wrote into its template."""
    body = job(name, pods=pods, gpus=gpus)
    body["metadata"]["labels"] = {names.TEAM: "nlp", names.PREEMPTIBLE: "true"}
    body["spec"]["template"]["spec"] |= template
    house.person.post(JOBS, body)
    house.run(3)


def host(name: str) -> dict[str, Any]:
    return {"nodeSelector": {names.HOSTNAME: name}}


def template(house: KubeHouse, name: str) -> dict[str, Any]:
    return dict(house.job(name)["spec"]["template"]["spec"])


def stop(house: KubeHouse, name: str) -> None:
    """Somebody suspends it: it waits again, and is not admitted in the same round."""
    change_job(house, name, {"spec": {"suspend": True}})


def fill(house: KubeHouse, *hosts: str) -> None:
    """Non-preemptible Jobs on some nodes; whoever is there has to go."""
    for one in hosts:
        body = job(f"boss-{one}", pods=1, gpus=8)
        body["metadata"]["labels"] = {names.TEAM: "nlp"}
        body["spec"]["template"]["spec"] |= host(one)
        house.person.post(JOBS, body)
    house.run(3)
    house.step(GRACE)
    house.run(6)


def end(house: KubeHouse, name: str) -> None:
    house.desk.release(LEA.id, house.request(name).id, key=name)
    house.run(2)
    house.step(GRACE)
    house.run(6)


@pytest.mark.parametrize(("pods", "gpus"), [(1, 8), (2, 4)])
@pytest.mark.parametrize("away", [False, True], ids=["there", "away"])
def test_a_host_of_its_makers_outlasts_a_preemption(
    house: KubeHouse, pods: int, gpus: int, away: bool
) -> None:
    create(house, "train", pods, gpus, **host("n5"))
    assert set(house.bound().values()) == {"n5"}
    fill(house, "n5")
    if away:
        house.restart()
        house.run(3)
    assert house.bound() == {"boss-n5-0": "n5"}
    assert house.state("train") is S.WAITING
    end(house, "boss-n5")
    assert house.state("train") is S.RUNNING
    assert set(house.bound().values()) == {"n5"}
    assert template(house, "train")["nodeSelector"] == {names.HOSTNAME: "n5"}


def test_one_without_a_host_goes_elsewhere(house: KubeHouse) -> None:
    create(house, "train")
    assert house.bound() == {"train-0": "n1"}
    fill(house, "n1")
    assert house.bound() == {"boss-n1-0": "n1", "train-0": "n2"}


@pytest.mark.parametrize(
    ("before", "change", "after"),
    [("n5", "n3", "n3"), ("n5", None, "n1"), (None, "n3", "n3"), ("n5", "n5", "n5")],
    ids=["another", "taken-off", "put-on", "the-same"],
)
def test_what_its_maker_changes_while_it_waits_counts(
    house: KubeHouse, before: str | None, change: str | None, after: str
) -> None:
    create(house, "train", **({} if before is None else host(before)))
    stop(house, "train")
    house.settle()
    spec = {"template": {"spec": {"nodeSelector": {names.HOSTNAME: change}}}}
    change_job(house, "train", {"spec": spec})
    house.run(6)
    assert (house.bound(), house.request("train").attempt) == ({"train-0": after}, 2)
    fill(house, after)
    assert house.bound().get("train-0") == (None if change else "n2")


def test_tolerations_and_gates_are_as_they_were(house: KubeHouse) -> None:
    other = {"name": "example.com/licence"}
    create(house, "train", tolerations=[OWN], schedulingGates=[other])
    there = template(house, "train")
    assert there["tolerations"] == [OWN, SPOT]
    assert there["schedulingGates"] == [other]
    asked = house.request("train").workload.pod_sets
    for _ in range(2):
        stop(house, "train")
        house.run(6)
    assert house.request("train").attempt == 3
    there = template(house, "train")
    assert there["tolerations"] == [OWN, SPOT]
    assert there["schedulingGates"] == [other]
    assert house.request("train").workload.pod_sets == asked
    assert [one.key for one in asked[0].tolerations] == ["mine"]


def test_what_a_flavor_wants_no_more_is_taken_out(house: KubeHouse) -> None:
    create(house, "train", pods=2, tolerations=[OWN])
    house.layout = small_layout()
    house.restart()
    house.run(2)
    stop(house, "train")
    house.run(6)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 2)
    assert template(house, "train")["tolerations"] == [OWN]


def test_our_gate_stays_where_its_maker_wrote_it(house: KubeHouse) -> None:
    create(house, "train", schedulingGates=[GATE])
    assert house.state("train") is S.RUNNING
    stop(house, "train")
    house.run(6)
    assert (house.state("train"), house.request("train").attempt) == (S.RUNNING, 2)
    assert template(house, "train")["schedulingGates"] == [GATE]


def test_a_gate_of_ours_is_taken_out_where_all_lie_on_one_node(house: KubeHouse) -> None:
    """Between two starts it is made smaller."""
    create(house, "train", pods=2)
    assert template(house, "train")["schedulingGates"] == [GATE]
    stop(house, "train")
    house.settle()
    change_job(house, "train", {"spec": {"parallelism": 1, "completions": 1}})
    house.run(6)
    assert house.state("train") is S.RUNNING
    assert "schedulingGates" not in template(house, "train")


def test_it_asks_for_the_same_when_it_waits_again(house: KubeHouse) -> None:
    """Else it would count as changed by its owner, and be told so."""
    create(house, "train", tolerations=[OWN], **host("n2"))
    before = house.request("train").ref
    stop(house, "train")
    house.run(6)
    assert house.request("train").attempt == 2
    assert house.request("train").ref == before


def test_a_host_of_its_makers_is_known_without_our_marks(house: KubeHouse) -> None:
    """Somebody has taken them away while the bot was away."""
    create(house, "train", **host("n5"))
    written = house.job("train")["metadata"]["annotations"]
    house.cluster.close()
    change_job(house, "train", {"metadata": {"annotations": dict.fromkeys(written)}})
    house.restart()
    house.run(3)
    assert house.job("train")["metadata"]["annotations"] == written
    fill(house, "n5")
    assert house.bound() == {"boss-n5-0": "n5"}


def test_a_part_of_a_job_set_keeps_its_host(house: KubeHouse) -> None:
    head = part("head", gpus=4)
    spec = head["template"]["spec"]["template"]["spec"]
    spec |= {**host("n5"), "tolerations": [OWN]}
    body = job_set("rl", head, part("workers", pods=2, gpus=4))
    body["metadata"]["labels"] = {names.TEAM: "nlp", names.PREEMPTIBLE: "true"}
    house.person.post(JOB_SETS, body)
    house.run(4)
    for attempt in (1, 2):
        assert (house.state("rl"), house.request("rl").attempt) == (S.RUNNING, attempt)
        (bound,) = (node for name, node in house.bound().items() if "head" in name)
        assert bound == "n5"
        there, others = (
            one["template"]["spec"]["template"]["spec"]
            for one in house.job_set("rl")["spec"]["replicatedJobs"]
        )
        assert there["nodeSelector"] == {names.HOSTNAME: "n5"}
        assert there["tolerations"] == [OWN, SPOT]
        assert others["tolerations"] == [SPOT]
        if attempt == 1:
            house.person.patch(f"{JOB_SETS}/rl", {"spec": {"suspend": True}})
            house.run(6)


@pytest.mark.parametrize(
    "text",
    ["", "x", "null", "5", "[1]", '{"main": 5}', '{"main": {"tolerations": [1]}}', '{"main": {}}'],
)
def test_what_nobody_can_read_tells_of_nothing(text: str) -> None:
    assert additions_in({names.PINNED: text}, "main") == NONE


def test_what_was_told_before_it_was_told_in_full_is_a_host_and_the_gate() -> None:
    ours = additions_in({names.PINNED: "true"}, "main")
    assert ours.selector_without({names.HOSTNAME: "n1", "a": "b"}) == {"a": "b"}
    assert ours.gates_without(["a", names.GATE]) == ("a",)
    assert ours.tolerations_without([OWN]) == (OWN,)
