"""Looking ahead over the real socket: an expected start, offers taken by a press, and tries."""

from __future__ import annotations

from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, LEA, START_DELAY
from tests.e2e.rig import GENERAL, Rig, eventually
from tests.e2e.test_leases import id_in


def full(rig: Rig) -> None:
    """The shared nodes are held for 20 hours, nlp's for 4; nothing is idle."""
    ben, lea = rig.visitor(BEN), rig.visitor(LEA)
    for visitor, line in (
        (lea, "/gpu 8 h100 4h"),
        (lea, "/gpu 8 h100 4h"),
        (ben, "/gpu 8 h100 20h"),
        (ben, "/gpu 8 h100 20h"),
        (ben, "/gpu 2 nodes h100 20h"),
    ):
        request = id_in(rig.command(visitor, line)["text"])
        assert rig.house.state(request) is S.ADMITTED
    rig.pass_time(START_DELAY)


def test_what_waits_says_when_and_an_offer_is_taken_by_a_press(rig: Rig) -> None:
    full(rig)
    ada, ben = rig.visitor(ADA), rig.visitor(BEN)
    answer = rig.command(ada, "/gpu 3 nodes h100 6h name hero")
    request = id_in(answer["text"])
    assert "Expected start: " in answer["text"]
    assert "from the leases of what runs" in answer["text"]
    assert "fewer GPUs (size 3×8 → 2×8): starts at once" in answer["text"]
    assert "<!date^" in answer["text"]
    eventually(lambda: rig.said(ada, "Sooner, if you change it"))
    (card,) = rig.said(ada, "hero")
    when = rig.command(ben, f"/gpu when {request}")
    assert "Expected start: " in when["text"]
    assert "[Take" not in when["text"]  # it is not BEN's to change
    button = next(
        element["action_id"]
        for block in card["blocks"]
        if block["type"] == "actions"
        for element in block["elements"]
        if "fewer" in element["text"]["text"]
    )
    ben.press(GENERAL, card["ts"], button)
    eventually(lambda: [m for m in ben.private(GENERAL) if "belongs to somebody" in m["text"]])
    ada.press(GENERAL, card["ts"], button)
    eventually(lambda: rig.house.state(request) is S.ADMITTED)
    assert rig.house.request(request).workload.gpus == 16
    ada.press(GENERAL, answer["ts"], button)  # the first answer, which stays as it was
    eventually(lambda: [m for m in ada.private(GENERAL) if "runs already" in m["text"]])
    rig.settled()
    assert "3×8 → 2×8" in "".join(m["text"] for m in ada.thread(GENERAL, card["ts"]))


def test_a_try_creates_nothing_until_its_button_is_pressed(rig: Rig) -> None:
    full(rig)
    ada = rig.visitor(ADA)
    with rig.house.store.read() as view:
        before = view.requests.find()
    answer = rig.command(ada, "/gpu try 3 nodes h100 6h")
    assert "Only tried" in answer["text"]
    assert "Nothing was created" in answer["text"]
    assert "Expected start: " in answer["text"]
    with rig.house.store.read() as view:
        assert [one.id for one in view.requests.find()] == [one.id for one in before]
    ada.press(GENERAL, answer["ts"], "gpubot.ask.0")
    eventually(lambda: len(rig.house.desk.mine(ADA.id).open) == 1)
    (made,) = rig.house.desk.mine(ADA.id).open
    assert (made.gpus, made.lease) == (24, 6 * 3600.0)
    ada.press(GENERAL, answer["ts"], "gpubot.ask.0")  # once more: it is the same request
    eventually(lambda: len([m for m in ada.private(GENERAL) if made.request in m["text"]]) == 2)
    assert len(rig.house.desk.mine(ADA.id).open) == 1
