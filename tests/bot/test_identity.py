"""Who comes to be in a team, who inherits, who stands in: at the desk, through the loop."""

from __future__ import annotations

import datetime as dt

import pytest

from bot.asks import End
from bot.desk.identity import LAPSES
from bot.duty import OnCall
from bot.identity import LinkAnswered, LinkAsked, LinkRefusal, LinkRefused, LinkView, OnCallView
from storage.records import Audience, Person, Role
from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, BEN, LEA, START_DELAY, House

NEW = Person(id="U0NEW", name="New Here")
GONE = Person(id="U0GONE", name="Gone Soon", teams=("nlp",))


@pytest.fixture
def house(house: House) -> House:
    """A house that knows two people from Slack alone."""
    house.desk.take_roll([NEW, GONE], [])
    return house


def refusal(answer: object) -> LinkRefusal:
    assert isinstance(answer, LinkRefused), answer
    return answer.code


def test_the_lead_is_asked_and_her_yes_lasts(house: House) -> None:
    asked = house.desk.link(NEW.id, "NLP", key="one")
    assert isinstance(asked, LinkAsked)
    assert asked.asked == (LEA.id,)
    assert house.heard("link-asked") == [(Audience.PERSON, LEA.id)]
    again = house.desk.link(NEW.id, "nlp", key="two")
    assert isinstance(again, LinkAsked)
    assert again.again
    assert len(house.said("link-asked")) == 1
    view = house.desk.link(NEW.id, key="three")
    assert isinstance(view, LinkView)
    assert (view.teams, view.asked) == ((), ("nlp",))
    done = house.desk.answer_link(LEA.id, NEW.id, "nlp", agree=True)
    assert done == LinkAnswered(person=NEW.id, team="nlp", agreed=True)
    assert house.heard("link-answered") == [(Audience.PERSON, NEW.id)]
    assert house.ask(NEW)
    house.restart()
    house.desk.recall_roll()
    assert house.desk.person(NEW.id) == Person(id=NEW.id, name=NEW.name, teams=("nlp",))


def test_a_no_is_told_and_a_second_answer_comes_too_late(house: House) -> None:
    house.desk.link(NEW.id, "nlp", key="one")
    house.desk.answer_link(LEA.id, NEW.id, "nlp", agree=False)
    assert house.said("link-answered")[0].notice.args["agreed"] is False
    late = house.desk.answer_link(ANA.id, NEW.id, "nlp", agree=True)
    assert refusal(late) is LinkRefusal.ANSWERED
    assert house.core.directory.person(NEW.id).teams == ()


def test_only_a_lead_of_that_team_or_an_admin_answers(house: House) -> None:
    house.desk.link(NEW.id, "vision", key="one")
    for person in (ADA, BEN, LEA, NEW):
        answer = house.desk.answer_link(person.id, NEW.id, "vision", agree=True)
        assert refusal(answer) is LinkRefusal.NOT_YOURS_TO_ANSWER
    assert isinstance(house.desk.answer_link(ANA.id, NEW.id, "vision", agree=True), LinkAnswered)


def test_a_lead_puts_a_colleague_into_the_team_at_once(house: House) -> None:
    assert isinstance(house.desk.link(LEA.id, "nlp", "@New Here", key="k"), LinkAnswered)
    assert house.core.directory.person(NEW.id).teams == ("nlp",)
    assert house.heard("link-answered") == [(Audience.PERSON, NEW.id)]


@pytest.mark.parametrize(
    ("person", "team", "whom", "code"),
    [
        (NEW, "npl", None, LinkRefusal.UNKNOWN_TEAM),
        (NEW, "nlp", "nobody", LinkRefusal.UNKNOWN_PERSON),
        (ADA, "nlp", None, LinkRefusal.ALREADY_IN),
        (BEN, "nlp", None, LinkRefusal.FILED),
        (ADA, "nlp", NEW.id, LinkRefusal.NOT_FOR_OTHERS),
    ],
    ids=lambda value: value if isinstance(value, str) else None,
)
def test_what_cannot_be_is_refused_and_nobody_is_asked(
    house: House, person: Person, team: str, whom: str | None, code: LinkRefusal
) -> None:
    assert refusal(house.desk.link(person.id, team, whom, key="k")) is code
    assert house.said("link-asked") == []


def test_what_somebody_who_left_has_open_goes_to_the_lead_who_is_told(house: House) -> None:
    runs = house.ask(GONE, gpus=8)
    house.step()
    house.step(START_DELAY)
    waits = house.ask(GONE, nodes=8, preemptible=True)
    house.step()
    for _ in range(2):
        house.desk.take_roll([NEW], [GONE.id])
    house.step()
    for request in (runs, waits):
        assert house.request(request).workload.owner == LEA.id
    assert house.state(runs) is S.RUNNING
    told = [who for who in house.heard("changed") if who[0] is Audience.PERSON]
    assert (Audience.PERSON, LEA.id) in told
    assert house.desk.take_roll([NEW], [GONE.id]) == ()


