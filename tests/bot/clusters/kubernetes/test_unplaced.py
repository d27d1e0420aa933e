"""Pods that were let go and find no place where they were granted one: their owner is told why."""

from __future__ import annotations

from typing import Any

import pytest

from bot.clusters.kubernetes.connection import Connection
from scheduler.model import ResourceName, RestCause
from scheduler.rest import Readiness
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.test_remarks import said
from tests.bot.clusters.kubernetes.world import TEAM
from tests.kube.cluster import Cluster, Request
from tests.kube.defaults import fill_pod_spec
from tests.kube.documents import Json
from tests.kube.samples import pod_spec

LATE = Readiness().ready_in + 1.0
CPU = ResourceName("cpu")
MUST = "requiredDuringSchedulingIgnoredDuringExecution"
APART = {MUST: [{"topologyKey": "kubernetes.io/hostname", "labelSelector": {}}]}
EVEN = {"maxSkew": 1, "topologyKey": "zone", "labelSelector": {}}
SAYS = "0/6 nodes are available: 1 Insufficient cpu."


def keep_unplaced(house: KubeHouse, cpu: str | None = None) -> None:
    """The scheduler takes up no pod from now on, and each asks for more than its template."""

    def change(cluster: Cluster, request: Request, body: Json) -> None:
        del cluster
        if request.target.kind.plural != "pods" or request.target.subresource:
            return
        spec: Any = body["spec"]
        spec["schedulerName"] = "nobody"
        if cpu is not None:
            more = {"name": "proxy", "image": "x", "resources": {"requests": {"cpu": cpu}}}
            spec["containers"].append(more)
            fill_pod_spec(spec)

    house.api.cluster.mutators.append(change)


def say_why(house: KubeHouse, message: str = SAYS) -> None:
    admin = Connection(lambda: house.api.client("admin"))
    why = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": message}
    for pod in house.pods():
        path = f"/api/v1/namespaces/{TEAM}/pods/{pod['metadata']['name']}/status"
        admin.patch(path, {"status": {"conditions": [why]}})


def wait_in_vain(house: KubeHouse) -> Json:
    """What the Job is told when it is given up."""
    house.run(3)
    assert house.state("train") is S.ADMITTED
    say_why(house)
    house.run(1)
    assert said(house, "Unplaced") == []
    house.step(LATE)
    house.run(2)
    (event,) = said(house, "Unplaced")
    return event


def job_with(house: KubeHouse, **more: object) -> None:
    house.create_job("train", pods=1, template={"spec": pod_spec(8, restartPolicy="Never", **more)})


def test_what_was_added_to_pods_and_has_no_room_is_told(house: KubeHouse) -> None:
    keep_unplaced(house, cpu="60")
    job_with(house)
    event = wait_in_vain(house)
    assert (event["type"], event["involvedObject"]["name"]) == ("Warning", "train")
    assert "Each asks for 60 of cpu, and 0 was granted" in event["message"]
    assert f"The scheduler says: {SAYS}" in event["message"]


def test_the_next_attempt_is_planned_with_what_its_pods_ask_for(house: KubeHouse) -> None:
    keep_unplaced(house, cpu="60")
    job_with(house)
    house.run(3)
    before = house.request("train")
    assert CPU not in before.workload.pod_sets[0].requests
    house.step(LATE)
    house.run(4)
    assert house.state("train") is S.WAITING
    house.step(Readiness().backoff + 1.0)
    house.run(2)
    after = house.request("train")
    assert (after.id, after.state, after.attempt) == (before.id, S.ADMITTED, 2)
    (pods,) = after.workload.pod_sets
    assert pods.requests == {**before.workload.pod_sets[0].requests, CPU: 60_000}
    house.run(3)
    assert house.request("train").attempt == 2


def test_what_was_seen_is_forgotten_when_the_template_asks_for_something_else(
    house: KubeHouse,
) -> None:
    keep_unplaced(house, cpu="100")
    job_with(house)
    house.run(3)
    house.step(LATE)
    house.run(4)
    assert house.state("train") is S.WAITING
    house.api.cluster.mutators.pop()
    limits = {"limits": {"nvidia.com/gpu": "8", "cpu": "4"}}
    (main,) = pod_spec(8)["containers"]
    spec = {"template": {"spec": {"containers": [{**main, "resources": limits}]}}}
    path = f"/apis/batch/v1/namespaces/{TEAM}/jobs/train"
    house.person.patch(path, {"spec": spec})
    house.run(4)
    assert house.state("train") is S.RUNNING
    assert house.request("train").workload.pod_sets[0].requests[CPU] == 4_000


def test_what_could_never_have_room_is_held(house: KubeHouse) -> None:
    keep_unplaced(house, cpu="100")
    job_with(house)
    house.run(3)
    house.step(LATE)
    house.run(4)
    assert house.state("train") is S.WAITING
    rest = house.request("train").workload.rest
    assert rest is not None
    assert rest.cause is RestCause.SPOILED
    (event,) = said(house, "Refused")
    assert "can never start" in event["message"]


@pytest.mark.parametrize(
    ("more", "named"),
    [
        ({"affinity": {"podAntiAffinity": APART}}, "`podAntiAffinity`"),
        ({"affinity": {"podAffinity": APART}}, "`podAffinity`"),
        (
            {"topologySpreadConstraints": [{**EVEN, "whenUnsatisfiable": "DoNotSchedule"}]},
            "`topologySpreadConstraints`",
        ),
    ],
)
def test_rules_that_no_grant_looks_at_are_named(
    house: KubeHouse, more: dict[str, object], named: str
) -> None:
    keep_unplaced(house)
    job_with(house, **more)
    event = wait_in_vain(house)
    assert f"No grant looks at {named}, which must hold for them." in event["message"]
    assert "was granted:" not in event["message"]


def test_rules_that_need_not_hold_are_not(house: KubeHouse) -> None:
    keep_unplaced(house)
    term = {"weight": 1, "podAffinityTerm": APART[MUST][0]}
    affinity = {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [term]}}
    spread = [{**EVEN, "whenUnsatisfiable": "ScheduleAnyway"}]
    job_with(house, affinity=affinity, topologySpreadConstraints=spread)
    event = wait_in_vain(house)
    assert event["message"].endswith(f"that were granted. The scheduler says: {SAYS}")


def test_a_template_that_names_its_node_is_not_taken(house: KubeHouse) -> None:
    job_with(house, nodeName="n5")
    house.run()
    assert not house.requests()
    (event,) = said(house, "Refused")
    assert "names a node, n5" in event["message"]
