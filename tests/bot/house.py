"""A whole bot without Slack, on a clock that moves by hand: what the tests of this room live in.

The cluster is small (`NODES` nodes of 8 GPUs), the policy has the pools of the default one,
and storage is a real SQLite file. `House.restart` is a crash: everything in memory is gone.
"""

from __future__ import annotations

import functools
import itertools
from pathlib import Path

from bot.asks import Ask
from bot.clock import ManualClock
from bot.clusters.simulated import SimulatedCluster
from bot.composition import Core, build_core
from bot.people import Directory
from bot.views import Submitted
from scheduler.layout import Layout, build_nodes
from scheduler.model import Admission, NodeName, WorkloadId
from scheduler.policy import compile_policy, load_policy
from scheduler.simulation.cluster import Outage
from storage.records import (
    Audience,
    OutboxItem,
    OutboxState,
    Person,
    Request,
    Role,
    Transition,
)
from storage.states import RequestState
from storage.store import open_store

START = 1_800_000_000.0
START_DELAY, STOP_TIME = 10.0, 5.0
NODES = 8

ADA = Person(id="U0ADA", name="Ada Moreau", teams=("nlp", "vision"))
BEN = Person(id="U0BEN", name="Ben Okafor", teams=("vision",))
LEA = Person(id="U0LEA", name="Lea Sandoval", teams=("nlp",), role=Role.LEAD)
ANA = Person(id="U0ANA", name="Ana Petrova", teams=("vision",), role=Role.ADMIN)
NOA = Person(id="U0NOA", name="Noa Levi")
PEOPLE = (ADA, BEN, LEA, ANA, NOA)

POLICY = f"""
version: 1
priorities: {{low: 100, medium: 200, high: 300, critical: 1000}}
target_wait: {{low: 48h, medium: 12h, high: 4h, critical: 30m}}
usage: {{half_life: 7d, sampling_interval: 5m}}
flavors:
  reserved-h100:
    model: h100
    provision: reserved
    node_labels: {{gpubot.dev/model: h100}}
nodes:
  - {{name: h100, count: {NODES}, gpus: 8, labels: {{gpubot.dev/model: h100}}}}
teams:
  nlp: {{gpus: 16}}
  vision: {{gpus: 16}}
cohorts:
  company: {{}}
  best-effort: {{parent: company}}
pools:
  team:
    lease: {{default: 8h, max: 7d}}
    grace: 5m
    after_lease: release
    queues:
      - name: team-{{team}}
        cohort: company
        quota: {{reserved-h100: {{nominal: team, borrowing: 0}}}}
        reclaim: any
  shared-multi:
    lease: {{default: 24h, max: 14d}}
    grace: 10m
    after_lease: unprotect
    queues:
      - name: shared-multi
        cohort: company
        order: usage
        quota: {{reserved-h100: {{nominal: 32, borrowing: 0}}}}
        reclaim: any
        within: lower-priority
        preempts_from: critical
        protected_until: critical
  opportunistic:
    lease: {{default: 12h, max: 7d}}
    grace: 2m
    after_lease: release
    queues:
      - name: opportunistic
        cohort: best-effort
        quota: {{reserved-h100: {{nominal: 0}}}}
routing:
  - {{preemptible: true, queue: opportunistic}}
  - {{size: single, queue: "team-{{team}}"}}
  - {{queue: shared-multi}}
"""


@functools.cache
def small_layout() -> Layout:
    """The compiled policy above; nobody changes it."""
    return compile_policy(load_policy(POLICY, "small.yaml"))


