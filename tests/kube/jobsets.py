"""JobSets: a custom kind with a controller of its own, which makes Jobs and lets them go together.

Not from recordings: names, labels, what may be changed and the hand-over of the template at a
resume follow the documentation and the behaviour of JobSet v1alpha2. Its defaulting webhook is not
emulated, of the other only what it says of changes; of those for pods what an exclusive topology
does to all but the first pod of a Job, whose affinities are left out.
"""

from __future__ import annotations

import hashlib

from tests.kube.children import (
    by_controller,
    create_child,
    is_terminating,
    put_changed,
    write_status,
)
from tests.kube.cluster import Cluster, Request, Target
from tests.kube.documents import (
    Json,
    annotations_of,
    condition_of,
    copy_of,
    dig,
    labels_of,
    set_condition,
)
from tests.kube.kinds import JOB, NODE, POD, Kind
from tests.kube.removal import DeleteOptions, delete
from tests.kube.statuses import Refusal
from tests.kube.store import Stored

PREFIX = "jobset.sigs.k8s.io"
EXCLUSIVE = f"alpha.{PREFIX}/exclusive-topology"
_INDEX = "batch.kubernetes.io/job-completion-index"
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
# What may change of a template while its JobSet is suspended, or becomes so; the rest never may.
_DIRECTIVES = ("nodeSelector", "tolerations", "schedulingGates")
_MARKS = ("labels", "annotations")


def guard_job_sets(cluster: Cluster, request: Request, body: Json, before: Json | None) -> None:
    """What the webhook says of changes.

    Raises:
        Refusal: a part is another, beyond what may change now.

    """
    del cluster
    if request.target.kind is not JOB_SET or before is None:
        return
    if before["spec"].get("managedBy") != body["spec"].get("managedBy"):
        raise _fixed_field(request, "spec.managedBy")
    free = bool(before["spec"].get("suspend")) or bool(body["spec"].get("suspend"))
    if _fixed(before, free=free) != _fixed(body, free=free):
        raise _fixed_field(request, "spec.replicatedJobs")


def _fixed_field(request: Request, field: str) -> Refusal:
    return Refusal(
        422,
        "Invalid",
        f'admission webhook "vjobset.kb.io" denied the request: {field}: Invalid '
        "value: field is immutable",
        {"name": request.target.name, "kind": "jobsets", "group": JOB_SET.group},
    )


def _fixed(body: Json, *, free: bool) -> list[Json]:
    parts: list[Json] = copy_of(body["spec"]["replicatedJobs"])
    for part in parts if free else ():
        template = part["template"]["spec"]["template"]
        metadata = template.get("metadata") or {}
        template["metadata"] = {k: v for k, v in metadata.items() if k not in _MARKS}
        for name in _DIRECTIVES:
            template["spec"].pop(name, None)
    return parts


def keep_in_domain(cluster: Cluster, request: Request, body: Json) -> None:
    """Send a pod to the domain of the first pod of its Job, where each Job has its own.

    Raises:
        Refusal: the first has no node yet.

    """
    metadata = body["metadata"]
    level = (metadata.get("annotations") or {}).get(EXCLUSIVE)
    rank = labels_of(body).get(_INDEX)
    if request.target.kind is not POD or level is None or rank == "0":
        return
    (owner,) = metadata["ownerReferences"]
    first = next(
        (
            pod
            for pod in by_controller(cluster, POD).get(owner["uid"], [])
            if labels_of(pod.body).get(_INDEX) == "0" and not is_terminating(pod.body)
        ),
        None,
    )
    node = None if first is None else first.body["spec"].get("nodeName")
    there = cluster.get(NODE, "", node) if node else None
    if there is None:
        raise Refusal(
            403,
            "Forbidden",
            'admission webhook "vpod.kb.io" denied the request: leader pod not yet scheduled',
            {},
        )
    selector = body["spec"].setdefault("nodeSelector", {})
    selector[level] = labels_of(there.body)[level]


def step_job_sets(cluster: Cluster) -> int:
    """One pass over all JobSets; how many objects were written."""
    started = cluster.store.version
    jobs = by_controller(cluster, JOB)
    for job_set in cluster.store.all(JOB_SET):
        usual = f"{PREFIX}/jobset-controller"
        mine = dig(job_set.body, "spec.managedBy", usual) == usual
        if mine and not is_terminating(job_set.body):
            _sync(cluster, job_set, jobs.get(job_set.body["metadata"]["uid"], []))
    return cluster.store.version - started


def _sync(cluster: Cluster, job_set: Stored, jobs: list[Stored]) -> None:
    status = copy_of(job_set.body.get("status") or {})
    status.setdefault("restarts", 0)
    attempt = str(status["restarts"])
    own = [job for job in jobs if labels_of(job.body)[f"{PREFIX}/restart-attempt"] == attempt]
    for job in jobs:
        if job not in own or (status.get("terminalState") and not _is_over(job.body)):
            _delete(cluster, job)
    if not status.get("terminalState") and not _judge(cluster, job_set, own, status):
        _keep(cluster, job_set, jobs, own, status)
    _report(cluster, job_set, status)


def _judge(cluster: Cluster, job_set: Stored, jobs: list[Stored], status: Json) -> bool:
    """Whether this attempt is over: done, failed for good, or to be made anew."""
    if any(_is(job.body, "Failed") for job in jobs):
        most = dig(job_set.body, "spec.failurePolicy.maxRestarts", 0)
        if status["restarts"] < most:
            status["restarts"] += 1
            status["restartsCountTowardsMax"] = status.get("restartsCountTowardsMax", 0) + 1
            return True
        reason = "ReachedMaxRestarts" if most else "FailedJobs"
        _note(cluster, status, "Failed", reason, "jobset failed due to one or more job failures")
        status["terminalState"] = "Failed"
        return True
    count = sum(part.get("replicas", 1) for part in job_set.body["spec"]["replicatedJobs"])
    if jobs and sum(_is(job.body, "Complete") for job in jobs) >= count:
        _note(cluster, status, "Completed", "AllJobsCompleted", "jobset completed successfully")
        status["terminalState"] = "Completed"
        return True
    return False


