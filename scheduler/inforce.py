"""What people have changed of the policy at run time, and what it was before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from scheduler.byhand import Hand, Held, Order
from scheduler.lapse import lift
from scheduler.layout import FlavorResource, Limits
from scheduler.model import Figure, Node, NodeName, QueueName, Workload, WorkloadId


@dataclass(slots=True)
class Overrides:
    """What is in force: why queues are paused, what is added to priorities, and the rest.

    `cordons` are the nodes that take nothing new, as they were observed; `policy` are the quotas
    that the policy gives to the queues which have others now; `orders` say who set which of it.
    """

    pauses: dict[QueueName, Mapping[str, Figure]] = field(default_factory=dict)
    boosts: dict[WorkloadId, int] = field(default_factory=dict)
    cordons: dict[NodeName, Node | None] = field(default_factory=dict)
    quotas: dict[QueueName, Mapping[FlavorResource, int]] = field(default_factory=dict)
    policy: dict[QueueName, Mapping[FlavorResource, Limits]] = field(default_factory=dict)
    orders: dict[Held, Order] = field(default_factory=dict)

    def copy(self) -> Overrides:
        """What is in force, to be changed independently."""
        return Overrides(
            pauses=self.pauses.copy(),
            boosts=self.boosts.copy(),
            cordons=self.cordons.copy(),
            quotas=self.quotas.copy(),
            policy=self.policy.copy(),
            orders=self.orders.copy(),
        )

    def forget(self, workload: WorkloadId) -> None:
        """A workload is over, and with it its boost."""
        self.boosts.pop(workload, None)
        self.orders.pop(Held(Hand.BOOST, workload), None)

    def lift(self, workload: Workload) -> Workload:
        """A workload as it counts, with the boost that is in force for it."""
        by = self.boosts.get(workload.id, 0)
        return lift(workload, by)

    def seen(self, node: Node) -> Node:
        """A node as it counts: one that is cordoned takes nothing new."""
        if node.name not in self.cordons:
            return node
        self.cordons[node.name] = node
        return replace(node, schedulable=False)

    def gone(self, node: NodeName) -> None:
        """A node no longer exists; if it comes back, it is still cordoned."""
        if node in self.cordons:
            self.cordons[node] = None
