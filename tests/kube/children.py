"""What controllers share: the objects each owner has, and how their pods are made and ended."""

from __future__ import annotations

import hashlib
import json
from datetime import timedelta

from tests.kube.cluster import Cluster, Target
from tests.kube.documents import Json, condition_of, controller_of, copy_of, dig
from tests.kube.kinds import POD, Kind
from tests.kube.operations import create
from tests.kube.ownership import Manager, note_update
from tests.kube.removal import DeleteOptions, delete
from tests.kube.store import Stored
from tests.kube.tags import OWNED

FINISHED = frozenset({"Succeeded", "Failed"})


def by_controller(cluster: Cluster, kind: Kind) -> dict[str, list[Stored]]:
    """Objects by the uid of their controller, in order of name."""
    found: dict[str, list[Stored]] = {}
    for stored in cluster.store.tagged(kind, OWNED):
        owner = controller_of(stored.body)
        if owner is not None:
            found.setdefault(owner["uid"], []).append(stored)
    return found


def owner_reference(owner: Stored) -> Json:
    return {
        "apiVersion": owner.kind.api_version,
        "kind": owner.kind.name,
        "name": owner.key[1],
        "uid": owner.body["metadata"]["uid"],
        "controller": True,
        "blockOwnerDeletion": True,
    }


def create_child(cluster: Cluster, owner: Stored, kind: Kind, body: Json) -> Stored:
    """Make an object with the owner as its controller.

    Raises:
        Refusal: an admission policy or a check is against it.

    """
    body["metadata"]["ownerReferences"] = [owner_reference(owner)]
    return create(cluster, cluster.as_controller(Target(kind, owner.key[0])), body)


def pod_from_template(template: Json, **metadata: object) -> Json:
    """A pod body of a template; metadata are added to the template's own."""
    made = copy_of(template)
    kept = {
        name: value
        for name, value in (made.get("metadata") or {}).items()
        if name in {"labels", "annotations", "finalizers"}
    }
    return {"metadata": {**kept, **metadata}, "spec": made["spec"]}


def delete_child(cluster: Cluster, stored: Stored) -> None:
    """Delete with the object's own grace; its dependents go in the background."""
    target = Target(stored.kind, stored.key[0], stored.key[1])
    live = cluster.store.get(stored.kind, stored.key)
    if live is not None:
        options = DeleteOptions(propagation="Background")
        delete(cluster, cluster.as_controller(target), live, options)


def is_terminating(body: Json) -> bool:
    return "deletionTimestamp" in body["metadata"]


def is_finished(body: Json) -> bool:
    return dig(body, "status.phase") in FINISHED


def is_active(body: Json) -> bool:
    return not is_terminating(body) and not is_finished(body)


def is_ready(body: Json) -> bool:
    condition = condition_of(body, "Ready")
    return condition is not None and condition["status"] == "True" and not is_terminating(body)


def template_hash(owner: Stored) -> str:
    """A name for a template: the same for the same template."""
    text = json.dumps(owner.body["spec"]["template"], sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:10]


def put_changed(cluster: Cluster, stored: Stored, **parts: Json) -> Stored:
    """Write parts of an object anew, past all checks, as the server's own loops do."""
    body = {**stored.body, "metadata": dict(stored.body["metadata"]), **parts}
    return cluster.store.put(stored.kind, stored.key, body)


def write_status(
    cluster: Cluster, stored: Stored, status: Json, by: str = "kube-controller-manager"
) -> Stored:
    """Set the whole status, with the ownership of a controller; unchanged means unwritten."""
    if stored.body.get("status") == status:
        return stored
    after = {**stored.body, "metadata": dict(stored.body["metadata"]), "status": copy_of(status)}
    manager = Manager(by, "Update", stored.kind.api_version, "status")
    note_update(stored.kind, stored.body, after, manager, cluster.now())
    return cluster.store.put(stored.kind, stored.key, after)


def back_off(
    cluster: Cluster, owner: Stored, seconds: float = 10.0, *, index: int | None = None
) -> None:
    """A create was refused: the controller tries again later; of one rank alone with `index`."""
    until = cluster.clock.now() + timedelta(seconds=seconds)
    cluster.backoff[owner.body["metadata"]["uid"], index] = until


def is_backed_off(cluster: Cluster, owner: Stored, index: int | None = None) -> bool:
    until = cluster.backoff.get((owner.body["metadata"]["uid"], index))
    return until is not None and cluster.clock.now() < until


def drop_finalizer(cluster: Cluster, stored: Stored, finalizer: str) -> Stored | None:
    """Take a finalizer off; None where the object goes with it."""
    metadata = dict(stored.body["metadata"])
    left = [each for each in metadata.get("finalizers", []) if each != finalizer]
    if left == metadata.get("finalizers", []):
        return stored
    if left:
        metadata["finalizers"] = left
    else:
        metadata.pop("finalizers", None)
    ends = not left and metadata.get("deletionTimestamp")
    if ends and (stored.kind is not POD or metadata.get("deletionGracePeriodSeconds") == 0):
        cluster.store.remove(stored.kind, stored.key)
        return None
    return put_changed(cluster, stored, metadata=metadata)
