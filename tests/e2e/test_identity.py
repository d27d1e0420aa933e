"""Teams from Slack's groups, by a lead's word, and what becomes of those who leave: over HTTP."""

from __future__ import annotations

import re

from storage.states import RequestState as S
from tests.bot.house import LEA, NOA, START_DELAY
from tests.e2e.rig import GENERAL, Rig, eventually


def _settle_roll(rig: Rig) -> None:
    """Have everybody read anew at once."""
    rig.bot._register.roll_call._begin(0.0)
    rig.bot.ticker.wake("roll")


def test_somebody_new_asks_the_lead_and_then_for_gpus(rig: Rig) -> None:
    noa, lea = rig.visitor(NOA), rig.visitor(LEA)
    refused = rig.command(noa, "/gpu 8 h100 4h")
    assert "/gpu link" in refused["text"]
    answer = rig.command(noa, "/gpu link nlp")
    assert LEA.name in answer["text"]
    direct = lea.direct()
    question = eventually(
        lambda: next((m for m in lea.messages(direct) if "says they are in it" in m["text"]), None)
    )
    lea.press(direct, question["ts"], "gpubot.link")
    mine = noa.direct()
    eventually(lambda: [m for m in noa.messages(mine) if "put you into it" in m["text"]])
    assert re.search(r"R-\d+", rig.command(noa, "/gpu 8 h100 4h")["text"])


def test_what_somebody_who_left_has_open_is_the_leads(rig: Rig) -> None:
    noa, lea = rig.visitor(NOA), rig.visitor(LEA)
    rig.house.desk.link(LEA.id, "nlp", NOA.id, key="k")
    request = re.search(r"R-\d+", rig.command(noa, "/gpu 8 h100 4h name left-behind")["text"])
    assert request is not None
    rig.pass_time(START_DELAY)
    eventually(lambda: rig.house.state(request[0]) is S.RUNNING)
    space = rig.server.workspace
    space.directory = space.directory.without(NOA.id)
    _settle_roll(rig)
    eventually(lambda: rig.house.request(request[0]).workload.owner == LEA.id, seconds=40.0)
    direct = lea.direct()
    eventually(lambda: [m for m in lea.messages(direct) if request[0] in m["text"]])
    assert rig.house.state(request[0]) is S.RUNNING
    assert rig.wait_for(lea, "left-behind", channel=GENERAL)
