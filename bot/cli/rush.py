"""Two hundred people at once, against a full cluster and a long queue: part of `bench chat`.

Every person is a visitor of the local workspace and speaks through the page's own endpoints.
Commands leave on a fixed beat, whether or not earlier ones are answered, so a slow bot is not
spared. An acknowledgement is timed to the reply of the request, an answer to the time stamp of
the private message, which the workspace gives; answers are matched to commands in order, one
command of a person at a time being open.
"""

from __future__ import annotations

import itertools
import statistics
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from importlib import resources

import yaml

from bot.cli.crowded import CHANNEL
from bot.cli.figures import Figure
from bot.shipped import read_policy
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from storage.records import Person, Role

PEOPLE, A_SECOND = 200, 20
ACK, ANSWER = 0.200, 1.0  # 99th and 95th percentile, seconds
SPEAKERS = 64  # commands that may be on their way to the workspace together
PATIENCE = 30.0  # seconds the last answers may take before they count as lost
COMMANDS = (
    "/gpu 2 h100 2h preemptible",
    "/gpu status",
    "/gpu queue",
    "/gpu mine",
    "/gpu try 16 h100 4h",
    "/gpu why R-14000",
    "/gpu when R-14000",
    "/gpu queue opportunistic",
    "/gpu fair",
    "/gpu help",
)


@dataclass(frozen=True, slots=True)
class Spoken:
    """One command: who, when it left, and after how long it was acknowledged."""

    person: str
    began: float
    acked: float


def measure(
    server: WorkspaceServer, people: Sequence[Person], seconds: float
) -> tuple[list[Figure], int, int]:
    """The figures, how many commands there were, and how many answers never came."""
    warm = _say_all(server, people, 2.0)  # caches, threads, the first of each command
    _heard_all(server, people, len(warm), PATIENCE)
    before = {person.id: len(_answers(server, person.id)) for person in people}
    spoken = _say_all(server, people, seconds)
    waits = _waits(server, spoken, before)
    figures = [
        Figure("200 people: acknowledgement, p99", _percentile([s.acked for s in spoken], 99), ACK),
        Figure("200 people: answer, p95", _percentile(waits, 95), ANSWER),
        Figure("200 people: answer, median", statistics.median(waits), ANSWER),
    ]
    return figures, len(spoken), len(spoken) - len(waits)


def crowd() -> list[Person]:
    """Two hundred researchers, in all teams of the shipped policy."""
    teams = sorted(read_policy().teams)
    return [
        Person(
            id=f"U0RUSH{number:03}",
            name=f"Person {number:03}",
            teams=(teams[number % len(teams)],),
            role=Role.RESEARCHER,
        )
        for number in range(PEOPLE)
    ]


def workspace_file(people: Sequence[Person]) -> str:
    """The shipped workspace with these people in it."""
    shipped = resources.files("bot.workspace").joinpath("people.yaml")
    space = yaml.safe_load(shipped.read_text(encoding="utf-8"))
    space["people"] += [
        {"id": person.id, "name": person.id.lower(), "real_name": person.name, "role": "researcher"}
        for person in people
    ]
    return yaml.safe_dump(space)


def _beats(seconds: float) -> Iterator[float]:
    """Moments at which a command is to leave."""
    began = time.perf_counter()
    for number in range(round(seconds * A_SECOND)):
        at = began + number / A_SECOND
        time.sleep(max(0.0, at - time.perf_counter()))
        yield at


def _say_all(server: WorkspaceServer, people: Sequence[Person], seconds: float) -> list[Spoken]:
    """Have everybody speak in turn, on the beat."""
    told: list[Future[Spoken]] = []
    turns = itertools.cycle(enumerate(people))
    with ThreadPoolExecutor(SPEAKERS) as speakers:
        for number, _ in enumerate(_beats(seconds)):
            place, person = next(turns)
            line = COMMANDS[(number + place // len(COMMANDS)) % len(COMMANDS)]
            told.append(speakers.submit(_say, server.base_url, person.id, line))
        return [one.result() for one in told]


def _say(base_url: str, person: str, line: str) -> Spoken:
    began = time.time()
    Visitor(base_url, person).say(CHANNEL, line)
    return Spoken(person, began, time.time() - began)


def _answers(server: WorkspaceServer, person: str) -> list[float]:
    """When the private messages to a person came, in order."""
    return server.look(
        lambda space: [float(m["ts"]) for m in space.ephemerals.all(person, CHANNEL)]
    )


def _heard_all(
    server: WorkspaceServer, people: Sequence[Person], least: int, patience: float
) -> None:
    """Wait until so many answers have come to all together, or patience is over."""
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if sum(len(_answers(server, person.id)) for person in people) >= least:
            return
        time.sleep(0.2)


def _waits(
    server: WorkspaceServer, spoken: Sequence[Spoken], before: dict[str, int]
) -> list[float]:
    """Seconds from each command to its answer; those that never came are left out."""
    end = time.monotonic() + PATIENCE
    by_person: dict[str, list[Spoken]] = {}
    for one in spoken:
        by_person.setdefault(one.person, []).append(one)
    waits: list[float] = []
    for person, said in sorted(by_person.items()):
        answers: list[float] = []
        while len(answers) < len(said) and time.monotonic() < end:
            answers = _answers(server, person)[before[person] :]
            if len(answers) < len(said):
                time.sleep(0.05)
        waits += [at - one.began for one, at in zip(said, answers, strict=False)]
    return waits


def _percentile(times: Sequence[float], part: int) -> float:
    return statistics.quantiles(times, n=100)[part - 1]
