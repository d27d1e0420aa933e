"""What people change in chat of a request that stands for an object: all but its pods."""

from __future__ import annotations

import dataclasses

import pytest

from bot.answers import Changed
from bot.asks import Change
from bot.offers import alternatives
from bot.terms import Terms
from bot.views import RefusalCode, Refused
from scheduler.offers import OfferKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.house import ADA
from tests.kube.samples import part
from tests.kube.server import ApiServer


@pytest.fixture
def api(api: ApiServer) -> ApiServer:
    """With JobSet installed."""
    api.serve_job_sets()
    return api


@pytest.fixture
def waiting(house: KubeHouse) -> KubeHouse:
    """A Job and a JobSet of Ada's that wait for another Job."""
    house.create_job("first", pods=4, gpus=8)
    house.run()
    house.create_job("job", pods=4, gpus=8, annotations={"owner": ADA.id})
    parts = [part("leader", gpus=4), part("workers", replicas=3, gpus=8)]
    house.create_job_set("set", *parts, annotations={"owner": ADA.id})
    house.run()
    return house


@pytest.mark.parametrize("name", ["job", "set"])
@pytest.mark.parametrize(
    "change", [Change(gpus=8), Change(pods=2, gpus_per_pod=8), Change(minimum=8)], ids=str
)
def test_its_pods_are_what_the_object_says(waiting: KubeHouse, name: str, change: Change) -> None:
    before = waiting.request(name)
    refused = waiting.desk.edit(ADA.id, before.id, change, key="edit")
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.OF_OBJECT
    assert refused.args["name"] == name
    waiting.run()
    assert waiting.request(name) == before


@pytest.mark.parametrize("name", ["job", "set"])
def test_its_terms_change_and_its_pods_stay(waiting: KubeHouse, name: str) -> None:
    before = waiting.request(name)
    change = Change(duration=3600.0, preemptible=True)
    changed = waiting.desk.edit(ADA.id, before.id, change, key="edit")
    assert isinstance(changed, Changed)
    waiting.run()
    after = waiting.request(name)
    assert (after.workload.duration, after.workload.preemptible) == (3600.0, True)
    assert after.workload.pod_sets == before.workload.pod_sets
    for other in {"first", "job", "set"} - {name}:
        (waiting.delete_job_set if other == "set" else waiting.delete_job)(other)
    waiting.run(4)
    assert waiting.state(name) is S.RUNNING
    assert len(waiting.bound()) == 4


@pytest.mark.parametrize("name", ["job", "set"])
def test_no_offer_changes_its_pods(waiting: KubeHouse, name: str) -> None:
    request, now = waiting.request(name), waiting.clock.now()
    found = alternatives(request.workload, ADA, Terms(waiting.layout), (), now, request.ref)
    assert {one.kind for one in found} & {OfferKind.PREEMPTIBLE, OfferKind.SPOT}
    assert all(one.workload.pod_sets == request.workload.pod_sets for one in found)


def test_a_grant_for_other_pods_starts_nothing(waiting: KubeHouse) -> None:
    """However it came about: what was stored before is carried out by what is here now."""
    request = waiting.request("set")
    with waiting.store.write() as work:
        sets = waiting.request("job").workload.pod_sets
        other = dataclasses.replace(request.workload, pod_sets=sets)
        work.requests.amend(request.id, workload=other)
    waiting.restart()
    waiting.delete_job("first")
    waiting.delete_job("job")
    waiting.run(4)
    assert waiting.job_set("set")["spec"]["suspend"]
    assert waiting.bound() == {}
