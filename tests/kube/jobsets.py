"""JobSets: a custom kind with a controller of its own, which makes Jobs and lets them go together.

Not from recordings: names, labels and the hand-over of the template at a resume follow the
documentation of JobSet v1alpha2. Its webhooks are not emulated.
"""

from __future__ import annotations

import hashlib

from tests.kube.children import by_controller, create_child, delete_child, put_changed, write_status
from tests.kube.cluster import Cluster
from tests.kube.documents import Json, condition_of, copy_of, dig, labels_of, set_condition
from tests.kube.kinds import JOB, Kind
from tests.kube.store import Stored

PREFIX = "jobset.sigs.k8s.io"
JOB_SET = Kind(
    "jobset.x-k8s.io",
    "v1alpha2",
    "jobsets",
    "JobSet",
    subresources=("status",),
    generation=True,
    unconditional=False,
    custom=True,
)
# What a suspended child takes over from its JobSet when that is resumed.
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")


def step_job_sets(cluster: Cluster) -> int:
    """One pass over all JobSets; how many objects were written."""
    started = cluster.store.version
    jobs = by_controller(cluster, JOB)
    for job_set in cluster.store.all(JOB_SET):
        if "deletionTimestamp" not in job_set.body["metadata"]:
            _sync(cluster, job_set, jobs.get(job_set.body["metadata"]["uid"], []))
    return cluster.store.version - started


def _sync(cluster: Cluster, job_set: Stored, jobs: list[Stored]) -> None:
    suspended = bool(job_set.body["spec"].get("suspend"))
    present = {job.key[1]: job for job in jobs}
    for group in job_set.body["spec"]["replicatedJobs"]:
        for index in range(group.get("replicas", 1)):
            name = f"{job_set.key[1]}-{group['name']}-{index}"
            job = present.get(name)
            if job is None:
                _create(cluster, job_set, group, index, suspended=suspended)
            elif bool(job.body["spec"].get("suspend")) != suspended and not _is_over(job.body):
                _switch(cluster, job, group, suspended=suspended)
    now = by_controller(cluster, JOB).get(job_set.body["metadata"]["uid"], [])
    _report(cluster, job_set, now, suspended=suspended)


def _marks(job_set: Stored, group: Json, index: int) -> dict[str, str]:
    name = job_set.key[1]
    key = hashlib.sha256(f"{job_set.key[0]}/{name}-{group['name']}-{index}".encode())
    return {
        f"{PREFIX}/jobset-name": name,
        f"{PREFIX}/jobset-uid": job_set.body["metadata"]["uid"],
        f"{PREFIX}/replicatedjob-name": group["name"],
        f"{PREFIX}/replicatedjob-replicas": str(group.get("replicas", 1)),
        f"{PREFIX}/job-index": str(index),
        f"{PREFIX}/job-key": key.hexdigest()[:40],
        f"{PREFIX}/restart-attempt": "0",
    }


def _create(cluster: Cluster, job_set: Stored, group: Json, index: int, *, suspended: bool) -> None:
    template = copy_of(group["template"])
    marks = _marks(job_set, group, index)
    spec = template["spec"]
    pods = spec["template"].setdefault("metadata", {})
    pods["labels"] = {**(pods.get("labels") or {}), **marks}
    pods["annotations"] = {**(pods.get("annotations") or {}), **marks}
    metadata = template.get("metadata") or {}
    body: Json = {
        "metadata": {
            "name": f"{job_set.key[1]}-{group['name']}-{index}",
            "labels": {**(metadata.get("labels") or {}), **marks},
            "annotations": {**(metadata.get("annotations") or {}), **marks},
        },
        "spec": {**spec, "suspend": suspended},
    }
    create_child(cluster, job_set, JOB, body)


def _switch(cluster: Cluster, job: Stored, group: Json, *, suspended: bool) -> None:
    """Suspend a child, or give it the template's directives and let it go."""
    spec = copy_of(job.body["spec"])
    spec["suspend"] = suspended
    if not suspended:
        wanted, pods = group["template"]["spec"]["template"], spec["template"]
        for name in _DIRECTIVES:
            pods["spec"].pop(name, None)
            if wanted["spec"].get(name):
                pods["spec"][name] = copy_of(wanted["spec"][name])
        for part in ("labels", "annotations"):
            given = dig(wanted, f"metadata.{part}", {})
            pods["metadata"][part] = {**pods["metadata"].get(part, {}), **given}
    metadata = {**job.body["metadata"], "generation": job.body["metadata"]["generation"] + 1}
    put_changed(cluster, job, spec=spec, metadata=metadata)


def _is(body: Json, kind: str) -> bool:
    found = condition_of(body, kind)
    return found is not None and bool(found["status"] == "True")


def _is_over(body: Json) -> bool:
    return _is(body, "Complete") or _is(body, "Failed")


def _counts(name: str, jobs: list[Json]) -> Json:
    return {
        "name": name,
        "ready": sum(
            dig(job, "status.ready", 0) + dig(job, "status.succeeded", 0)
            >= min(job["spec"]["parallelism"], job["spec"].get("completions") or 2**31)
            for job in jobs
        ),
        "succeeded": sum(_is(job, "Complete") for job in jobs),
        "failed": sum(_is(job, "Failed") for job in jobs),
        "active": sum(dig(job, "status.active", 0) > 0 for job in jobs),
        "suspended": sum(bool(job["spec"].get("suspend")) for job in jobs),
    }


def _report(cluster: Cluster, job_set: Stored, jobs: list[Stored], *, suspended: bool) -> None:
    status = copy_of(job_set.body.get("status") or {})
    status.setdefault("restarts", 0)
    groups = job_set.body["spec"]["replicatedJobs"]
    bodies = [job.body for job in jobs]
    status["replicatedJobsStatus"] = [
        _counts(
            group["name"],
            [b for b in bodies if labels_of(b)[f"{PREFIX}/replicatedjob-name"] == group["name"]],
        )
        for group in groups
    ]
    if bodies and all(_is(body, "Complete") for body in bodies):
        _note(cluster, status, "Completed", "AllJobsCompleted", "jobset completed successfully")
    elif any(_is(body, "Failed") for body in bodies):
        _note(
            cluster, status, "Failed", "FailedJobs", "jobset failed due to one or more job failures"
        )
        for job in jobs:
            if not _is_over(job.body):
                delete_child(cluster, job)
    was = condition_of({"status": status}, "Suspended")
    if suspended:
        _note(cluster, status, "Suspended", "SuspendedJobs", "jobset is suspended")
    elif was is not None and was["status"] == "True":
        message = "jobset is resumed"
        _note(cluster, status, "Suspended", "ResumeJobs", message, state="False")
    live = cluster.store.get(JOB_SET, job_set.key)
    if live is not None:
        write_status(cluster, live, status, "jobset-controller")


def _note(
    cluster: Cluster, status: Json, kind: str, reason: str, message: str, *, state: str = "True"
) -> None:
    """Set a condition; one that says the same already keeps its time."""
    was = condition_of({"status": status}, kind)
    if was is not None and was["status"] == state:
        return
    condition: Json = {"type": kind, "status": state, "lastTransitionTime": cluster.now()}
    set_condition(status, {**condition, "reason": reason, "message": message})
