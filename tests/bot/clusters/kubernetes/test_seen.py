"""What pods were seen to ask for beyond their template changes what is planned, and no more."""

from __future__ import annotations

import pytest

from bot.answers import Changed
from bot.asks import Change
from bot.byhand import Intervened, Wish
from scheduler.model import Priority, ResourceName, RestCause
from scheduler.rest import Readiness
from storage.audit import InterventionKind
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.test_additions_of_others import add_proxies
from tests.bot.house import ADA, ANA, LEA

CPU = ResourceName("cpu")
LATE = Readiness().ready_in + 1.0


@pytest.fixture
def proxied(house: KubeHouse) -> KubeHouse:
    """Each pod is made with one more container, which asks for a processor."""
    add_proxies(house, cpu="1")
    return house


def test_what_was_changed_in_chat_is_kept_when_it_is_preempted(proxied: KubeHouse) -> None:
    house = proxied
    house.create_job("first", pods=4)
    house.run(3)
    house.create_job("train", pods=4, annotations={"owner": ADA.id})
    house.run(2)
    raised = Change(priority=Priority.CRITICAL)
    assert isinstance(
        house.desk.edit(LEA.id, house.request("train").id, raised, key="raise"), Changed
    )
    house.desk.release(LEA.id, house.request("first").id, key="release")
    for _ in range(4):
        house.step(301.0)
        house.run(2)
    before = house.request("train")
    assert (before.state, before.workload.priority_class) == (S.RUNNING, Priority.CRITICAL)
    wish = Wish(kind=InterventionKind.PREEMPT, target=before.id, reason="test")
    assert isinstance(house.desk.intervene(ANA.id, wish, key="stop", confirmed=True), Intervened)
    told = house.said("changed")
    for _ in range(4):
        house.step(301.0)
        house.run(2)
    after = house.request("train")
    assert (after.state, after.attempt) == (S.RUNNING, 2)
    assert after.workload.priority_class is Priority.CRITICAL
    assert after.workload.pod_sets[0].requests[CPU] == 1_000
    assert house.said("changed") == told


def test_who_is_late_rests_although_more_was_seen(proxied: KubeHouse) -> None:
    house = proxied
    house.create_job("train", pods=1)
    house.run(3, pods=False)
    before = house.request("train")
    assert (before.state, before.attempt) == (S.ADMITTED, 1)
    house.step(LATE)
    house.run(3, pods=False)
    after = house.request("train")
    assert (after.state, after.attempt) == (S.WAITING, 1)
    assert after.workload.rest is not None
    assert (after.workload.rest.cause, after.workload.rest.tries) == (RestCause.LATE, 1)
    assert after.workload.rest.until == after.workload.created + Readiness().backoff
    assert after.workload.pod_sets[0].requests[CPU] == 1_000
    assert after.ref == before.ref


def test_who_is_held_is_held_when_the_bot_has_come_anew(proxied: KubeHouse) -> None:
    house = proxied
    house.create_job("train", pods=1)
    for _ in range(2 * Readiness().tries):
        house.run(3, pods=False)
        house.step(Readiness().longest + LATE)
    house.run(2, pods=False)
    before = house.request("train")
    assert (before.state, before.attempt) == (S.WAITING, Readiness().tries)
    assert before.workload.rest is not None
    assert before.workload.rest.until is None
    for _ in range(2):
        house.restart()
        house.run(3, pods=False)
    after = house.request("train")
    assert (after.state, after.attempt, after.ref) == (S.WAITING, before.attempt, before.ref)
    assert after.workload == before.workload
