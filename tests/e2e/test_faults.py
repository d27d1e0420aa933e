"""A busy hour under every fault of the workspace: the same end, nothing said twice or not at all.

The hour is a script: what people type and press, one after the other, and how the world's time
passes between. It is played once in peace; under a fault each request has to end in the same
state and each notice has to be said exactly once, wherever the fault let it be said. The
time that messages are delivered by runs twenty times as fast as ours.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from bot.chat.webslack import keys_of
from bot.workspace.faults import FaultKind
from bot.workspace.visitor import Visitor
from bot.workspace.workspace import Workspace
from storage.records import OutboxState
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, LEA, START_DELAY, STOP_TIME
from tests.e2e.rig import GENERAL, ONCALL, Rig, eventually

pytestmark = [
    pytest.mark.usefixtures("quick_messages", "quick_pings"),
    pytest.mark.xdist_group("busy-hour"),
]

SECONDS = 30.0


@dataclass
class Ended:
    """How an hour ended. `said` counts each notice's key in Slack, `dead` are undelivered ones.

    `answers` are the requests that the answers to commands are about.
    """

    states: dict[str, tuple[str, int]] = field(default_factory=dict)
    said: Counter[str] = field(default_factory=Counter)
    dead: frozenset[str] = frozenset()
    answers: list[str] = field(default_factory=list)
    cards: dict[str, str] = field(default_factory=dict)


class Hour(Rig):
    """A bot in a workspace, and people who insist."""

    def _join(self) -> None:
        self.answers: list[str] = []
        super()._join()

    def command(self, visitor: Visitor, text: str) -> dict[str, object]:
        """Say a slash command, again if Slack says that it did not get through and it did not."""
        before = {message["ts"] for message in visitor.private(GENERAL)}
        eventually(
            lambda: self._is_done(text) or not visitor.say(GENERAL, text).get("error"),
            seconds=SECONDS,
        )
        found = eventually(
            lambda: next(
                (
                    m
                    for m in visitor.private(GENERAL)
                    if m["ts"] not in before and m["user"] != "USLACKBOT"
                ),
                None,
            ),
            seconds=SECONDS,
        )
        self.answers.append(" ".join(re.findall(r"R-\d+", str(found["text"]))[:1]))
        return dict(found)

    def _is_done(self, text: str) -> bool:
        """Whether it was carried out, and only its acknowledgement broke off with the socket."""
        name = re.search(r" name (\S+)", text)
        with self.house.store.read() as view:
            found = {request.workload.name for request in view.requests.find()}
        return name is not None and name[1] in found

    def ask(self, visitor: Visitor, text: str) -> str:
        """Ask for GPUs; the id of the request."""
        found = re.search(r"R-\d+", str(self.command(visitor, text)["text"]))
        assert found is not None
        return found[0]

    def reach(self, request: str, state: S) -> None:
        """Wait until the request is stored in a state."""
        eventually(lambda: self.house.state(request) is state, seconds=SECONDS)

    def wait_out(self, seconds: float, *requests: str, state: S) -> None:
        """Let time pass until requests are in a state.

        A decision is stored before the cluster is told, so its time may begin a little late:
        then a little more has to pass.
        """
        self.pass_time(seconds)
        eventually(lambda: all(self._there(one, state) for one in requests), seconds=SECONDS)

    def _there(self, request: str, state: S) -> bool:
        if self.house.state(request) is state:
            return True
        self.pass_time(0.1)
        return False

    def sweep_leases(self) -> None:
        """Have leases looked at now, and wait for it."""
        pulse = self.bot.ticker.pulses()["leases"]
        before = pulse.ran
        self.bot.ticker.wake("leases")
        eventually(lambda: pulse.ran > before, seconds=SECONDS)

    def rest(self) -> None:
        """Let all that was to be said be said."""
        eventually(lambda: not self.unsent(), seconds=SECONDS)

    def ended(self) -> Ended:
        """How it stands."""
        with self.house.store.read() as view:
            requests = view.requests.find()
            dead = view.outbox.items(OutboxState.DEAD)

        def read(space: Workspace) -> list[tuple[str, list[str]]]:
            messages = (m for room in space.rooms.all() for m in room.messages.values())
            return [(str(m.get("text")), list(keys_of(m))) for m in messages]

        told = self.server.look(read)
        return Ended(
            states={r.workload.name: (r.state.value, r.attempt) for r in requests},
            said=Counter(key for _, keys in told for key in keys),
            dead=frozenset(item.notice.key for item in dead),
            answers=self.answers,
            cards={
                key: text.splitlines()[0]
                for text, keys in told
                for key in keys
                if key.startswith("card:")
            },
        )


def play(hour: Hour, between: Callable[[], None], *, threads: bool = True) -> Ended:
    """The hour; `between` is called now and then. Without `threads` nobody asks in one."""
    ada, ben, lea = hour.visitor(ADA), hour.visitor(BEN), hour.visitor(LEA)
    night = hour.ask(ben, "/gpu 4 nodes h100 12h preemptible name night")
    hour.reach(night, S.ADMITTED)
    hour.wait_out(START_DELAY, night, state=S.RUNNING)
    between()
    small = [hour.ask(ada, f"/gpu 1 h100 4h name small-{n}") for n in range(4)]
    short = hour.ask(lea, "/gpu 8 h100 30m name short")
    hour.wait_out(START_DELAY, *small, short, state=S.RUNNING)
    between()
    hero = hour.ask(ada, "/gpu 4 nodes h100 8h name hero")
    hour.reach(night, S.PREEMPTING)
    hour.wait_out(STOP_TIME, hero, state=S.ADMITTED)
    hour.reach(night, S.WAITING)
    hour.wait_out(START_DELAY, hero, state=S.RUNNING)
    between()
    hour.rest()
    if threads:
        ask_in_thread(ada, hero)
    question = hour.command(ada, f"/gpu release {small[0]}")
    pressed = ada.press(GENERAL, str(question["ts"]), "gpubot.release")
    assert not pressed.get("error")
    hour.reach(small[0], S.STOPPING)
    hour.wait_out(STOP_TIME, small[0], state=S.RELEASED)
    between()
    hour.pass_time(2400)
    hour.sweep_leases()
    hour.reach(short, S.STOPPING)
    hour.wait_out(STOP_TIME, short, state=S.EXPIRED)
    hour.command(ben, f"/gpu cancel {night}")
    hour.reach(night, S.CANCELLED)
    hour.rest()
    return hour.ended()


def ask_in_thread(ada: Visitor, request: str) -> None:
    """Ask why by mention under a card, and wait for the answer there."""
    card = next(m for m in ada.messages(GENERAL) if "card:" + request in keys_of(m))
    ada.say(GENERAL, "@gpubot why", thread_ts=card["ts"])
    eventually(
        lambda: [m for m in ada.thread(GENERAL, card["ts"]) if m.get("bot_id") and not keys_of(m)],
        seconds=SECONDS,
    )


@pytest.fixture(scope="module")
def peace(
    tmp_path_factory: pytest.TempPathFactory, quick_messages: None, quick_pings: None
) -> Ended:
    """The hour in which nothing goes wrong."""
    hour = Hour(tmp_path_factory.mktemp("peace"))
    try:
        return play(hour, lambda: None)
    finally:
        hour.close()


@pytest.fixture
def hour(tmp_path: Path) -> Iterator[Hour]:
    built = Hour(tmp_path)
    yield built
    built.close()


def test_an_hour_in_peace_says_what_happened(peace: Ended) -> None:
    assert peace.states == {
        "night": ("cancelled", 1),
        "small-0": ("released", 1),
        **{f"small-{n}": ("running", 1) for n in range(1, 4)},
        "short": ("expired", 1),
        "hero": ("running", 1),
    }
    assert len(peace.cards) == 7
    assert {kind.partition(":")[0] for kind in peace.said} >= {
        "card",
        "admitted",
        "preempted",
        "preempted-group",
        "requeued",
        "ended",
    }
    assert set(peace.said.values()) == {1}
    assert peace.dead == frozenset()


WEB = "chat.*"
FAULTS: dict[str, tuple[FaultKind, str, int | None, float]] = {
    "duplicate deliveries": (FaultKind.DUPLICATE, "*", None, 0.0),
    "late deliveries": (FaultKind.LATE, "*", None, 0.15),
    "lost events": (FaultKind.LOST, "events_api", 3, 0.0),
    "socket dropped after events": (FaultKind.DROPPED, "events_api", 3, 0.0),
    "429 storm on posts": (FaultKind.RATE_LIMITED, "chat.postMessage", 6, 1.0),
    "429 storm on updates": (FaultKind.RATE_LIMITED, "chat.update", 6, 1.0),
    "5xx": (FaultKind.SERVER_ERROR, WEB, 6, 0.0),
    "lost answers": (FaultKind.LOST_ANSWER, WEB, 6, 0.0),
    "slow answers": (FaultKind.SLOW, WEB, 20, 0.1),
    "invalid blocks": (FaultKind.INVALID_BLOCKS, WEB, 12, 0.0),
}


@pytest.mark.parametrize("name", FAULTS)
def test_the_hour_ends_the_same_under(name: str, hour: Hour, peace: Ended) -> None:
    kind, match, times, seconds = FAULTS[name]
    fault = hour.server.faults.add(kind, match=match, times=times, seconds=seconds)
    ended = play(hour, lambda: None)
    assert fault.taken >= (times or 8)
    assert ended.states == peace.states
    assert ended.said == peace.said
    assert ended.dead == frozenset()
    assert ended.cards == peace.cards
    assert ended.answers == peace.answers


CLOSED: dict[str, tuple[FaultKind, float]] = {
    "limited for ever": (FaultKind.RATE_LIMITED, 20.0),
    "down for ever": (FaultKind.SERVER_ERROR, 0.0),
}


@pytest.mark.parametrize("how", CLOSED)
def test_lost_answers_say_nothing_twice_although_history_is(
    how: str, hour: Hour, peace: Ended
) -> None:
    """Slack tells the bot of its own messages, so that it need not read back."""
    kind, seconds = CLOSED[how]
    for method in ("conversations.history", "conversations.replies"):
        hour.server.faults.add(kind, match=method, times=None, seconds=seconds)
    lost = hour.server.faults.add(FaultKind.LOST_ANSWER, match="chat.postMessage", times=8)
    ended = play(hour, lambda: None, threads=False)
    assert lost.taken == 8
    assert (ended.states, ended.dead) == (peace.states, frozenset())
    assert ended.said == peace.said


def test_the_hour_ends_the_same_when_sockets_break(hour: Hour, peace: Ended) -> None:
    def break_sockets() -> None:
        before = hour.server.workspace.sockets.deliveries.maxlen
        assert before
        hour.server.drop_sockets()
        eventually(lambda: hour.server.workspace.sockets.count, seconds=SECONDS)

    ended = play(hour, break_sockets)
    assert (ended.states, ended.said, ended.cards) == (peace.states, peace.said, peace.cards)


def test_the_hour_ends_the_same_when_the_bot_restarts(hour: Hour, peace: Ended) -> None:
    answers: list[str] = []

    def restart() -> None:
        answers.extend(hour.answers)
        hour.restart_bot()

    ended = play(hour, restart)
    assert (ended.states, ended.said, ended.cards) == (peace.states, peace.said, peace.cards)
    assert [*answers, *ended.answers] == peace.answers


def test_an_archived_on_call_channel_loses_nothing(hour: Hour, peace: Ended) -> None:
    hour.server.faults.add(FaultKind.ARCHIVED, match=ONCALL, times=None)
    ended = play(hour, lambda: None)
    alarm = f"undeliverable:{ONCALL}:is_archived"
    assert ended.states == peace.states
    assert ended.said == peace.said + Counter([alarm])
    assert ended.dead == frozenset()


def test_somebody_who_is_gone_is_a_dead_letter_that_on_call_hears_of(
    hour: Hour, peace: Ended
) -> None:
    hour.server.faults.add(FaultKind.MISSING_USER, match=BEN.id, times=None)
    ended = play(hour, lambda: None)
    alarm = f"undeliverable:{BEN.id}:channel_not_found"
    assert ended.states == peace.states
    assert ended.dead
    assert all(key.endswith(":person") for key in ended.dead)
    assert ended.said + Counter(ended.dead) == peace.said + Counter([alarm])
