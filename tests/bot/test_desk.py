"""The desk: what people may have, what they are told, and that nothing is done twice."""

from __future__ import annotations

import threading

import pytest

from bot.overview import GangView
from bot.views import (
    Done,
    RefusalCode,
    Refused,
    StatusView,
    Submitted,
    Unconfirmed,
    Verb,
    WhyView,
)
from scheduler.model import LimitKind, Priority, Spend, WaitReason
from storage.records import Person, Source
from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, BEN, LEA, NOA, NODES, House, an_ask

WRONG = [
    (ADA, {"gpus": 0}, RefusalCode.NOT_A_SIZE),
    (ADA, {"gpus": -8}, RefusalCode.NOT_A_SIZE),
    (ADA, {"gpus": 10**9}, RefusalCode.NOT_A_SIZE),
    (ADA, {"pods": 2, "gpus_per_pod": 0}, RefusalCode.NOT_A_SIZE),
    (ADA, {"gpus": 12}, RefusalCode.NOT_DIVISIBLE),
    (ADA, {"model": "h10"}, RefusalCode.UNKNOWN_MODEL),
    (ADA, {"team": "nlpp"}, RefusalCode.UNKNOWN_TEAM),
    (BEN, {"team": "nlp"}, RefusalCode.NOT_YOUR_TEAM),
    (NOA, {}, RefusalCode.NO_TEAM),
    (ADA, {"duration": 8 * 86400.0}, RefusalCode.LEASE_TOO_LONG),
    (ADA, {"duration": 59.0}, RefusalCode.LEASE_TOO_SHORT),
    (ADA, {"duration": 0.0}, RefusalCode.LEASE_TOO_SHORT),
    (ADA, {"duration": -3600.0}, RefusalCode.LEASE_TOO_SHORT),
    (ADA, {"priority": Priority.CRITICAL}, RefusalCode.PRIORITY_NOT_ALLOWED),
    (ADA, {"name": "x" * 81}, RefusalCode.NAME_TOO_LONG),
    (ADA, {"gpus": 64}, RefusalCode.NEVER_FITS),
    (ADA, {"pods": 1, "gpus_per_pod": 9}, RefusalCode.NEVER_FITS),
]


@pytest.mark.parametrize(("person", "wanted", "code"), WRONG, ids=lambda value: str(value)[:40])
def test_what_cannot_be_is_refused_and_creates_nothing(
    house: House, person: Person, wanted: dict[str, object], code: RefusalCode
) -> None:
    answer = house.desk.submit(person.id, an_ask(**wanted), key="k")
    assert isinstance(answer, Refused)
    assert answer.code is code
    with house.store.read() as view:
        assert view.requests.find() == ()
        assert view.events.unhandled() == ()


@pytest.mark.parametrize(
    ("person", "wanted"), [row[:2] for row in WRONG if row[0] is not NOA], ids=str
)
def test_the_example_of_a_refusal_is_taken(
    house: House, person: Person, wanted: dict[str, object]
) -> None:
    refused = house.desk.submit(person.id, an_ask(**wanted), key="wrong")
    again = house.desk.submit(person.id, an_ask(**wanted), key="wrong")
    assert isinstance(refused, Refused)
    assert refused == again
    assert refused.instead is not None
    taken = house.desk.submit(person.id, refused.instead, key="right")
    assert isinstance(taken, Submitted)


def test_without_a_team_no_example_helps(house: House) -> None:
    refused = house.desk.submit(NOA.id, an_ask(), key="wrong")
    assert isinstance(refused, Refused)
    assert refused.instead is None


def test_a_refusal_says_what_would_do(house: House) -> None:
    uneven = house.desk.submit(ADA.id, an_ask(gpus=12), key="a")
    assert isinstance(uneven, Refused)
    assert uneven.near == ("8", "16", "2x6")
    model = house.desk.submit(ADA.id, an_ask(model="h10"), key="b")
    assert isinstance(model, Refused)
    assert model.near == ("h100",)
    large = house.desk.submit(ADA.id, an_ask(gpus=64), key="c")
    assert isinstance(large, Refused)
    assert large.args["most"] == 32
    assert large.limit is LimitKind.QUEUE


def test_a_request_is_charged_to_the_first_team_or_the_one_named(house: House) -> None:
    first, named = house.ask(ADA), house.ask(ADA, team="Vision")
    assert house.request(first).workload.team == "nlp"
    assert house.request(named).workload.team == "vision"
    assert house.request(house.ask(ANA, team="nlp")).workload.team == "nlp"


def test_a_lease_nobody_named_is_the_pools(house: House) -> None:
    assert house.request(house.ask(duration=None)).workload.duration == 8 * 3600


