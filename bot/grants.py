"""What a grant consists of, as people are told."""

from __future__ import annotations

from scheduler.model import GPU, Admission
from storage.records import Request


def nodes_of(admission: Admission, request: Request) -> tuple[tuple[str, int], ...]:
    """GPUs by node of a grant, in the order of node names."""
    per_pod = {p.name: p.requests.get(GPU, 0) for p in request.workload.pod_sets}
    total: dict[str, int] = {}
    for assignment in admission.assignments:
        for node, pods in assignment.nodes:
            total[node] = total.get(node, 0) + pods * per_pod[assignment.name]
    return tuple(sorted(total.items()))


def flavor_of(admission: Admission) -> str:
    """The flavor (or flavors, joined) that a grant's GPUs come from."""
    found = [str(a.flavors[GPU]) for a in admission.assignments if GPU in a.flavors]
    return "+".join(dict.fromkeys(found))
