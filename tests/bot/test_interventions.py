"""What admins do by hand, from the desk through the loop to the cluster and the notices."""

from __future__ import annotations

import datetime as dt

import pytest

from bot.asks import End
from bot.byhand import DeclineCode, Declined, Intervened, Preview, Wish
from bot.chat.actions import WishValue
from bot.views import StatusView
from scheduler.model import Priority, WaitReason
from storage.audit import InterventionKind, InterventionState
from storage.records import Audience, Person, Setting
from storage.states import RequestState as S
from tests.bot.byhand import HOUR, K, audit, order, reason, run, two_in_line
from tests.bot.house import ADA, ANA, BEN, LEA, STOP_TIME, House

# -- who may


@pytest.mark.parametrize("person", [ADA, LEA, BEN], ids=lambda person: person.role)
@pytest.mark.parametrize("kind", list(InterventionKind))
def test_whoever_is_no_admin_is_told_whom_to_ask_and_nothing_happens(
    house: House, person: Person, kind: InterventionKind
) -> None:
    wish = Wish(kind=kind, target="team-nlp", reason="I am in a hurry")
    answer = house.desk.intervene(person.id, wish, key="k", confirmed=True)
    house.step()
    assert isinstance(answer, Declined)
    assert answer.code is DeclineCode.ADMINS_ONLY
    assert answer.near == (ANA.id,)
    assert audit(house) == []
    assert house.said("intervention") == []


DECLINED: dict[str, tuple[Wish, DeclineCode]] = {
    "no reason": (Wish(kind=K.PAUSE, target="all", reason=" . "), DeclineCode.NO_REASON),
    "an end that is over": (
        Wish(kind=K.PAUSE, target="all", reason="x", end=End(after=-5.0)),
        DeclineCode.END_PASSED,
    ),
    "an end when the calendar ends": (
        Wish(kind=K.PAUSE, target="all", reason="x", end=End(day=dt.date.max)),
        DeclineCode.END_TOO_FAR,
    ),
    "an end in ten years": (
        Wish(kind=K.PAUSE, target="all", reason="x", end=End(after=10 * 366 * 86400.0)),
        DeclineCode.END_TOO_FAR,
    ),
    "a pause of nothing": (
        Wish(kind=K.PAUSE, target="team-npl", reason="x"),
        DeclineCode.UNKNOWN_PLACE,
    ),
    "a resume of what runs": (
        Wish(kind=K.RESUME, target="team-nlp", reason="x"),
        DeclineCode.NOT_PAUSED,
    ),
    "a boost of nobody": (
        Wish(kind=K.BOOST, target="R-9", reason="x", priority=Priority.HIGH),
        DeclineCode.NO_SUCH_REQUEST,
    ),
    "a stop of nobody": (
        Wish(kind=K.PREEMPT, target="R-9", reason="x"),
        DeclineCode.NO_SUCH_REQUEST,
    ),
    "a node that does not exist": (
        Wish(kind=K.DRAIN, target="h100-00001", reason="x"),
        DeclineCode.UNKNOWN_NODE,
    ),
    "a node that is not drained": (
        Wish(kind=K.UNDRAIN, target="h100-0001", reason="x"),
        DeclineCode.NOT_DRAINED,
    ),
    "quota of a flavor that is not there": (
        Wish(kind=K.QUOTA, target="nlp", reason="x", gpus=1, flavor="spot"),
        DeclineCode.NO_SUCH_FLAVOR,
    ),
    "quota of several queues": (
        Wish(kind=K.QUOTA, target="all", reason="x", gpus=1),
        DeclineCode.NEEDS_QUEUE,
    ),
    "the quota that it has": (
        Wish(kind=K.QUOTA, target="nlp", reason="x", gpus=16),
        DeclineCode.SAME_QUOTA,
    ),
}


