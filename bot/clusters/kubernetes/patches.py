"""The bodies of our writes. All may be sent twice; all but two are merge patches.

Each carries the uid it was decided on: the same patch of a later object of that name is
refused (422), and one that carries a resourceVersion is refused when the object has changed
(409). Lists (tolerations, gates) are replaced whole by a merge patch, so they are written with
what was there; selectors and annotations are merged by key. The templates of a JobSet stand in
a list, so its start is a JSON patch: a merge patch would have to repeat every one of them. Our
gate is taken off a pod by a strategic patch, which names it alone: others take theirs off
meanwhile, and to write one that is gone is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from bot.clusters.base import Start
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.additions import Additions, additions_in
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.facts import PodFacts, PodShape
from bot.clusters.kubernetes.gangs import Gang, write_grant
from bot.clusters.kubernetes.moments import write_moment
from bot.clusters.kubernetes.seals import named, seal_of
from bot.clusters.kubernetes.works import JobFacts, JobSetFacts
from scheduler.model import Seconds, Toleration

_NOT_OF_IT = (names.STOP_AT, names.MADE)  # of an earlier start, or of what it is a copy of


def added_to(shape: PodShape, host: str | None, more: Sequence[Toleration]) -> Additions:
    """What a template still lacks to let its pods go to a `host`, or to the gate without one."""
    wanted = [_as_written(one) for one in more]
    return Additions(
        host=None if names.HOSTNAME in shape.node_selector else host,
        gate=host is None and names.GATE not in shape.gates,
        tolerations=tuple(one for one in wanted if one not in shape.written),
    )


def found_in(
    shape: PodShape, host: str | None, more: Sequence[Toleration], own: Collection[str]
) -> Additions:
    """What we must have added to a template that does not tell it any more.

    `own` are the hosts that its maker is known to have written there.
    """
    here = shape.node_selector.get(names.HOSTNAME)
    wanted = [_as_written(one) for one in more]
    return Additions(
        host=host if here == host and host not in own else None,
        gate=host is None and names.GATE in shape.gates,
        tolerations=tuple(one for one in wanted if one in shape.written),
    )


def start_job(gang: Gang, job: JobFacts, host: str | None, added: Additions) -> Json:
    """Let a Job go: the decision, where it may run, and suspend off, in one write.

    With a `host` all of its pods go there, past the gate, which would cost a write for each.
    Without one they appear behind our gate, and each is sent to the node of its rank.
    What was added at an earlier start is taken out, and what the maker wrote stays.
    """
    own = job.shape.node_selector.get(names.HOSTNAME)
    spec: Json = {
        "nodeSelector": {names.HOSTNAME: added.host or own},
        "schedulingGates": _gates(job.shape, added) or None,
        "tolerations": [*job.shape.written, *added.tolerations] or None,
    }
    marks = {**_start_marks(gang), **dict.fromkeys(_NOT_OF_IT)}
    here = host is not None  # pods that pass the gate tell by their template whose they are
    placed = {
        "annotations": {
            names.PLACED: gang.workload if here else None,
            names.DECISION: gang.decision if here else None,
            names.SEAL: seal_of(gang.bot, job.uid) if here else None,
            names.MADE: None,
        }
    }
    return {
        "metadata": {"uid": job.uid, "resourceVersion": job.version, "annotations": marks},
        "spec": {"suspend": False, "template": {"metadata": placed, "spec": spec}},
    }


def start_job_set(gang: Gang, job_set: JobSetFacts, added: Mapping[str, Additions]) -> list[Json]:
    """Let a JobSet go, as a JSON patch: the decision, our gate on its parts, suspend off.

    No template names a host or a flavor's labels: when the JobSet is resumed, its controller adds
    what is there to the templates of its Jobs, and takes nothing out of them that was left from an
    earlier start. So each pod is sent to its node by itself. `added` is by granted part; the others
    are left as they are.
    """
    steps = [
        _put("/metadata/uid", job_set.uid),
        _put("/metadata/resourceVersion", job_set.version),
    ]
    if not job_set.annotated:
        steps.append(_put("/metadata/annotations", {}))
    for name, text in _start_marks(gang).items():
        steps.append(_put(f"/metadata/annotations/{_escaped(name)}", text))
    for name in _NOT_OF_IT:  # put there first, for what is not there cannot be removed
        path = f"/metadata/annotations/{_escaped(name)}"
        steps += [_put(path, ""), {"op": "remove", "path": path}]
    for part in (part for part in job_set.parts if part.name in added):
        spec = f"/spec/replicatedJobs/{part.at}/template/spec/template/spec"
        ours, before = added[part.name], additions_in(job_set.annotations, part.name)
        steps.append(_put(f"{spec}/schedulingGates", _gates(part.shape, ours)))
        if ours.tolerations or before.tolerations:
            steps.append(_put(f"{spec}/tolerations", [*part.shape.written, *ours.tolerations]))
    return [*steps, _put("/spec/suspend", value=False)]


def place(body: Json, gang: Gang, host: str | None, tolerations: Sequence[Toleration]) -> None:
    """Write a decision into a Job that is still to be made."""
    spec = body["spec"]["template"]["spec"]
    meta = body["spec"]["template"].setdefault("metadata", {})
    seal = seal_of(gang.bot, named(body["metadata"]))
    marks = {names.MADE: "true", names.SEAL: seal}  # its pods may be heard of before it is
    if host is not None:
        spec["nodeSelector"] = {**(spec.get("nodeSelector") or {}), names.HOSTNAME: host}
        marks |= {names.PLACED: gang.workload, names.DECISION: gang.decision}
    else:
        spec["schedulingGates"] = [*(spec.get("schedulingGates") or ()), {"name": names.GATE}]
    meta["annotations"] = {**(meta.get("annotations") or {}), **marks}
    more = [_as_written(one) for one in tolerations]
    if more:
        spec["tolerations"] = [*(spec.get("tolerations") or ()), *more]
    body["metadata"]["annotations"] |= {**_grant_marks(gang), names.MADE: "true", names.SEAL: seal}


def marks_of(gang: Gang) -> dict[str, str]:
    """What stands on the object of a gang that was let go, for the bot that comes after."""
    if gang.made is None:
        return _start_marks(gang)
    return {**_grant_marks(gang), names.MADE: "true"}


def mark_again(gang: Gang) -> Json:
    """Write down once more what somebody has changed or taken away."""
    return {"metadata": {"uid": gang.ref.uid, "annotations": marks_of(gang)}}


def announce_stop(uid: str, at: Seconds) -> Json:
    """Say on the object when it will be stopped."""
    return {"metadata": {"uid": uid, "annotations": {names.STOP_AT: write_moment(at)}}}


def stop_job(uid: str) -> Json:
    """Suspend a Job: its pods are deleted, each with its own grace. The notice is over."""
    marks = {"annotations": {names.STOP_AT: None}}
    return {"metadata": {"uid": uid, **marks}, "spec": {"suspend": True}}


def change_grant(gang: Gang) -> Json:
    """Write down a placement that was mended."""
    marks = {names.GRANT: write_grant(gang.admission)}
    return {"metadata": {"uid": gang.ref.uid, "annotations": marks}}


def adopt(start: Start, bot: str) -> Json:
    """Mark a pod that runs already as what a request stands for; without a ref it is nothing's.

    It is for no other any more.
    """
    workload, uid = start.workload, None if start.ref is None else start.ref.uid
    annotations = {names.ADMITTED: workload.id, names.DECISION: start.decision}
    if uid is not None:
        annotations[names.SEAL] = seal_of(bot, uid)
    return {
        "metadata": {
            "uid": uid,
            "labels": {names.TEAM: workload.team, names.REQUEST: None},
            "annotations": {**annotations, names.OWNER: workload.owner},
        }
    }


def let_go(
    pod: PodFacts,
    gang: Gang,
    host: str | None,
    tolerations: Sequence[Toleration] = (),
    hold: str | None = None,
) -> Json:
    """Take our gate off a pod and send it to a host, if it is for one: a strategic patch.

    It puts up with what its flavor wants. A pod that redeems a `hold` is of that from now on: its
    label is for people to change.
    """
    spec: Json = {"schedulingGates": [{"$patch": "delete", "name": names.GATE}]}
    if host is not None:
        spec["nodeSelector"] = {names.HOSTNAME: host}
    if tolerations and pod.shape is not None:
        lacking = added_to(pod.shape, host, tolerations).tolerations
        spec["tolerations"] = [*pod.shape.written, *lacking]
    seal = seal_of(gang.bot, pod.uid)
    marks = {names.DECISION: gang.decision, names.REDEEMED: hold, names.SEAL: seal}
    return {"metadata": {"uid": pod.uid, "annotations": marks}, "spec": spec}


def disown(uid: str, decision: str | None = None) -> Json:
    """Take our marks off what has left our care; a pod shows by which `decision` it ran."""
    gone = dict.fromkeys((names.ADMITTED, names.DECISION, names.GRANT, names.STOP_AT))
    return {"metadata": {"uid": uid, "annotations": {**gone, names.LEFT: decision}}}


def look(uid: str) -> Json:
    """Change nothing: the answer is the object of this uid, if there is one, watched or not."""
    return {"metadata": {"uid": uid}}


def _start_marks(gang: Gang) -> dict[str, str]:
    added = {} if gang.added is None else {names.PINNED: gang.added}
    return {**_grant_marks(gang), **added}


def _grant_marks(gang: Gang) -> dict[str, str]:
    return {
        names.ADMITTED: gang.workload,
        names.DECISION: gang.decision,
        names.GRANT: write_grant(gang.admission),
        names.SEAL: seal_of(gang.bot, gang.ref.uid),
    }


def _put(path: str, value: object) -> Json:
    """A step of a JSON patch that sets a value, whether there is one or not."""
    return {"op": "add", "path": path, "value": value}


def _escaped(name: str) -> str:
    return name.replace("~", "~0").replace("/", "~1")


def _gates(shape: PodShape, added: Additions) -> list[Mapping[str, str]]:
    gates = [*shape.gates, names.GATE] if added.gate else shape.gates
    return [{"name": gate} for gate in gates]


def _as_written(one: Toleration) -> Json:
    found: Json = {"operator": "Exists"} if one.value is None else {"operator": "Equal"}
    if one.key:
        found["key"] = one.key
    if one.value is not None:
        found["value"] = one.value
    if one.effect is not None:
        found["effect"] = str(one.effect)
    return found
