"""One day in the channel, from the first request to the evening's report, as people saw it.

`GPUBOT_GOLDEN=write pytest tests/e2e/test_day.py` writes the transcript anew: read it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.e2e.day import Day
from tests.fixtures_workspace import ONCALL

GOLDEN = Path(__file__).parents[1] / "golden" / "day.txt"


@pytest.fixture
def day(tmp_path: Path) -> Iterator[Day]:
    built = Day(tmp_path)
    yield built
    built.close()


def id_in(text: str) -> str:
    """The request that an answer is about."""
    found = re.search(r"R-\d+", text)
    assert found is not None, text
    return found[0]


def morning(day: Day) -> tuple[str, str]:
    """People come in and ask; two requests that matter later."""
    day.until("08:00", "people come in")
    day.say("ada", "/gpu 4x8 h100 8h name llama-sft")
    detector = id_in(day.say("ben", "/gpu 8 h100 2h name detector"))
    day.say("mei", "/gpu 要 2 节点 H100 8 小时 可抢占")
    day.say("roy", "/gpu 16 h10 4h")
    day.say("roy", "/gpu 16 h100 4h for the demo on friday")
    day.say("gus", "/gpu 6 nodes h100 10h preemptible priority low name night-sweep")
    day.until("08:30")
    day.say("pia", "/gpu 8 nodes h100 9h name speech-lm")
    day.say("han", "/gpu 6 nodes h100 6h name vit-g")
    day.until("09:10", "the digest has come, and the shared pool fills up")
    video = id_in(day.say("kai", "/gpu 8 nodes h100 6h name video-diffusion"))
    return detector, video


def hero(day: Day, detector: str, video: str) -> str:
    """Somebody takes a counter-offer, somebody needs half the cluster."""
    day.say("eva", "/gpu try 2 nodes h100 2h")
    day.press("kai", "Take", video)
    big = id_in(day.say("ida", "/gpu 16 nodes h100 12h priority high name hero"))
    day.say("ned", f"/gpu when {big}")
    day.until("09:55", "a lease is about to end")
    day.press("ben", "Extend", detector, channel=day.visitor("ben").direct())
    day.say("jun", "@gpubot why", thread=big)
    day.until("11:40", "the hero has waited for two hours")
    return big


def noon(day: Day, big: str) -> None:
    """An incident takes room, on-call knows, an admin does what must be done."""
    day.say("lea", "/gpu 8 nodes h100 2h priority critical name incident-fix")
    day.until("11:45", "room was made")
    day.press("oli", "Acknowledge", "Preemption", channel=ONCALL)
    day.say("sam", "/gpu pause shared-multi for 1h reason I want to go first")
    day.say("ana", "/gpu pause shared-multi for 1h reason switch firmware")
    day.press("ana", "Pause it", "Pause shared-multi")
    day.say("ida", f"/gpu why {big}")
    day.until("13:30", "the pause has ended by itself")
    day.fail_node("h100-0002")
    day.press("oli", "Acknowledge", "Node failed", channel=ONCALL)
    day.until("14:00", "a node was lost, and what ran there went on")


def evening(day: Day) -> None:
    """What is left of the day."""
    debug = id_in(day.say("fay", "/gpu debug h100 1h"))
    day.until("14:30")
    day.say("fay", f"/gpu give {debug} @sam")
    day.say("sam", f"/gpu release {debug}")
    day.press("sam", "Release", debug)
    day.say("qin", "/gpu mine")
    day.say("cem", "/gpu queue")
    day.until("17:30", "the day ends")
    day.say("dot", "/gpu fair")
    day.say("ana", "/gpu report day")


def test_a_day_reads_as_written_down(day: Day) -> None:
    detector, video = morning(day)
    big = hero(day, detector, video)
    noon(day, big)
    evening(day)
    told = "\n".join(day.told) + "\n"
    if os.environ.get("GPUBOT_GOLDEN") == "write":
        GOLDEN.write_text(told, encoding="utf-8")
    assert told == GOLDEN.read_text(encoding="utf-8")
