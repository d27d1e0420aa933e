"""Claims of storage: each gets a volume of its own at once, as from a class that makes them."""

from __future__ import annotations

from tests.kube.children import put_changed
from tests.kube.cluster import Cluster
from tests.kube.documents import Json, dig
from tests.kube.kinds import CLAIM


def step_claims(cluster: Cluster) -> int:
    """Bind the claims that wait; how many."""
    waiting = [
        each
        for each in cluster.store.all(CLAIM)
        if dig(each.body, "status.phase") == "Pending"
        and "deletionTimestamp" not in each.body["metadata"]
    ]
    for claim in waiting:
        spec = claim.body["spec"]
        status: Json = {"phase": "Bound", "accessModes": spec.get("accessModes", [])}
        status["capacity"] = dict(dig(spec, "resources.requests", {}))
        volume = f"pvc-{claim.body['metadata']['uid']}"
        put_changed(cluster, claim, spec={**spec, "volumeName": volume}, status=status)
    return len(waiting)
