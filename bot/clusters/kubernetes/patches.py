"""The bodies of our writes. All are merge patches, which may be sent twice.

Each carries the uid it was decided on: the same patch of a later object of that name is
refused (422), and one that carries a resourceVersion is refused when the object has changed
(409). Lists (tolerations, gates) are replaced whole by a merge patch, so they are written with
what was there; selectors and annotations are merged by key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.facts import JobFacts, PodFacts
from bot.clusters.kubernetes.gangs import Gang, write_grant
from scheduler.model import Seconds, Toleration


def start_job(
    gang: Gang, job: JobFacts, host: str | None, tolerations: Sequence[Toleration]
) -> Json:
    """Let a Job go: the decision, where it may run, and suspend off, in one write.

    With a `host` all of its pods go there. Without one they appear behind our gate, and each
    is sent to the node of its rank.
    """
    spec: Json = {"nodeSelector": _selector(job, host), "schedulingGates": _gates(job, host)}
    more = [_as_written(one) for one in tolerations]
    if more:
        spec["tolerations"] = [*job.shape.written, *(t for t in more if t not in job.shape.written)]
    marks = {
        names.ADMITTED: gang.workload,
        names.DECISION: gang.decision,
        names.GRANT: write_grant(gang.admission),
        names.PINNED: "true",
        names.STOP_AT: None,
    }
    return {
        "metadata": {"uid": job.uid, "resourceVersion": job.version, "annotations": marks},
        "spec": {"suspend": False, "template": {"spec": spec}},
    }


def place(body: Json, gang: Gang, host: str | None, tolerations: Sequence[Toleration]) -> None:
    """Write a decision into a Job that is still to be made."""
    spec = body["spec"]["template"]["spec"]
    if host is not None:
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), names.HOSTNAME: host}
    else:
        spec["schedulingGates"] = [*(spec.get("schedulingGates") or ()), {"name": names.GATE}]
    more = [_as_written(one) for one in tolerations]
    if more:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *more]
    body["metadata"]["annotations"] |= {
        names.ADMITTED: gang.workload,
        names.DECISION: gang.decision,
        names.GRANT: write_grant(gang.admission),
        names.MADE: "true",
    }


def announce_stop(uid: str, at: Seconds) -> Json:
    """Say on the object when it will be stopped."""
    return {"metadata": {"uid": uid, "annotations": {names.STOP_AT: repr(at)}}}


def stop_job(uid: str) -> Json:
    """Suspend a Job: its pods are deleted, each with its own grace."""
    return {"metadata": {"uid": uid}, "spec": {"suspend": True}}


def change_grant(gang: Gang) -> Json:
    """Write down a placement that was mended."""
    marks = {names.GRANT: write_grant(gang.admission)}
    return {"metadata": {"uid": gang.ref.uid, "annotations": marks}}


def let_go(pod: PodFacts, decision: str, host: str) -> Json:
    """Take our gate off a pod and send it to a host, in one write."""
    others = [{"name": gate} for gate in pod.gates if gate != names.GATE]
    return {
        "metadata": {"uid": pod.uid, "annotations": {names.DECISION: decision}},
        "spec": {"schedulingGates": others or None, "nodeSelector": {names.HOSTNAME: host}},
    }


def _selector(job: JobFacts, host: str | None) -> Json:
    """The host, or what the Job's maker wrote there, in place of that of an earlier start."""
    return {names.HOSTNAME: host or job.shape.node_selector.get(names.HOSTNAME)}


def _gates(job: JobFacts, host: str | None) -> list[Mapping[str, str]] | None:
    gates = [gate for gate in job.shape.gates if gate != names.GATE]
    if host is None or names.GATE in job.shape.gates:
        gates.append(names.GATE)
    return [{"name": gate} for gate in gates] or None


def _as_written(one: Toleration) -> Json:
    found: Json = {"operator": "Exists"} if one.value is None else {"operator": "Equal"}
    if one.key:
        found["key"] = one.key
    if one.value is not None:
        found["value"] = one.value
    if one.effect is not None:
        found["effect"] = str(one.effect)
    return found
