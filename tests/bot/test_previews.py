"""An order is carried out as it was shown, or shown anew: never on others than those."""

from __future__ import annotations

import pytest

from bot.asks import End
from bot.byhand import Intervened, Preview
from bot.desk.previewed import Shown
from storage.audit import InterventionState
from storage.states import RequestState as S
from tests.bot.byhand import HOUR, K, audit, order, run, two_in_line
from tests.bot.house import ADA, ANA, START_DELAY, STOP_TIME, House


def preview_of(answer: object) -> Preview:
    assert isinstance(answer, Preview), answer
    return answer


def start_again(house: House, request: str) -> None:
    order(house, K.PREEMPT, request, confirmed=True)
    house.step(STOP_TIME)
    house.step()
    house.step(START_DELAY)
    assert house.state(request) is S.RUNNING


def test_what_was_shown_is_carried_out(house: House) -> None:
    runs = run(house)
    shown = preview_of(order(house, K.PREEMPT, runs))
    assert len(shown.token) == 16
    assert not shown.anew
    house.restart()
    house.step()
    assert isinstance(order(house, K.PREEMPT, runs, confirmed=True, seen=shown.token), Intervened)
    assert house.state(runs) is S.PREEMPTING


def test_a_grant_that_was_not_shown_is_shown_anew_instead_of_stopped(house: House) -> None:
    runs = run(house)
    shown = preview_of(order(house, K.PREEMPT, runs))
    start_again(house, runs)
    fresh = preview_of(order(house, K.PREEMPT, runs, confirmed=True, seen=shown.token))
    assert fresh.anew
    assert fresh.token != shown.token
    assert fresh.hits[0].grant != shown.hits[0].grant
    assert house.state(runs) is S.RUNNING
    order(house, K.PREEMPT, runs, confirmed=True, seen=fresh.token)
    assert house.state(runs) is S.PREEMPTING


@pytest.mark.parametrize("seen", ["", "0123456789abcdef"], ids=["none", "forged"])
def test_a_forged_or_forgotten_preview_stops_nobody(house: House, seen: str) -> None:
    runs = run(house)
    assert preview_of(order(house, K.PREEMPT, runs, confirmed=True, seen=seen)).anew
    assert house.state(runs) is S.RUNNING


def test_the_preview_of_another_person_or_of_another_order_counts_for_nothing(house: House) -> None:
    one, other = run(house), run(house)
    shown = preview_of(order(house, K.PREEMPT, one))
    fresh = preview_of(order(house, K.PREEMPT, other, confirmed=True, seen=shown.token))
    assert fresh.anew
    with house.store.read() as view:
        kept = Shown.recall(view, shown.token)
    assert kept is not None
    assert Shown.of(shown, ANA.id).is_within(kept)
    assert not Shown.of(shown, ADA.id).is_within(kept)
    assert {house.state(one), house.state(other)} == {S.RUNNING}


def test_fewer_of_those_who_were_shown_may_be_moved_but_nobody_else(house: House) -> None:
    here = [run(house, gpus=2) for _ in range(2)]
    (node,) = {house.desk.card(one).nodes[0][0] for one in here}
    shown = preview_of(order(house, K.DRAIN, node))
    assert {hit.request for hit in shown.hits} == set(here)
    late = run(house, gpus=2)
    assert house.desk.card(late).nodes[0][0] == node
    fresh = preview_of(order(house, K.DRAIN, node, move=True, confirmed=True, seen=shown.token))
    assert late in {hit.request for hit in fresh.hits}
    assert house.state(late) is S.RUNNING
    house.desk.release(ADA.id, late, key="r")
    house.step()
    house.step(STOP_TIME)
    done = order(house, K.DRAIN, node, move=True, confirmed=True, seen=shown.token)
    assert isinstance(done, Intervened)
    assert {house.state(one) for one in here} == {S.EVICTING}


def test_letting_finish_needs_no_second_look(house: House) -> None:
    runs = run(house)
    node = house.desk.card(runs).nodes[0][0]
    shown = preview_of(order(house, K.DRAIN, node))
    start_again(house, runs)
    answer = order(house, K.DRAIN, node, move=False, confirmed=True, seen=shown.token)
    assert isinstance(answer, Intervened)
    assert house.state(runs) is S.RUNNING


def test_quota_that_another_changed_meanwhile_is_shown_anew(house: House) -> None:
    shown = preview_of(order(house, K.QUOTA, "nlp", gpus=8))
    order(house, K.QUOTA, "nlp", gpus=12, reason="an earlier one", confirmed=True)
    fresh = preview_of(order(house, K.QUOTA, "nlp", gpus=8, confirmed=True, seen=shown.token))
    assert (shown.before, fresh.before, fresh.anew) == (16, 12, True)


# -- pauses


def test_a_pause_shows_whom_it_would_keep_waiting_the_next_first(house: House) -> None:
    _, first, second = two_in_line(house)
    house.desk.when(ADA.id, first)
    shown = preview_of(order(house, K.PAUSE, "team-nlp", end=End(after=HOUR)))
    assert (shown.queues, shown.waiting, shown.waiting_gpus) == (("team-nlp",), 2, 16)
    assert [one.request for one in shown.held] == [first, second]
    assert shown.held[0].start is not None
    assert shown.until == house.clock.now() + HOUR
    assert audit(house) == []
    done = order(house, K.PAUSE, "team-nlp", end=End(after=HOUR), confirmed=True, seen=shown.token)
    assert isinstance(done, Intervened)
    assert audit(house) == [(K.PAUSE, InterventionState.IN_FORCE)]


def test_a_pause_that_keeps_nobody_waiting_asks_nothing(house: House) -> None:
    assert isinstance(order(house, K.PAUSE, "team-nlp"), Intervened)


def test_who_came_after_the_preview_of_a_pause_waits_as_well(house: House) -> None:
    """Nobody is stopped, so that more who wait are no reason to ask again."""
    _, first, _ = two_in_line(house)
    shown = preview_of(order(house, K.PAUSE, "team-nlp"))
    late = house.ask()
    house.step()
    done = order(house, K.PAUSE, "team-nlp", confirmed=True, seen=shown.token)
    assert isinstance(done, Intervened)
    assert {house.state(first), house.state(late)} == {S.WAITING}


def test_the_loop_stops_no_grant_that_was_not_confirmed(house: House) -> None:
    """The order was stored, and before the loop came to it the target had started again."""
    runs = run(house)
    with house.store.write() as work:
        work.interventions.add(
            K.PREEMPT,
            runs,
            actor=ANA.id,
            reason="x",
            at=house.request(runs).changed,
            until=None,
            wish={"hits": [f"{runs}@1.000"]},
        )
    house.step()
    assert house.state(runs) is S.RUNNING
    assert audit(house) == [(K.PREEMPT, InterventionState.FAILED)]
