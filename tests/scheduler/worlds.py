"""Random small worlds for property tests: a policy, nodes, and a story of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Protocol, TypeVar

from hypothesis import strategies as st

from scheduler.engine import Engine
from scheduler.events import (
    Amended,
    Event,
    Evicted,
    Finished,
    NodeObserved,
    NodeRemoved,
    QueuePaused,
    QueueResumed,
    Submitted,
    Unprotected,
    Withdrawn,
)
from scheduler.lapse import own
from scheduler.layout import (
    BorrowWithin,
    Layout,
    Order,
    Queue,
    Reclaim,
    Strategy,
    UsageRules,
    Within,
)
from scheduler.model import (
    Decisions,
    NodeName,
    QueueName,
    Rest,
    RestCause,
    Workload,
    WorkloadId,
)
from tests.scheduler.builders import a_cohort, a_layout, a_node, a_queue, a_workload

T = TypeVar("T")


class Draw(Protocol):
    """How a test draws: `data.draw`."""

    def __call__(self, strategy: st.SearchStrategy[T], /) -> T:
        """One value."""
        ...


QUEUES = ("A", "B", "C", "D")
PRIORITIES = (1, 5, 9)
NODES = ("n1", "n2", "n3", "n4", "n5")


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Four queues in a tree of two cohorts, with all kinds of limits and rules."""
    by_usage = draw(st.booleans())
    return a_layout(
        *[draw(_queues(name)) for name in QUEUES],
        cohorts=(
            a_cohort("all"),
            a_cohort("sub", "all", draw(st.integers(0, 8)), draw(st.sampled_from((None, 0, 4)))),
        ),
        usage=UsageRules(half_life=3600.0, interval=60.0) if by_usage else None,
    )


@st.composite
def _queues(draw: st.DrawFn, name: str) -> Queue:
    reclaim = draw(st.sampled_from(tuple(Reclaim)))
    borrow = draw(st.booleans()) and reclaim is not Reclaim.NEVER
    return a_queue(
        name,
        draw(st.sampled_from((0, 4, 8, 16))),
        borrowing=draw(st.sampled_from((None, None, 0, 8))),
        lending=draw(st.sampled_from((None, None, 0, 4))),
        cohort=draw(st.sampled_from(("all", "sub"))),
        reclaim=reclaim,
        within=draw(st.sampled_from(tuple(Within))),
        borrow_within=BorrowWithin(max_priority=draw(st.sampled_from((None, 5))))
        if borrow
        else None,
        strategy=draw(
            st.sampled_from((Strategy.BEST_EFFORT, Strategy.BEST_EFFORT, Strategy.STRICT))
        ),
        order=draw(st.sampled_from(tuple(Order))),
        protected_from=draw(st.sampled_from((None, None, 9))),
        within_from=draw(st.sampled_from((None, None, 9))),
        lapses=draw(st.booleans()),
    )


@st.composite
def workloads(draw: st.DrawFn, number: int) -> Workload:
    """Number `number` in order of creation, for a random queue."""
    queue = draw(st.sampled_from(QUEUES))
    overflow = draw(st.sampled_from(((), (), ("D",))))
    return a_workload(
        f"w{number:03d}",
        queue,
        draw(st.sampled_from((1, 1, 1, 2, 3))),
        draw(st.sampled_from((1, 2, 4, 8))),
        priority=draw(st.sampled_from(PRIORITIES)),
        created=float(number // 2),
        preemptible=draw(st.integers(0, 3)) > 0,
        team=draw(st.sampled_from(("x", "y"))),
        overflow=tuple(name for name in overflow if name != queue),
    )


@dataclass
class World:
    """An engine and all that was decided by it."""

    layout: Layout
    now: float = 0.0
    number: int = 0
    engine: Engine = field(init=False)
    told: list[Decisions] = field(default_factory=list)
    story: list[Event] = field(default_factory=list)
    make: Callable[[Layout], Engine] = Engine

    def __post_init__(self) -> None:
        self.engine = self.make(self.layout)
        for name in NODES[:4]:
            self.tell(NodeObserved(node=a_node(name)))

    def tell(self, event: Event) -> None:
        """Apply an event and remember it."""
        self.engine.apply(event)
        self.story.append(event)

    def cycle(self) -> Decisions:
        """Decide, and remember what."""
        decisions = self.engine.cycle(self.now)
        self.told.append(decisions)
        return decisions

    def something(self, draw: Draw) -> None:
        """One thing that can happen now."""
        kinds = (
            ["submit"] * 6
            + ["finish"] * 2
            + ["gone"] * 3
            + ["withdraw", "amend", "node", "lose", "pause", "lapse"]
        )
        match draw(st.sampled_from(kinds)):
            case "submit":
                self.tell(Submitted(workload=draw(workloads(self.number))))
                self.number += 1
            case "finish":
                self._one(draw, [w.id for w, _ in self.engine.running()], self._finish)
            case "gone":
                for one in self.engine.leaving():
                    self.tell(Evicted(workload=one, at=self.now, rest=self._rest(draw)))
            case "withdraw":
                self._one(draw, [w.id for w in self.engine.pending()], self._withdraw)
            case "lapse":
                self._one(draw, [w.id for w, _ in self.engine.running()], self.lapse)
            case "amend":
                self._amend(draw)
            case "node":
                ready = draw(st.booleans())
                self.tell(NodeObserved(node=a_node(draw(st.sampled_from(NODES)), ready=ready)))
            case "lose":
                self._lose(NodeName(draw(st.sampled_from(NODES))))
            case _:
                name = QueueName(draw(st.sampled_from(QUEUES)))
                pause = draw(st.booleans())
                self.tell(QueuePaused(queue=name) if pause else QueueResumed(queue=name))

    def _rest(self, draw: Draw) -> Rest | None:
        """Now and then it is not to be tried again at once, or at all."""
        until = draw(st.sampled_from([0.0] * 4 + [3.0, None]))
        if until == 0.0:
            return None
        ends = None if until is None else self.now + until
        return Rest(cause=RestCause.LATE, tries=1, most=4, until=ends)

    def _finish(self, one: WorkloadId) -> None:
        self.tell(Finished(workload=one, at=self.now))

    def _withdraw(self, one: WorkloadId) -> None:
        self.tell(Withdrawn(workload=one, at=self.now))

    def lapse(self, one: WorkloadId) -> None:
        """Somebody's lease is over."""
        self.tell(Unprotected(workload=one))

    def _amend(self, draw: Draw) -> None:
        """Somebody who waits asks for something else; somebody who runs has another class."""
        waiting, running = self.engine.pending(), [w for w, _ in self.engine.running()]
        known = [*waiting, *running]
        if not known:
            return
        before = draw(st.sampled_from(known))
        mine = own(before)
        after = replace(mine, priority=draw(st.sampled_from(PRIORITIES)), raised=0)
        if before in waiting:
            other = draw(workloads(self.number))
            after = replace(after, pod_sets=other.pod_sets, queue=other.queue, overflow=())
        self.tell(Amended(workload=after, at=self.now))

    def _lose(self, node: NodeName) -> None:
        """A node is gone, and with it the gangs that had pods on it."""
        self.tell(NodeRemoved(node=node))
        for workload, admission in self.engine.running():
            if any(name == node for part in admission.assignments for name, _ in part.nodes):
                self.tell(Evicted(workload=workload.id, at=self.now))

    @staticmethod
    def _one(draw: Draw, ids: list[WorkloadId], do: Callable[[WorkloadId], None]) -> None:
        if ids:
            do(draw(st.sampled_from(ids)))