@pytest.mark.parametrize(("wish", "code"), DECLINED.values(), ids=DECLINED)
def test_what_cannot_be_is_declined_and_leaves_no_trace(
    house: House, wish: Wish, code: DeclineCode
) -> None:
    answer = house.desk.intervene(ANA.id, wish, key="k", confirmed=True)
    assert isinstance(answer, Declined)
    assert answer.code is code
    assert house.desk.intervene(ANA.id, wish, key="k", confirmed=True) == answer
    assert audit(house) == []


def test_the_same_delivery_again_orders_nothing_more(house: House) -> None:
    first = order(house, K.PAUSE, "team-nlp", key="same")
    second = order(house, K.PAUSE, "team-nlp", key="same")
    assert isinstance(first, Intervened)
    assert isinstance(second, Intervened)
    assert (second.again, second.done.id) == (True, first.done.id)
    assert audit(house) == [(K.PAUSE, InterventionState.IN_FORCE)]


def test_a_button_pressed_twice_orders_once(house: House) -> None:
    run(house)
    for again in (False, True):
        answer = order(house, K.QUOTA, "nlp", gpus=8, confirmed=True)
        assert isinstance(answer, Intervened)
        assert answer.again is again
    assert audit(house) == [(K.QUOTA, InterventionState.IN_FORCE)]
    house.step(120.0)
    order(house, K.QUOTA, "nlp", gpus=8, confirmed=True)  # later it is meant: a new end, say
    assert len(audit(house)) == 2


# -- pauses


def test_a_pause_holds_through_a_restart_until_its_end_and_then_says_so(house: House) -> None:
    order(house, K.PAUSE, "team-nlp", end=End(after=2 * HOUR))
    request = house.ask()
    house.step()
    house.restart()
    house.step(HOUR)
    assert house.state(request) is S.WAITING
    why = house.desk.card(request).explanation
    assert why is not None
    assert why.verdict.reason is WaitReason.PAUSED
    assert why.verdict.figures["by"] == ANA.name
    assert why.verdict.figures["because"] == "new switches"
    house.step(HOUR)
    house.step()
    assert house.state(request) is S.ADMITTED
    assert audit(house) == [(K.PAUSE, InterventionState.ENDED)]
    assert house.heard("intervention-over") == [(Audience.CHANNEL, None), (Audience.ONCALL, None)]
    with house.store.read() as view:
        assert view.settings.under("pause:") == ()
        assert view.interventions.latest(1)[0].ended_by == "gpubot"


def test_a_pause_that_ends_while_the_bot_is_away_is_over_when_it_comes_back(house: House) -> None:
    order(house, K.PAUSE, "all", end=End(after=HOUR))
    request = house.ask()
    house.step()
    house.close()
    house.clock.advance(2 * HOUR)
    house._open()
    house.step()
    assert house.state(request) is S.ADMITTED
    assert len(house.said("intervention-over")) == 2


def test_status_shows_what_lasts_until_it_is_over(house: House) -> None:
    order(house, K.PAUSE, "team-nlp", end=End(after=HOUR))
    status = house.desk.status(ADA.id)
    assert isinstance(status, StatusView)
    assert [(one.kind, one.target) for one in status.by_hand] == [(K.PAUSE, "team-nlp")]
    house.step(HOUR)
    house.step()
    status = house.desk.status(ADA.id)
    assert isinstance(status, StatusView)
    assert status.by_hand == ()


def test_a_pool_is_paused_and_one_of_its_queues_resumed(house: House) -> None:
    order(house, K.PAUSE, "team")
    one, other = house.ask(ADA), house.ask(BEN)
    house.step()
    assert {reason(house, one), reason(house, other)} == {WaitReason.PAUSED}
    order(house, K.RESUME, "nlp")
    house.step()
    assert house.state(one) is S.ADMITTED
    assert house.state(other) is S.WAITING
    assert audit(house)[0] == (K.PAUSE, InterventionState.IN_FORCE)  # for the other queue
    order(house, K.RESUME, "all")
    house.step()
    assert house.state(other) is S.ADMITTED
    assert [state for _, state in audit(house)] == [
        InterventionState.ENDED,
        InterventionState.DONE,
        InterventionState.DONE,
    ]


