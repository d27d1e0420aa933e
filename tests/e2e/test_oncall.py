"""On-call takes a notice, or somebody else is called; and what people prefer, typed in chat."""

from __future__ import annotations

from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, BEN, START_DELAY
from tests.e2e.rig import GENERAL, ONCALL, Rig, eventually

PRESS = "gpubot.acknowledge"


def _preempt(rig: Rig) -> str:
    """Have Ada's gang stop Ben's; the time stamp of the notice for on-call."""
    ada, ben = rig.visitor(ADA), rig.visitor(BEN)
    rig.command(ben, "/gpu 8 nodes h100 12h preemptible name night")
    rig.pass_time(START_DELAY)

    def running() -> bool:
        rig.pass_time(0.1)  # the cluster may have been told a little later than was stored
        return rig.house.state("R-1001") is S.RUNNING

    eventually(running)
    rig.command(ada, "/gpu 4 nodes h100 8h name hero")
    return str(rig.wait_for(ada, "Preemption", channel=ONCALL)["ts"])


def test_who_presses_first_takes_it_and_all_see_who(rig: Rig) -> None:
    ts = _preempt(rig)
    ben, ana = rig.visitor(BEN), rig.visitor(ANA)
    ben.press(ONCALL, ts, PRESS)
    refused = eventually(lambda: ben.private(ONCALL))
    assert "Only on-call" in refused[0]["text"]
    assert not rig.said(ana, "Acknowledged by", channel=ONCALL)
    ana.press(ONCALL, ts, PRESS)
    taken = rig.wait_for(ana, "Acknowledged by Ana Petrova", channel=ONCALL)
    assert taken["ts"] == ts
    assert "[Acknowledge]" not in taken["text"]
    assert "yours" in eventually(lambda: ana.private(ONCALL))[0]["text"]
    with rig.house.store.read() as view:
        (call,) = view.calls.at(ONCALL, ts)
    assert call.acknowledged_by == ANA.id


def test_nobody_presses_so_the_fallback_is_called(rig: Rig) -> None:
    ts = _preempt(rig)
    rig.settled()
    with rig.house.store.write() as work:
        (call,) = work.calls.at(ONCALL, ts)
        assert call.due is not None
    desk = rig.house.core.desk
    desk.call_next("U0ANA", -1.0)  # as if the time were over
    ana = rig.visitor(ANA)
    assert not [m for m in ana.messages(ana.direct()) if "Nobody" in m["text"]]
    rig.house.control.wall = Later(rig.house.control.wall, 700.0)
    assert desk.call_next("U0ANA", 600.0) == 1
    eventually(lambda: [m for m in ana.messages(ana.direct()) if "Nobody" in m["text"]])


class Later:
    """A clock that is ahead."""

    def __init__(self, clock: object, seconds: float) -> None:
        self._clock, self._seconds = clock, seconds

    def now(self) -> float:
        """The time of the other, and some more."""
        return float(self._clock.now()) + self._seconds  # type: ignore[attr-defined] # a Clock


def test_preferences_are_set_and_kept_by_typing(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    shown = rig.command(ada, "/gpu prefs")["text"]
    assert "quiet: `off`" in shown
    after = rig.command(ada, "/gpu prefs quiet 22:00-07:00 zone Europe/Paris notices important")[
        "text"
    ]
    assert "quiet: `22:00-07:00`" in after
    assert "zone: `Europe/Paris`" in after
    rig.restart_bot()
    assert "notices: `important`" in rig.command(ada, "/gpu prefs")["text"]
    wrong = rig.command(ada, "/gpu prefs zone Mars/Base")["text"]
    assert "time zone" in wrong
    assert "^" in wrong
    rig.command(ada, "/gpu prefs language zh")
    assert "你的偏好" in rig.command(ada, "/gpu prefs")["text"]
    assert len(ada.private(GENERAL)) == 6
