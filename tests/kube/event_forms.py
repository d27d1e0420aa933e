"""The two forms of an Event: that of the core group, which is stored, and that of events.k8s.io."""

from __future__ import annotations

from tests.kube.documents import Json
from tests.kube.kinds import EVENT, NEW_EVENT
from tests.kube.store import Stored

# Field of events.k8s.io to field of core/v1.
_NAMES = {
    "regarding": "involvedObject",
    "note": "message",
    "reportingController": "reportingComponent",
    "deprecatedSource": "source",
    "deprecatedFirstTimestamp": "firstTimestamp",
    "deprecatedLastTimestamp": "lastTimestamp",
    "deprecatedCount": "count",
}
_BACK = {core: new for new, core in _NAMES.items()}


def to_core(body: Json) -> Json:
    """An Event of events.k8s.io as it is stored."""
    made = {_NAMES.get(name, name): value for name, value in body.items()}
    made.update(kind=EVENT.name, apiVersion=EVENT.api_version)
    return made


def to_new(stored: Stored) -> Stored:
    """A stored Event as events.k8s.io shows it."""
    made = {_BACK.get(name, name): value for name, value in stored.body.items()}
    owners = stored.body["metadata"].get("managedFields")
    if owners:
        renamed = [{**each, "apiVersion": NEW_EVENT.api_version} for each in owners]
        made["metadata"] = {**stored.body["metadata"], "managedFields": renamed}
    return Stored(NEW_EVENT, stored.key, stored.version, made)
