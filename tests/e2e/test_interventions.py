"""What admins do by hand, over the real socket: said, shown, confirmed, carried out, undone."""

from __future__ import annotations

import re
from typing import Any

from bot.reports import ReportView
from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, BEN, START_DELAY, STOP_TIME
from tests.e2e.rig import GENERAL, ONCALL, Rig, eventually

HOUR = 3600.0
Json = dict[str, Any]


def _ask(rig: Rig, text: str, who: object = ADA) -> str:
    answer = rig.command(rig.visitor(who), f"/gpu {text}")  # type: ignore[arg-type]
    found = re.search(r"R-\d+", answer["text"])
    assert found is not None, answer["text"]
    return found[0]


def _running(rig: Rig, text: str, who: object = ADA) -> str:
    request = _ask(rig, text, who)
    rig.pass_time(START_DELAY)
    eventually(lambda: rig.house.state(request) is S.RUNNING)
    return request


def test_a_researcher_is_told_whom_to_ask(rig: Rig) -> None:
    answer = rig.command(rig.visitor(ADA), "/gpu pause all for 2h reason I am in a hurry")
    assert f"<@{ANA.id}>" in answer["text"]
    assert "Nothing was changed" in answer["text"]
    rig.settled()
    assert rig.said(rig.visitor(ADA), "Intervention") == []


def test_a_pause_is_posted_holds_and_ends_by_itself(rig: Rig) -> None:
    ana = rig.visitor(ANA)
    answer = rig.command(ana, "/gpu pause team-nlp for 2h reason switch upgrade")
    assert "posted in the channel" in answer["text"]
    post = rig.wait_for(ana, "paused team-nlp")
    assert "Reason: switch upgrade" in post["text"]
    rig.wait_for(ana, "paused team-nlp", channel=ONCALL)
    request = _ask(rig, "8 h100 4h")
    why = rig.command(rig.visitor(ADA), f"/gpu why {request}")
    assert "paused by Ana Petrova until" in why["text"]
    assert "switch upgrade" in why["text"]
    rig.restart_bot()
    rig.pass_time(HOUR)
    assert rig.house.state(request) is S.WAITING
    rig.pass_time(HOUR)
    eventually(lambda: rig.house.state(request) is S.ADMITTED)
    rig.wait_for(ana, "Intervention over")


def test_a_boost_changes_who_is_next_and_its_thread_says_so(rig: Rig) -> None:
    _running(rig, "8 h100 4h")
    first = _running(rig, "8 h100 4h")
    _ask(rig, "8 h100 4h")
    second = _ask(rig, "8 h100 4h name paper")
    ana = rig.visitor(ANA)
    rig.command(ana, f"/gpu boost {second} priority critical for 6h reason paper deadline")
    card = rig.wait_for(ana, "paper")
    eventually(lambda: [m for m in ana.thread(GENERAL, card["ts"]) if "Intervention" in m["text"]])
    rig.house.desk.release(ADA.id, first, key="r", confirmed=True)
    eventually(lambda: rig.house.state(first) is S.STOPPING)
    rig.pass_time(STOP_TIME)
    eventually(lambda: rig.house.state(second) is S.ADMITTED)


def test_a_preemption_is_shown_confirmed_and_told_to_its_owner(rig: Rig) -> None:
    _running(rig, "8 h100 4h")
    target = _running(rig, "8 h100 4h name night")
    winner = _ask(rig, "8 h100 4h name hero priority high")
    ana, ada = rig.visitor(ANA), rig.visitor(ADA)
    preview = rig.command(ana, f"/gpu preempt {target} for {winner} reason paper deadline")
    assert "It would stop 1 request" in preview["text"]
    assert rig.house.state(target) is S.RUNNING
    ana.press(GENERAL, preview["ts"], "gpubot.order")
    eventually(lambda: rig.house.state(target) is S.PREEMPTING)
    rig.pass_time(STOP_TIME)
    eventually(lambda: rig.house.state(winner) is S.ADMITTED)
    direct = ada.direct()
    eventually(lambda: [m for m in ada.messages(direct) if "Being stopped by hand" in m["text"]])
    (notice,) = [m["text"] for m in ada.messages(direct) if "Being stopped by hand" in m["text"]]
    for word in (target, winner, "Ana Petrova", "Intervention", "team-nlp", "paper deadline"):
        assert word in notice
    assert "8 GPUs" in notice
    assert "requeued at its old place" in notice
    rig.settled()
    assert len(rig.said(ana, f"stops {target}")) == 1


def test_a_drained_node_is_emptied_with_grace_and_opened_again(rig: Rig) -> None:
    request = _running(rig, "8 h100 4h name move-me", BEN)
    node = rig.house.desk.card(request).nodes[0][0]
    ana = rig.visitor(ANA)
    preview = rig.command(ana, f"/gpu drain {node} for 2h reason fan replacement")
    assert request in preview["text"]
    ana.press(GENERAL, preview["ts"], "gpubot.order.move")
    eventually(lambda: rig.house.state(request) is S.EVICTING)
    rig.pass_time(STOP_TIME)
    eventually(lambda: rig.house.state(request) is S.ADMITTED)
    assert rig.house.desk.card(request).nodes[0][0] != node
    rig.wait_for(ana, f"drains node {node}")
    rig.command(ana, f"/gpu undrain {node} reason fan replaced")
    rig.wait_for(ana, f"onto node {node} again")


def test_quota_is_shown_confirmed_and_counted(rig: Rig) -> None:
    _running(rig, "8 h100 4h")
    _running(rig, "8 h100 4h")
    ana = rig.visitor(ANA)
    preview = rig.command(ana, "/gpu quota nlp 8 for 1d reason budget")
    assert "16 GPUs to 8 GPUs" in preview["text"]
    assert "Nobody is stopped" in preview["text"]
    ana.press(GENERAL, preview["ts"], "gpubot.order")
    post = rig.wait_for(ana, "changed the quota of team-nlp")
    assert "uses 8 GPUs more" in post["text"]
    rig.pass_time(1.0)
    report = rig.house.desk.report()
    assert isinstance(report, ReportView)
    assert report.interventions == 1
