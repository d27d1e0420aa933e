"""What people do with `kubectl get -o yaml`: the same object under another name, marks and all."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import JOB_SETS, TEAM

FREE = "free"  # a namespace that the bot does not manage
_OF_SERVER = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")


def written(obj: Mapping[str, Any], name: str) -> dict[str, Any]:
    """An object as its maker could have written it, under another name."""
    body: dict[str, Any] = copy.deepcopy(dict(obj))
    body.pop("status", None)
    meta = {key: value for key, value in body["metadata"].items() if key not in _OF_SERVER}
    for key in ("ownerReferences", "finalizers"):
        meta.pop(key, None)
    body["metadata"] = {**meta, "name": name}
    body["metadata"].pop("namespace", None)
    return body


def job_written(obj: Mapping[str, Any], name: str, **spec: Any) -> dict[str, Any]:
    """The same of a Job, without what its controller needs to know its pods."""
    body = written(obj, name)
    body["spec"].pop("selector", None)
    labels = body["spec"]["template"]["metadata"].get("labels", {})
    for label in [one for one in labels if "job-name" in one or "controller-uid" in one]:
        del labels[label]
    body["spec"] |= spec
    return body


def copy_job(house: KubeHouse, of: str, name: str, space: str = TEAM, **spec: Any) -> None:
    path = f"/apis/batch/v1/namespaces/{space}/jobs"
    house.person.post(path, job_written(house.job(of), name, **spec))


def copy_job_set(house: KubeHouse, of: str, name: str, space: str = TEAM, **spec: Any) -> None:
    kind = {"apiVersion": "jobset.x-k8s.io/v1alpha2", "kind": "JobSet"}
    body = {**written(house.job_set(of), name), **kind}
    body["spec"] |= spec
    house.person.post(JOB_SETS.replace(TEAM, space), body)


def copy_pod(house: KubeHouse, of: str, name: str, space: str, **spec: Any) -> None:
    (found,) = (one for one in house.pods() if one["metadata"]["name"] == of)
    body = written(found, name)
    for key in ("nodeName", "serviceAccount", "serviceAccountName"):
        body["spec"].pop(key, None)
    body["spec"] |= spec
    house.person.post(f"/api/v1/namespaces/{space}/pods", body)


def running(house: KubeHouse) -> dict[str, str]:
    """The uid of each pod that runs, by its whole name."""
    return {
        one["metadata"]["name"]: one["metadata"]["uid"]
        for one in house.pods()
        if one["status"].get("phase") == "Running" and not one["metadata"].get("deletionTimestamp")
    }
