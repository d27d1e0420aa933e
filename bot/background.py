"""Background load for the simulated cluster: what everybody else is doing.

Either the jobs of a trace, at the trace's own times, or work drawn from a profile that
was fitted to a trace, topped up so that the cluster stays about as busy as `Mix.busy`.
All of it comes through the desk as Source.TRACE: it waits, runs, is stopped and ends
like any request, but has no card. How far it was fed is stored with what was fed, so a
restart neither repeats nor skips a job.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import islice

import numpy as np

from bot.asks import Ask
from bot.desk import Desk
from bot.plans import Load
from scheduler.model import Priority, Seconds
from scheduler.simulation.generator import WorkGenerator
from scheduler.simulation.profiles import ITP
from scheduler.simulation.traces import TraceJob
from storage.records import Setting

FED = "background:fed"  # the setting that says up to which moment load was fed
BATCH = 400  # jobs fed at once: people's requests come in between
_POPULATED = 1_000_000  # marks below it count jobs of the first population, those above batches
_LONGEST = 3 * 86400.0  # within the lease of every pool

A_TEAM = 5
"""How many there are in a team."""
_BIRDS = (
    "avocet", "bunting", "curlew", "dipper", "egret", "fieldfare", "godwit", "hoopoe", "ibis",
    "jacana", "kestrel", "lapwing", "marabou", "nuthatch", "oriole", "plover", "quail", "redstart",
    "siskin", "tern", "umbrellabird", "vireo", "whimbrel", "xenops", "yellowhammer", "cisticola",
    "bluethroat", "crossbill", "dunlin", "eider", "firecrest", "goldcrest", "harrier", "jackdaw",
    "kinglet", "linnet", "moorhen", "nightjar", "osprey", "pipit", "razorbill", "sanderling",
    "teal", "veery", "wagtail", "wheatear", "woodcock", "wryneck",
)  # fmt: skip


STANDING = {"foundation-run": (0.98, False), "sweep-of-everything": (0.9, True)}
"""Requests that always wait, so that a newcomer finds a queue: by name, the part asked for
(of the largest guarantee for gangs, or of the cluster) and whether it is preemptible. Each
is so large that it waits while the cluster is in normal use, and holds up nobody."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Mix:
    """What background work is like.

    `busy` is the share of the cluster that it keeps in use; `preemptible` the share of
    jobs that survive preemption, which is what a reclaim can take. `guarantee` is the quota
    that gangs are guaranteed, for standing requests, or 0 for none.
    """

    busy: float = 0.955
    preemptible: float = 0.55
    low: float = 0.4
    high: float = 0.1
    guarantee: int = 0


