"""Who comes by kubectl has the rights of anybody in the team, whatever owner the object names."""

from __future__ import annotations

import pytest

from bot.answers import Changed
from bot.asks import Change
from bot.views import RefusalCode
from scheduler.model import Priority
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import deploy
from tests.bot.clusters.kubernetes.test_remarks import said
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, ANA, BEN, LEA

CRITICAL = {"metadata": {"labels": {"gpubot.dev/priority": "critical"}}}
PATH = f"/apis/batch/v1/namespaces/{TEAM}/jobs/train"


def owned(owner: str | None) -> dict[str, str]:
    return {} if owner is None else {"owner": owner}


def raise_in_chat(house: KubeHouse, who: str, key: str = "raise") -> object:
    change = Change(priority=Priority.CRITICAL)
    return house.desk.edit(who, house.request("train").id, change, key=key)


@pytest.fixture
def full(house: KubeHouse) -> KubeHouse:
    """Somebody has all of the quota for several nodes, so that the next one waits."""
    house.create_job("first", pods=4)
    house.run(3)
    assert house.state("first") is S.RUNNING
    return house


@pytest.mark.parametrize("owner", [None, ADA.id, LEA.id, "U0ELSE"])
def test_a_class_that_needs_a_role_is_not_to_be_had(house: KubeHouse, owner: str | None) -> None:
    house.create_job("train", labels={"priority": "critical"}, annotations=owned(owner))
    house.run()
    assert not house.requests()
    (event,) = said(house, "Refused")
    assert "Write `low`, `medium` or `high`; when it waits" in event["message"]
    assert "a lead of nlp or an admin can raise it in chat" in event["message"]
    assert "`/gpu edit R-1042 priority critical`" in event["message"]
    (told,) = house.said("not-taken")
    assert told.notice.target == (owner or LEA.id)


@pytest.mark.parametrize("owner", [ANA.id, BEN.id])
def test_a_team_is_not_to_be_had_by_naming_somebody_of_another(
    house: KubeHouse, owner: str
) -> None:
    house.create_job("train", annotations=owned(owner))
    house.run()
    assert not house.requests()
    (event,) = said(house, "Refused")
    assert "not in team nlp" in event["message"]
    assert "`vision`" in event["message"]


def test_what_was_raised_in_chat_may_say_so(full: KubeHouse) -> None:
    full.create_job("train", pods=4, labels={"priority": "high"}, annotations=owned(ADA.id))
    full.run()
    first = full.request("train")
    assert getattr(raise_in_chat(full, ADA.id), "code", None) is RefusalCode.PRIORITY_NOT_ALLOWED
    assert isinstance(raise_in_chat(full, LEA.id, "lead"), Changed)
    full.run()
    full.person.patch(PATH, CRITICAL)
    full.run(1)
    after = full.request("train")
    assert (after.id, after.workload.priority_class) == (first.id, Priority.CRITICAL)
    assert after.workload.rest is None
    assert not said(full, "Refused")


@pytest.mark.parametrize("restarted", [False, True])
def test_what_is_held_for_want_of_a_role_is_taken_when_it_was_raised(
    full: KubeHouse, *, restarted: bool
) -> None:
    full.create_job("train", pods=4, labels={"priority": "high"}, annotations=owned(LEA.id))
    full.run()
    first = full.request("train")
    full.person.patch(PATH, CRITICAL)
    full.run()
    held = full.request("train").workload
    assert (held.priority_class, held.rest is None) == (Priority.HIGH, False)
    (event,) = said(full, "Refused")
    assert f"`/gpu edit {first.id} priority critical`" in event["message"]
    assert isinstance(raise_in_chat(full, LEA.id), Changed)
    if restarted:
        full.restart()
    full.run(1)
    full.run(1)
    after = full.request("train")
    assert (after.id, after.workload.priority_class) == (first.id, Priority.CRITICAL)
    assert after.workload.rest is None
    assert len(said(full, "Refused")) == 1


def test_a_job_that_gives_the_wish_up_is_as_before(full: KubeHouse) -> None:
    full.create_job("train", pods=4, labels={"priority": "high"})
    full.run()
    full.person.patch(PATH, CRITICAL)
    full.run()
    full.person.patch(PATH, {"metadata": {"labels": {"gpubot.dev/priority": "low"}}})
    full.run()
    after = full.request("train").workload
    assert (after.priority_class, after.rest) == (Priority.LOW, None)


def test_of_replicas_it_is_said_that_an_admin_can_raise_what_waits(house: KubeHouse) -> None:
    deploy(house, 1, priority="critical")
    house.run()
    assert not house.requests()
    (event,) = said(house, "Refused")
    assert "What waits an admin can raise in chat: `/gpu boost" in event["message"]
