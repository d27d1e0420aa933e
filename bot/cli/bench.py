"""`gpubot bench chat`: how fast the bot answers when the cluster is full and the queue long.

The real bot over a real socket to a local workspace in a process of its own, SQLite in a
temporary folder, and the default policy's cluster with 5,000 running and 10,000 waiting
requests. An acknowledgement is timed from the page's request to its reply, an answer from
there to the private message: first for one person alone, then for two hundred at once
(`bot.cli.rush`).
"""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

from rich.console import Console

from bot import logs
from bot.cli import rush
from bot.cli.crowded import CHANNEL, fill, served
from bot.cli.figures import Figure, show
from bot.cli.outside import outside
from bot.composition import Core
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from bot.workspace.workspace import Workspace
from storage.records import Person

ACK_LIMIT, ANSWER_LIMIT, CYCLE_LIMIT = 0.050, 0.500, 0.001  # seconds
ADA = Person(id="U0ADA", name="Ada Moreau", teams=("nlp",))
COMMANDS = (
    "/gpu status",
    "/gpu queue",
    "/gpu mine",
    "/gpu why R-14000",
    "/gpu 4 h100 2h",
    "/gpu queue opportunistic",
)


def run_bench_chat(rounds: int, seconds: float) -> bool:
    """Measure, print, and say whether every limit was kept and every answer came."""
    logs.set_up("ERROR")
    console = Console()
    people = rush.crowd()
    with tempfile.TemporaryDirectory(prefix="gpubot-bench-") as folder:
        core = fill(Path(folder), console, [ADA, *people])
        figures = [_idle_cycle(core)]
        file = Path(folder) / "people.yaml"
        file.write_text(rush.workspace_file(people), encoding="utf-8")
        speak = partial(_speak, people=people, rounds=rounds, seconds=seconds)
        with outside(Path(folder), file, speak) as slack, served(Path(folder), core, slack.door):
            said, spoken, lost = slack.measure()
    console.print(
        f"{spoken:,} commands of {len(people)} people in {seconds:g} s, {lost} unanswered"
    )
    return show(console, [*figures, *said]) and not lost


def _speak(
    server: WorkspaceServer, people: Sequence[Person], rounds: int, seconds: float
) -> tuple[list[Figure], int, int]:
    """What people do in the workspace: the figures, how many commands of all, how many lost."""
    alone = _commands(server, rounds)
    crowded, spoken, lost = rush.measure(server, people, seconds)
    return [*alone, *crowded], spoken, lost


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
        Figure("one person: acknowledgement, p95", _p95(acks), ACK_LIMIT),
        Figure("one person: full answer, p95", _p95(answers), ANSWER_LIMIT),
        Figure("one person: full answer, median", statistics.median(answers), ANSWER_LIMIT),
    ]


def _heard(server: WorkspaceServer) -> str:
    """The id of the last private message to Ada."""

    def last(space: Workspace) -> str:
        return next((str(m["ts"]) for m in reversed(space.ephemerals.all(ADA.id, CHANNEL))), "")

    return server.look(last)


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]
