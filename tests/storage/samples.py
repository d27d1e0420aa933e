"""Records to fill a store with."""

from __future__ import annotations

import datetime as dt
from typing import Any

from scheduler.model import (
    GPU,
    Admission,
    FlavorName,
    NodeName,
    PodSet,
    PodSetAssignment,
    QueueName,
    TeamName,
    Workload,
    WorkloadId,
)
from storage.records import Audience, Notice, Request, Source
from storage.states import RequestState

AT = dt.datetime(2026, 3, 1, 12, 0, 0, 123456, tzinfo=dt.UTC)


def later(seconds: float) -> dt.datetime:
    return AT + dt.timedelta(seconds=seconds)


def workload(
    request_id: str, *, team: str = "nlp", owner: str = "U1", queue: str = "nlp-jobs"
) -> Workload:
    return Workload(
        id=WorkloadId(request_id),
        team=TeamName(team),
        owner=owner,
        queue=QueueName(queue),
        created=AT.timestamp(),
        pod_sets=(PodSet(count=2, requests={GPU: 8}),),
    )


def request(request_id: str, *, created: dt.datetime = AT, **changes: Any) -> Request:
    """A waiting request; `team`, `owner` and `queue` go into its workload."""
    parts = {name: changes.pop(name) for name in ("team", "owner", "queue") if name in changes}
    values: dict[str, Any] = {
        "id": request_id,
        "workload": workload(request_id, **parts),
        "state": RequestState.WAITING,
        "source": Source.CHAT,
        "text": "16 h100 8h",
        "created": created,
        "changed": created,
    }
    return Request(**(values | changes))


def admission(request_id: str) -> Admission:
    return Admission(
        workload=WorkloadId(request_id),
        queue=QueueName("nlp-jobs"),
        at=later(60).timestamp(),
        assignments=(
            PodSetAssignment(
                name="main",
                count=2,
                flavors={GPU: FlavorName("h100-reserved")},
                nodes=((NodeName("node-1"), 1), (NodeName("node-2"), 1)),
            ),
        ),
    )


def notice(key: str, audience: Audience = Audience.THREAD, **changes: Any) -> Notice:
    values: dict[str, Any] = {"kind": "admitted", "request": None}
    return Notice(key=key, audience=audience, **(values | changes))
