"""An independent copy of the state: what is done to it changes nothing in the original.

Values (workloads, admissions, charges, nodes, the policy) are shared, and so are arrays that
are only ever replaced. Records that change in place are copied, and what was merely worked
out and kept is left out where it is cheap to work out again. A copy decides as its
original would.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from scheduler.model import WorkloadId
from scheduler.pending import Shape
from scheduler.standing import Claim, Running, Waiting
from scheduler.state import State

Record = TypeVar("Record")

SHARED = (
    "by_usage", "ceiling", "flavors", "guarded", "layout", "realm", "realm_queues", "rounds",
    "shares", "tree",
)  # fmt: skip
"""Never changed after the state was made, only replaced."""

PLAIN = ("now", "spared", "toil", "turn")
"""Numbers and the like."""

FLAT = (
    "_menus", "checked", "count", "dirty", "empty", "gpus", "releases", "turnover",
)  # fmt: skip
"""Collections of values."""

OWN = (
    "_excess", "_guests", "_like", "alarms", "brake", "broken", "claims", "flips", "future",
    "history", "leaving", "ledger", "nodes", "outlook", "overrides", "present", "queues", "ranks",
    "reservations", "running", "users", "waiting",
)  # fmt: skip
"""Each copied in its own way, below."""


class OnDemand(dict[WorkloadId, Record]):
    """Copies of the records of another dictionary, each made when it is first looked at.

    Good only as long as the records of the original stay as they are.
    """

    def __init__(self, source: dict[WorkloadId, Record], make: Callable[[Record], Record]) -> None:
        super().__init__(source)
        self._source = source
        self._make = make
        self._left = set(source)

    def __getitem__(self, one: WorkloadId) -> Record:
        if one in self._left:
            self[one] = self._make(self._source[one])
        return super().__getitem__(one)

    def __setitem__(self, one: WorkloadId, record: Record) -> None:
        self._left.discard(one)
        super().__setitem__(one, record)

    def __delitem__(self, one: WorkloadId) -> None:
        self._left.discard(one)
        super().__delitem__(one)

    def get(self, one: WorkloadId, default: Any = None) -> Any:
        """As of any dictionary."""
        return self[one] if super().__contains__(one) else default

    def values(self) -> Any:
        """As of any dictionary."""
        self._complete()
        return super().values()

    def items(self) -> Any:
        """As of any dictionary."""
        self._complete()
        return super().items()

    def _complete(self) -> None:
        for one in tuple(self) if self._left else ():
            self[one]


def fork_state(state: State, *, brief: bool = False) -> State:
    """See the module. Costs time in proportion to those who run and wait.

    A `brief` copy is much cheaper. It is good only as long as nothing happens to its original.
    """
    other = State.__new__(State)
    for name in (*SHARED, *PLAIN):
        setattr(other, name, getattr(state, name))
    for name in FLAT:
        setattr(other, name, getattr(state, name).copy())
    other.nodes = state.nodes.copy()
    versions = state.present.new_versions()
    other.present = other.future = state.present.fork(other.nodes, versions)
    if state.future is not state.present:
        other.future = state.future.fork(other.nodes, versions)
    other.ledger, other.users = state.ledger.copy(), state.users.copy()
    other.history, other.flips = state.history.copy(), state.flips.copy()
    other.alarms, other.brake = state.alarms.copy(), state.brake.copy()
    other.overrides = state.overrides.copy()
    other.broken = {one: nodes.copy() for one, nodes in state.broken.items()}
    other.ranks = [ranks.copy() for ranks in state.ranks]
    other._guests = [guests.copy() for guests in state._guests]  # noqa: SLF001 - its copy
    other._excess = {key: one.fork(other) for key, one in state._excess.items()}  # noqa: SLF001
    other._like = state if brief else None  # noqa: SLF001 - nothing happens to it: see above
    other.running = (
        OnDemand(state.running, _running)
        if brief
        else {one: _running(running) for one, running in state.running.items()}
    )
    other.leaving = {one: other.running[one] for one in state.leaving}
    _fork_waiting(state, other, brief=brief)
    other.outlook = state.outlook.copy(other)
    other.reservations = state.reservations.copy(other, versions)
    return other


def _running(running: Running) -> Running:
    return Running(
        running.workload,
        running.admission,
        running.charge,
        running.columns,
        running.gpus,
        running.preemptor,
        running.leaving,
        running.checkpoint,
        running.stuck,
        running.alive,
    )


def _fork_waiting(state: State, other: State, *, brief: bool) -> None:
    """Those who wait, with the lines and the shapes in which they stand."""
    twins: dict[Shape, Shape] = {}

    def twin(shape: Shape) -> Shape:
        found = twins.get(shape)
        if found is None:
            home = None if shape.home is None else twin(shape.home)
            found = twins[shape] = shape.copy(home)
        return found

    other.queues = [queue.fork(twin, other.users) for queue in state.queues]

    def copied(one: Waiting) -> Waiting:
        shapes = one.shapes
        mine = (
            ((shapes[0][0], twin(shapes[0][1])),)
            if len(shapes) == 1
            else tuple((number, twin(shape)) for number, shape in shapes)
        )
        return Waiting(one.workload, mine, one.evaluated, one.word, one.scan, one.lasts)

    other.waiting = (
        OnDemand(state.waiting, copied)
        if brief
        else {one: copied(waiting) for one, waiting in state.waiting.items()}
    )
    other.claims = {
        one: _claim(claim, copied(claim.waiting)) for one, claim in state.claims.items()
    }


def _claim(claim: Claim, waiting: Waiting) -> Claim:
    targets, borrowing = claim.targets.copy(), claim.borrowing
    charge, assignments = claim.charge, claim.assignments
    return Claim(waiting, charge, assignments, claim.queue, targets, borrowing, claim.eager)
