"""Release and Cancel stop the grant that they were shown for, and no later one."""

from __future__ import annotations

import pytest

from bot.chat.actions import ActionId, StopValue
from bot.chat.cards.requests import buttons
from bot.views import Done, RefusalCode, Refused, Unconfirmed
from storage.records import EventKind
from storage.states import RequestState as S
from tests.bot.byhand import K, order, run
from tests.bot.chat.saying import VOICE
from tests.bot.house import ADA, START_DELAY, STOP_TIME, House


def shown(house: House, request: str) -> StopValue:
    """What the Release button of the card carries now."""
    view = house.desk.card(request)
    (release,) = [one for one in buttons(VOICE, view) if one.action is ActionId.RELEASE]
    return StopValue.model_validate_json(release.value)


def start_again(house: House, request: str) -> None:
    """It is stopped by hand for nobody, and then starts once more."""
    order(house, K.PREEMPT, request, confirmed=True)
    house.step(STOP_TIME)
    house.step()
    house.step(START_DELAY)
    assert house.state(request) is S.RUNNING


@pytest.mark.parametrize("release", [True, False], ids=["release", "cancel"])
def test_an_old_button_does_not_stop_a_new_grant_but_asks_again(
    house: House, release: bool
) -> None:
    request = run(house)
    old = shown(house, request).grant
    start_again(house, request)
    act = house.desk.release if release else house.desk.cancel
    answer = act(ADA.id, request, key="old", grant=old)
    again = act(ADA.id, request, key="old", grant=old)
    house.step()
    assert answer == again
    assert isinstance(answer, Unconfirmed)
    assert answer.anew
    assert house.state(request) is S.RUNNING
    assert "has started again since" in str(VOICE.words.unconfirmed(answer, VOICE.people.name("U")))
    new = shown(house, request).grant
    assert (old, new) == (1, 2)
    assert isinstance(act(ADA.id, request, key="new", grant=new), Done)
    house.step()
    assert house.state(request) is S.STOPPING


def test_an_old_release_does_not_cancel_what_waits_again(house: House) -> None:
    request = run(house)
    old = shown(house, request).grant
    run(house)
    order(house, K.PAUSE, "team-nlp", confirmed=True)
    order(house, K.PREEMPT, request, confirmed=True)
    house.step(STOP_TIME)
    house.step()
    assert house.state(request) is S.WAITING
    answer = house.desk.release(ADA.id, request, key="old", grant=old)
    house.step()
    assert isinstance(answer, Refused)
    assert answer.code is RefusalCode.NOT_RUNNING
    assert house.state(request) is S.WAITING


def test_a_release_that_reaches_the_loop_after_the_grant_is_over_changes_nothing(
    house: House,
) -> None:
    request = run(house)
    start_again(house, request)
    with house.store.write() as work:
        at = house.request(request).changed
        work.events.add(EventKind.RELEASE, request, ADA.id, at, {"grant": 1})
    house.step()
    assert house.state(request) is S.RUNNING
    order(house, K.PAUSE, "team-nlp", confirmed=True)
    waits = house.ask()
    house.step()
    with house.store.write() as work:
        work.events.add(
            EventKind.RELEASE, waits, ADA.id, house.request(waits).changed, {"grant": 1}
        )
    house.step()
    assert house.state(waits) is S.WAITING


def test_a_line_that_was_typed_asks_about_the_grant_of_now(house: House) -> None:
    request = run(house)
    asked = house.desk.release(ADA.id, request, key="typed", confirmed=False)
    assert isinstance(asked, Unconfirmed)
    assert not asked.anew
    assert asked.card.attempt == shown(house, request).grant == 1
