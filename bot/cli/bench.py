"""`gpubot bench chat`: how fast the bot answers when the cluster is full and the queue long.

The real bot over a real socket to a local workspace, SQLite in a temporary folder, and the
default policy's cluster with 5,000 running and 10,000 waiting requests. An acknowledgement
is timed from the page's request to its reply, an answer from there to the private message.
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.table import Table

from bot import logs
from bot.asks import Ask
from bot.chat.spool import Spool
from bot.clock import ManualClock
from bot.clusters.simulated import SimulatedCluster
from bot.composition import Bot, Core, build_core
from bot.people import Directory
from bot.plans import Load
from bot.settings import read_settings
from bot.shipped import read_policy
from bot.workspace.options import Options
from bot.workspace.rates import RateLimits
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from bot.workspace.workspace import Workspace
from scheduler.layout import build_nodes
from scheduler.policy import compile_policy
from storage.records import Person, Setting
from storage.store import open_store

RUNNING, WAITING = 5000, 10_000
GPUS_EACH = 2  # 5,000 requests of two GPUs fill the 10,000 reserved ones
BATCH = 1000
ACK_LIMIT, ANSWER_LIMIT, CYCLE_LIMIT = 0.050, 0.500, 0.001  # seconds
CHANNEL = "C0GPURES"
ADA = Person(id="U0ADA", name="Ada Moreau", teams=("nlp",))
COMMANDS = (
    "/gpu status",
    "/gpu queue",
    "/gpu mine",
    "/gpu why R-14000",
    "/gpu 4 h100 2h",
    "/gpu queue opportunistic",
)


@dataclass(frozen=True, slots=True)
class Figure:
    """One measured thing: seconds, and the limit it is held to."""

    what: str
    seconds: float
    limit: float

    @property
    def ratio(self) -> float:
        """1.0 is the limit itself; less is better."""
        return self.seconds / self.limit


def run_bench_chat(rounds: int) -> bool:
    """Measure, print, and say whether every limit was kept."""
    logs.set_up("ERROR")
    console = Console()
    with tempfile.TemporaryDirectory(prefix="gpubot-bench-") as folder:
        core = _fill(Path(folder), console)
        figures = [_idle_cycle(core)]
        with _in_workspace(Path(folder), core) as server:
            figures += _commands(server, rounds)
    table = Table("what", "measured", "limit", "ratio to limit")
    for one in figures:
        limit = f"{one.limit * 1000:g} ms"
        table.add_row(one.what, f"{one.seconds * 1000:.3f} ms", limit, f"{one.ratio:.3f}")
    console.print(table)
    return all(one.ratio <= 1.0 for one in figures)


def _fill(folder: Path, console: Console) -> Core:
    """A core with a full cluster and a long queue."""
    layout = compile_policy(read_policy())
    core = build_core(
        store=open_store(f"sqlite:///{folder / 'bench.db'}"),
        cluster=SimulatedCluster(build_nodes(layout)),
        layout=layout,
        directory=Directory([ADA]),
        clock=ManualClock(time.time()),
    )
    core.control.step()
    teams = [str(team) for team in core.control.terms.teams]
    total = RUNNING + WAITING
    for start in range(0, total, BATCH):
        loads = [_load(teams[n % len(teams)]) for n in range(start, min(start + BATCH, total))]
        core.desk.submit_load(loads, fed=Setting(name="bench", value="", author="bench"))
        core.control.step()
    core.control.step()
    figures = core.control.read(lambda engine: engine.figures())
    console.print(
        f"{figures.running:,} running, {figures.pending:,} waiting, {figures.nodes:,} nodes"
    )
    return core


def _load(team: str) -> Load:
    ask = Ask(pods=1, gpus_per_pod=GPUS_EACH, model="h100", preemptible=True, team=team)
    return Load(owner=team, ask=ask, run_for=5 * 86400.0)


def _idle_cycle(core: Core) -> Figure:
    now = core.control.clock.now()
    times = [
        _timed(lambda: core.control.read(lambda engine: engine.cycle(now))) for _ in range(500)
    ]
    return Figure("idle engine cycle, median", statistics.median(times), CYCLE_LIMIT)


def _timed(act: Callable[[], object]) -> float:
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


@contextmanager
def _in_workspace(folder: Path, core: Core) -> Iterator[WorkspaceServer]:
    server = WorkspaceServer(
        state_path=folder / "workspace.jsonl", options=Options(limits=RateLimits.off())
    )
    server.start()
    settings = read_settings(
        slack_api_url=server.api_url,
        bot_token=server.options.bot_token,
        app_token=server.options.app_token,
        channel="gpu-resources",
        oncall_channel="gpu-oncall",
    )
    bot = Bot(core, settings, spool=Spool(folder / "bench.spool"))
    bot.start()
    try:
        yield server
    finally:
        bot.stop()
        server.stop()


def _commands(server: WorkspaceServer, rounds: int) -> list[Figure]:
    visitor = Visitor(server.base_url, ADA.id)
    acks, answers = [], []
    for number in range(-len(COMMANDS), rounds):
        before = _heard(server)
        began = time.perf_counter()
        visitor.say(CHANNEL, COMMANDS[number % len(COMMANDS)])
        acked = time.perf_counter() - began
        while _heard(server) == before:
            time.sleep(0.002)
        if number >= 0:  # the first of each kind warms caches up
            acks.append(acked)
            answers.append(time.perf_counter() - began)
    return [
        Figure("acknowledgement of a slash command, p95", _p95(acks), ACK_LIMIT),
        Figure("full answer, p95", _p95(answers), ANSWER_LIMIT),
        Figure("full answer, median", statistics.median(answers), ANSWER_LIMIT),
    ]


def _heard(server: WorkspaceServer) -> str:
    """The id of the last private message to Ada."""

    def last(space: Workspace) -> str:
        return next((str(m["ts"]) for m in reversed(space.ephemerals.all(ADA.id, CHANNEL))), "")

    return server.look(last)


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]
