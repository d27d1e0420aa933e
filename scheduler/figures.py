"""The cluster in numbers, from running totals and the node arrays."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from scheduler.domains import Indices
from scheduler.layout import Flavor
from scheduler.model import GPU, FlavorName, PoolName
from scheduler.state import State


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelFigures:
    """The domains of one topology level of a flavor: all, and those that are wholly free.

    `largest` are the GPUs of whole free nodes in the domain that has most of them: the largest
    gang of whole nodes that could start there at once.
    """

    level: str
    domains: int
    whole_free: int
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class FlavorFigures:
    """GPUs of one flavor. Those on nodes that are not usable count as neither used nor free.

    `stranded` GPUs are free, but on a node too full for a whole-node pod.
    """

    flavor: FlavorName
    gpus: int
    used: int
    free: int
    stranded: int
    nodes: int
    whole_free_nodes: int
    levels: tuple[LevelFigures, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolFigures:
    """What one pool uses and who waits in it (by home queue)."""

    pool: PoolName
    used: int
    running: int
    pending: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterFigures:
    """Sums over all flavors, and the parts. Flavors and pools are in the policy's order."""

    gpus: int
    used: int
    free: int
    stranded: int
    nodes: int
    whole_free_nodes: int
    running: int
    leaving: int
    pending: int
    unready_nodes: int
    flavors: tuple[FlavorFigures, ...]
    pools: tuple[PoolFigures, ...]

    @property
    def fragmentation(self) -> float:
        """Stranded GPUs over all GPUs."""
        return self.stranded / self.gpus if self.gpus else 0.0


def figures(state: State) -> ClusterFigures:
    """Read the totals. A node that two flavors share counts once in the sums."""
    placed = [flavor for flavor in state.layout.flavors if flavor.levels]
    members = [state.nodes.members(flavor) for flavor in placed]
    parts = tuple(
        replace(_measure(state, flavor.name, columns), levels=_levels(state, flavor))
        for flavor, columns in zip(placed, members, strict=True)
    )
    everything = np.unique(np.concatenate(members)) if members else np.zeros(0, dtype=np.intp)
    whole = _measure(state, FlavorName(""), everything)
    return ClusterFigures(
        gpus=whole.gpus,
        used=whole.used,
        free=whole.free,
        stranded=whole.stranded,
        nodes=whole.nodes,
        whole_free_nodes=whole.whole_free_nodes,
        running=len(state.running),
        leaving=len(state.leaving),
        pending=len(state.waiting) + len(state.promised()),
        unready_nodes=int((~state.nodes.usable).sum()),
        flavors=parts,
        pools=_pools(state),
    )


def _measure(state: State, name: FlavorName, columns: Indices) -> FlavorFigures:
    row = state.nodes.row(GPU)
    if row >= state.nodes.capacity.shape[0]:
        return FlavorFigures(
            flavor=name, gpus=0, used=0, free=0, stranded=0, nodes=0, whole_free_nodes=0
        )
    capacity = state.nodes.capacity[row][columns]
    free = np.maximum(state.present.space.free[row][columns], 0)
    whole = (free == capacity) & (capacity > 0)
    return FlavorFigures(
        flavor=name,
        gpus=int(capacity.sum()),
        used=int((capacity - free).sum()),
        free=int(free.sum()),
        stranded=int(free[~whole].sum()),
        nodes=len(columns),
        whole_free_nodes=int(whole.sum()),
    )


def _levels(state: State, flavor: Flavor) -> tuple[LevelFigures, ...]:
    """The levels above single nodes, coarse to fine."""
    row = state.nodes.row(GPU)
    domains = state.nodes.domains(flavor, usable_only=False)
    columns = domains.columns
    if not len(columns) or row >= state.nodes.capacity.shape[0]:
        return ()
    capacity = state.nodes.capacity[row][columns]
    whole = (state.present.space.free[row][columns] == capacity) & (capacity > 0)
    whole &= state.nodes.usable[columns]
    found = []
    for number, level in enumerate(flavor.levels[:-1]):
        firsts = domains.leaves[number]
        gpus = np.add.reduceat(np.where(whole, capacity, 0), firsts)
        found.append(
            LevelFigures(
                level=level,
                domains=domains.size(number),
                whole_free=int(np.logical_and.reduceat(whole, firsts).sum()),
                largest=int(gpus.max()),
            )
        )
    return tuple(found)


def _pools(state: State) -> tuple[PoolFigures, ...]:
    names = tuple(dict.fromkeys(queue.pool for queue in state.layout.queues))
    claims = [waiting.shapes[0][0] for waiting in state.promised()]
    return tuple(
        PoolFigures(
            pool=name,
            used=sum(state.gpus[q] for q in _of(state, name)),
            running=sum(state.count[q] for q in _of(state, name)),
            pending=sum(state.queues[q].at_home for q in _of(state, name))
            + sum(number in _of(state, name) for number in claims),
        )
        for name in names
    )


def _of(state: State, pool: PoolName) -> list[int]:
    return [number for number, queue in enumerate(state.layout.queues) if queue.pool == pool]
