"""What goes wrong on purpose, as the official client feels it."""

from __future__ import annotations

import threading
from typing import Any, cast

import pytest
import urllib3
from kubernetes import client as kube
from kubernetes import watch

from tests.fixtures_workspace import eventually
from tests.kube.samples import job, pod
from tests.kube.server import ApiServer


def _core(api: ApiServer, who: str = "bot") -> Any:
    return kube.CoreV1Api(api.client(who))


def test_server_that_is_down_refuses_and_comes_back(api_server: ApiServer) -> None:
    core = _core(api_server)
    core.list_node()
    api_server.down()
    with pytest.raises(urllib3.exceptions.MaxRetryError):
        core.list_node()
    api_server.up()
    assert len(core.list_node().items) == 4


def test_shed_load_is_plain_text_with_retry_after(api_server: ApiServer) -> None:
    api_server.faults.shed("GET", path="/nodes", times=2, after=7)
    for _ in range(2):
        with pytest.raises(kube.ApiException) as refused:
            _core(api_server).list_node()
        assert refused.value.status == 429
        headers: Any = refused.value.headers
        assert headers["Retry-After"] == "7"
        assert refused.value.body == "Too many requests, please try again later.\n"
    assert len(_core(api_server).list_node().items) == 4


@pytest.mark.parametrize("path", ["/nodes$", "/nodes.*limit=3$"])
def test_a_fault_is_found_by_the_end_of_the_path_or_of_the_query(
    api_server: ApiServer, path: str
) -> None:
    fault = api_server.faults.fail(503, "GET", path=path)
    with pytest.raises(kube.ApiException):
        _core(api_server).list_node(limit=3)
    assert fault.taken == 1


def test_server_error_does_nothing(api_server: ApiServer) -> None:
    api_server.faults.fail(503, "POST")
    with pytest.raises(kube.ApiException) as refused:
        _core(api_server).create_namespaced_pod("team", pod("p"))
    assert refused.value.status == 503
    assert _core(api_server).list_namespaced_pod("team").items == []


def test_lost_answer_leaves_the_write_done(api_server: ApiServer) -> None:
    api_server.faults.lose_answer("POST")
    with pytest.raises(urllib3.exceptions.ProtocolError):
        _core(api_server).create_namespaced_pod("team", pod("p"))
    assert len(_core(api_server).list_namespaced_pod("team").items) == 1


def test_cut_connection_leaves_the_write_undone(api_server: ApiServer) -> None:
    api_server.faults.cut("POST")
    with pytest.raises(urllib3.exceptions.ProtocolError):
        _core(api_server).create_namespaced_pod("team", pod("p"))
    assert _core(api_server).list_namespaced_pod("team").items == []


def test_half_open_connection_runs_into_the_clients_own_timeout(api_server: ApiServer) -> None:
    api_server.faults.hang("GET", path="/nodes")
    with pytest.raises(urllib3.exceptions.MaxRetryError):
        _core(api_server).list_node(_request_timeout=0.2)
    assert len(_core(api_server).list_node().items) == 4


def test_expired_token_is_401_until_it_is_renewed(api_server: ApiServer) -> None:
    api_server.expire_token("bot")
    with pytest.raises(kube.ApiException) as refused:
        _core(api_server).list_node()
    assert refused.value.status == 401
    api_server.renew_token("bot")
    assert len(_core(api_server).list_node().items) == 4


def test_conflict_on_the_next_write_comes_once(api_server: ApiServer) -> None:
    core = _core(api_server)
    core.create_namespaced_pod("team", pod("p"))
    api_server.faults.conflict_next()
    body = {"metadata": {"labels": {"a": "b"}}}
    with pytest.raises(kube.ApiException) as refused:
        core.patch_namespaced_pod("p", "team", body)
    assert refused.value.status == 409
    assert core.patch_namespaced_pod("p", "team", body).metadata.labels == {"a": "b"}


def test_somebody_else_acts_just_before_a_write(api_server: ApiServer) -> None:
    batch: Any = kube.BatchV1Api(api_server.client("bot"))
    person: Any = kube.BatchV1Api(api_server.client("alice"))
    made = batch.create_namespaced_job("team", job("train"))

    def relabel() -> None:
        person.patch_namespaced_job("train", "team", {"metadata": {"labels": {"a": "b"}}})

    api_server.faults.before(relabel, "PATCH", path="/jobs/train")
    version = made.metadata.resource_version
    body = {"metadata": {"resourceVersion": version}, "spec": {"suspend": False}}
    with pytest.raises(kube.ApiException) as refused:
        batch.patch_namespaced_job("train", "team", body)
    assert refused.value.status == 409


class _Follower:
    """A thread that watches pods and keeps what it saw, and how it ended."""

    def __init__(self, api: ApiServer, version: str) -> None:
        self.seen: list[tuple[str, Any]] = []
        self.error: BaseException | None = None
        self._core = _core(api)
        self._version = version
        self.thread = threading.Thread(target=self._follow)
        self.thread.start()
        eventually(lambda: api.open_watches == 1 or not self.thread.is_alive())

    def _follow(self) -> None:
        stream = cast("Any", watch).Watch()
        call = self._core.list_namespaced_pod
        try:
            for event in stream.stream(
                call, "team", resource_version=self._version, timeout_seconds=600
            ):
                self.seen.append((event["type"], event["object"]))
        except (kube.ApiException, urllib3.exceptions.HTTPError) as error:
            self.error = error

    def end(self) -> None:
        self.thread.join(timeout=10)
        assert not self.thread.is_alive()


def test_watch_behind_a_gap_gets_410(api_server: ApiServer) -> None:
    core = _core(api_server)
    version = core.list_namespaced_pod("team").metadata.resource_version
    api_server.compact()
    stream = cast("Any", watch).Watch()
    with pytest.raises(kube.ApiException) as refused:
        list(stream.stream(core.list_namespaced_pod, "team", resource_version=version))
    assert refused.value.status == 410


def test_open_watch_falls_into_a_gap(api_server: ApiServer) -> None:
    version = _core(api_server).list_namespaced_pod("team").metadata.resource_version
    follower = _Follower(api_server, version)
    api_server.compact()
    follower.end()
    assert isinstance(follower.error, kube.ApiException)
    assert follower.error.status == 410


def test_broken_watch_is_an_error_of_the_connection(api_server: ApiServer) -> None:
    version = _core(api_server).list_namespaced_pod("team").metadata.resource_version
    follower = _Follower(api_server, version)
    api_server.drop_watches(broken=True)
    follower.end()
    assert isinstance(follower.error, urllib3.exceptions.HTTPError)
    assert eventually(lambda: api_server.open_watches == 0)