def test_a_stored_pause_is_heeded_while_the_bot_runs(house: House) -> None:
    with house.store.write() as work:
        work.settings.put(Setting(name="pause:team-nlp", value="on", author=ANA.id))
    house.step()
    request = house.ask()
    house.step()
    assert house.state(request) is S.WAITING
    with house.store.write() as work:
        work.settings.delete("pause:team-nlp")
    house.step()
    house.step()
    assert house.state(request) is S.ADMITTED


# -- boosts


def test_a_boost_goes_first_and_is_told_to_its_owner_and_its_thread(house: House) -> None:
    runs, first, second = two_in_line(house)
    order(house, K.BOOST, second, priority=Priority.CRITICAL, end=End(after=HOUR))
    assert house.desk.card(second).explanation.position == 1  # type: ignore[union-attr]
    heard = house.heard("intervention")
    assert (Audience.PERSON, ADA.id) in heard
    assert {Audience.CHANNEL, Audience.ONCALL, Audience.THREAD} <= {who for who, _ in heard}
    house.restart()
    house.step()
    house.desk.release(ADA.id, runs, key="r", confirmed=True)
    house.step()
    house.step(STOP_TIME)
    assert house.state(second) is S.ADMITTED
    assert house.state(first) is S.WAITING


def test_a_boost_ends_at_its_end_or_with_its_request(house: House) -> None:
    _, first, second = two_in_line(house)
    order(house, K.BOOST, second, priority=Priority.HIGH, end=End(after=HOUR))
    house.step(HOUR)
    house.step()
    assert house.desk.card(first).explanation.position == 1  # type: ignore[union-attr]
    assert len(house.said("intervention-over")) == 2
    order(house, K.BOOST, second, priority=Priority.HIGH)
    house.desk.cancel(ADA.id, second, key="c", confirmed=True)
    house.step()
    house.step()
    assert audit(house)[-1] == (K.BOOST, InterventionState.ENDED)
    assert len(house.said("intervention-over")) == 2  # nobody needs to hear of that


def test_a_boost_has_to_be_higher_and_of_one_that_waits(house: House) -> None:
    runs, first, _ = two_in_line(house)
    for target, priority, code in (
        (first, Priority.MEDIUM, DeclineCode.NOT_HIGHER),
        (runs, Priority.HIGH, DeclineCode.NOT_WAITING),
    ):
        answer = order(house, K.BOOST, target, priority=priority)
        assert isinstance(answer, Declined)
        assert answer.code is code


def test_a_boost_that_stops_somebody_shows_first_whom(house: House) -> None:
    runs = run(house, nodes=4)  # all of shared-multi, and not preemptible
    waits = house.ask(BEN, team="vision", nodes=4)
    house.step()
    preview = order(house, K.BOOST, waits, priority=Priority.CRITICAL, end=End(after=HOUR))
    assert isinstance(preview, Preview)
    assert [(hit.request, hit.gpus) for hit in preview.hits] == [(runs, 32)]
    assert house.state(runs) is S.RUNNING
    assert audit(house) == []
    assert isinstance(order(house, K.BOOST, waits, priority=Priority.HIGH), Intervened)
    pressed = WishValue.of(preview.wish).wish()
    assert pressed == preview.wish
    done = house.desk.intervene(ANA.id, pressed, key=house.key(), confirmed=True)
    house.step()
    assert isinstance(done, Intervened)
    assert house.state(runs) is S.PREEMPTING


def test_every_order_counts_as_a_manual_intervention_in_the_report(house: House) -> None:
    order(house, K.PAUSE, "all")
    order(house, K.RESUME, "all")
    order(house, K.DRAIN, "h100-0001")
    house.step(1.0)
    report = house.desk.report()
    assert report.interventions == 3  # type: ignore[union-attr]
