"""Whether a cycle could start anybody: a few numbers in place of passes over all queues.

A copy of the engine that is played forward sees thousands of ends, most of which free too
little for anybody. Somebody may *simply fit* if one of its queues has the quota and its nodes
the room, with nobody stopped for it. As long as nobody does, a cycle would at most have
somebody stopped; that, the timeline decides upon less often.

Who simply fits and yet does not start (a reservation, a strict head, one domain demanded)
is passed over for longer and longer.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from scheduler.model import FlavorName, PodSet
from scheduler.pending import Shape

if TYPE_CHECKING:
    from scheduler.standing import Waiting
    from scheduler.state import State

PASSED_OVER = 5
"""At most 2 to the power of so many moments."""


class Watch:
    """Those who wait in one state, by what they need; `note` lists them anew."""

    def __init__(self, state: State) -> None:
        self._state = state
        self._groups: dict[tuple[object, ...], tuple[FlavorName, PodSet, list[_Wish]]] = {}
        self._others: list[tuple[int, Shape]] = []
        self._tempted: list[Shape] = []
        self._vain: dict[Shape, int] = {}
        self._pauses: dict[Shape, int] = {}
        self.note(started=True)

    def note(self, *, started: bool) -> None:
        """A cycle was run; `started` says whether anybody did."""
        if not started:
            for shape in self._tempted:
                times = self._vain[shape] = self._vain.get(shape, 0) + 1
                self._pauses[shape] = 1 << min(times, PASSED_OVER)
        else:
            self._vain, self._pauses = {}, {}
        self._tempted = []
        self._list()

    def ripe(self) -> bool:
        """Whether somebody simply fits, or something is due that only a cycle does."""
        state = self._state
        if state.broken or state.claims or state.reservations.news:
            return True
        for shape in self._fitting():
            pause = self._pauses.get(shape, 0)
            if not pause:
                self._tempted.append(shape)
            else:
                self._pauses[shape] = pause - 1
        return bool(self._tempted)

    def fits(self, probe: Waiting) -> bool:
        """Whether one that does not wait simply fits in one of its queues."""
        return any(self._fits(number, shape) for number, shape in probe.shapes)

    def _list(self) -> None:
        """Group the shapes by nodes and pod, so that room is counted once for all of them."""
        self._groups, self._others = {}, []
        nodes, flavors = self._state.nodes, self._state.flavors
        for number, queue in enumerate(self._state.queues):
            for shape in queue.shapes.values():
                if not shape.count or queue.paused or shape.resting:
                    continue
                option = shape.only
                if option is None:
                    self._others.append((number, shape))
                    continue
                pods, flavor = shape.whole[0], option.flavor
                kind = (flavor, id(nodes.reach(flavors[flavor], pods)), nodes.shape(pods))
                group = self._groups.setdefault(kind, (flavor, pods, []))
                group[2].append((pods.count, number, option.amounts, shape))
        for _, _, wishes in self._groups.values():
            wishes.sort(key=lambda wish: wish[:2])

    def _fitting(self) -> Iterator[Shape]:
        """The shapes that simply fit, each once per queue."""
        state = self._state
        tree, usage = state.tree, state.future.usage
        for flavor, pods, wishes in self._groups.values():
            room = state.outlook.room(pods, state.flavors[flavor])
            for count, number, amounts, shape in wishes:
                if count > room:
                    break
                if tree.fits(usage, number, amounts):
                    yield shape
        for number, shape in self._others:
            if self._fits(number, shape):
                yield shape

    def _fits(self, number: int, shape: Shape) -> bool:
        state = self._state
        usage = state.future.usage
        return all(
            any(
                state.tree.fits(usage, number, option.amounts)
                and state.outlook.has_room(pods, state.flavors[option.flavor])
                for option in options
            )
            for pods, groups in zip(shape.pod_sets, shape.menu.groups, strict=True)
            for options in groups
        )


_Wish = tuple[int, int, tuple[tuple[int, int], ...], Shape]
"""Pods, queue, quota asked for, and who."""
