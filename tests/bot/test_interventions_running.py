"""Orders of admins about what runs: stops, drained nodes, quota."""

from __future__ import annotations

from bot.asks import End
from bot.byhand import DeclineCode, Declined, Intervened, Preview, Wish
from scheduler.model import WaitReason
from storage.audit import InterventionState
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.byhand import HOUR, K, audit, everything, order, reason, run, two_in_line
from tests.bot.house import ADA, ANA, BEN, LEA, START_DELAY, STOP_TIME, House

# -- stopping by hand


def test_preempting_shows_first_whom_it_hits_and_then_tells_them_all(house: House) -> None:
    runs, _, second = two_in_line(house)
    preview = order(house, K.PREEMPT, runs, beneficiary=second)
    assert isinstance(preview, Preview)
    assert [hit.request for hit in preview.hits] == [runs]
    assert preview.starts == 8
    assert house.state(runs) is S.RUNNING
    assert audit(house) == []
    done = order(house, K.PREEMPT, runs, beneficiary=second, confirmed=True)
    assert isinstance(done, Intervened)
    card = house.desk.card(runs)
    assert (card.state, card.to_back) == (S.PREEMPTING, False)
    (notice, _thread) = house.said("displaced")
    args = notice.notice.args
    assert (notice.notice.audience, notice.notice.target) == (Audience.PERSON, ADA.id)
    assert args["target"]["request"] == runs  # type: ignore[index]
    assert args["preemptor"]["request"] == second  # type: ignore[index]
    assert args["rule"] == "Intervention"
    assert args["target"]["path"][-1] == "team-nlp"  # type: ignore[index]
    assert args["ran"] == 2 * START_DELAY
    house.step(STOP_TIME)
    assert house.state(second) is S.ADMITTED
    assert house.state(runs) is S.WAITING
    assert audit(house) == [(K.PREEMPT, InterventionState.DONE)]


def test_who_is_stopped_for_nobody_waits_at_the_back_also_after_a_restart(house: House) -> None:
    runs, first, second = two_in_line(house)
    house.step(1.0)
    order(house, K.PREEMPT, runs, confirmed=True)
    house.restart()
    house.step()
    card = house.desk.card(runs)
    assert (card.state, card.to_back) == (S.PREEMPTING, True)
    house.step(STOP_TIME)
    house.step()
    assert house.state(first) is S.ADMITTED
    why = [house.desk.card(one).explanation for one in (second, runs)]
    assert [one and one.position for one in why] == [1, 2]


def test_nobody_is_stopped_for_one_who_would_not_start(house: House) -> None:
    runs, _, _ = two_in_line(house)
    big = house.ask(nodes=8, preemptible=True)
    house.step()
    answer = order(house, K.PREEMPT, runs, beneficiary=big, confirmed=True)
    assert isinstance(answer, Declined)
    assert answer.code is DeclineCode.WOULD_NOT_START
    assert house.state(runs) is S.RUNNING


def test_an_order_that_comes_too_late_does_nothing_and_says_so(house: House) -> None:
    runs = run(house)
    wish = Wish(kind=K.PREEMPT, target=runs, reason="x")
    house.desk.release(ADA.id, runs, key="r", confirmed=True)
    house.desk.intervene(ANA.id, wish, key="k", confirmed=True)
    house.step()
    assert audit(house) == [(K.PREEMPT, InterventionState.FAILED)]
    assert house.heard("intervention-failed") == [(Audience.PERSON, ANA.id)]
    with house.store.read() as view:
        assert view.interventions.count(*everything()) == 0


# -- nodes


def node_of(house: House, request: str) -> str:
    return house.desk.card(request).nodes[0][0]


