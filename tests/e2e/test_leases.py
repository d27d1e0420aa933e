"""Leases over the real socket: extended by word and by button, and refused with who waits."""

from __future__ import annotations

import re
from typing import Any

from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, LEA, START, START_DELAY
from tests.e2e.rig import GENERAL, Rig, eventually

HOUR = 3600.0


def id_in(text: str) -> str:
    found = re.search(r"R-\d+", text)
    assert found is not None, text
    return found[0]


def running(rig: Rig, text: str, person: Any = ADA) -> str:
    request = id_in(rig.command(rig.visitor(person), text)["text"])
    rig.pass_time(START_DELAY)
    eventually(lambda: rig.house.state(request) is S.RUNNING)
    return request


def ends(rig: Rig, request: str) -> float:
    at = rig.house.request(request).lease_ends
    return at.timestamp() if at else 0.0


def test_extend_by_word_and_by_the_button_of_the_card(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    request = running(rig, "/gpu 8 h100 4h name llama-sft")
    answer = rig.command(ada, f"/gpu extend {request} 2h")
    assert "now ends" in answer["text"]
    assert ends(rig, request) == START + 6 * HOUR
    rig.settled()
    (card,) = rig.said(ada, "Running")
    ada.press(GENERAL, card["ts"], "gpubot.extend")
    eventually(lambda: ends(rig, request) == START + 12 * HOUR)  # as much again
    rig.settled()
    thread = [message["text"] for message in ada.thread(GENERAL, card["ts"])]
    assert len([text for text in thread if "lease" in text and "→" in text]) == 2


def test_the_reminder_extends_in_one_press_and_says_who_keeps_it_from_that(rig: Rig) -> None:
    ada, lea = rig.visitor(ADA), rig.visitor(LEA)
    request = running(rig, "/gpu 8 h100 4h")
    running(rig, "/gpu 8 h100 20h")
    rig.pass_time(3.7 * HOUR)
    rig.bot.ticker.wake("leases")
    direct = ada.direct()
    reminder = rig.wait_for(ada, "Lease ending", channel=direct)
    rival = id_in(rig.command(lea, "/gpu 8 h100 1h")["text"])
    refused = rig.command(ada, f"/gpu extend {request} 2h")
    assert rival in refused["text"]
    assert LEA.name in refused["text"]
    rig.command(lea, f"/gpu cancel {rival}")
    eventually(lambda: rig.house.state(rival) is S.CANCELLED)
    before = ends(rig, request)
    ada.press(direct, reminder["ts"], "gpubot.extend")
    eventually(lambda: ends(rig, request) == before + 4 * HOUR)
    ada.press(direct, reminder["ts"], "gpubot.extend")  # an old button by now
    eventually(lambda: [m for m in ada.private(direct) if "another since" in m["text"]])
    assert ends(rig, request) == before + 4 * HOUR


def test_what_cannot_be_extended_gets_one_clear_private_answer(rig: Rig) -> None:
    request = running(rig, "/gpu 8 h100 4h")
    ada, ben = rig.visitor(ADA), rig.visitor(BEN)
    for visitor, line, words in (
        (ada, f"/gpu extend {request} 30d", "at most 7 d"),
        (ada, f"/gpu extend {request} 0h", "zero"),
        (ada, f"/gpu extend {request} -2h", "negative"),
        (ben, f"/gpu extend {request} 2h", "belongs"),
        (ada, "/gpu extend R-9999 2h", "R-9999"),
    ):
        answer = rig.command(visitor, line)
        assert words in answer["text"], answer["text"]
    full_width = "\uff12\uff48"  # "2h" as an input method may write it
    answer = rig.command(ada, f"/gpu extend {request} {full_width}")
    assert "now ends" in answer["text"]
    assert ends(rig, request) == START + 6 * HOUR


def test_edit_and_give_by_word(rig: Rig) -> None:
    ada, lea = rig.visitor(ADA), rig.visitor(LEA)
    for _ in range(2):
        running(rig, "/gpu 8 h100 20h")
    request = id_in(rig.command(ada, "/gpu 8 h100 4h name first")["text"])
    rival = id_in(rig.command(ada, "/gpu 8 h100 4h")["text"])
    rig.pass_time(60)
    answer = rig.command(ada, f"/gpu edit {request} 4 gpus 2h")
    assert "size 1×8 → 1×4" in answer["text"]
    assert "keeps its place" in answer["text"]
    answer = rig.command(ada, f"/gpu edit {request} 8 gpus 6h")
    assert "goes to the back" in answer["text"]
    queue = rig.command(ada, "/gpu queue")["text"]
    assert queue.index(rival) < queue.index(request)
    answer = rig.command(ada, f"/gpu give {request} @lea")
    assert LEA.name in answer["text"]
    direct = lea.direct()
    eventually(lambda: [m for m in lea.messages(direct) if "is yours now" in m["text"]])
    assert request in rig.command(lea, "/gpu mine")["text"]
    refused = rig.command(ada, f"/gpu edit {request} name mine")
    assert "belongs to somebody else" in refused["text"]
    rig.command(lea, f"/gpu cancel {request}")
    eventually(lambda: rig.house.state(request) is S.CANCELLED)
    late = rig.command(lea, f"/gpu edit {request} 2h")
    assert "cancelled already" in late["text"]


def test_the_form_changes_a_request_and_marks_what_is_wrong(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    for _ in range(2):
        running(rig, "/gpu 8 h100 20h", LEA)
    request = id_in(rig.command(ada, "/gpu 8 h100 4h name first")["text"])
    card = eventually(lambda: next(iter(rig.said(ada, "first")), None))
    ada.press(GENERAL, card["ts"], "gpubot.edit")
    view = eventually(ada.modal)
    fields = {block["block_id"]: block["element"] for block in view["blocks"]}
    assert fields["size"]["initial_value"] == "1x8"
    assert fields["lease"]["initial_value"] == "4h"
    values: dict[str, Any] = {name: {name: _filled(element)} for name, element in fields.items()}
    values["size"]["size"]["value"] = "64"
    wrong = ada.submit(view, values)
    assert "size" in wrong["errors"]
    values["size"]["size"]["value"] = "4"
    values["name"]["name"]["value"] = "second"
    ada.submit(view, values)
    eventually(lambda: rig.house.request(request).workload.gpus == 4)
    assert rig.house.request(request).workload.name == "second"
    eventually(lambda: [m for m in ada.private(GENERAL) if "size 1×8 → 1×4" in m["text"]])
    ada.press(GENERAL, card["ts"], "gpubot.edit")
    late = eventually(ada.modal)
    rig.command(ada, f"/gpu cancel {request}")
    eventually(lambda: rig.house.state(request) is S.CANCELLED)
    ada.submit(late, values)
    eventually(lambda: [m for m in ada.private(GENERAL) if "cancelled already" in m["text"]])


def _filled(element: dict[str, Any]) -> dict[str, Any]:
    """What a field holds as the form opens."""
    if element["type"] == "plain_text_input":
        return {"type": element["type"], "value": element.get("initial_value")}
    return {"type": element["type"], "selected_option": element.get("initial_option")}
