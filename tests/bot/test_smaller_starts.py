"""Requests that may start smaller, or that say how their nodes shall be had."""

from __future__ import annotations

import pytest

from bot.asks import Ask, Provision
from bot.plans import plan
from bot.reask import ask_of
from bot.shipped import read_policy
from bot.terms import Terms
from bot.views import RefusalCode, Refused, Submitted
from scheduler.model import Workload
from scheduler.policy import compile_policy
from storage.states import RequestState
from tests.bot.house import ADA, House

HOUR = 3600.0


def ask(house: House, ask: Ask, key: str) -> Submitted | Refused:
    return house.core.desk.submit(ADA.id, ask, key=key)


@pytest.mark.parametrize(
    ("wanted", "near"),
    [
        (Ask(gpus=32, model="h100", minimum=12), ("8", "16")),
        (Ask(gpus=8, model="h100", minimum=4), ()),
    ],
)
def test_a_smaller_start_is_in_whole_pods(house: House, wanted: Ask, near: tuple[str, ...]) -> None:
    found = ask(house, wanted, "k")
    assert isinstance(found, Refused)
    assert (found.code, found.near) == (RefusalCode.NO_SMALLER_START, near)


def test_it_starts_smaller_where_the_whole_has_no_room(house: House) -> None:
    assert isinstance(ask(house, Ask(nodes=2, model="h100", duration=HOUR), "first"), Submitted)
    house.step()
    second = ask(house, Ask(nodes=4, minimum=2, model="h100", duration=HOUR), "second")
    assert isinstance(second, Submitted)
    house.step()
    card = house.desk.card(second.card.request)
    assert card.state is RequestState.ADMITTED
    assert (card.gpus, card.asked, card.least, card.whole) == (16, 32, 16, "2×8")
    assert sum(gpus for _, gpus in card.nodes) == 16
    with house.store.read() as view:
        request = view.requests.get(second.card.request)
    assert request is not None
    assert (request.gpus, request.workload.gpus) == (16, 32)


def test_unknown_provision_is_refused_with_those_there_are(house: House) -> None:
    found = ask(house, Ask(gpus=8, model="h100", provision=Provision.SPOT), "k")
    assert isinstance(found, Refused)
    assert found.code is RefusalCode.NO_PROVISION


@pytest.mark.parametrize(
    ("provision", "queue"), [(Provision.SPOT, "spot"), (Provision.FLEX_START, "flex-start")]
)
def test_the_shipped_policy_has_spot_and_flex_start(provision: Provision, queue: str) -> None:
    terms = Terms(compile_policy(read_policy()))
    found = plan(Ask(gpus=8, model="a100", provision=provision), ADA, terms, 0.0)
    assert isinstance(found, Workload)
    assert found.queue == queue
    assert found.preemptible is (provision is Provision.SPOT)
    assert ask_of(found, terms).provision is provision
    assert (ask_of(found, terms).gpus_per_pod, ask_of(found, terms).model) == (8, "a100")
