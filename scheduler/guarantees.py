"""Whether the nodes can hold what the policy promises: guarantees beyond them are hollow.

Nominal quota of queues and cohorts is a promise. Where its sum over a flavor is more than
that flavor's usable nodes have, someone inside its guarantee will wait all the same. The
engine never hands out what is not there; this says so before anybody asks.
"""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.figures import ClusterFigures
from scheduler.layout import Layout
from scheduler.model import GPU, FlavorName


@dataclass(frozen=True, slots=True, kw_only=True)
class Hollow:
    """GPUs of a flavor that are promised, and those that its `nodes` usable nodes have."""

    flavor: FlavorName
    promised: int
    nodes: int
    gpus: int

    @property
    def gap(self) -> int:
        """How many are promised and not there."""
        return self.promised - self.gpus


def find_hollow(layout: Layout, figures: ClusterFigures) -> tuple[Hollow, ...]:
    """Flavors whose nominal GPU quota is more than their nodes have, in policy order.

    A node that two flavors cover counts for each.
    """
    found = (
        Hollow(
            flavor=flavor.flavor,
            promised=_promised(layout, flavor.flavor),
            nodes=flavor.nodes,
            gpus=flavor.gpus,
        )
        for flavor in figures.flavors
    )
    return tuple(one for one in found if one.gap > 0)


def _promised(layout: Layout, flavor: FlavorName) -> int:
    given = [queue.quotas for queue in layout.queues]
    given += [cohort.quotas for cohort in layout.cohorts]
    return sum(quotas[flavor, GPU].nominal for quotas in given if (flavor, GPU) in quotas)
