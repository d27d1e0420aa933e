"""PodDisruptionBudgets: their controller's arithmetic and the verdict on an eviction."""

from __future__ import annotations

from tests.kube.children import write_status
from tests.kube.cluster import Cluster
from tests.kube.documents import Json, condition_of, copy_of, dig, labels_of
from tests.kube.kinds import BUDGET, POD
from tests.kube.selectors import selects
from tests.kube.statuses import Refusal
from tests.kube.store import Stored

_MESSAGE = "Cannot evict pod as it would violate the pod's disruption budget."


def _refused(cause: str, retry: int | None = None) -> Refusal:
    details: Json = {"causes": [{"reason": "DisruptionBudget", "message": cause}]}
    headers: dict[str, str] = {}
    if retry is not None:
        details["retryAfterSeconds"] = retry
        headers["Retry-After"] = str(retry)
    return Refusal(429, "TooManyRequests", _MESSAGE, details, headers)


def take_from_budget(cluster: Cluster, budget: Stored, pod: Stored, *, dry: bool) -> None:
    """Use up one allowed disruption.

    Raises:
        Refusal: 429; with Retry-After only where the budget was not processed yet.

    """
    name, status = budget.key[1], budget.body["status"]
    if status.get("observedGeneration", 0) < budget.body["metadata"].get("generation", 1):
        raise _refused(f"The disruption budget {name} is still being processed by the server.", 10)
    if status["disruptionsAllowed"] <= 0:
        needed, healthy = status["desiredHealthy"], status["currentHealthy"]
        raise _refused(
            f"The disruption budget {name} needs {needed} healthy pods and has {healthy} currently"
        )
    if dry:
        return
    changed = copy_of(status)
    changed["disruptionsAllowed"] -= 1
    changed.setdefault("disruptedPods", {})[pod.key[1]] = cluster.now()
    body = {**budget.body, "metadata": dict(budget.body["metadata"]), "status": changed}
    cluster.store.put(BUDGET, budget.key, body)


def _share(value: object, expected: int) -> int:
    """A number or a percentage, rounded up."""
    if isinstance(value, str) and value.endswith("%"):
        return -(-int(value[:-1]) * expected // 100)
    return int(str(value))


def _is_healthy(body: Json) -> bool:
    ready = condition_of(body, "Ready")
    return (
        ready is not None
        and ready["status"] == "True"
        and "deletionTimestamp" not in body["metadata"]
    )


def step_budgets(cluster: Cluster) -> int:
    """Let the disruption controller look once at every budget; how many it wrote."""
    written = 0
    for budget in cluster.store.all(BUDGET):
        status = _status_of(cluster, budget)
        if status != budget.body["status"]:
            write_status(cluster, budget, status)
            written += 1
    return written


def _status_of(cluster: Cluster, budget: Stored) -> Json:
    spec = budget.body["spec"]
    pods = [
        pod.body
        for pod in cluster.store.all(POD, budget.key[0])
        if selects(spec.get("selector"), labels_of(pod.body))
        and dig(pod.body, "status.phase") not in {"Succeeded", "Failed"}
    ]
    healthy = sum(_is_healthy(pod) for pod in pods)
    if "maxUnavailable" in spec:
        desired = max(len(pods) - _share(spec["maxUnavailable"], len(pods)), 0)
    else:
        desired = _share(spec.get("minAvailable", 1), len(pods))
    allowed = max(healthy - desired, 0)
    generation = budget.body["metadata"].get("generation", 1)
    was = condition_of(budget.body, "DisruptionAllowed")
    state = "True" if allowed else "False"
    changed_at = cluster.now()
    if was is not None and was["status"] == state:
        changed_at = was["lastTransitionTime"]
    return {
        "observedGeneration": generation,
        "disruptionsAllowed": allowed,
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "expectedPods": len(pods),
        "conditions": [
            {
                "type": "DisruptionAllowed",
                "status": state,
                "observedGeneration": generation,
                "lastTransitionTime": changed_at,
                "reason": "SufficientPods" if allowed else "InsufficientPods",
                "message": "",
            }
        ],
    }
