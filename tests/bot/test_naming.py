"""`why` and `when` by the name of a request."""

from __future__ import annotations

from bot.answers import WhenView
from bot.views import RefusalCode, Refused, WhyView
from tests.bot.byhand import run
from tests.bot.house import ADA, BEN, LEA, STOP_TIME, House


def why(house: House, what: str, person: str = ADA.id) -> str:
    found = house.desk.why(person, what)
    assert isinstance(found, WhyView), found
    return found.card.request


def test_a_name_means_the_request_that_has_it_whatever_its_case(house: House) -> None:
    request = house.ask(name="llama-sft")
    house.ask(name="other")
    assert why(house, "llama-sft") == request  # not even looked at by the engine yet
    house.step()
    assert why(house, " LLaMA-sft ", BEN.id) == request
    assert why(house, request.lower()) == request
    found = house.desk.when(BEN.id, "llama-sft")
    assert isinstance(found, WhenView)
    assert found.card.request == request


def test_ones_own_comes_before_those_of_others(house: House) -> None:
    mine, theirs = house.ask(name="sweep"), house.ask(BEN, name="sweep")
    house.step()
    assert why(house, "sweep") == mine
    assert why(house, "sweep", BEN.id) == theirs


def test_several_of_a_name_are_listed_by_number_with_their_owners(house: House) -> None:
    ids = [house.ask(person, name="sweep") for person in (ADA, BEN, ADA)]
    house.step()
    found = house.desk.why(LEA.id, "sweep")
    assert isinstance(found, Refused)
    assert found.code is RefusalCode.AMBIGUOUS_NAME
    assert found.near == (
        f"{ids[0]} ({ADA.name})", f"{ids[1]} ({BEN.name})", f"{ids[2]} ({ADA.name})",
    )  # fmt: skip
    assert (found.args["count"], found.args["example"]) == (3, ids[0])
    own = house.desk.when(ADA.id, "sweep")
    assert isinstance(own, Refused)
    assert own.args["count"] == 2


def test_one_that_has_ended_is_found_by_its_owner_the_last_of_them_first(house: House) -> None:
    for _ in range(2):
        request = run(house, name="night")
        house.desk.release(ADA.id, request, key=house.key())
        house.step()
        house.step(STOP_TIME)
    assert why(house, "night") == request
    other = house.desk.why(BEN.id, "night")
    assert isinstance(other, Refused)
    assert other.code is RefusalCode.NO_SUCH_REQUEST


def test_a_name_that_is_almost_right_is_suggested(house: House) -> None:
    house.ask(name="llama-sft")
    found = house.desk.why(ADA.id, "lama-sft")
    assert isinstance(found, Refused)
    assert (found.code, found.near) == (RefusalCode.NO_SUCH_REQUEST, ("llama-sft",))
    assert house.desk.when(ADA.id, "R-999").code is RefusalCode.NO_SUCH_REQUEST  # type: ignore[union-attr]