def test_the_same_delivery_again_gets_the_first_answer(house: House) -> None:
    first = house.desk.submit(ADA.id, an_ask(), key="same")
    house.step()
    again = [house.desk.submit(ADA.id, an_ask(), key="same") for _ in range(3)]
    assert isinstance(first, Submitted)
    for answer in again:
        assert isinstance(answer, Submitted)
        assert (answer.card.request, answer.again) == (first.card.request, True)
    with house.store.read() as view:
        assert len(view.requests.find()) == 1


def test_a_refusal_is_repeated_even_when_it_would_be_granted_now(house: House) -> None:
    first = house.desk.submit(NOA.id, an_ask(), key="same")
    house.core.directory.add([ADA.__class__(id=NOA.id, name=NOA.name, teams=("nlp",))])
    again = house.desk.submit(NOA.id, an_ask(), key="same")
    assert first == again
    assert isinstance(again, Refused)


def test_deliveries_at_the_same_moment_create_one_request(house: House) -> None:
    answers: list[object] = []

    def deliver() -> None:
        answers.append(house.desk.submit(ADA.id, an_ask(), key="same"))

    threads = [threading.Thread(target=deliver) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    ids = {answer.card.request for answer in answers if isinstance(answer, Submitted)}
    assert (len(answers), len(ids)) == (8, 1)


def test_the_desk_waits_for_the_decision_and_says_so(house: House) -> None:
    house.desk.patience = 10.0
    asked = threading.Event()

    def step_when_asked() -> None:
        assert asked.wait(10)
        house.control.step()

    stepping = threading.Thread(target=step_when_asked)
    house.control.on_wake = asked.set
    stepping.start()
    answer = house.desk.submit(ADA.id, an_ask(), key="k")
    stepping.join()
    assert isinstance(answer, Submitted)
    assert answer.decided
    assert answer.card.state is S.ADMITTED


def test_without_a_decision_in_time_it_answers_that_it_is_stored(house: House) -> None:
    answer = house.desk.submit(ADA.id, an_ask(), key="k")
    assert isinstance(answer, Submitted)
    assert not answer.decided
    assert answer.card.state is S.WAITING


def test_one_person_cannot_fill_the_queue(house: House) -> None:
    house.desk._waiting_at_most = 2
    house.ask(), house.ask()
    answer = house.desk.submit(ADA.id, an_ask(), key="k")
    assert isinstance(answer, Refused)
    assert answer.code is RefusalCode.TOO_MANY_WAITING
    house.ask(BEN)


@pytest.mark.parametrize(
    ("person", "allowed"), [(ADA, True), (LEA, True), (ANA, True), (BEN, False), (NOA, False)]
)
def test_own_requests_the_leads_team_and_admins(
    house: House, person: Person, allowed: bool
) -> None:
    request = house.ask(ADA)
    house.step()
    answer = house.desk.cancel(person.id, request, key="k")
    house.step()
    assert isinstance(answer, Done if allowed else Refused)
    assert (house.state(request) is S.STOPPING) == allowed


def test_orders_about_what_is_not_there_or_over(house: House) -> None:
    unknown = house.desk.cancel(ADA.id, "R-9999", key="a")
    assert isinstance(unknown, Refused)
    assert unknown.code is RefusalCode.NO_SUCH_REQUEST
    request = house.ask()
    early = house.desk.release(ADA.id, request, key="b")
    assert isinstance(early, Refused)
    assert early.code is RefusalCode.NOT_RUNNING
    house.desk.cancel(ADA.id, request, key="c")
    house.step()
    over = house.desk.cancel(ADA.id, request, key="d")
    assert isinstance(over, Refused)
    assert over.code is RefusalCode.ALREADY_ENDED


def test_a_button_pressed_twice_is_one_order(house: House) -> None:
    request = house.ask()
    house.step()
    first = house.desk.release(ADA.id, request, key="press")
    house.step()
    second = house.desk.release(ADA.id, request, key="press")
    assert isinstance(first, Done)
    assert isinstance(second, Done)
    assert (first.again, second.again) == (False, True)
    assert second.verb is Verb.RELEASING
    assert [line.after for line in house.story(request)].count(S.STOPPING) == 1


def test_everything_that_is_wrong_is_found_at_once_and_nothing_stored(house: House) -> None:
    ask = an_ask(
        gpus=12, model="h10", duration=8 * 86400.0, priority=Priority.CRITICAL, name="x" * 81
    )
    found = house.desk.examine(ADA.id, ask)
    assert {each.code for each in found} == {
        RefusalCode.NOT_DIVISIBLE,
        RefusalCode.UNKNOWN_MODEL,
        RefusalCode.LEASE_TOO_LONG,
        RefusalCode.PRIORITY_NOT_ALLOWED,
        RefusalCode.NAME_TOO_LONG,
    }
    large = house.desk.examine(ADA.id, an_ask(gpus=64, duration=30 * 86400.0))
    assert [each.code for each in large] == [RefusalCode.LEASE_TOO_LONG, RefusalCode.NEVER_FITS]
    assert house.desk.examine(ADA.id, an_ask(gpus=8)) == ()
    (alone,) = house.desk.examine(NOA.id, an_ask(gpus=8))
    assert alone.code is RefusalCode.NO_TEAM
    with house.store.read() as view:
        assert view.requests.find() == ()


@pytest.mark.parametrize(("person", "wanted", "code"), WRONG, ids=lambda value: str(value)[:40])
def test_what_submit_refuses_was_to_be_seen_before(
    house: House, person: Person, wanted: dict[str, object], code: RefusalCode
) -> None:
    assert house.desk.examine(person.id, an_ask(**wanted))[0].code is code


def test_a_look_does_not_wait_for_a_busy_loop(house: House) -> None:
    found: list[object] = []
    with house.control._lock:
        look = threading.Thread(
            target=lambda: found.append(house.desk.examine(ADA.id, an_ask(gpus=64)))
        )
        look.start()
        look.join(30)
        assert found == [()]  # judged when it is stored


@pytest.mark.parametrize("verb", ["cancel", "release"])
def test_what_holds_gpus_stops_only_when_that_is_confirmed(house: House, verb: str) -> None:
    request = house.ask(ADA)
    house.step()
    order = getattr(house.desk, verb)
    for _ in range(2):  # a duplicate gets the same question
        asked = order(LEA.id, request, key="words", confirmed=False)
        assert isinstance(asked, Unconfirmed)
        assert asked.card.request == request
    house.step()
    assert house.state(request) is S.ADMITTED
    assert isinstance(order(LEA.id, request, key="press"), Done)
    house.step()
    assert house.state(request) is S.STOPPING


def test_what_waits_is_cancelled_by_words(house: House) -> None:
    request = house.ask(ADA)
    assert isinstance(house.desk.cancel(ADA.id, request, key="k", confirmed=False), Done)
    house.step()
    assert house.state(request) is S.CANCELLED


def test_a_refused_order_is_refused_to_its_duplicate_too(house: House) -> None:
    request = house.ask(ADA)
    first = house.desk.cancel(BEN.id, request, key="same")
    assert isinstance(first, Refused)
    assert house.desk.cancel(BEN.id, request, key="same") == first


def test_only_who_may_end_it_is_offered_to(house: House) -> None:
    request = house.ask(ADA)
    house.step()
    for person, may in ((ADA, True), (LEA, True), (ANA, True), (BEN, False)):
        why = house.desk.why(person.id, request)
        status = house.desk.status(person.id, request)
        assert isinstance(why, WhyView)
        assert isinstance(status, StatusView)
        assert (why.card.may_end, status.rows[0].may_end) == (may, may)
    assert house.desk.card(request).may_end  # for all to see


def test_a_lease_of_a_minute_is_the_shortest(house: House) -> None:
    assert house.request(house.ask(duration=60.0)).workload.duration == 60.0


def test_the_last_request_is_the_persons_own_whatever_became_of_it(house: House) -> None:
    assert house.desk.last_request(ADA.id) is None
    first = house.ask(ADA)
    house.ask(BEN)
    assert house.desk.last_request(ADA.id) == first
    second = house.ask(ADA)
    house.desk.cancel(ADA.id, second, key="end")
    house.step()
    house.desk.why(ADA.id, house.ask(BEN))
    assert house.desk.last_request(ADA.id) == second


def test_why_names_reason_position_and_holders(house: House) -> None:
    holder = house.ask(BEN, nodes=4)
    first, second = house.ask(ADA, nodes=4), house.ask(ADA, nodes=3)
    house.step()
    answer = house.desk.why(BEN.id, second.lower())
    assert isinstance(answer, WhyView)
    why = answer.card.explanation
    assert why is not None
    assert why.verdict.reason in {WaitReason.QUOTA, WaitReason.BEHIND}
    assert (why.position, why.ahead) == (2, (first,))
    assert answer.owners[first] == ADA.id
    blocked = house.desk.why(BEN.id, first)
    assert isinstance(blocked, WhyView)
    assert blocked.card.explanation is not None
    assert [h.workload for h in blocked.card.explanation.holders] == [holder]
    assert [state for _, state, _, _ in blocked.story] == ["waiting"]


def test_queue_is_the_engines_order_with_own_rows_first(house: House) -> None:
    house.ask(BEN, nodes=4)
    others = [house.ask(BEN, nodes=3) for _ in range(20)]
    mine = house.ask(ADA, nodes=3)
    house.step()
    engine_order = house.control.read(lambda engine: [w.id for w in engine.pending()])
    first = house.desk.queue(ADA.id)
    second = house.desk.queue(ADA.id, None, 2)
    assert not isinstance(first, Refused)
    assert not isinstance(second, Refused)
    assert [row.request for row in first.mine] == [mine]
    theirs = house.desk.queue(BEN.id)
    assert not isinstance(theirs, Refused)
    assert (first.mine_total, len(theirs.mine), theirs.mine_total) == (1, 10, 20)
    shown = [row.request for view in (first, second) for s in view.sections for row in s.rows]
    assert shown == engine_order
    assert sorted(shown) == sorted([*others, mine])
    assert (first.page, first.pages, first.sections[0].total) == (1, 2, 21)


@pytest.mark.parametrize(
    "what", ["shared-multi", "vision", "h100", "VISION", "U0BEN", "<@U0BEN>", "@Ben Okafor"]
)
def test_queue_can_be_narrowed(house: House, what: str) -> None:
    house.ask(BEN, nodes=4)
    waiting = house.ask(BEN, nodes=4)
    house.step()
    view = house.desk.queue(ADA.id, what)
    assert not isinstance(view, Refused)
    assert [row.request for s in view.sections for row in s.rows] == [waiting]


def test_an_unknown_word_is_answered_with_near_ones(house: House) -> None:
    queue = house.desk.queue(ADA.id, "visoin")
    status = house.desk.status(ADA.id, "visoin")
    assert isinstance(queue, Refused)
    assert isinstance(status, Refused)
    assert queue.near[0] == status.near[0] == "vision"


@pytest.mark.parametrize("what", ["R-1002", "@Ben Okafor", "<@U0BEN>", "U0BEN", "vision"])
def test_status_of_a_request_a_person_or_a_team(house: House, what: str) -> None:
    mine, theirs = house.ask(ADA), house.ask(BEN)
    house.step()
    view = house.desk.status(ADA.id, what)
    assert isinstance(view, StatusView)
    assert [card.request for card in view.mine] == [mine]
    assert [card.request for card in view.rows] == [theirs]
    assert view.about in {"R-1002", BEN.id, "vision"}  # an id, whatever was written
    assert (view.cluster.gpus, view.cluster.used) == (64, 16)


def test_home_and_choices_are_the_persons_own(house: House) -> None:
    request = house.ask(ADA)
    house.step()
    home = house.desk.home(ADA.id)
    assert [card.request for card in home.mine.open] == [request]
    assert [(share.team, share.used, share.nominal) for share in home.shares] == [
        ("nlp", 8, 16),
        ("vision", 0, 16),
    ]
    assert house.desk.choices(ADA.id).teams == ("nlp", "vision")
    assert "critical" not in house.desk.choices(ADA.id).priorities
    assert "critical" in house.desk.choices(LEA.id).priorities
    assert house.desk.choices(NOA.id).teams == ()
    assert (house.desk.mine(ADA.id).may_ask, house.desk.mine(NOA.id).may_ask) == (True, False)


def test_mine_lists_what_ended_too(house: House) -> None:
    request = house.ask(ADA)
    house.desk.cancel(ADA.id, request, key="k")
    house.step()
    mine = house.desk.mine(ADA.id)
    assert mine.open == ()
    assert [card.state for card in mine.ended] == [S.CANCELLED]


def test_spend_high_goes_nowhere_when_the_policy_sells_nothing(house: House) -> None:
    assert house.desk.card(house.ask(spend=Spend.HIGH)).spend == "low"


def test_looking_works_before_the_engine_is_there(house: House) -> None:
    request = house.ask()
    house.restart()
    assert house.desk.card(request).explanation is None
    assert isinstance(house.desk.why(ADA.id, request), WhyView)
    assert house.request(request).source is Source.CHAT


def test_the_largest_gang_is_told_for_each_kind_of_gpu(house: House) -> None:
    before = house.desk.home(ADA.id).cluster.gangs
    assert before == (GangView(model="h100", provision="reserved", gpus=NODES * 8),)
    answer = house.desk.submit(ADA.id, an_ask(gpus=4), key="k")
    assert isinstance(answer, Submitted)
    house.step()
    (after,) = house.desk.home(ADA.id).cluster.gangs
    assert after.gpus == NODES * 8 - 8
