"""Random small worlds for property tests: a policy, nodes, and a story of events."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache
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
_KINDS = (
    *["submit"] * 6,
    *["finish"] * 2,
    *["gone"] * 3,
    *("withdraw", "amend", "node", "lose", "pause", "lapse"),
)


@lru_cache(maxsize=None, typed=True)
def any_of(*values: T) -> st.SearchStrategy[T]:
    """One of some values. Made once: a strategy is looked through again by each that uses it."""
    return st.sampled_from(values)


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    """Four queues in a tree of two cohorts, with all kinds of limits and rules."""
    by_usage = draw(st.booleans())
    return a_layout(
        *[draw(_queues(name)) for name in QUEUES],
        cohorts=(
            a_cohort("all"),
            a_cohort("sub", "all", draw(st.integers(0, 8)), draw(any_of(None, 0, 4))),
        ),
        usage=UsageRules(half_life=3600.0, interval=60.0) if by_usage else None,
    )


@st.composite
def _queues(draw: st.DrawFn, name: str) -> Queue:
    reclaim = draw(any_of(*Reclaim))
    borrow = draw(st.booleans()) and reclaim is not Reclaim.NEVER
    return a_queue(
        name,
        draw(any_of(0, 4, 8, 16)),
        borrowing=draw(any_of(None, None, 0, 8)),
        lending=draw(any_of(None, None, 0, 4)),
        cohort=draw(any_of("all", "sub")),
        reclaim=reclaim,
        within=draw(any_of(*Within)),
        borrow_within=BorrowWithin(max_priority=draw(any_of(None, 5))) if borrow else None,
        strategy=draw(any_of(Strategy.BEST_EFFORT, Strategy.BEST_EFFORT, Strategy.STRICT)),
        order=draw(any_of(*Order)),
        protected_from=draw(any_of(None, None, 9)),
        within_from=draw(any_of(None, None, 9)),
        lapses=draw(st.booleans()),
    )


@st.composite
def workloads(draw: st.DrawFn, number: int) -> Workload:
    """Number `number` in order of creation, for a random queue."""
    queue = draw(any_of(*QUEUES))
    overflow = draw(any_of((), (), ("D",)))
    return a_workload(
        f"w{number:03d}",
        queue,
        draw(any_of(1, 1, 1, 2, 3)),
        draw(any_of(1, 2, 4, 8)),
        priority=draw(any_of(*PRIORITIES)),
        created=float(number // 2),
        preemptible=draw(st.integers(0, 3)) > 0,
        team=draw(any_of("x", "y")),
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
        match draw(any_of(*_KINDS)):
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
                self.tell(NodeObserved(node=a_node(draw(any_of(*NODES)), ready=ready)))
            case "lose":
                self._lose(NodeName(draw(any_of(*NODES))))
            case _:
                name = QueueName(draw(any_of(*QUEUES)))
                pause = draw(st.booleans())
                self.tell(QueuePaused(queue=name) if pause else QueueResumed(queue=name))

    def _rest(self, draw: Draw) -> Rest | None:
        """Now and then it is not to be tried again at once, or at all."""
        until = draw(any_of(0.0, 0.0, 0.0, 0.0, 3.0, None))
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
        after = replace(mine, priority=draw(any_of(*PRIORITIES)), raised=0)
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