class House:
    """Desk, loop, store and cluster. `step` is one round of the loop at the present time."""

    def __init__(self, folder: Path, layout: Layout | None = None) -> None:
        self.folder = folder
        self._layout = layout or small_layout()
        self.clock = ManualClock(START)
        self._keys = (f"key-{number}" for number in itertools.count())
        self._open()

    def _open(self) -> None:
        layout = self._layout
        self.cluster = SimulatedCluster(
            build_nodes(layout),
            path=self.folder / "journal",
            start_delay=START_DELAY,
            stop_time=STOP_TIME,
        )
        self.core: Core = build_core(
            store=open_store(f"sqlite:///{self.folder / 'gpubot.db'}"),
            cluster=self.cluster,
            layout=layout,
            directory=Directory(PEOPLE),
            clock=self.clock,
        )
        self.core.desk.patience = 0.0  # nobody steps in another thread here
        self.control, self.desk, self.store = self.core.control, self.core.desk, self.core.store

    def close(self) -> None:
        """Let go of the files."""
        self.cluster.close()
        self.store.close()

    def restart(self) -> None:
        """Die and come back: only what is on disk is left."""
        self.close()
        self._open()

    def step(self, seconds: float = 0.0) -> None:
        """Let time pass, then go round the loop once."""
        self.clock.advance(seconds)
        self.control.step()

    def key(self) -> str:
        """A delivery id that was not used before."""
        return next(self._keys)

    def ask(self, person: Person = ADA, **more: object) -> str:
        """Have a request stored, not yet decided; its id. Fails if it is refused."""
        answer = self.desk.submit(person.id, an_ask(**more), key=self.key())
        assert isinstance(answer, Submitted), answer
        return answer.card.request

    def request(self, request_id: str) -> Request:
        """The stored row."""
        with self.store.read() as view:
            found = view.requests.get(request_id)
        assert found is not None
        return found

    def state(self, request_id: str) -> RequestState:
        """Where a request stands."""
        return self.request(request_id).state

    def story(self, request_id: str) -> tuple[Transition, ...]:
        """Every move so far."""
        with self.store.read() as view:
            return view.transitions.of(request_id)

    def said(self, kind: str | None = None) -> list[OutboxItem]:
        """All notices, or those of a kind, in the order they were first put."""
        with self.store.read() as view:
            items = view.outbox.items(*OutboxState)
        return [item for item in items if kind is None or item.notice.kind == kind]

    def heard(self, kind: str) -> list[tuple[Audience, str | None]]:
        """Who was told of a kind of notice: audience and, for a person, the id."""
        return [(item.notice.audience, item.notice.target) for item in self.said(kind)]

    def gangs(self) -> list[tuple[str, Admission]]:
        """What the cluster runs, looked at without taking its news from the loop."""
        self.cluster._pass(self.clock.now())
        return [(gang.workload.id, gang.admission) for gang in self.cluster._nodes.gangs()]

    def holds(self) -> dict[str, int]:
        """GPUs in the cluster's own view, by node, whoever holds them."""
        self.cluster._pass(self.clock.now())
        held: dict[str, int] = {}
        for gang in self.cluster._nodes.gangs():
            workload = gang.workload
            per_pod = workload.gpus // sum(pods.count for pods in workload.pod_sets)
            for (_, node), pods in gang.pods.items():
                held[node] = held.get(node, 0) + pods * per_pod
        return held

    def fail(self, node: str, back_after: float | None = None) -> None:
        """Let a node fail now, and return after a while if that is said."""
        now = self.clock.now()
        until = None if back_after is None else now + back_after
        self.cluster.fail_node(Outage(NodeName(node), now, until), now)

    def knows(self, request_id: str) -> bool:
        """Whether the engine has the workload."""
        return self.control.read(lambda e: e.workload(WorkloadId(request_id)) is not None)


def an_ask(**more: object) -> Ask:
    """Eight GPUs for four hours, unless said otherwise."""
    wanted: dict[str, object] = {"model": "h100", "duration": 4 * 3600.0, **more}
    if not wanted.keys() & {"gpus", "nodes", "pods"}:
        wanted["gpus"] = 8
    return Ask(**wanted)  # type: ignore[arg-type]  # the names are checked when it is built
