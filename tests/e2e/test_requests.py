"""A request's whole way over the real socket, and what the bot says about it where."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from storage.records import OutboxState
from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, BEN, START_DELAY, STOP_TIME
from tests.e2e.rig import GENERAL, ONCALL, Rig, eventually

HOUR = 3600.0


def _id_in(text: str) -> str:
    found = re.search(r"R-\d+", text)
    assert found is not None, text
    return found[0]


def test_from_a_slash_command_to_running_and_to_the_end(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    answer = rig.command(ada, "/gpu 8 h100 4h name llama-sft")
    request = _id_in(answer["text"])
    assert rig.house.state(request) is S.ADMITTED
    card = rig.wait_for(ada, "llama-sft")
    rig.pass_time(START_DELAY)
    eventually(lambda: rig.said(ada, "Running"))
    assert rig.said(ada, "Running")[0]["ts"] == card["ts"]  # the same card, drawn again
    question = rig.command(ada, f"/gpu release {request}")
    assert rig.house.state(request) is S.RUNNING  # words alone stop nothing
    ada.press(GENERAL, question["ts"], "gpubot.release")
    eventually(lambda: rig.house.state(request) is S.STOPPING)
    rig.pass_time(STOP_TIME)
    eventually(lambda: rig.house.state(request) is S.RELEASED)
    rig.settled()
    thread = [message["text"] for message in ada.thread(GENERAL, card["ts"])]
    assert len(thread) >= 3  # card, admission, end
    assert len(rig.said(ada, "Admitted")) == 1


def test_a_lease_that_is_over_ends_the_request(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    request = _id_in(rig.command(ada, "/gpu 8 h100 1h")["text"])
    rig.pass_time(START_DELAY)
    eventually(lambda: rig.house.state(request) is S.RUNNING)
    rig.pass_time(2 * HOUR)
    rig.bot.ticker.wake("leases")
    eventually(lambda: rig.house.state(request) is S.STOPPING)
    rig.pass_time(STOP_TIME)
    eventually(lambda: rig.house.state(request) is S.EXPIRED)


def test_reclaim_is_told_to_owner_oncall_and_channel_and_to_nobody_else(rig: Rig) -> None:
    ada, ben = rig.visitor(ADA), rig.visitor(BEN)
    target = _id_in(rig.command(ben, "/gpu 8 nodes h100 12h preemptible name night")["text"])
    rig.pass_time(START_DELAY)
    eventually(lambda: rig.house.state(target) is S.RUNNING)
    preemptor = _id_in(rig.command(ada, "/gpu 4 nodes h100 8h name hero")["text"])
    assert rig.house.state(target) is S.PREEMPTING
    rig.wait_for(ada, preemptor, channel=ONCALL)
    direct = ben.direct()
    eventually(lambda: [m for m in ben.messages(direct) if target in m["text"]])
    rig.pass_time(STOP_TIME)
    eventually(lambda: rig.house.state(preemptor) is S.ADMITTED)
    rig.settled()
    (notice,) = rig.said(ada, "Preemption", channel=ONCALL)
    for word in (target, preemptor, "night", "hero"):
        assert word in notice["text"]
    assert len(rig.said(ada, "Preemption")) == 1
    assert len([m for m in ben.messages(direct) if "hero" in m["text"]]) == 1
    assert [m for m in ada.messages(ada.direct()) if target in m["text"]] == []


def test_starvation_is_told_once(rig: Rig) -> None:
    ada, ben = rig.visitor(ADA), rig.visitor(BEN)
    rig.command(ben, "/gpu 4 nodes h100 20h")
    request = _id_in(rig.command(ada, "/gpu 4 nodes h100 8h priority high")["text"])
    rig.pass_time(4.5 * HOUR)
    for _ in range(3):
        rig.bot.ticker.wake("starvation")
        rig.bot.ticker.wake("cards")
    rig.wait_for(ada, request, channel=ONCALL)
    rig.restart_bot()
    rig.bot.ticker.wake("starvation")
    rig.settled()
    assert len(list(rig.said(ada, request, channel=ONCALL))) == 1
    keys = Counter(item.notice.key for item in rig.house.said("starving"))
    assert len(keys) == 3


@pytest.mark.parametrize(
    "text",
    [
        "/gpu blah",
        "/gpu 0 h100",
        "/gpu -8 h100",
        "/gpu 99999999 h100",
        "/gpu 12 h100",
        "/gpu 8 b300",
        "/gpu 8 h100 team sales",
        "/gpu 8 h100 90d",
        "/gpu 64 nodes h100 8h",
        "/gpu why R-99999",
        "/gpu cancel R-99999",
        "/gpu 8 h100 4h name " + "x" * 10_000,
    ],
    ids=lambda text: text[:30],
)
def test_bad_input_gets_one_clear_answer_and_the_bot_goes_on(rig: Rig, text: str) -> None:
    ada = rig.visitor(ADA)
    answer = rig.command(ada, text)
    assert answer["text"]
    assert "failed on my side" not in answer["text"]
    with rig.house.store.read() as view:
        assert view.requests.find() == ()
    assert "R-1001" in rig.command(ada, "/gpu 8 h100 4h")["text"]
    assert len(ada.private(GENERAL)) == 2


def test_what_is_said_counts_once_however_it_is_edited_and_taken_back(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    said = ada.say(GENERAL, "@gpubot 8 h100 4h name once")["message"]["ts"]
    rig.wait_for(ada, "once")
    eventually(lambda: ada.thread(GENERAL, said)[1:])
    ada.edit(GENERAL, said, "@gpubot 16 h100 4h name twice")
    ada.unsay(GENERAL, said)
    after = ada.say(GENERAL, "mine, please @gpubot")["message"]["ts"]
    (answer,) = eventually(lambda: ada.thread(GENERAL, after)[1:] or ada.private(GENERAL)[-1:])
    assert "R-1001" in answer["text"]
    with rig.house.store.read() as view:
        assert [request.workload.name for request in view.requests.find()] == ["once"]


@pytest.mark.parametrize(
    "text",
    [
        "pause all until 9999-12-31 reason x",
        "oncall @ben until 9999-12-31",
        "oncall @ben until 2020-01-01",
        "drain h100-0001 until 24:30 reason x",
    ],
)
def test_an_end_that_cannot_be_is_one_clear_answer(rig: Rig, text: str) -> None:
    answer = rig.command(rig.visitor(ANA), f"/gpu {text}")
    assert "for 2h" in answer["text"] or "for 8h" in answer["text"]
    assert rig.house.said("intervention") == rig.house.said("substitute") == []


def test_hostile_names_notify_nobody(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    rig.command(ada, "/gpu 8 h100 4h name <!channel>")
    rig.settled()
    for message in ada.messages(GENERAL):
        assert "<!channel>" not in str(message.get("blocks")) + message["text"].replace(
            "/gpu 8 h100 4h name <!channel>", ""
        )


def test_cards_and_posts_carry_each_notice_once(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    for _ in range(4):
        rig.command(ada, "/gpu 1 h100 4h")
    rig.settled()
    items = rig.house.said()
    assert {item.state for item in items} == {OutboxState.SENT}
    cards = list(rig.said(ada, "Asked"))
    assert len(cards) == 4
