"""A crowd on the shipped policy, as the product sees it: every request is planned from an ask.

All pools are in use: the teams' own queues, the shared ones (gangs of up to 64 nodes), the
opportunistic lanes and what is bought by the hour. In all priority classes, for leases of an
hour to three days. Guaranteed work takes most of what it is owed, opportunistic work all that is
left; then ten thousand more wait for either. So a forecast meets what is dear: those who
would have others stopped, in every moment in which quota comes free.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bot.asks import Ask, Nearness, Together
from bot.offers import alternatives
from bot.plans import named, plan
from bot.shipped import read_policy
from bot.terms import Terms
from scheduler.engine import Engine
from scheduler.events import Evicted, Finished, NodeObserved, Submitted
from scheduler.layout import build_nodes
from scheduler.model import Priority, Seconds, Spend, Workload
from scheduler.offers import Variant
from scheduler.policy import compile_policy
from storage.records import Person, Role

SEED = 2026
WAITING = 10_000
ROUNDS = 6
BUSY = "bio"
"""The team that wants more than it has, and takes what the shared queue gives."""
HOUR: Seconds = 3600.0
SETTLED = 500
"""Cycles in which the engine comes to rest after anything."""

SINGLES = (*((1,) * 30), 2, 2, 4, 8)
WHOLE = ((2, 8), (4, 8), (8, 8), (16, 8), (32, 8), (64, 8))
GANGS = (*(((2, 1),) * 60), *(((4, 1),) * 30), *(((2, 4),) * 30), *WHOLE)
"""Pods, and GPUs of each: gangs of whole nodes, and of small pods."""
CLASSES = (Priority.LOW, Priority.MEDIUM, Priority.MEDIUM, Priority.HIGH)

QUESTIONS = (
    Ask(gpus=4, model="h100", duration=2 * HOUR),
    Ask(gpus=16, model="h100", duration=4 * HOUR),
    Ask(gpus=1, model="h100", duration=8 * HOUR, preemptible=True),
    Ask(nodes=8, model="h100", duration=12 * HOUR, preemptible=True),
    Ask(gpus=8, model="h100", duration=8 * HOUR, priority=Priority.HIGH),
    Ask(nodes=64, model="h100", duration=24 * HOUR),
    Ask(nodes=2, model="h100", duration=4 * HOUR, priority=Priority.CRITICAL),
    Ask(nodes=16, duration=8 * HOUR, topology=Together(Nearness.SAME, "rack")),
    Ask(nodes=4, model="h100", duration=4 * HOUR, preemptible=True, priority=Priority.LOW),
    Ask(gpus=8, model="a100", duration=4 * HOUR, spend=Spend.HIGH),
)
"""What people try, in turn: every pool, one GPU to 64 nodes."""


class Mixed:
    """See the module: an engine, and people who ask."""

    def __init__(self) -> None:
        layout = compile_policy(read_policy())
        self.terms = Terms(layout)
        self.engine = Engine(layout)
        self.now: Seconds = 0.0
        self._rng = np.random.default_rng(SEED)
        self._made = 0
        self._people = [
            Person(id=f"U{team}", name=str(team), teams=(str(team),), role=Role.ADMIN)
            for team in self.terms.teams
        ]
        for node in build_nodes(layout):
            self.engine.apply(NodeObserved(node=node))
        self._fill()

    def _fill(self) -> None:
        """Round by round some come and some end, so that nodes are in pieces; then the rest."""
        for number in range(ROUNDS):
            self._submit([self._single() for _ in range(600)])
            self._submit([self._gang() for _ in range(320)])
            self._submit([self._bought() for _ in range(40)])
            self._submit([self._single(preemptible=True) for _ in range(700)])
            if number < ROUNDS - 1:
                self._end_some(0.2)
        self._run_over()
        self._submit([self._any() for _ in range(WAITING - self.engine.figures().pending)])

    def _end_some(self, part: float) -> None:
        """Of those who run, a part, drawn."""
        for workload, _ in self.engine.running():
            if self._rng.random() < part:
                self.engine.apply(Finished(workload=workload.id, at=self.now))
        self.settle()

    def _run_over(self) -> None:
        """Two hours pass: leases end, but gangs of the shared pool stay as long as nobody asks."""
        self.now += 2 * HOUR
        for workload, admission in self.engine.running():
            over = workload.duration is not None and admission.at + workload.duration <= self.now
            if over and admission.queue != "shared-multi":
                self.engine.apply(Finished(workload=workload.id, at=self.now))
        self.settle()

    def _submit(self, asks: Sequence[Ask]) -> None:
        self.now += 5.0
        for ask in asks:
            self.engine.apply(Submitted(workload=self._workload(ask, self._made)))
            self._made += 1
        self.settle()

    def _workload(self, ask: Ask, number: int) -> Workload:
        planned = plan(ask, self._people[number % len(self._people)], self.terms, self.now)
        if not isinstance(planned, Workload):
            raise TypeError(f"the shipped policy refuses {ask}: {planned}")
        return named(planned, f"R-{number}")

    def _lease(self) -> Seconds:
        return float(self._rng.uniform(HOUR, 72 * HOUR))

    def _single(self, *, preemptible: bool = False) -> Ask:
        return Ask(
            gpus=int(self._rng.choice(SINGLES)),
            model="h100",
            duration=self._lease(),
            preemptible=preemptible,
            priority=CLASSES[int(self._rng.integers(len(CLASSES)))],
        )

    def _gang(self, *, preemptible: bool = False) -> Ask:
        sizes = WHOLE if preemptible else GANGS
        pods, each = sizes[int(self._rng.integers(len(sizes)))]
        return replace(
            self._single(preemptible=preemptible),
            gpus=None,
            pods=pods,
            gpus_per_pod=each,
        )

    def _bought(self) -> Ask:
        return Ask(
            gpus=int(self._rng.choice(SINGLES)),
            model="a100" if self._rng.random() < 0.5 else "h100",
            duration=float(self._rng.uniform(HOUR, 24 * HOUR)),
            preemptible=bool(self._rng.random() < 0.5),
            spend=Spend.HIGH,
        )

    def _any(self) -> Ask:
        """Mostly singles that may be stopped; gangs of either kind; few who are guaranteed."""
        kind = self._rng.random()
        if kind < 0.65:
            return self._single(preemptible=True)
        if kind < 0.8:
            return self._gang(preemptible=kind < 0.72)
        return replace(self._single(), team=BUSY) if kind < 0.97 else self._bought()

    def settle(self) -> None:
        """Let everybody go who was told to stop, until nobody is."""
        for _ in range(SETTLED):
            for one in self.engine.leaving():
                self.engine.apply(Evicted(workload=one, at=self.now))
            if not self.engine.cycle(self.now):
                return
        raise RuntimeError("the engine does not come to rest")

    def let_one_end(self, number: int) -> None:
        """Something happens: a workload ends, and somebody may start."""
        running = self.engine.running()
        workload, _ = running[number * 97 % len(running)]
        self.now += 5.0
        self.engine.apply(Finished(workload=workload.id, at=self.now))
        self.settle()

    def question(self, number: int) -> tuple[Workload, list[Variant]]:
        """Somebody's wish, with what the desk would propose instead."""
        ask = QUESTIONS[number % len(QUESTIONS)]
        person = self._people[number % len(self._people)]
        asked = self._workload(ask, self._made + number)
        found = alternatives(asked, person, self.terms, self.engine.reservations(), self.now)
        return asked, [Variant(kind=one.kind, workload=one.workload) for one in found]
