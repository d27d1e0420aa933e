"""Changes with which a workload would start sooner, each tried on a copy of the engine.

While the engine is played forward with the workload as it is, every variant is looked at in
each moment, as if it were next in line (`glimpse`: cheap, and too hopeful at times). One that
might start is really tried: as long as that is affordable by playing the engine from now on
with it in place of the original; later on by putting it into a copy of the engine as it
stands at that moment. There, who started in that very moment and would have come after
it waits again.

Offers are in this order, and only the first `OFFERS_AT_MOST` are made:
1. start, earlier first;
2. change, smaller first: GPUs more or less than asked for, then seconds of lease;
3. kind, in the order of `OfferKind`;
4. the place among the variants.

One that changes more and starts no sooner than another of its kind is no offer.
"""

from __future__ import annotations

import enum
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from scheduler.model import Seconds, Workload, WorkloadId
from scheduler.nomination import Outcome, nominate
from scheduler.pending import Shape, order_key, shape_of
from scheduler.standing import Waiting
from scheduler.timeline import Start, Timeline

if TYPE_CHECKING:
    from scheduler.state import State

OFFERS_AT_MOST = 3
STEP: Seconds = 60.0
"""So much sooner is worth a change."""

REPLAYED = 300
"""Work that may be done again (see `Spent.work`), for all variants together."""

FOLLOWED = 4
"""Moments that a preemptor's targets are waited for."""


class OfferKind(enum.StrEnum):
    """What is changed."""

    SHORTER_LEASE = "shorter-lease"
    LOOSER_TOPOLOGY = "looser-topology"
    SPLIT = "split"
    PREEMPTIBLE = "preemptible"
    OTHER_MODEL = "other-model"
    FEWER_GPUS = "fewer-gpus"
    FLEX_START = "flex-start"
    SPOT = "spot"


@dataclass(frozen=True, slots=True, kw_only=True)
class Variant:
    """A workload as it could be instead; it may have the id of the original."""

    kind: OfferKind
    workload: Workload


@dataclass(frozen=True, slots=True, kw_only=True)
class Offer:
    """A variant and when it would start. `replayed`: played from now on, moment by moment."""

    variant: Variant
    start: Seconds
    replayed: bool = True


@dataclass(slots=True, eq=False)
class _Ghost:
    """A variant that is looked at; `pause` are the moments for which it is not."""

    place: int
    variant: Variant
    probe: Waiting
    pause: int = 0
    failures: int = 0


