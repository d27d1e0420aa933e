"""A day in the channel, played by hand: real workspace, Bolt app and socket, a clock of ours.

Nothing ticks by itself: `until` lets the world's time pass and runs whatever is due, in order,
so that the same script gives the same day. Whatever is said on the way is written down as a
person in the channel would tell it.
"""

from __future__ import annotations

import re
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from bot.clock import ManualClock, moment
from bot.clusters.simulated import SimulatedCluster
from bot.composition import Bot, build_core
from bot.control.ticks import Tick
from bot.people import Directory, read_people
from bot.preferences import Digest
from bot.settings import read_settings
from bot.workspace.people import load_people
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from bot.workspace.workspace import Workspace
from scheduler.layout import build_nodes
from scheduler.policy import compile_policy, load_policy
from storage.records import Person
from storage.store import open_store
from tests.fixtures_workspace import GENERAL, ONCALL, quick_options

Json = dict[str, Any]
FOLDER = Path(__file__).parent / "day"
BEGIN = 1_772_438_100.0  # Monday, 2026-03-02, 07:55 UTC
STEP = 60.0  # seconds of the world between two looks at what is due
BY_ITSELF = frozenset({"people", "heartbeat", "socket", "retention"})
"""Ticks that look after the process, not after the world."""
_DATE = re.compile(r"<!date\^(\d+)\^[^|>]*\|[^>]*>")
_PERSON = re.compile(r"<@([UW][A-Z0-9]+)>")
_CHANNEL = re.compile(r"<#([CG][A-Z0-9]+)>")
_GROUP = re.compile(r"<!subteam\^([A-Z0-9]+)>")


def _rank(where: str) -> int:
    """Private answers, then the channel, then on-call, threads and direct messages."""
    order = ("only ", "#gpu-resources", "#gpu-oncall", "thread ", "to ")
    return next(number for number, start in enumerate(order) if where.startswith(start))


@dataclass
class _Due:
    """A tick and when it is due next, in the world's time."""

    tick: Tick
    at: float