def _keep(
    cluster: Cluster, job_set: Stored, there: list[Stored], jobs: list[Stored], status: Json
) -> None:
    """Make the Jobs that are missing, and suspend or resume those that are there.

    Of what a part may depend on, the end of another is known, not its readiness.
    """
    suspended = bool(job_set.body["spec"].get("suspend"))
    in_order = dig(job_set.body, "spec.startupPolicy.startupPolicyOrder") == "InOrder"
    taken, present = {job.key[1] for job in there}, {job.key[1]: job for job in jobs}
    done: dict[str, bool] = {}
    for group in job_set.body["spec"]["replicatedJobs"]:
        names = [f"{job_set.key[1]}-{group['name']}-{i}" for i in range(group.get("replicas", 1))]
        done[group["name"]] = all(_has(present.get(name), "Complete") for name in names)
        if not all(done[each["name"]] for each in group.get("dependsOn") or ()):
            continue
        for index, name in enumerate(names):
            if name not in taken:
                _create(cluster, job_set, group, index, suspended=suspended)
            elif name in present and not _is_over(present[name].body):
                _switch(cluster, present[name], group, suspended=suspended)
        if in_order and not suspended and not all(_is_ready(present.get(name)) for name in names):
            return  # the next part waits for this one, and what follows it with that
    if suspended:
        _note(cluster, status, "Suspended", "SuspendedJobs", "jobset is suspended")
    elif _is({"status": status}, "Suspended"):
        _note(cluster, status, "Suspended", "ResumeJobs", "jobset is resumed", state="False")


def _has(job: Stored | None, kind: str) -> bool:
    return job is not None and _is(job.body, kind)


def _is_ready(job: Stored | None) -> bool:
    if job is None:
        return False
    wanted = min(job.body["spec"]["parallelism"], job.body["spec"].get("completions") or 2**31)
    ready = dig(job.body, "status.ready", 0) + dig(job.body, "status.succeeded", 0)
    return bool(ready >= wanted)


def _delete(cluster: Cluster, job: Stored) -> None:
    """With all of its pods: a Job of that name is made only when they are gone."""
    if not is_terminating(job.body):
        target = cluster.as_controller(Target(JOB, job.key[0], job.key[1]))
        delete(cluster, target, job, DeleteOptions(propagation="Foreground"))


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
        f"{PREFIX}/restart-attempt": str(dig(job_set.body, "status.restarts", 0)),
    }


def _create(cluster: Cluster, job_set: Stored, group: Json, index: int, *, suspended: bool) -> None:
    template = copy_of(group["template"])
    marks = _marks(job_set, group, index)
    spec = template["spec"]
    pods = spec["template"].setdefault("metadata", {})
    pods["labels"] = {**(pods.get("labels") or {}), **marks}
    metadata = template.get("metadata") or {}
    own = {**annotations_of(job_set.body), **(metadata.get("annotations") or {})}
    notes = {**marks, **({EXCLUSIVE: own[EXCLUSIVE]} if EXCLUSIVE in own else {})}
    pods["annotations"] = {**(pods.get("annotations") or {}), **notes}
    body: Json = {
        "metadata": {
            "name": f"{job_set.key[1]}-{group['name']}-{index}",
            "labels": {**(metadata.get("labels") or {}), **marks},
            "annotations": {**(metadata.get("annotations") or {}), **marks},
        },
        "spec": {**spec, "suspend": suspended},
    }
    try:
        create_child(cluster, job_set, JOB, body)
    except Refusal as refusal:
        if refusal.reason != "AlreadyExists":  # that of an earlier JobSet: once it is gone
            raise


def _switch(cluster: Cluster, job: Stored, group: Json, *, suspended: bool) -> None:
    """Suspend a child, or let it go with what its part's template says now.

    That is added to what the child has: nothing that was there goes away again.
    """
    spec = copy_of(job.body["spec"])
    if bool(spec.get("suspend")) == suspended:
        return
    spec["suspend"] = suspended
    if not suspended:
        wanted, pods = group["template"]["spec"]["template"], spec["template"]
        for name in ("tolerations", "schedulingGates"):
            more = wanted["spec"].get(name) or []
            had = pods["spec"].get(name) or []
            if merged := [*had, *(copy_of(one) for one in more if one not in had)]:
                pods["spec"][name] = merged
        selector = {
            **(pods["spec"].get("nodeSelector") or {}),
            **(wanted["spec"].get("nodeSelector") or {}),
        }
        if selector:
            pods["spec"]["nodeSelector"] = selector
        for part in _MARKS:
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


def _report(cluster: Cluster, job_set: Stored, status: Json) -> None:
    uid, attempt = job_set.body["metadata"]["uid"], str(status["restarts"])
    bodies = [
        job.body
        for job in by_controller(cluster, JOB).get(uid, [])
        if labels_of(job.body)[f"{PREFIX}/restart-attempt"] == attempt
    ]
    status["replicatedJobsStatus"] = [
        _counts(
            group["name"],
            [b for b in bodies if labels_of(b)[f"{PREFIX}/replicatedjob-name"] == group["name"]],
        )
        for group in job_set.body["spec"]["replicatedJobs"]
    ]
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
