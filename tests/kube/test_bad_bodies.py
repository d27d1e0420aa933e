"""Whatever a body is, the server answers, and the cluster's loops come to rest."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kube.dispatch import Answer, Call, serve
from tests.kube.documents import Json, copy_of
from tests.kube.samples import job, pod, pod_spec
from tests.kube.server import ApiServer

_APPS: Json = {
    "metadata": {"name": "w"},
    "spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"a": "b"}},
        "template": {"metadata": {"labels": {"a": "b"}}, "spec": pod_spec(1)},
    },
}
_NODE: Json = {
    "metadata": {"name": "x"},
    "spec": {"taints": [{"key": "a", "effect": "NoSchedule"}]},
    "status": {
        "allocatable": {"nvidia.com/gpu": "8"},
        "conditions": [{"type": "Ready", "status": "True"}],
    },
}
_BODIES: dict[str, Json] = {
    "/apis/batch/v1/namespaces/team/jobs": job("j", team="vision"),
    "/api/v1/namespaces/team/pods": pod("p", team="vision"),
    "/apis/apps/v1/namespaces/team/deployments": _APPS,
    "/apis/apps/v1/namespaces/team/statefulsets": _APPS,
    "/api/v1/nodes": _NODE,
    "/apis/coordination.k8s.io/v1/namespaces/team/leases": {
        "metadata": {"name": "l"},
        "spec": {"holderIdentity": "a", "leaseDurationSeconds": 15},
    },
    "/apis/policy/v1/namespaces/team/poddisruptionbudgets": {
        "metadata": {"name": "b"},
        "spec": {"minAvailable": 1, "selector": {"matchLabels": {"a": "b"}}},
    },
}
_PATCHES = ("merge-patch+json", "strategic-merge-patch+json", "apply-patch+yaml")
_CHANGES: dict[str, Any] = {"null": None, "text": "zzz", "number": -3, "list": [], "map": {}}


def _places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, below in items:
        yield (*path, key)
        yield from _places(below, (*path, key))


def _spoilt(body: Json, spoils: list[tuple[int, str]]) -> Json:
    """The body with some of its parts taken away or turned into something else."""
    body = copy_of(body)
    for number, what in spoils:
        places = list(_places(body))
        if not places:
            return body
        *way, last = places[number % len(places)]
        holder: Any = body
        for step in way:
            holder = holder[step]
        if what == "gone":
            del holder[last]
        else:
            holder[last] = copy_of(_CHANGES[what])
    return body


def _send(api: ApiServer, method: str, path: str, kind: str, body: Json) -> int:
    headers = {"authorization": "Bearer admin-token", "content-type": f"application/{kind}"}
    query = {"fieldManager": "m", "force": "true"} if "apply" in kind else {}
    answer = serve(api.cluster, Call(method, path, query, headers, json.dumps(body).encode()))
    assert isinstance(answer, Answer)
    return answer.code


_spoils = st.lists(
    st.tuples(st.integers(0, 200), st.sampled_from(["gone", *_CHANGES])), min_size=1, max_size=3
)


@settings(max_examples=80)
@given(
    path=st.sampled_from(sorted(_BODIES)),
    way=st.sampled_from(["POST", "PUT", *_PATCHES]),
    spoils=_spoils,
)
def test_any_body_is_answered(path: str, way: str, spoils: list[tuple[int, str]]) -> None:
    api = ApiServer()
    api.add_namespace("team")
    api.add_nodes(2)
    body = _BODIES[path]
    spoilt = _spoilt(body, spoils)
    if way == "POST":
        code = _send(api, "POST", path, "json", spoilt)
    else:
        assert _send(api, "POST", path, "json", body) == 201
        item = f"{path}/{body['metadata']['name']}"
        kind = way if way in _PATCHES else "json"
        code = _send(api, "PUT" if way == "PUT" else "PATCH", item, kind, spoilt)
    assert code in {200, 201, 400, 404, 409, 415, 422} or (code == 500 and "apply" in way)
    api.controllers.settle()
