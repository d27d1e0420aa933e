"""A world to announce in: a real outbox, a Slack in memory and a clock that the test turns."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence

from bot import notices
from bot.chat.announcer import Announcer
from bot.chat.drawing import Drawer
from bot.chat.memory import StoredOutbox
from bot.chat.message import Message
from bot.chat.ports import Posted, Slack, SlackRefused, SlackUnreachable
from bot.chat.replies import Picture
from bot.chat.routing import Places, Router
from bot.chat.voices import Voices
from bot.duty import FixedDuty
from storage.records import Audience, Notice, OutboxItem, OutboxState
from storage.store import Store
from tests.bot.chat import saying
from tests.bot.chat.desks import MemoryDesk
from tests.bot.chat.slack_rules import check_blocks, check_text
from tests.storage import samples

GPU, ONCALL = "C0GPU", "C0ONCALL"
START = dt.datetime(2026, 1, 5, 12, tzinfo=dt.UTC)


def announcer_of(
    store: Store, slack: Slack, desk: MemoryDesk, places: Places | None = None
) -> Announcer:
    """A newly started announcer on a store."""
    outbox = StoredOutbox(store)
    preferred = desk.preferences
    drawer = Drawer(
        voices=Voices(saying.VOICE, chosen=lambda who: preferred(who).chosen_language),
        cards=desk,
        preferred=preferred,
        duty=FixedDuty("S0ONCALL"),
        call_of=outbox.call_of,
    )
    router = Router(places or Places(channel=GPU, oncall=ONCALL), outbox.card_of, preferred)
    return Announcer(outbox=outbox, slack=slack, drawer=drawer, router=router)


class Crash(Exception):
    """The bot died at this point."""


@dataclasses.dataclass
class Told:
    """One message in Slack."""

    channel: str
    ts: str
    message: Message
    keys: tuple[str, ...]
    thread: str | None
    at: dt.datetime
    edits: int = 0


def fine(_method: str, _channel: str) -> None:
    """Nothing is wrong."""


def unreachable(_method: str, _channel: str) -> None:
    raise SlackUnreachable("timed out")


class MemorySlack:
    """Keeps messages; `trouble` is asked before each call and may raise."""

    def __init__(self, clock: Callable[[], dt.datetime]) -> None:
        self.clock = clock
        self.told: list[Told] = []
        self.trouble: Callable[[str, str], None] = fine
        self.after: Callable[[str, str], None] = fine
        self.calls = 0

    def post(
        self, channel: str, message: Message, *, keys: Sequence[str], thread_ts: str | None = None
    ) -> Posted:
        self._check("post", channel, message)
        ts = f"{len(self.told) + 1}.000000"
        self.told.append(Told(channel, ts, message, tuple(keys), thread_ts, self.clock()))
        self.after("post", channel)
        return Posted(channel, ts)

    def update(self, channel: str, ts: str, message: Message, *, keys: Sequence[str]) -> Posted:
        self._check("update", channel, message)
        for told in self.told:
            if (told.channel, told.ts) == (channel, ts):
                assert set(keys) <= set(told.keys)
                told.message, told.edits = message, told.edits + 1
                return Posted(channel, ts)
        raise SlackRefused("message_not_found")

    def show(self, channel: str, picture: Picture, *, thread_ts: str) -> Posted:
        self.calls += 1
        self.trouble("show", channel)
        ts = f"{len(self.told) + 1}.000000"
        message = Message(picture.alt, ())
        keys = (f"file:{picture.name}",)
        self.told.append(Told(channel, ts, message, keys, thread_ts, self.clock()))
        self.after("show", channel)
        return Posted(channel, ts)

    def find(
        self, channel: str, keys: Sequence[str], *, since: float, thread_ts: str | None = None
    ) -> dict[str, Posted]:
        self.trouble("find", channel)
        return {
            key: Posted(channel, told.ts)
            for told in self.told
            if told.channel == channel and told.thread == thread_ts
            if told.at.timestamp() >= since
            for key in told.keys
            if key in keys
        }

    def _check(self, method: str, channel: str, message: Message) -> None:
        self.calls += 1
        check_text(message.text)
        check_blocks(message.blocks)
        self.trouble(method, channel)


class World:
    """A store, a Slack, an announcer, and the time."""

    def __init__(self, store: Store) -> None:
        self.now = START
        self.store, self.desk = store, MemoryDesk()
        self.slack = MemorySlack(lambda: self.now)
        self.announcer = self.fresh()

    def fresh(self) -> Announcer:
        """A newly started announcer on the same store."""
        return announcer_of(self.store, self.slack, self.desk)

    def put(self, *notices_: Notice) -> None:
        with self.store.write() as work:
            for notice in notices_:
                if notice.request is not None and work.requests.get(notice.request) is None:
                    work.requests.add(samples.request(notice.request))
                work.outbox.put(notice, self.now)

    def run(self, seconds: float, step: float = 1.0) -> None:
        """Tick, let `step` seconds pass, and again."""
        end = self.now + dt.timedelta(seconds=seconds)
        while self.now < end:
            self.announcer.tick(self.now)
            self.now += dt.timedelta(seconds=step)

    def items(self, *states: OutboxState) -> tuple[OutboxItem, ...]:
        with self.store.read() as view:
            return view.outbox.items(*states)

    def texts(self, channel: str) -> list[str]:
        return [told.message.text for told in self.slack.told if told.channel == channel]


def card(request: str = "R-1042") -> Notice:
    return Notice(
        key=f"card:{request}",
        kind="card",
        audience=Audience.CARD,
        request=request,
        args={"kind": "card", "request": request},
    )


def notice(
    key: str,
    args: notices.NoticeArgs,
    audience: Audience,
    *,
    request: str = "R-1042",
    target: str | None = None,
    urgent: bool = False,
) -> Notice:
    return Notice(
        key=key,
        kind=args.kind,
        audience=audience,
        request=request,
        target=target,
        args=args.model_dump(mode="json"),
        urgent=urgent,
    )


def admitted(number: int, audience: Audience = Audience.CHANNEL) -> Notice:
    request = f"R-{number}"
    args = saying.ADMITTED.model_copy(update={"request": request})
    return notice(f"admitted:{request}/1:{audience}", args, audience, request=request)


def ended(number: int) -> Notice:
    return notice(f"ended:{number}", saying.ENDED, Audience.CHANNEL, request=f"R-{number}")
