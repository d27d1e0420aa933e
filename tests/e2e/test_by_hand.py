"""An admin's morning over the real socket, as the people in it read it.

`GPUBOT_GOLDEN=write pytest tests/e2e/test_by_hand.py` writes the transcript anew.
"""

from __future__ import annotations

import os
import re
from pathlib import Path

from bot.workspace.visitor import Visitor
from storage.records import Person
from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, BEN, START_DELAY, STOP_TIME
from tests.e2e.rig import GENERAL, Rig, eventually

GOLDEN = Path(__file__).parents[1] / "golden" / "transcripts" / "by-hand.txt"
HOUR = 3600.0
_DATE = re.compile(r"<!date\^\d+\^[^|]*\|([^>]*)>")
_USER = re.compile(r"<@U0(\w+)>")


class Transcript:
    """What is said, step by step: lines of people, private answers, posts and direct messages."""

    def __init__(self, rig: Rig) -> None:
        self.rig = rig
        self.lines: list[str] = []
        self._seen: set[tuple[str, str]] = set()
        self._visitors: dict[str, Visitor] = {}

    def visitor(self, person: Person) -> Visitor:
        return self._visitors.setdefault(person.id, self.rig.visitor(person))

    def say(self, person: Person, text: str, *, about: str = "") -> dict[str, object]:
        """A command, and the private answer to it: of a long one only the lines `about` it."""
        self._write(f"{person.name} in #gpu-resources", text)
        answer = self.rig.command(self.visitor(person), text)
        lines = [line for line in str(answer["text"]).splitlines() if about in line]
        self._write(f"gpubot, only to {person.name}", "\n".join(lines))
        return answer

    def press(self, person: Person, message: dict[str, object], action: str) -> None:
        """A button, by what it does."""
        self._write(f"{person.name} presses", action)
        self.visitor(person).press(GENERAL, str(message["ts"]), action)

    def hear(self, text: str) -> None:
        """A post in the channel, once it is there."""
        post = self.rig.wait_for(self.visitor(ANA), text)
        assert (GENERAL, post["ts"]) not in self._seen, text
        self._seen.add((GENERAL, post["ts"]))
        self._write("gpubot in #gpu-resources", post["text"])

    def told(self, person: Person, text: str) -> None:
        """A direct message, once it is there."""
        visitor = self.visitor(person)
        room = visitor.direct()
        found = eventually(
            lambda: next((m for m in visitor.messages(room) if text in m["text"]), None)
        )
        self._write(f"gpubot to {person.name}", found["text"])

    def later(self, text: str) -> None:
        """Time passes."""
        self.lines += [f"({text})", ""]

    def _write(self, who: str, text: str) -> None:
        plain = _USER.sub(r"@\1", _DATE.sub(r"\1", text))
        self.lines += [f"{who}:", *(f"    {line}" for line in plain.splitlines()), ""]


def _id(answer: dict[str, object]) -> str:
    found = re.search(r"R-\d+", str(answer["text"]))
    assert found is not None
    return found[0]


def test_an_admins_morning_reads_as_written_down(rig: Rig) -> None:
    book = Transcript(rig)
    _a_pause(book, rig)
    night, hero = _a_boost_and_a_preemption(book, rig)
    _a_drain(book, rig, hero)
    book.say(ADA, "/gpu quota nlp 64 for 1d reason I need more")
    preview = book.say(ANA, "/gpu quota nlp 8 for 1d reason budget of the quarter")
    book.press(ANA, preview, "gpubot.order")
    book.hear("changed the quota of team-nlp")
    assert rig.house.state(night) is S.WAITING
    text = "\n".join(book.lines)
    if os.environ.get("GPUBOT_GOLDEN") == "write":
        GOLDEN.parent.mkdir(parents=True, exist_ok=True)
        GOLDEN.write_text(text, encoding="utf-8")
    assert text == GOLDEN.read_text(encoding="utf-8")


def _a_pause(book: Transcript, rig: Rig) -> None:
    book.say(BEN, "/gpu pause all for 2h reason I want them all")
    book.say(ANA, "/gpu pause team-vision for 2h reason switch upgrade")
    book.hear("paused team-vision")
    request = _id(book.say(BEN, "/gpu 8 h100 4h name paused-work", about="Your request"))
    book.say(BEN, f"/gpu why {request}", about="paused")
    rig.pass_time(2 * HOUR)
    book.later("two hours later")
    eventually(lambda: rig.house.state(request) is S.ADMITTED)
    book.hear("Intervention over")
    rig.house.desk.release(BEN.id, request, key="done", confirmed=True)
    eventually(lambda: rig.house.state(request) is S.STOPPING)
    rig.pass_time(STOP_TIME)
    eventually(lambda: rig.house.state(request) is S.RELEASED)


def _a_boost_and_a_preemption(book: Transcript, rig: Rig) -> tuple[str, str]:
    base = _id(book.say(ADA, "/gpu 8 h100 4h name base", about="Your request"))
    night = _id(book.say(ADA, "/gpu 8 h100 4h name night-sweep", about="Your request"))
    rig.pass_time(START_DELAY)
    for request in (base, night):
        eventually(lambda one=request: rig.house.state(one) is S.RUNNING)  # type: ignore[misc]
    first = _id(book.say(ADA, "/gpu 8 h100 4h name first-in-line", about="Your request"))
    hero = _id(book.say(ADA, "/gpu 8 h100 4h name hero", about="Your request"))
    book.say(ANA, f"/gpu boost {hero} priority critical for 6h reason paper deadline")
    book.hear(f"gave {hero}")  # its card names the priority, too
    book.told(ADA, "critical priority")
    preview = book.say(ANA, f"/gpu preempt {night} for {hero} reason paper deadline")
    book.press(ANA, preview, "gpubot.order")
    book.hear(f"stops {night}")
    book.told(ADA, "Being stopped by hand")
    rig.pass_time(STOP_TIME)
    eventually(lambda: rig.house.state(hero) is S.ADMITTED)
    assert rig.house.state(first) is S.WAITING
    rig.pass_time(START_DELAY)
    eventually(lambda: rig.house.state(hero) is S.RUNNING)
    return night, hero


def _a_drain(book: Transcript, rig: Rig, hero: str) -> None:
    node = rig.house.desk.card(hero).nodes[0][0]
    preview = book.say(ANA, f"/gpu drain {node} for 2h reason fan replacement")
    book.press(ANA, preview, "gpubot.order.move")
    book.hear(f"drains node {node}")
    eventually(lambda: rig.house.state(hero) is S.EVICTING)
    rig.pass_time(STOP_TIME)
    eventually(lambda: rig.house.state(hero) is S.ADMITTED)
    book.say(ANA, f"/gpu undrain {node} reason fan replaced")
    book.hear(f"onto node {node} again")