class Search:
    """Looks for offers along a timeline in which the original takes part.

    Trials cost `most` work at the most, but for the last step of the last one.
    """

    def __init__(
        self,
        base: Timeline,
        line: Timeline,
        original: Workload,
        variants: Sequence[Variant],
        most: int,
    ) -> None:
        self._base = base
        self._line = line
        self._original = original
        self._most = most
        self._left = REPLAYED
        self.spent = 0
        """Work that trials have cost."""
        self._found: list[tuple[_Ghost, Offer]] = []
        self._ghosts = sorted(
            (
                _Ghost(place, variant, line.engine.probe(variant.workload))
                for place, variant in enumerate(variants)
            ),
            key=self._change,
        )

    def goes_on(self) -> bool:
        """Whether there could be more offers."""
        started = self._original.id in self._line.started
        return bool(self._ghosts) and len(self._found) < OFFERS_AT_MOST and not started

    def offers(self) -> tuple[Offer, ...]:
        """The best of what was found, all of it sooner than the original."""
        start = self._line.started.get(self._original.id)
        sooner = [
            found for found in self._found if start is None or found[1].start <= start.likely - STEP
        ]
        sooner.sort(key=lambda found: (found[1].start, *self._change(found[0])))
        best: list[tuple[_Ghost, Offer]] = []
        for ghost, offer in sooner:
            if not any(self._tops(other, ghost) for other, _ in best):
                best.append((ghost, offer))
        return tuple(offer for _, offer in best[:OFFERS_AT_MOST])

    def look(self) -> None:
        """Try whoever might start in the moment at which the timeline stands."""
        self._look()
        self._line.account()

    def _look(self) -> None:
        for ghost in tuple(self._ghosts):
            if ghost not in self._ghosts:
                continue
            if ghost.pause:
                ghost.pause -= 1
                continue
            if not self._line.decided and not self._line.fits(ghost.probe):
                continue
            after = self._after(ghost.variant.workload)
            if not self._line.engine.glimpse(ghost.probe, after):
                continue
            offer = self._try(ghost, after)
            if offer is not None:
                self._found.append((ghost, offer))
                self._ghosts = [other for other in self._ghosts if not self._tops(ghost, other)]
            else:
                ghost.failures += 1
                ghost.pause = 1 << min(ghost.failures, 6)
            if len(self._found) == OFFERS_AT_MOST or self.spent >= self._most:
                return

    def _change(self, ghost: _Ghost) -> tuple[int, float, int, int]:
        mine, kinds = ghost.variant, list(OfferKind)
        gpus = abs(mine.workload.gpus - self._original.gpus)
        lease = abs((mine.workload.duration or 0.0) - (self._original.duration or 0.0))
        return (gpus, lease, kinds.index(mine.kind), ghost.place)

    def _tops(self, one: _Ghost, other: _Ghost) -> bool:
        """Whether one of the same kind that starts no later changes no more, or is itself."""
        alike = one.variant.kind is other.variant.kind
        return alike and self._change(one) <= self._change(other)

    def _after(self, workload: Workload) -> tuple[WorkloadId, ...]:
        """Who started in this moment and would have come after it."""
        engine, mine = self._line.engine, order_key(workload)
        started = ((one, engine.workload(one)) for one in self._line.fresh)
        return tuple(
            one
            for one, other in started
            if other is not None and one != self._original.id and order_key(other) > mine
        )

    def _try(self, ghost: _Ghost, after: Collection[WorkloadId]) -> Offer | None:
        spent = self._line.spent
        if spent.work <= self._left:
            self._left -= spent.work
            return self._replay(ghost.variant, spent.moments)
        start = self._put(ghost.variant.workload, after)
        if start is None:
            return None
        return Offer(variant=ghost.variant, start=start.likely, replayed=False)

    def _replay(self, variant: Variant, moments: int) -> Offer | None:
        """Play it from the beginning to this moment."""
        line, one = self._base.branch(), variant.workload.id
        line.withdraw(self._original.id)
        line.submit(variant.workload)
        for _ in range(moments + FOLLOWED):
            if one in line.started:
                break
            if line.now >= self._line.now and not line.engine.claimed(one):
                break
            if self.spent + line.spent.work >= self._most or not line.step():
                break
        self.spent += line.spent.work
        start = line.started.get(one)
        return None if start is None else Offer(variant=variant, start=start.likely)

    def _put(self, workload: Workload, after: Collection[WorkloadId]) -> Start | None:
        """Put it into this moment in place of the original; when it starts, if that is soon."""
        line = self._line.branch()
        line.withdraw(self._original.id)
        line.put_back(after)
        line.submit(workload)
        for _ in range(FOLLOWED):
            if workload.id in line.started or not line.engine.claimed(workload.id):
                break
            line.step()
        self.spent += line.spent.work - self._line.spent.work
        return line.started.get(workload.id)


def probe(state: State, workload: Workload) -> Waiting:
    """See `Engine.probe`."""
    key = shape_of(workload)
    home: Shape | None = None
    shapes: list[tuple[int, Shape]] = []
    for name in (workload.queue, *workload.overflow):
        number = state.tree.queue_index[name]
        least = tuple(
            pods.count if pods.min_count is None else pods.min_count for pods in workload.pod_sets
        )
        shape = Shape(key, home, state.menu(number, key, workload, least), workload)
        shapes.append((number, shape))
        home = home or shape
    return Waiting(workload, tuple(shapes), lasts=state.reservations.lasts(workload))


def glimpse(state: State, probe: Waiting, without: Collection[WorkloadId] = ()) -> bool:
    """Whether somebody who does not wait might start now, or once it has stopped others.

    As if those named in `without`, who run, were not there. Changes nothing: what is tried
    on the books is undone.
    """
    state.settle()
    if _might_start(state, probe):
        return True
    if not without:
        return False
    marks = [(book, book.checkpoint()) for book in state.books]
    for one in sorted(without):
        running = state.running[one]
        for book in state.books if not running.leaving else (state.present,):
            book.discharge(running.charge)
    found = _might_start(state, probe)
    for book, mark in marks:
        book.rollback(mark)
    return found


def _might_start(state: State, probe: Waiting) -> bool:
    if state.queues[probe.shapes[0][0]].paused:
        return False
    return any(
        state.outlook.worth_trying(number, shape)
        and nominate(state, number, probe, shape).outcome in (Outcome.FIT, Outcome.PREEMPT)
        for number, shape in probe.shapes
        if not state.queues[number].paused
    )