def test_a_drained_node_takes_nothing_new_and_lets_finish_what_runs(house: House) -> None:
    runs = run(house, gpus=4)
    node = node_of(house, runs)
    asked = order(house, K.DRAIN, node)
    assert isinstance(asked, Preview)
    assert [hit.request for hit in asked.hits] == [runs]
    order(house, K.DRAIN, node, move=False, end=End(after=HOUR))
    house.step()
    assert house.state(runs) is S.RUNNING
    assert not next(
        n for n in house.control.read(lambda e: e.nodes()) if n.name == node
    ).schedulable
    other = run(house, gpus=4)
    assert node_of(house, other) != node
    house.restart()
    house.step()
    third = run(house, gpus=4)
    assert node_of(house, third) != node
    house.step(HOUR)
    house.step()
    assert all(n.schedulable for n in house.control.read(lambda e: e.nodes()))


def test_work_on_a_drained_node_moves_with_grace_and_keeps_its_place(house: House) -> None:
    runs = run(house, gpus=8)
    node = node_of(house, runs)
    order(house, K.DRAIN, node, move=True, confirmed=True)
    assert house.state(runs) is S.EVICTING
    house.step(STOP_TIME)
    house.step()
    assert house.state(runs) is S.ADMITTED
    assert node_of(house, runs) != node
    assert [item.notice.args["cause"] for item in house.said("requeued")] == ["drained"]
    assert (Audience.PERSON, ADA.id) in house.heard("displaced")
    order(house, K.UNDRAIN, node)
    assert audit(house) == [
        (K.DRAIN, InterventionState.ENDED),
        (K.UNDRAIN, InterventionState.DONE),
    ]


def test_an_empty_node_is_drained_without_a_question(house: House) -> None:
    assert isinstance(order(house, K.DRAIN, "H100-0008"), Intervened)


# -- quota


def test_lowered_quota_is_over_by_n_and_stops_nobody(house: House) -> None:
    one, other = run(house), run(house)
    preview = order(house, K.QUOTA, "nlp", gpus=8)
    assert isinstance(preview, Preview)
    assert (preview.before, preview.over, preview.hits) == (16, 8, ())
    order(house, K.QUOTA, "nlp", gpus=8, end=End(after=HOUR), confirmed=True)
    waits = house.ask()
    house.step()
    house.restart()
    house.step()
    assert {house.state(one), house.state(other)} == {S.RUNNING}
    assert house.state(waits) is S.WAITING
    assert (Audience.PERSON, LEA.id) in house.heard("intervention")  # she leads the team
    (notice, *_) = house.said("intervention")
    assert (notice.notice.args["over"], notice.notice.args["before"]) == (8, 16)
    house.desk.release(ADA.id, one, key="r", confirmed=True)
    house.step()
    house.step(STOP_TIME)
    house.step()
    assert house.state(waits) is S.WAITING
    house.step(HOUR)
    house.step()
    assert house.state(waits) is S.ADMITTED  # the policy's quota is back


def test_who_asks_for_quota_that_is_taken_for_an_hour_gets_in_line(house: House) -> None:
    order(house, K.QUOTA, "nlp", gpus=0, end=End(after=HOUR), confirmed=True)
    waits = house.ask()
    house.step()
    assert house.state(waits) is S.WAITING
    assert reason(house, waits) is WaitReason.QUOTA
    house.step(HOUR)
    house.step()
    assert house.state(waits) is S.ADMITTED


def test_raised_quota_shows_whom_it_would_stop_before_it_does(house: House) -> None:
    lent = [run(house, person=BEN, nodes=4, preemptible=True) for _ in range(2)]
    wants = house.ask(ADA, nodes=1)
    house.step()
    house.step(STOP_TIME)
    assert house.state(wants) in {S.ADMITTED, S.WAITING}
    more = [house.ask(ADA, gpus=8) for _ in range(2)]
    house.step()
    house.step(STOP_TIME)
    house.step(START_DELAY)
    preview = order(house, K.QUOTA, "nlp", gpus=32)
    assert isinstance(preview, Preview)
    assert {hit.request for hit in preview.hits} <= set(lent)
    assert more
