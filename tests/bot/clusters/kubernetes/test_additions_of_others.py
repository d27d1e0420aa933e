"""What webhooks and LimitRanges add to pods when they are made is counted as well."""

from __future__ import annotations

from typing import Any

from scheduler.model import NodeName, ResourceName
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.kube.cluster import Cluster, Request
from tests.kube.defaults import fill_pod_spec
from tests.kube.documents import Json

CPU = ResourceName("cpu")
WHOLE = 96_000  # of a node, in thousandths


def add_proxies(house: KubeHouse, cpu: str = "60") -> None:
    """From now on each pod is made with one more container."""

    def inject(cluster: Cluster, request: Request, body: Json) -> None:
        del cluster
        spec: Any = body.get("spec") or {}
        if request.target.kind.plural == "pods" and len(spec.get("containers") or ()) == 1:
            proxy = {"name": "proxy", "image": "x", "resources": {"requests": {"cpu": cpu}}}
            spec["containers"].append(proxy)
            fill_pod_spec(spec)  # as the server does after webhooks

    house.api.cluster.mutators.append(inject)


def cpu_left(house: KubeHouse, name: str) -> int:
    """What the engine may give of a node, but for what it has granted of that."""
    found = house.control.read(lambda engine: {node.name: node for node in engine.nodes()})
    return found[NodeName(name)].capacity[CPU]


def test_what_is_added_to_the_pods_of_a_job_is_counted_on_their_nodes(house: KubeHouse) -> None:
    add_proxies(house)
    house.create_job("train", pods=2, gpus=8)
    house.run(4)
    assert house.state("train") is S.RUNNING
    for node in house.bound().values():
        assert cpu_left(house, node) == WHOLE - 60_000
    house.restart()
    house.run(2)
    for node in house.bound().values():
        assert cpu_left(house, node) == WHOLE - 60_000
    house.finish_pods()
    house.run(3)
    assert {cpu_left(house, f"n{number}") for number in range(1, 7)} == {WHOLE}


def test_what_a_template_asks_for_counts_once(house: KubeHouse) -> None:
    add_proxies(house, cpu="10")
    house.create_job("train", pods=1, gpus=4, template=template(cpu="20"))
    house.run(3)
    (node,) = house.bound().values()
    assert cpu_left(house, node) == WHOLE - 10_000
    house.restart()
    house.run(2)
    assert cpu_left(house, node) == WHOLE - 10_000


def template(cpu: str) -> Json:
    limits = {"nvidia.com/gpu": "4", "cpu": cpu}
    main = {"name": "main", "image": "example.com/train:1", "resources": {"limits": limits}}
    return {"spec": {"restartPolicy": "Never", "containers": [main]}}
