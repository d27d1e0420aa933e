"""A full cluster with a long queue behind a real bot in a local workspace: what is timed in."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console

from bot.asks import Ask
from bot.chat.spool import Spool
from bot.cli.outside import Door
from bot.clock import ManualClock
from bot.clusters.simulated import SimulatedCluster
from bot.composition import Bot, Core, build_core
from bot.lookout.questions import ask_nothing
from bot.memory import settle_memory
from bot.people import Directory
from bot.plans import Load
from bot.settings import read_settings
from bot.shipped import read_policy
from scheduler.layout import build_nodes
from scheduler.policy import compile_policy
from storage.records import Person, Setting
from storage.store import open_store

RUNNING, WAITING = 5000, 10_000
GPUS_EACH = 2  # 5,000 requests of two GPUs fill the 10,000 reserved ones
BATCH = 1000
SHORTEST, STEP, LEASES = 4 * 3600.0, 900.0, 275  # seconds, seconds, how many: up to three days
STARTING = 120.0  # seconds that the lookout may take to begin
CHANNEL = "C0GPURES"


def fill(folder: Path, console: Console, people: Sequence[Person]) -> Core:
    """A core with a full cluster and a long queue."""
    layout = compile_policy(read_policy())
    core = build_core(
        store=open_store(f"sqlite:///{folder / 'bench.db'}"),
        cluster=SimulatedCluster(build_nodes(layout)),
        layout=layout,
        directory=Directory(people),
        clock=ManualClock(time.time()),
        aside=True,
    )
    core.control.step()
    teams = [str(team) for team in core.control.terms.teams]
    total = RUNNING + WAITING
    for start in range(0, total, BATCH):
        loads = [_load(teams, number) for number in range(start, min(start + BATCH, total))]
        core.desk.submit_load(loads, fed=Setting(name="bench", value="", author="bench"))
        core.control.step()
    core.control.step()
    figures = core.control.read(lambda engine: engine.figures())
    console.print(
        f"{figures.running:,} running, {figures.pending:,} waiting, {figures.nodes:,} nodes"
    )
    return core


def _load(teams: Sequence[str], number: int) -> Load:
    """One of many, by turns of the teams; their leases end at different times."""
    team, lease = teams[number % len(teams)], SHORTEST + number % LEASES * STEP
    ask = Ask(
        pods=1, gpus_per_pod=GPUS_EACH, model="h100", preemptible=True, team=team, duration=lease
    )
    return Load(owner=team, ask=ask, run_for=5 * 86400.0)


@contextmanager
def served(folder: Path, core: Core, door: Door) -> Iterator[None]:
    """The bot in a workspace."""
    settings = read_settings(
        slack_api_url=door.api_url,
        bot_token=door.bot_token,
        app_token=door.app_token,
        channel="gpu-resources",
        oncall_channel="gpu-oncall",
    )
    bot = Bot(core, settings, spool=Spool(folder / "bench.spool"))
    bot.start()
    settle_memory()  # the engine was built and filled before
    try:
        core.desk.foresight.look(ask_nothing, patience=STARTING)  # once it knows the long queue
        yield
    finally:
        bot.stop()