def test_a_second_lead_inherits_from_a_lead_who_left_and_else_an_admin(house: House) -> None:
    request = house.ask(LEA, gpus=8)
    house.step()
    assert house.desk.take_roll([NEW], [LEA.id]) == (request,)
    house.step()
    assert house.request(request).workload.owner == ANA.id


def test_a_substitute_stands_in_until_the_end_and_on_call_hears(house: House) -> None:
    assert house.desk.substitute() is None
    view = house.desk.stand_in(ANA.id, f"<@{BEN.id}>", End(after=3600.0), key=house.key())
    assert isinstance(view, OnCallView)
    assert (view.substitute, view.changed) == (BEN.id, True)
    assert house.desk.substitute() == BEN.id
    assert house.heard("substitute") == [(Audience.ONCALL, None), (Audience.PERSON, BEN.id)]
    house.desk.stand_in(ANA.id, BEN.id, End(), key=house.key())
    house.desk.stand_in(ANA.id, None, End(), off=True, key=house.key())
    assert house.desk.substitute() is None


@pytest.mark.parametrize(
    ("end", "code"),
    [
        (End(after=-1.0), LinkRefusal.END_PASSED),
        (End(day=dt.date(2020, 1, 1)), LinkRefusal.END_PASSED),
        (End(day=dt.date.min), LinkRefusal.END_PASSED),
        (End(day=dt.date.max), LinkRefusal.END_TOO_FAR),
        (End(day=dt.date.max, minute=1439), LinkRefusal.END_TOO_FAR),
    ],
)
def test_an_end_that_nothing_can_have_leaves_who_stands_in(
    house: House, end: End, code: LinkRefusal
) -> None:
    house.desk.stand_in(ANA.id, BEN.id, End(), key=house.key())
    said = len(house.said("substitute"))
    assert refusal(house.desk.stand_in(ANA.id, ADA.id, end, key=house.key())) is code
    assert house.desk.substitute() == BEN.id
    assert len(house.said("substitute")) == said


def test_a_substitute_said_again_by_the_same_delivery_is_told_once(house: House) -> None:
    for _ in range(2):
        seen = house.desk.stand_in(ANA.id, BEN.id, End(after=3600.0), key="once")
        assert isinstance(seen, OnCallView)
        assert (seen.substitute, seen.changed) == (BEN.id, True)
        house.clock.advance(1.0)
        house.restart()
    assert len(house.said("substitute")) == 2  # on-call and Ben


def test_only_admins_and_who_is_on_call_say_who_stands_in(house: House) -> None:
    house.desk.duty = OnDuty()
    for person in (ADA, LEA):
        answer = house.desk.stand_in(person.id, BEN.id, End(), key=house.key())
        assert refusal(answer) is LinkRefusal.NOT_ON_CALL
    unknown = house.desk.stand_in(BEN.id, "@nobody", End(), key=house.key())
    assert refusal(unknown) is LinkRefusal.UNKNOWN_PERSON
    assert isinstance(house.desk.stand_in(BEN.id, ADA.id, End(), key=house.key()), OnCallView)
    seen = house.desk.stand_in(ADA.id, None, End(), key=house.key())
    assert isinstance(seen, OnCallView)
    assert (seen.people, seen.substitute, seen.changed) == ((BEN.id,), ADA.id, False)


class OnDuty:
    """Ben is on call."""

    def oncall(self) -> OnCall:
        return OnCall(called="S0ONCALL", people=frozenset({BEN.id}))


def test_the_roll_is_remembered_and_forgets_who_is_no_longer_there(house: House) -> None:
    house.desk.take_roll([Person(id=NEW.id, name="New Name", role=Role.LEAD)], [])
    with house.store.read() as view:
        assert view.people.all() == (Person(id=NEW.id, name="New Name", role=Role.LEAD),)


def test_a_stranger_is_looked_up_once_and_then_known(house: House) -> None:
    house.desk.link("U0WHO", key="k")
    assert house.desk.strangers() == ("U0WHO",)
    house.desk.meet(Person(id="U0WHO", name="Who Ever", teams=("nlp",)))
    assert house.desk.strangers() == ()
    assert house.ask(Person(id="U0WHO", name=""))


def test_a_wish_and_a_stand_in_last_by_the_time_of_the_world(house: House) -> None:
    """A simulated world runs faster than the clock on the wall: its dates are what people read."""
    asked = house.desk.link(NEW.id, "nlp", key="one")
    assert isinstance(asked, LinkAsked)
    assert asked.until == house.clock.now() + LAPSES
    house.desk.stand_in(ANA.id, BEN.id, End(after=3600.0), key="two")
    view = house.desk.stand_in(ANA.id, None, End(), key="three")
    assert isinstance(view, OnCallView)
    assert (view.substitute, view.until) == (BEN.id, house.clock.now() + 3600.0)
    house.clock.advance(3600.0)
    view = house.desk.stand_in(ANA.id, None, End(), key="four")
    assert isinstance(view, OnCallView)
    assert view.substitute is None
    house.clock.advance(LAPSES)
    late = house.desk.answer_link(LEA.id, NEW.id, "nlp", agree=True)
    assert refusal(late) is LinkRefusal.ANSWERED
