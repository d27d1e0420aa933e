"""What is said of the kinds that there are, beside what a real server said of them."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.kube.cluster import Cluster
from tests.kube.dispatch import Answer, Call, serve
from tests.kube.documents import Json
from tests.kube.recording import load
from tests.kube.samples import pod
from tests.kube.server import ApiServer
from tests.kube.watching import Watch, look

AUTHORIZED = {"authorization": "Bearer admin-token"}
TABLE = {**AUTHORIZED, "accept": "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"}


def ask(cluster: Cluster, path: str, headers: dict[str, str]) -> Json:
    answer = serve(cluster, Call("GET", path, {}, {**AUTHORIZED, **headers}))
    assert isinstance(answer, Answer)
    found: Json = json.loads(answer.body)
    return found


def recorded(number: int) -> tuple[str, dict[str, str], Any]:
    """Path, headers and answer of a step about discovery."""
    step = load("auth-02-discovery-and-health").steps[number]
    headers = {name.lower(): text for name, text in (step.request.get("headers") or {}).items()}
    return step.request["path"], headers, step.body


@pytest.mark.parametrize(("number", "count"), [(9, 2), (10, 13)])
def test_each_resource_is_described_as_recorded(number: int, count: int) -> None:
    path, headers, expected = recorded(number)
    found = ask(ApiServer().cluster, path, headers)
    there = {each["name"]: each for each in found["resources"]}
    known = [each for each in expected["resources"] if each["name"] in there]
    assert len(known) == count
    assert [there[each["name"]] for each in known] == known


def test_all_in_one_document_is_described_as_recorded() -> None:
    path, headers, expected = recorded(11)
    found = ask(ApiServer().cluster, path, headers)
    assert found["kind"] == "APIGroupDiscoveryList"
    groups = {each["metadata"]["name"]: each for each in found["items"]}
    for group in expected["items"]:
        (version,) = group["versions"]
        version["resources"] = [r for r in version["resources"] if r["resource"] != "cronjobs"]
        assert groups[group["metadata"]["name"]] == group


def test_the_core_group_has_a_document_of_its_own() -> None:
    _, headers, _ = recorded(11)
    (core,) = ask(ApiServer().cluster, "/api", headers)["items"]
    names = [each["resource"] for each in core["versions"][0]["resources"]]
    assert core["metadata"] == {}
    assert {"pods", "namespaces", "persistentvolumeclaims"} <= set(names)


def test_a_table_that_is_watched_tells_its_columns_once() -> None:
    api = ApiServer()
    path = "/api/v1/namespaces/default/pods"
    watch = serve(api.cluster, Call("GET", path, {"watch": "true"}, TABLE))
    assert isinstance(watch, Watch)
    for name in ("a", "b"):
        body = json.dumps(pod(name)).encode()
        headers = {**AUTHORIZED, "content-type": "application/json"}
        serve(api.cluster, Call("POST", path, {}, headers, body))
    lines, _ = look(api.cluster, watch)
    tables = [json.loads(line)["object"] for line in lines]
    assert [each["rows"][0]["cells"][:3] for each in tables] == [
        [name, "0/1", "SchedulingGated"] for name in ("a", "b")
    ]
    assert [len(each["columnDefinitions"]) for each in tables] == [9, 0]
