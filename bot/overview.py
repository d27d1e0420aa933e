"""The cluster at a glance, as figures of one moment."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class PoolView:
    """One pool at a glance; GPUs. `nominal` 0 means it lives on what others leave idle."""

    pool: str
    nominal: int
    used: int
    borrowed: int
    running: int
    pending: int
    pending_gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class LevelView:
    """The domains of one topology level of one kind of nodes (flavor), as they are now.

    `largest` is the biggest gang of whole nodes, in GPUs, that one of them could take.
    """

    kind: str
    level: str
    domains: int
    whole_free: int
    largest: int


@dataclass(frozen=True, slots=True, kw_only=True)
class GangView:
    """GPUs on wholly free nodes of one model and provision: no gang spans two of them."""

    model: str
    provision: str
    gpus: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterView:
    """The cluster at a glance. `gangs` are the biggest whole-node gangs that could start now."""

    gpus: int
    used: int
    free: int
    stranded: int
    nodes: int
    whole_free_nodes: int
    unready_nodes: int
    running: int
    pending: int
    gangs: tuple[GangView, ...]
    pools: tuple[PoolView, ...]
    at: float
    levels: tuple[LevelView, ...] = ()
