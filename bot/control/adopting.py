"""A pod that ran before we knew of it becomes a request: it holds its GPUs where it runs.

Whether its team has the quota is found on a copy of the engine in which nobody waits: nobody
is stopped for what runs already, and what others wait for it holds in any case.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import replace

from bot.control import decided
from bot.control.ledger import Ledger
from bot.places import domain_of
from bot.terms import Terms
from scheduler import events
from scheduler.engine import Engine
from scheduler.model import Admission, Node, NodeName, ResourceName, Seconds, Workload
from scheduler.standing import EngineError
from storage.records import DeskEvent, Request

log = logging.getLogger(__name__)
NODE = "node"  # the argument of an order: where the pod runs
_HOSTNAME = "kubernetes.io/hostname"


def freed(node: Node, amounts: Mapping[ResourceName, int]) -> Node:
    """A node on which so much is no longer held by pods outside our care."""
    outside = {name: node.outside.get(name, 0) - amounts.get(name, 0) for name in node.outside}
    return replace(
        node,
        capacity={
            name: amount + min(amounts.get(name, 0), node.outside.get(name, 0))
            for name, amount in node.capacity.items()
        },
        outside={name: amount for name, amount in outside.items() if amount > 0},
    )


def grant(engine: Engine, workload: Workload, node: NodeName, now: Seconds) -> Admission | None:
    """What one pod would be granted for running where it does; None without quota for it."""
    there = engine.node(node)
    if there is None:
        return None
    (pods,) = workload.pod_sets
    copy = engine.fork(learns=False)
    for waiting in engine.pending():
        copy.apply(events.Withdrawn(workload=waiting.id, at=now))
    room = replace(freed(there, pods.requests), taints=(), ready=True, schedulable=True)
    copy.apply(events.NodeObserved(node=room))
    host = {label: there.labels[label] for label in (_HOSTNAME,) if label in there.labels}
    pinned = replace(pods, node_selector={**pods.node_selector, **host})
    copy.apply(events.Submitted(workload=replace(workload, pod_sets=(pinned,))))
    for admission in copy.cycle(now).admissions:
        if admission.workload == workload.id:
            (part,) = admission.assignments
            return admission if part.nodes == ((node, 1),) else None
    return None


def carry_out(
    engine: Engine, ledger: Ledger, terms: Terms, request: Request, order: DeskEvent
) -> bool:
    """Let a request hold what its pod holds; whether its team has the quota for it."""
    node = NodeName(str(order.args[NODE]))
    there = engine.node(node)
    admission = grant(engine, request.workload, node, ledger.now)
    if there is None or admission is None:
        return False
    (pods,) = request.workload.pod_sets
    try:
        engine.apply(events.NodeObserved(node=freed(there, pods.requests)))
        engine.apply(events.Restored(workload=request.workload, admission=admission))
    except EngineError:
        log.exception("%s cannot hold what its pod holds", request.id)
        return False
    decided.admit(ledger, terms, admission, domain_of(engine, terms, admission))
    return True