def load_of(job: TraceJob, mix: Mix, node_gpus: int) -> Load:
    """The request a background job makes. What is not in a trace follows from the job's id."""
    draw = zlib.crc32(job.id.encode()) / 2**32
    second = zlib.crc32(job.id.encode(), 1) / 2**32
    pods = -(-job.gpus // node_gpus)
    while job.gpus % pods:
        pods += 1
    priority = Priority.MEDIUM
    if second < mix.low:
        priority = Priority.LOW
    elif second > 1 - mix.high:
        priority = Priority.HIGH
    ask = Ask(
        pods=pods,
        gpus_per_pod=job.gpus // pods,
        preemptible=draw < mix.preemptible,
        priority=priority,
        team=job.tenant,
        text="",
    )
    return Load(owner=handle_of(job.tenant, second), ask=ask, run_for=job.duration)


def handle_of(team: str, draw: float) -> str:
    """Somebody of a team whom nobody can take for a person: one of five, by a number below 1."""
    first = zlib.crc32(team.encode())
    return f"sim-{_BIRDS[(first + int(draw * A_TEAM)) % len(_BIRDS)]}"


class Background:
    """Feeds load as the world's time goes by. `feed` is called by one ticker.

    `gpus` is the size of the cluster; `teams` are the tenants of generated work.
    """

    def __init__(
        self,
        desk: Desk,
        *,
        teams: Sequence[str],
        gpus: int,
        node_gpus: int,
        trace: Sequence[TraceJob] | None = None,
        mix: Mix | None = None,
        seed: int = 7,
    ) -> None:
        self._desk = desk
        self._teams = tuple(teams)
        self._gpus = gpus
        self._node_gpus = node_gpus
        self._trace = trace
        self._mix = mix or Mix()
        self._seed = seed
        self.behind = False
        """Whether the loop still had to take in what was fed, when it was last looked at."""

    def feed(
        self, now: Seconds, in_use: Callable[[], int], standing: Collection[str] = STANDING
    ) -> int:
        """Submit what is due; returns how many jobs.

        `in_use` gives the GPUs that are in use or waited for by now, `standing` the names of
        the standing requests that are there already. Nothing is submitted
        while the loop still has to take in what was: at a speed that it cannot follow, load
        comes late rather than in a heap, and `in_use` is never out of date.
        """
        self.behind = not self._desk.caught_up()
        if self.behind:
            return 0
        state = self._desk.setting(FED)
        if self._trace is not None:
            return self._feed_trace(self._trace, state, now)
        mark = 0 if state is None else int(state.value)
        if mark < _POPULATED:
            return self._populate(now, mark)
        missing = [name for name in STANDING if name not in standing]
        if missing and self._mix.guarantee:
            return self._stand(missing, str(mark))
        return self._top_up(mark, now, self._aim() - in_use())

    def _stand(self, names: Sequence[str], mark: str) -> int:
        """Submit standing requests, for each team in turn."""
        loads = []
        for number, name in enumerate(names):
            part, preemptible = STANDING[name]
            gpus = part * (self._gpus if preemptible else self._mix.guarantee)
            ask = Ask(
                nodes=int(gpus) // self._node_gpus,
                preemptible=preemptible,
                priority=Priority.MEDIUM,
                team=self._teams[number % len(self._teams)],
                name=name,
                text="",
            )
            loads.append(Load(owner=handle_of(ask.team or "", 0.0), ask=ask, run_for=_LONGEST / 6))
        return self._submit_loads(loads, mark)

    def _populate(self, now: Seconds, done: int) -> int:
        """Submit the next part of what a cluster that has long been in use is running."""
        aged = self._generator(0).population(now, gpus=self._aim())
        part = [one.job for one in aged[done : done + BATCH]]
        more = done + len(part) < len(aged)
        return self._submit(part, str(done + len(part) if more else _POPULATED))

    def _top_up(self, batch: int, now: Seconds, short: int) -> int:
        """Draw work until the cluster is as busy as it should be."""
        jobs: list[TraceJob] = []
        for job in self._generator(batch).arrivals(now):
            short -= job.gpus
            if short < 0 or len(jobs) >= BATCH:
                break
            jobs.append(job)
        return self._submit(jobs, str(batch + 1)) if jobs else 0

    def _feed_trace(self, trace: Sequence[TraceJob], state: Setting | None, now: Seconds) -> int:
        """Submit the trace's jobs up to now; its first job comes when it is first fed."""
        began, done = (now, 0) if state is None else _read_mark(state.value)
        shift = began - trace[0].submitted
        due = [job for job in islice(trace, done, done + BATCH) if job.submitted + shift <= now]
        return self._submit(due, f"{began!r} {done + len(due)}") if due else 0

    def _submit(self, jobs: Sequence[TraceJob], mark: str) -> int:
        return self._submit_loads([load_of(job, self._mix, self._node_gpus) for job in jobs], mark)

    def _submit_loads(self, loads: Sequence[Load], mark: str) -> int:
        fed = Setting(name=FED, value=mark, author="gpubot", reason="background load")
        return len(self._desk.submit_load(loads, fed=fed))

    def _aim(self) -> int:
        return int(self._gpus * self._mix.busy)

    def _generator(self, batch: int) -> WorkGenerator:
        rng = np.random.default_rng((self._seed, batch))
        return WorkGenerator(ITP, rng, tenants=self._teams, longest=_LONGEST)


def _read_mark(value: str) -> tuple[Seconds, int]:
    began, done = value.split()
    return float(began), int(done)
