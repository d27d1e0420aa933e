"""What of a pod's spec and status is about its place, beyond what the engine looks at."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Json = Mapping[str, Any]
SAID_AT_MOST = 300  # characters of what the scheduler says
_MUST = "requiredDuringSchedulingIgnoredDuringExecution"


def rules_of(spec: Json) -> tuple[str, ...]:
    """The rules between pods that must hold for a pod to be placed, by their name in its spec."""
    affinity = spec.get("affinity") or {}
    found = [
        kind for kind in ("podAffinity", "podAntiAffinity") if (affinity.get(kind) or {}).get(_MUST)
    ]
    spread = spec.get("topologySpreadConstraints") or ()
    if any(one.get("whenUnsatisfiable") != "ScheduleAnyway" for one in spread):
        found.append("topologySpreadConstraints")
    return tuple(found)


def refusal_of(status: Json) -> str:
    """Why the scheduler finds no node for a pod; empty while it does not say so."""
    for one in status.get("conditions") or ():
        if one.get("type") == "PodScheduled" and one.get("reason") == "Unschedulable":
            return str(one.get("message") or "")[:SAID_AT_MOST]
    return ""
