"""How near each other the pods of what comes by kubectl shall lie, by a label of theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.clusters.kubernetes.names import JOB_SET_EXCLUSIVE, LWS_EXCLUSIVE
from bot.notices import NotTakenArgs
from bot.refusals import read_refusal
from bot.rows import card_of
from scheduler.model import Slice, TopologyMode, TopologyRequest
from scheduler.policy import compile_policy, load_policy
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.grouping import create
from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.leaderworkersets.crews import nodes
from tests.bot.clusters.kubernetes.serving import keep_groups
from tests.bot.clusters.kubernetes.world import JOB_SETS, TEAM
from tests.bot.house import POLICY
from tests.kube.samples import job_set, part
from tests.kube.server import ApiServer

RACK = "topology.example.com/rack"
SAME = TopologyRequest(mode=TopologyMode.REQUIRED, level=RACK)


@contextmanager
def opened(folder: Path, racks: str) -> Iterator[KubeHouse]:
    """A bot over nodes n1, n2, … in these racks."""
    levels = f"levels: [{RACK}, kubernetes.io/hostname]"
    text = POLICY.replace("provision: reserved\n", f"provision: reserved\n    {levels}\n", 1)
    layout = compile_policy(load_policy(text, "racks.yaml"))
    with ApiServer() as api:
        for number, rack in enumerate(racks, start=1):
            api.add_node(f"n{number}", labels={**MODEL, RACK: rack})
        api.add_namespace(TEAM, **{"gpubot.dev/managed": "true"})
        api.grant_shipped_rights()
        api.serve_job_sets()
        api.serve_leader_worker_sets()
        house = KubeHouse(api, folder, layout=layout)
        house.step()
        yield house
        house.close()


@pytest.fixture
def racks(tmp_path: Path) -> Iterator[KubeHouse]:
    """Nodes n1 and n2 in rack a, n3 and n4 in b, n5 and n6 in c; `one` has n1."""
    with opened(tmp_path, "aabbcc") as house:
        house.create_job("one")
        house.run(3)
        yield house


def racks_of(house: KubeHouse, name: str) -> set[str]:
    """Where the pods of these that have begun with a name are."""
    house.run(4)
    found = {node for pod, node in nodes(house).items() if pod.startswith(name)}
    return {"aabbcc"[int(node.removeprefix("n")) - 1] for node in found}


def refusals(house: KubeHouse) -> list[tuple[str, tuple[str, ...]]]:
    """The codes of what was not taken, and what would be right."""
    told = [NotTakenArgs.model_validate(item.notice.args) for item in house.said("not-taken")]
    refused = [read_refusal(one.refusal) for one in told]
    return [(one.code, one.near) for one in refused]


def test_without_the_label_the_first_nodes_do(racks: KubeHouse) -> None:
    racks.create_job("train", pods=2)
    assert racks_of(racks, "train") == {"a", "b"}


@pytest.mark.parametrize("said", ["same-rack", "prefer-rack", "Same-Racks"])
def test_a_job_lies_where_its_label_says(racks: KubeHouse, said: str) -> None:
    racks.create_job("train", pods=2, labels={"topology": said})
    assert len(racks_of(racks, "train")) == 1
    assert racks.state("train") is S.RUNNING


@pytest.mark.parametrize("said", ["same rack", f"same {RACK}"])
def test_an_annotation_may_say_it_as_people_do(racks: KubeHouse, said: str) -> None:
    racks.create_job("train", pods=2, annotations={"topology": said})
    assert len(racks_of(racks, "train")) == 1
    (pods,) = racks.request("train").workload.pod_sets
    assert pods.topology == SAME


def test_a_group_lies_where_its_label_says(racks: KubeHouse) -> None:
    create(racks, {"g-a": 8, "g-b": 8}, topology="same-rack")
    assert len(racks_of(racks, "g-")) == 1


def test_a_leader_lies_with_the_workers_of_its_job_set(racks: KubeHouse) -> None:
    racks.create_job("two", pods=1, gpus=4)  # on n2, so that no rack has less room than a
    racks.run(3)
    parts = (part("leader", gpus=4), part("workers", pods=3, gpus=4))
    racks.create_job_set("train", *parts, labels={"topology": "same-rack"})
    assert len(racks_of(racks, "train")) == 1
    assert {one.topology for one in racks.request("train").workload.pod_sets} == {
        TopologyRequest(mode=TopologyMode.REQUIRED, level=RACK, group="together")
    }


@pytest.mark.parametrize(
    ("said", "refusal"),
    [
        ("nearby", ("bad-mark", ("same-rack", "same-node", "spread"))),
        ("same-row", ("unknown-level", ("rack", "node"))),
    ],
)
def test_what_cannot_be_read_is_told_with_what_would_be_right(
    racks: KubeHouse, said: str, refusal: tuple[str, tuple[str, ...]]
) -> None:
    racks.create_job("train", pods=2, labels={"topology": said})
    racks.run()
    assert refusals(racks) == [refusal]
    path = f"/apis/batch/v1/namespaces/{TEAM}/jobs/train"
    racks.person.patch(path, {"metadata": {"labels": {"gpubot.dev/topology": "same-rack"}}})
    assert len(racks_of(racks, "train")) == 1


def test_more_than_a_rack_has_is_refused_at_once(racks: KubeHouse) -> None:
    racks.create_job("train", pods=3, labels={"topology": "same-rack"})
    racks.run()
    ((code, _),) = refusals(racks)
    assert code == "never-fits"


def test_a_job_that_waits_may_be_given_the_label(racks: KubeHouse) -> None:
    racks.create_job("most", pods=4)
    racks.run(3)
    racks.create_job("train", pods=2)
    racks.run()
    assert racks.state("train") is S.WAITING
    path = f"/apis/batch/v1/namespaces/{TEAM}/jobs/train"
    racks.person.patch(path, {"metadata": {"labels": {"gpubot.dev/topology": "same-rack"}}})
    racks.run()
    (pods,) = racks.request("train").workload.pod_sets
    assert pods.topology == SAME


def test_neighbours_in_rank_are_neighbours_in_the_network(tmp_path: Path) -> None:
    with opened(tmp_path, "ababab") as house:
        house.create_job("train", pods=4, labels={"topology": "prefer-rack"})
        house.run(4)
        ranks = {pod.split("-")[1]: node for pod, node in nodes(house).items()}
    assert ranks == {"0": "n1", "1": "n3", "2": "n5", "3": "n2"}


# ---- replicas that are to have a domain of their own


def exclusive(house: KubeHouse, level: str) -> None:
    """A LeaderWorkerSet whose replicas of two nodes have the annotation of its controller."""
    keep_groups(house, 1, 2, annotations={LWS_EXCLUSIVE: level})


def test_a_replica_with_an_exclusive_topology_lies_in_one_domain(racks: KubeHouse) -> None:
    exclusive(racks, RACK)
    assert len(racks_of(racks, "llama")) == 1
    assert racks.state("llama-0") is S.RUNNING
    assert sorted(nodes(racks)) == [
        "llama-0",
        "llama-0-1",
        *(p for p in nodes(racks) if "one" in p),
    ]


@pytest.mark.parametrize("where", ["the JobSet", "its part"])
def test_each_job_of_an_exclusive_topology_lies_in_one_domain(racks: KubeHouse, where: str) -> None:
    """Without that, the followers of a Job would wait for nodes of where its first pod is."""
    one, notes = part("w", replicas=2, pods=2, gpus=8), {JOB_SET_EXCLUSIVE: RACK}
    body = job_set("train", one)
    body["metadata"]["labels"] = {"gpubot.dev/team": "nlp"}
    holder = body if where == "the JobSet" else one["template"]
    holder.setdefault("metadata", {})["annotations"] = notes
    racks.person.post(JOB_SETS, body)
    for _ in range(4):
        racks.step(15.0)  # the controller tries followers again
        racks.run(2)
    assert racks.state("train") is S.RUNNING
    assert [len(racks_of(racks, f"train-w-{job}")) for job in (0, 1)] == [1, 1]
    (pods,) = racks.request("train").workload.pod_sets
    assert pods.topology == TopologyRequest(slices=(Slice(level=RACK, size=2),))
    assert not card_of(racks.request("train"), racks.control.terms, racks.clock.now()).topology


def test_a_domain_that_the_policy_does_not_know_is_left_to_the_job_set(racks: KubeHouse) -> None:
    one = part("w", replicas=2, pods=2, gpus=4)
    body = job_set("train", one)
    body["metadata"] |= {
        "labels": {"gpubot.dev/team": "nlp", "gpubot.dev/topology": "same-rack"},
        "annotations": {JOB_SET_EXCLUSIVE: "example.com/pool"},
    }
    racks.person.post(JOB_SETS, body)
    racks.run()
    (pods,) = racks.request("train").workload.pod_sets
    assert pods.topology == SAME


def test_a_level_that_the_policy_does_not_know_is_left_to_its_controller(racks: KubeHouse) -> None:
    exclusive(racks, "example.com/pool")
    assert racks_of(racks, "llama") == {"a", "b"}
    assert racks.state("llama-0") is S.RUNNING


def test_its_own_label_goes_before_its_exclusive_topology(racks: KubeHouse) -> None:
    keep_groups(racks, 1, 2, annotations={LWS_EXCLUSIVE: "example.com/pool"}, topology="same-rack")
    assert len(racks_of(racks, "llama")) == 1
