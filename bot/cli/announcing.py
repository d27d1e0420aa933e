"""`gpubot bench announce`: how soon the channel hears of 500 admissions of one cycle.

The real bot over Socket Mode to a local workspace that enforces Slack's rate limits, SQLite
in a temporary folder. Fifty people have asked for ten GPUs each, one at a time; all start in
the first cycle, so the channel is also given five hundred cards and their threads. Meanwhile
something urgent is to be said to channel, on-call and a person.
"""

from __future__ import annotations

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bot import logs, notices
from bot.asks import Ask
from bot.chat.spool import Spool
from bot.chat.webslack import keys_of
from bot.clock import ManualClock, moment
from bot.clusters.simulated import SimulatedCluster
from bot.composition import Bot, Core, build_core
from bot.people import Directory
from bot.settings import read_settings
from bot.shipped import read_policy
from bot.views import Submitted
from bot.workspace.options import Options
from bot.workspace.server import WorkspaceServer
from bot.workspace.workspace import Workspace
from scheduler.layout import build_nodes
from scheduler.policy import compile_policy
from storage.records import Audience, Notice, Person
from storage.store import open_store

PEOPLE, EACH = 50, 10
LONGEST = 60.0
MOST_MESSAGES = 12
URGENT = 3.0
CHANNEL = "C0GPURES"
READER = "U0OLI"


class BenchError(Exception):
    """The load could not be set up; the message says what was refused."""


@dataclass(frozen=True, slots=True)
class Result:
    """One measured thing and the limit it is held to."""

    what: str
    value: float
    limit: float
    unit: str

    @property
    def ratio(self) -> float:
        """1.0 is the limit itself; less is better."""
        return self.value / self.limit


def run_bench_announce() -> bool:
    """Measure, print, and say whether every limit was kept. Raises BenchError."""
    logs.set_up("ERROR")
    with tempfile.TemporaryDirectory(prefix="gpubot-bench-") as folder:
        results = _measure(Path(folder))
    table = Table("what", "measured", "limit", "ratio to limit")
    for one in results:
        measured = f"{one.value:.1f} {one.unit}".strip()
        table.add_row(one.what, measured, f"{one.limit:g} {one.unit}".strip(), f"{one.ratio:.2f}")
    Console().print(table)
    return all(one.ratio <= 1.0 for one in results)


def _measure(folder: Path) -> list[Result]:
    server = WorkspaceServer(state_path=folder / "workspace.jsonl", options=Options())
    server.start()
    core = _ask_for_all(folder)
    settings = read_settings(
        slack_api_url=server.api_url,
        bot_token=server.options.bot_token,
        app_token=server.options.app_token,
    )
    bot = Bot(core, settings, spool=Spool(folder / "bench.spool"))
    began = time.monotonic()
    bot.start()
    try:
        urgent_at = _say_urgent(core, bot, began + 5.0)
        heard = _listen(server, began, urgent_at)
    finally:
        bot.stop()
        server.stop()
    return heard


def _ask_for_all(folder: Path) -> Core:
    layout = compile_policy(read_policy())
    core = build_core(
        store=open_store(f"sqlite:///{folder / 'bench.db'}"),
        cluster=SimulatedCluster(build_nodes(layout)),
        layout=layout,
        directory=Directory(),
        clock=ManualClock(time.time()),
    )
    core.desk.patience = 0.0
    teams = [str(team) for team in core.control.terms.teams]
    people = [
        Person(id=f"U0B{n:03}", name=f"Person {n}", teams=(teams[n % len(teams)],))
        for n in range(PEOPLE)
    ]
    core.directory.add(people)
    for number in range(PEOPLE * EACH):
        person = people[number % PEOPLE]
        ask = Ask(gpus=1, model="h100", duration=7200.0, preemptible=True, text="1 h100 2h")
        answer = core.desk.submit(person.id, ask, key=f"bench-{number}", channel=CHANNEL)
        if not isinstance(answer, Submitted):
            raise BenchError(f"request {number} was refused: {answer}")
    return core


def _say_urgent(core: Core, bot: Bot, at: float) -> float:
    """Have on-call, channel and a person told of something in the middle of the burst."""
    time.sleep(max(0.0, at - time.monotonic()))
    args = notices.NodeFailedArgs(node="gpu-0001", hit=())
    audiences = ((Audience.CHANNEL, None), (Audience.ONCALL, None), (Audience.PERSON, READER))
    with core.store.write() as work:
        for audience, target in audiences:
            work.outbox.put(
                Notice(
                    key=f"urgent:{audience}",
                    kind=args.kind,
                    audience=audience,
                    request=None,
                    target=target,
                    args=args.model_dump(mode="json"),
                    urgent=True,
                ),
                moment(core.control.wall.now()),
            )
    bot.ticker.wake("outbox")
    return time.monotonic()


def _listen(server: WorkspaceServer, began: float, urgent_at: float) -> list[Result]:
    """Look until the channel has heard all, or twice the time is over."""
    heard_all = urgent_all = float("inf")
    while time.monotonic() - began < 2 * LONGEST:
        told = server.look(_told)
        now = time.monotonic()
        admitted = {k for keys in told for k in keys if _is_admission(k)}
        if len(admitted) == PEOPLE * EACH:
            heard_all = min(heard_all, now - began)
        if sum(key.startswith("urgent:") for keys in told for key in keys) == 3:
            urgent_all = min(urgent_all, now - urgent_at)
        if max(heard_all, urgent_all) < float("inf"):
            break
        time.sleep(0.05)
    messages = sum(any(_is_admission(key) for key in keys) for keys in server.look(_told))
    return [
        Result(f"{PEOPLE * EACH} admissions heard in the channel", heard_all, LONGEST, "s"),
        Result("messages they took", float(messages), MOST_MESSAGES, ""),
        Result("urgent notices heard (channel, on-call, person)", urgent_all, URGENT, "s"),
    ]


def _told(space: Workspace) -> list[tuple[str, ...]]:
    return [keys_of(m) for room in space.rooms.all() for m in list(room.messages.values())]


def _is_admission(key: str) -> bool:
    return key.startswith("admitted:") and key.endswith(":channel")
