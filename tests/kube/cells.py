"""The cells of `kubectl get`, each from an object and the time, as the server writes them."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta

from tests.kube.clock import from_wire
from tests.kube.documents import Json, condition_of, dig, labels_of

Cell = Callable[[Json, datetime], object]
NONE = "<none>"
_ROLE = "node-role.kubernetes.io/"
_MODES = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}


def duration_text(span: timedelta) -> str:
    """'45s', '5m3s', '2h10m', '3d4h': two units where the first is small."""
    seconds = int(span.total_seconds())
    if seconds < 120:
        return f"{max(seconds, 0)}s"
    minutes, hours = seconds // 60, seconds // 3600
    if minutes < 10:
        return f"{minutes}m" + (f"{seconds % 60}s" if seconds % 60 else "")
    if hours < 3:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h" + (f"{minutes % 60}m" if minutes % 60 else "")
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{hours // 24}d" + (f"{hours % 24}h" if hours % 24 else "")
    return f"{hours // 24}d"


def since(now: datetime, *times: str | None) -> str:
    """How long ago the first of some times is that there is."""
    begun = next((each for each in times if each), None)
    return duration_text(now - from_wire(begun)) if begun else "<unknown>"


def age(body: Json, now: datetime) -> object:
    return since(now, dig(body, "metadata.creationTimestamp"))


def at(path: str, default: object = NONE) -> Cell:
    """The value at a path, as it stands."""
    return lambda body, _now: dig(body, path, default)


def number_of(path: str) -> Cell:
    """How many entries a list or map has."""
    return lambda body, _now: len(dig(body, path, ()))


def ratio(have: str, want: str) -> Cell:
    """Two numbers as 'have/want'."""
    return lambda body, _now: f"{dig(body, have, 0)}/{dig(body, want, 0)}"


def listed(marks: dict[str, str] | None) -> str:
    return ",".join(f"{name}={value}" for name, value in sorted((marks or {}).items())) or NONE


def selector(path: str) -> Cell:
    """The labels that a selector names."""
    return lambda body, _now: listed(dig(body, path))


def of_containers(part: str) -> Cell:
    """A field of each container of the template."""

    def cell(body: Json, now: datetime) -> object:
        del now
        found: Iterable[Json] = dig(body, "spec.template.spec.containers", ())
        return ",".join(str(each.get(part, "")) for each in found)

    return cell


def containers_ready(body: Json, now: datetime) -> object:
    del now
    states: list[Json] = dig(body, "status.containerStatuses", [])
    return f"{sum(each['ready'] for each in states)}/{len(body['spec']['containers'])}"


def pod_state(body: Json, now: datetime) -> object:
    """Phase, or what says more: a gate, how a container ended, that the pod is being deleted."""
    del now
    state: str = dig(body, "status.reason") or dig(body, "status.phase", "Unknown")
    if (condition_of(body, "PodScheduled") or {}).get("reason") == "SchedulingGated":
        state = "SchedulingGated"
    for each in reversed(dig(body, "status.containerStatuses", [])):
        ended = dig(each, "state.terminated") or dig(each, "state.waiting") or {}
        state = ended.get("reason") or state
    if "deletionTimestamp" in body["metadata"]:
        return "Unknown" if dig(body, "status.reason") == "NodeLost" else "Terminating"
    return state


def restarts(body: Json, now: datetime) -> object:
    del now
    states: Iterable[Json] = dig(body, "status.containerStatuses", ())
    return str(sum(each.get("restartCount", 0) for each in states))


def readiness_gates(body: Json, now: datetime) -> object:
    del now
    gates: list[Json] = dig(body, "spec.readinessGates", [])
    kept = [(condition_of(body, each["conditionType"]) or {}).get("status") for each in gates]
    return f"{kept.count('True')}/{len(gates)}" if gates else NONE


def node_state(body: Json, now: datetime) -> object:
    del now
    ready = (condition_of(body, "Ready") or {}).get("status")
    state = {"True": "Ready", None: "Unknown"}.get(ready, "NotReady")
    return state + (",SchedulingDisabled" if dig(body, "spec.unschedulable") else "")


def node_roles(body: Json, now: datetime) -> object:
    del now
    roles = sorted(n.removeprefix(_ROLE) for n in labels_of(body) if n.startswith(_ROLE))
    return ",".join(roles) or NONE


def job_state(body: Json, now: datetime) -> object:
    del now

    def holds(kind: str) -> bool:
        return (condition_of(body, kind) or {}).get("status") == "True"

    for kind in ("Complete", "Failed"):
        if holds(kind):
            return kind
    if "deletionTimestamp" in body["metadata"]:
        return "Terminating"
    later = ("Suspended", "FailureTarget", "SuccessCriteriaMet")
    return next((kind for kind in later if holds(kind)), "Running")


def job_completions(body: Json, now: datetime) -> object:
    del now
    wanted, width = dig(body, "spec.completions"), dig(body, "spec.parallelism", 0)
    done = dig(body, "status.succeeded", 0)
    if wanted is not None:
        return f"{done}/{wanted}"
    return f"{done}/1 of {width}" if width > 1 else f"{done}/1"


def job_duration(body: Json, now: datetime) -> object:
    begun, ended = dig(body, "status.startTime"), dig(body, "status.completionTime")
    if begun is None:
        return ""
    return duration_text((from_wire(ended) if ended else now) - from_wire(begun))


def event_seen(body: Json, now: datetime) -> object:
    times = ("series.lastObservedTime", "lastTimestamp", "firstTimestamp", "eventTime")
    return since(now, *(dig(body, each) for each in times))


def event_first(body: Json, now: datetime) -> object:
    return since(now, dig(body, "firstTimestamp"), dig(body, "eventTime"))


def event_object(body: Json, now: datetime) -> object:
    del now
    about = body["involvedObject"]
    return f"{about.get('kind', '').lower()}/{about.get('name', '')}"


def event_source(body: Json, now: datetime) -> object:
    del now
    source = body.get("source") or {}
    named = source.get("component") or body.get("reportingComponent", "")
    host = source.get("host")
    return f"{named}, {host}" if host else named


def event_count(body: Json, now: datetime) -> object:
    del now
    return dig(body, "series.count") or body.get("count") or 1


def event_message(body: Json, now: datetime) -> object:
    del now
    return str(body.get("message", "")).strip()


def service_ports(body: Json, now: datetime) -> object:
    del now
    ports: Iterable[Json] = dig(body, "spec.ports", ())
    return ",".join(f"{each['port']}/{each.get('protocol', 'TCP')}" for each in ports) or NONE


def claim_modes(body: Json, now: datetime) -> object:
    del now
    modes: Iterable[str] = dig(body, "status.accessModes", ())
    return ",".join(_MODES.get(each, each) for each in modes)


def budget_limit(name: str) -> Cell:
    return lambda body, _now: str(dig(body, f"spec.{name}", "N/A"))


def role_of(body: Json, now: datetime) -> object:
    del now
    return f"{body['roleRef']['kind']}/{body['roleRef']['name']}"


def parameters(path: str) -> Cell:
    """What a policy or its binding takes as a parameter."""

    def cell(body: Json, now: datetime) -> object:
        del now
        found = dig(body, path)
        if found is None:
            return "<unset>"
        where = found.get("apiVersion") or found.get("namespace", "*")
        return f"{where}/{found.get('kind') or found.get('name')}"

    return cell