@dataclass
class Day:
    """The stage: twenty people, three teams, a small cluster. `told` is the transcript so far."""

    folder: Path
    told: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.clock = ManualClock(BEGIN)
        text = (FOLDER / "people.yaml").read_text(encoding="utf-8")
        self.people: dict[str, Person] = {
            person.name.split()[0].lower(): person for person in read_people(text, "people.yaml")
        }
        self.server = WorkspaceServer(
            directory=load_people(self._workspace_file()), options=quick_options()
        )
        self.server.start()
        policy = (FOLDER / "policy.yaml").read_text(encoding="utf-8")
        layout = compile_policy(load_policy(policy, "policy.yaml"))
        self.cluster = SimulatedCluster(build_nodes(layout), start_delay=20.0, stop_time=10.0)
        self.core = build_core(
            store=open_store(f"sqlite:///{self.folder / 'day.db'}"),
            cluster=self.cluster,
            layout=layout,
            directory=Directory(self.people.values()),
            clock=self.clock,
        )
        self.core.control.wall = self.clock
        self.core.desk.patience = 10.0
        settings = read_settings(
            slack_api_url=self.server.api_url,
            bot_token=self.server.options.bot_token,
            app_token=self.server.options.app_token,
            oncall_group="S0ONCALL",
            digest=Digest.DAILY,
        )
        self.bot = Bot(self.core, settings)
        self.core.control.on_wake = self.core.control.on_notices = lambda: None
        ticks = [tick for tick in self.bot._ticks() if tick.name not in BY_ITSELF]
        self._due = [_Due(tick, self.clock.now()) for tick in ticks]
        self._seen: dict[tuple[str, str], str] = {}
        self.core.control.step()
        self.bot.hearing.start()

    def close(self) -> None:
        """Everybody goes home."""
        self.bot.stop()
        self.cluster.close()
        self.server.stop()

    # ---- what people do

    def say(self, who: str, text: str, *, channel: str = GENERAL, thread: str = "") -> str:
        """A person says something, and gets an answer; the text of the first answer."""
        self._write(f"{self._time()}  {self._name(who)}: {self._plain({'text': text})}")
        visitor = self.visitor(who)
        under = self._card(thread) if thread else None
        before = self._answers(who, under)
        visitor.say(channel, text, thread_ts=under)
        answer = self._await(lambda: self._answers(who, under) - before, f"an answer to {text}")
        self.settle()
        return answer

    def press(self, who: str, label: str, about: str, *, channel: str = GENERAL) -> None:
        """A person presses the button so labelled of the newest message that says `about`."""
        place = {GENERAL: "", ONCALL: " in #gpu-oncall"}.get(channel, " in the direct message")
        self._write(f"{self._time()}  {self._name(who)} presses [{label}]{place}")
        visitor = self.visitor(who)
        message, action = self._button(who, channel, label, about)
        before = self._everything()
        visitor.press(channel, message["ts"], action)
        self._await(lambda: self._everything() - before, f"an answer to [{label}]")
        self.settle()

    def until(self, clock_time: str, remark: str = "") -> None:
        """Let the time pass until `HH:MM`."""
        hour, minute = map(int, clock_time.split(":"))
        now = moment(self.clock.now())
        end = now.replace(hour=hour, minute=minute, second=0, microsecond=0).timestamp()
        assert end >= self.clock.now(), f"{clock_time} is over"
        while self.clock.now() < end:
            self.clock.advance(min(STEP, end - self.clock.now()))
            self._run_due()
            self._hear()
        self.settle()
        if remark:
            self._write(f"\n—— {clock_time} · {remark} ——")

    def fail_node(self, name: str) -> None:
        """A node dies for good."""
        from scheduler.model import NodeName  # noqa: PLC0415 - for this alone
        from scheduler.simulation.cluster import Outage  # noqa: PLC0415

        self._write(f"{self._time()}  (node {name} dies)")
        now = self.clock.now()
        self.cluster.fail_node(Outage(NodeName(name), now, None), now)
        self.settle()

    def visitor(self, who: str) -> Visitor:
        """A person at the page."""
        return Visitor(self.server.base_url, self.people[who].id)

    # ---- how the world goes on

    def settle(self) -> None:
        """Let the bot finish what it has to decide and say, a second at a time."""
        for _ in range(600):
            self.core.control.step()
            self.bot.announcer.tick(moment(self.clock.now()))
            self._hear()
            with self.core.store.read() as view:
                figures = view.outbox.figures(moment(self.clock.now()))
                busy = view.events.any_unhandled()
            if not figures.pending and not figures.claimed and not busy:
                return
            self.clock.advance(1.0)
        raise AssertionError("the bot does not come to rest")

    def _run_due(self) -> None:
        """Run what is due now, in the order in which the bot lists it."""
        now = self.clock.now()
        for due in self._due:
            if due.at <= now:
                due.tick.run()
                due.at = now + due.tick.every

    def _await(self, look: Any, what: str) -> str:
        """Keep the loop going until something is there; its first text."""
        end = time.monotonic() + 20.0
        while time.monotonic() < end:
            found = look()
            if found:
                return str(min(found)[1])
            self.core.control.step()
            self.bot.announcer.tick(moment(self.clock.now()))
            time.sleep(0.005)
        raise AssertionError(f"there was no {what}")

    # ---- what is to be seen

    def _answers(self, who: str, thread: str | None) -> set[tuple[str, str]]:
        """What only one person sees, or what is said in a thread, and files: stamp and text."""
        person = self.people[who].id

        def look(space: Workspace) -> set[tuple[str, str]]:
            private = {(m["ts"], m["text"]) for m in space.ephemerals.all(person)}
            rooms = [room for room in space.rooms.all() if room.seen_by(person)]
            bots = space.directory.app.user_id
            public = {
                (m["ts"], m["text"])
                for room in rooms
                for m in room.messages.values()
                if m.get("user") == bots
                and m["ts"] != thread  # the card that heads it may be drawn anew meanwhile
                and (m.get("thread_ts") == thread if thread else m.get("files"))
            }
            return public if thread else private | public

        return self.server.look(look)

    def _everything(self) -> set[tuple[str, str]]:
        """Every message there is: stamp and text."""

        def look(space: Workspace) -> set[tuple[str, str]]:
            private = {
                (m["ts"], m["text"])
                for person in space.directory.people
                for m in space.ephemerals.all(person)
            }
            public = {
                (m["ts"], m["text"]) for room in space.rooms.all() for m in room.messages.values()
            }
            return private | public

        return self.server.look(look)

    def _hear(self) -> None:
        """Write down what is new: private answers first, then place by place, each in order.

        Who comes first between places hangs on threads; within one place it never does.
        """

        def look(space: Workspace) -> list[tuple[str, str, Json]]:
            private = [
                (m["ts"], f"only {self._first(person)} sees", m)
                for person in sorted(space.directory.people)
                for m in space.ephemerals.all(person)
            ]
            public = [
                (m["ts"], self._where(room, m), m)
                for room in space.rooms.all()
                for m in room.messages.values()
                if m.get("user") == space.directory.app.user_id
            ]
            return sorted(private + public, key=lambda one: (_rank(one[1]), one[1], one[0]))

        told: set[str] = set()
        for stamp, where, message in self.server.look(look):
            said = self._plain(message)
            before = self._seen.get((stamp, where))
            if before == said:
                continue
            self._seen[(stamp, where)] = said
            if before is None:
                self._tell(where, said, told)
            elif (first := said.split("\n", 1)[0]) != before.split("\n", 1)[0]:
                self._tell(f"{where}, changed", first, told)

    def _where(self, room: Any, message: Json) -> str:
        if room.is_im:
            return f"to {self._first(room.person)}"
        thread = message.get("thread_ts")
        if thread and thread != message["ts"]:
            head = room.messages.get(thread, {}).get("text", "")
            found = re.search(r"R-\d+", head)
            return f"thread of {found[0]}" if found else f"thread in #{room.name}"
        return f"#{room.name}"

    def _tell(self, where: str, said: str, told: set[str]) -> None:
        """Write a message; what another place has just said as well stands there once."""
        first, *rest = said.split("\n")
        lines = [first, *(line for line in rest if line not in told)]
        told.update(rest)
        self._write(f"{self._time()}      gpubot, {where}: {lines[0]}")
        for line in lines[1:]:
            self._write(f"               {line}")

    def _plain(self, message: Json) -> str:
        """As it reads in Slack: names instead of ids, times instead of stamps."""
        text = str(message.get("text") or "")
        for file in message.get("files") or ():
            text += f"\n[picture: {file['title']}]"
        text = _DATE.sub(lambda found: self._clock_time(float(found[1])), text)
        text = _PERSON.sub(lambda found: f"@{self._first(found[1])}", text)
        text = _CHANNEL.sub(lambda found: self._place(found[1]), text)
        text = _GROUP.sub("@gpu-oncall", text)
        return text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")

    def _clock_time(self, at: float) -> str:
        then, today = moment(at), moment(BEGIN)
        return f"{then:%H:%M}" if then.date() == today.date() else f"{then:%a %H:%M}"

    def _card(self, request: str) -> str:
        """The time stamp of a request's card."""
        with self.core.store.read() as view:
            (card,) = [i for i in view.outbox.of(request) if i.notice.kind == "card"]
        assert card.ts is not None
        return card.ts

    def _button(self, who: str, channel: str, label: str, about: str) -> tuple[Json, str]:
        """The newest message with such a button, and the button's action."""
        visitor = self.visitor(who)
        messages = visitor.messages(channel)
        if channel == GENERAL:
            for message in list(messages):
                messages += visitor.thread(channel, message["ts"])[1:]
        for message in sorted(messages, key=lambda one: str(one["ts"]), reverse=True):
            if about not in str(message.get("text")):
                continue
            for block in message.get("blocks") or ():
                for element in block.get("elements") or ():
                    shown = element.get("text")
                    if isinstance(shown, dict) and str(shown["text"]).startswith(label):
                        return message, str(element["action_id"])
        raise AssertionError(f"{who} sees no button {label} about {about}")

    def _write(self, line: str) -> None:
        self.told.append(line)

    def _time(self) -> str:
        return f"{moment(self.clock.now()):%H:%M}"

    def _name(self, who: str) -> str:
        return self.people[who].name.split()[0]

    def _first(self, person_id: str | None) -> str:
        found = next((p for p in self.people.values() if p.id == person_id), None)
        return found.name.split()[0] if found is not None else str(person_id)

    def _place(self, channel: str) -> str:
        return "#gpu-resources" if channel == GENERAL else "#gpu-oncall"

    def _workspace_file(self) -> Path:
        """The people of the day as the workspace lists its users."""
        users = [
            {
                "id": person.id,
                "name": person.name.split()[0].lower(),
                "real_name": person.name,
                "role": str(person.role),
                "teams": list(person.teams),
                "locale": "zh-CN" if "zh" in person.id.lower() else "en-US",
            }
            for person in self.people.values()
        ]
        oncall = [p.id for p in self.people.values() if p.role == "oncall"]
        space = {
            "team": {"id": "T0DAY", "name": "A day", "domain": "day"},
            "app": {
                "id": "A0GPUBOT",
                "bot_id": "B0GPUBOT",
                "user_id": "U0GPUBOT",
                "name": "gpubot",
            },
            "people": users,
            "groups": [
                {"id": "S0ONCALL", "handle": "gpu-oncall", "name": "On-call", "people": oncall}
            ],
            "channels": [
                {"id": GENERAL, "name": "gpu-resources"},
                {"id": "C0ONCALL", "name": "gpu-oncall"},
            ],
        }
        path = self.folder / "workspace.yaml"
        path.write_text(yaml.safe_dump(space), encoding="utf-8")
        return path
