"""The nodes as the engine is to see them: less what others hold, and failed once if they fail."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator, Mapping

from bot.clusters.base import ClusterEvent, NodeFailed, NodeGone, NodeSeen
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import Amounts, PodFacts
from bot.clusters.kubernetes.mirror import Mirror
from scheduler.layout import Flavor
from scheduler.model import (
    GPU,
    Node,
    NodeName,
    PodSetAssignment,
    ResourceName,
    Seconds,
    Toleration,
)

PATIENCE = 60.0
"""A node that is not ready for so long has failed: a kubelet that restarts is back by then."""

CLEARED = "node.kubernetes.io/out-of-service"
LEAVING = frozenset(
    {
        "ToBeDeletedByClusterAutoscaler",
        "aws-node-termination-handler/asg-lifecycle-termination",
        "aws-node-termination-handler/spot-itn",
        "cloud.google.com/impending-node-termination",
        "karpenter.sh/disrupted",
        "node.cloudprovider.kubernetes.io/shutdown",
        CLEARED,
        "remediator.kubernetes.azure.com/unschedulable",
    }
)
"""Taints by which providers and autoscalers say that a node is being taken away."""


class Fleet:
    """What was told of the nodes, and which have failed.

    `uncounted` says what of a pod the engine does not count by itself; that is taken off its node's
    capacity, but for GPUs of it that are `granted` to somebody and so count already. `closed` nodes
    offer nothing although the cluster would use them; `leaving` ones are as good as lost. `flavors`
    are the kinds of nodes there are.
    """

    def __init__(
        self,
        mirror: Mirror,
        uncounted: Callable[[PodFacts], Amounts],
        granted: Callable[[], Mapping[NodeName, int]] = dict,
        patience: Seconds = PATIENCE,
        flavors: Iterable[Flavor] = (),
    ) -> None:
        self._flavors = {flavor.name: flavor for flavor in flavors}
        self.failed: set[NodeName] = set()
        self.leaving: set[NodeName] = set()
        self.closed: set[NodeName] = set()
        self._mirror, self._uncounted, self._patience = mirror, uncounted, patience
        self._granted = granted
        self._grants: Mapping[NodeName, int] | None = None  # of this look
        self._told: dict[NodeName, Node] = {}
        self._down: dict[NodeName, Seconds] = {}

    def recall(self, now: Seconds) -> None:
        """Find out which nodes have failed, from a mirror that was not followed until now."""
        with self._mirror.lock:
            self.failed &= {NodeName(name) for name in self._mirror.nodes.items}
            for node in self._mirror.nodes.items.values():
                self._time(node, now)
            self._settle(now)

    def all(self) -> tuple[Node, ...]:
        """Every node by name; `news` goes on from here."""
        with self._mirror.lock:
            self._grants = None
            found = ((name, self._now(NodeName(name))) for name in sorted(self._mirror.nodes.items))
            self._told = {NodeName(name): node for name, node in found if node is not None}
        return tuple(self._told.values())

    def news(self, changed: Iterable[NodeName], now: Seconds) -> Iterator[ClusterEvent]:
        """What is to be told of these nodes, and of those whose time has run out."""
        self._grants = None
        for name in sorted(changed):
            known = self._mirror.nodes.items.get(name)
            if known is not None:
                self._time(known, now)  # one that is back has all that is on it
            node = self._now(name)
            before = self._told.get(name)
            if node is None:
                if before is not None:
                    del self._told[name]
                    self._down.pop(name, None)
                    yield NodeGone(name=name, at=now)
                    if name not in self.failed:
                        self.failed.add(name)
                        yield NodeFailed(name=name, at=now)
                continue
            if node != before:
                self._told[name] = node
                yield NodeSeen(node=node, at=now)
        for name in self._settle(now):
            yield NodeFailed(name=name, at=now, leaving=name in self.leaving)

    @property
    def dead(self) -> frozenset[NodeName]:
        """The failed nodes on which nothing runs any more: one that is leaving may go on till then.

        What pods have there, nobody could have; on the others they end first.
        """
        return frozenset(
            name for name in self.failed if name not in self.leaving or not self.ready(name)
        )

    def keeps(self, name: NodeName) -> bool:
        """Whether a node is dead and still there, so that nothing ends its pods.

        Those of one that is marked as out of service are ended by the cluster.
        """
        node = self._mirror.nodes.items.get(name)
        cleared = node is not None and any(taint.key == CLEARED for taint in node.taints)
        return node is not None and name in self.dead and not cleared

    def usable(self, name: NodeName) -> bool:
        """Whether pods can be sent to a node."""
        return name in self._mirror.nodes.items and name not in self.failed

    def short(self, name: NodeName, wanted: int) -> bool:
        """Whether a node has not so many GPUs that no pod is on."""
        node = self._mirror.nodes.items.get(name)
        held = sum(pod.requests.get(GPU, 0) for pod in self._mirror.pods_on(name))
        return node is not None and node.capacity.get(GPU, 0) - held < wanted

    def bare(self, name: NodeName) -> Node:
        """A node with all that others hold of it, also of what somebody was granted."""
        node = self._mirror.nodes.items[name]
        return self._less(node, self._mirror.occupied(name, self._uncounted))

    def ready(self, name: NodeName) -> bool:
        """Whether a node is ready at this moment."""
        node = self._mirror.nodes.items.get(name)
        return node is not None and node.ready

    def away(self, pods: Iterable[PodFacts]) -> set[NodeName]:
        """The nodes of some pods that are not ready at this moment: nobody is given anything there.

        What a gang that is over has left on them holds none of its other nodes.
        """
        nodes = {pod.node for pod in pods if pod.node is not None}
        return {node for node in nodes if not self.ready(node)}

    def host(self, name: NodeName) -> str:
        """What a selector says to mean this node."""
        node = self._mirror.nodes.items.get(name)
        return name if node is None else node.labels.get(names.HOSTNAME, name)

    def tolerations(self, parts: Iterable[PodSetAssignment]) -> tuple[Toleration, ...]:
        """What the flavors that parts of a grant are of want to be put up with."""
        flavors = sorted({flavor for part in parts for flavor in part.flavors.values()})
        known = (self._flavors[name] for name in flavors if name in self._flavors)
        return tuple(dict.fromkeys(one for flavor in known for one in flavor.tolerations))

    def _time(self, node: Node, now: Seconds) -> None:
        name = node.name
        leaving = any(taint.key in LEAVING for taint in node.taints)
        (self.leaving.add if leaving else self.leaving.discard)(name)
        if node.ready and not leaving:
            self._down.pop(name, None)
            self.failed.discard(name)
        else:
            self._down.setdefault(name, now)

    def _settle(self, now: Seconds) -> list[NodeName]:
        """The nodes that have been down for long enough, once."""
        over = sorted(
            name
            for name, since in self._down.items()
            if name not in self.failed and (name in self.leaving or now - since >= self._patience)
        )
        self.failed.update(over)
        return over

    def _outside(self, node: Node) -> dict[ResourceName, int]:
        """What of a node others hold, as far as nobody was granted it."""
        held = self._mirror.occupied(node.name, self._uncounted)
        if held.get(GPU):
            self._grants = self._granted() if self._grants is None else self._grants
            room = node.capacity.get(GPU, 0) - self._grants.get(node.name, 0)
            held[GPU] = min(held[GPU], max(0, room))
        return held

    def _now(self, name: NodeName) -> Node | None:
        node = self._mirror.nodes.items.get(name)
        if node is None:
            return None
        lost = name in self.failed  # what is still listed there holds nothing anybody could have
        return self._less(node, {} if lost else self._outside(node))

    def _less(self, node: Node, outside: Mapping[ResourceName, int]) -> Node:
        closed = node.name in self.closed or node.name in self.leaving
        if not outside and not closed:
            return node
        return dataclasses.replace(
            node,
            capacity={
                resource: max(0, amount - outside.get(resource, 0))
                for resource, amount in node.capacity.items()
            },
            outside={r: held for r, held in outside.items() if r in node.capacity},
            schedulable=node.schedulable and not closed,
        )
