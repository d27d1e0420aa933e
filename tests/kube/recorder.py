"""Events that the emulated controllers write, as they appear in `kubectl get events`."""

from __future__ import annotations

from tests.kube.cluster import Cluster
from tests.kube.documents import Json
from tests.kube.kinds import EVENT
from tests.kube.store import Stored

_ACTIONS = {
    "Scheduled": "Binding",
    "FailedScheduling": "Scheduling",
    "Preempted": "Preempting",
}


def record(
    cluster: Cluster, about: Stored, reason: str, message: str, *, by: str, warning: bool = False
) -> None:
    """Write one event about an object."""
    now = cluster.now()
    form: Json = {
        "source": {"component": by},
        "firstTimestamp": now,
        "lastTimestamp": now,
        "count": 1,
        "eventTime": None,
        "reportingComponent": by,
        "reportingInstance": "",
    }
    _write(cluster, about, reason, message, form, warning=warning)


def record_scheduling(cluster: Cluster, about: Stored, reason: str, message: str) -> None:
    """An event of the scheduler, in the newer form: no source and no count, but an action."""
    form: Json = {
        "source": {},
        "firstTimestamp": None,
        "lastTimestamp": None,
        "eventTime": cluster.micro(),
        "reportingComponent": "default-scheduler",
        "reportingInstance": "default-scheduler-host",
        "action": _ACTIONS[reason],
    }
    _write(cluster, about, reason, message, form, warning=reason == "FailedScheduling")


def _write(
    cluster: Cluster, about: Stored, reason: str, message: str, form: Json, *, warning: bool
) -> None:
    namespace, name = about.key
    same = (about.body["metadata"]["uid"], reason, message)
    written = cluster.events.get(same)
    if written is not None and "count" in form and (old := cluster.store.get(EVENT, written)):
        cluster.store.put(EVENT, written, _counted(old.body, str(form["lastTimestamp"])))
        return
    cluster.event_numbers += 1
    key = (namespace or "default", f"{name}.{cluster.event_numbers:016x}")
    involved: Json = {
        "kind": about.kind.name,
        "name": name,
        "uid": about.body["metadata"]["uid"],
        "apiVersion": about.kind.api_version,
        "resourceVersion": str(about.version),
    }
    if namespace:
        involved["namespace"] = namespace
    body: Json = {
        "metadata": {
            "name": key[1],
            "namespace": key[0],
            "uid": cluster.new_uid(),
            "creationTimestamp": cluster.now(),
        },
        "involvedObject": involved,
        "reason": reason,
        "message": message,
        "type": "Warning" if warning else "Normal",
        **form,
    }
    cluster.store.put(EVENT, key, body)
    cluster.events[same] = key


def _counted(body: Json, now: str) -> Json:
    """The same event once more."""
    metadata = dict(body["metadata"])
    return {**body, "metadata": metadata, "count": body["count"] + 1, "lastTimestamp": now}
