"""A cluster on the emulated API server, reached by the real client, driven by hand.

`settle` lets the writes go out, the cluster's own loops run, and the mirror hear of it: it waits
for real threads with a deadline, and never for time to pass.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any

from kubernetes import client as kube

from bot.clusters.kubernetes.claims import NO_CLAIMS
from bot.clusters.kubernetes.cluster import KubernetesCluster
from bot.clusters.kubernetes.connection import Connection, Json, Unanswered
from bot.clusters.kubernetes.facts import node_of
from bot.clusters.kubernetes.leaderworkersets import set_of
from bot.clusters.kubernetes.templates import read_templates
from bot.clusters.kubernetes.watched import NODES
from bot.clusters.kubernetes.watching import Pace
from bot.shipped import TEMPLATES, shipped
from scheduler.layout import Layout
from scheduler.model import Seconds
from tests.bot.house import small_layout
from tests.kube.jobsets import JOB_SET
from tests.kube.kinds import JOB, NODE, POD, Kind
from tests.kube.leaderworkersets import LEADER_WORKER_SET
from tests.kube.samples import job, job_set
from tests.kube.samples import pod as gated_pod
from tests.kube.server import ApiServer

DEADLINE = 20.0
TEAM = "team"
JOB_SETS = f"/apis/jobset.x-k8s.io/v1alpha2/namespaces/{TEAM}/jobsets"


def wait_until(true: Callable[[], bool], what: str, seconds: float = DEADLINE) -> None:
    """Wait for another thread. Fails when it does not come in time."""
    end = time.monotonic() + seconds
    while not true():
        if time.monotonic() > end:
            raise AssertionError(f"waited in vain: {what}")
        time.sleep(0.002)


class Doom:
    """The bot dies at its `at`-th write (from 1): before it is sent, or before it is answered."""

    def __init__(self, at: int, *, sent: bool) -> None:
        self._at, self._sent = at, sent
        self._lock = threading.Lock()
        self.written = 0

    @property
    def dead(self) -> bool:
        return self.written >= self._at

    def meet(self, send: Callable[[], Json]) -> Json:
        """Let a write through, unless its time has come."""
        with self._lock:
            if self.dead:
                raise Unanswered("dead")
            self.written += 1
            if not self.dead:
                return send()
            if self._sent:
                send()
            raise Unanswered("died")


class MortalConnection(Connection):
    """A connection whose writes meet the doom, where there is one.

    `note` is told of each request before it is sent: the method, the path, the query, the body.
    """

    def __init__(
        self,
        open_client: Callable[[], kube.ApiClient],
        doom: Callable[[], Doom | None],
        note: Callable[..., None] = lambda *_: None,
    ) -> None:
        super().__init__(open_client, connect=2.0, read=2.0, silence=30.0)
        self._doom, self._note = doom, note

    def _ask(self, method: str, *args: Any) -> Json:
        self._note(method, *args)
        doom = self._doom()
        if doom is None or method == "GET":
            return super()._ask(method, *args)
        if str(args[0]).endswith("/events") and not doom.dead:  # nothing hangs on when they go out
            return super()._ask(method, *args)
        return doom.meet(lambda: super(MortalConnection, self)._ask(method, *args))


def _is_bound(method: str, path: str, _: object, body: Any = None, *__: object) -> bool:
    """Whether a write of what is there says, by its uid, which object it is about."""
    if method == "PATCH" and isinstance(body, list):
        return any(step["path"] == "/metadata/uid" for step in body)
    if method == "PATCH":
        return bool((body.get("metadata") or {}).get("uid"))
    if method == "POST" and not path.endswith("/eviction"):
        return True
    options = body.get("deleteOptions", {}) if method == "POST" else body
    return method == "GET" or bool((options or {}).get("preconditions", {}).get("uid"))


class World:
    """The emulator, a connection of each who asks, and the cluster under test."""

    pace: Pace | None = None
    bot = "world"
    claims = NO_CLAIMS

    def __init__(
        self, api: ApiServer, *, layout: Layout | None = None, patience: Seconds = 0.0
    ) -> None:
        self.api = api
        self.layout = layout or small_layout()
        self.patience = patience
        self.person = Connection(lambda: api.client("alice"))
        self.doom: Doom | None = None
        self.loose: list[str] = []  # what would have changed whatever had the name
        self.on_write: Callable[[str, str], None] = lambda *_: None
        self.cluster = self.open()

    def open(self) -> KubernetesCluster:
        """A cluster that knows nothing but what the API server tells it."""
        connection = MortalConnection(lambda: self.api.client("bot"), lambda: self.doom, self._note)
        self.cluster = KubernetesCluster(
            connection,
            self.layout,
            templates=read_templates(shipped(TEMPLATES)),
            patience=self.patience,
            pace=self.pace,
            bot=self.bot,
            claims=self.claims,
        )
        assert self.cluster.start(DEADLINE)
        return self.cluster

    def _note(self, method: str, path: str, *rest: Any) -> None:
        if not _is_bound(method, path, *rest):
            self.loose.append(f"{method} {path}")
        if method != "GET":
            self.on_write(method, path)

    def restart(self) -> None:
        """The bot dies: nothing more is written, nothing is remembered; the next one lives."""
        self.cluster.close()
        self.doom = None
        self.open()

    # ---- what people and the cluster do

    def create_job(self, name: str, *, pods: int = 1, gpus: int = 8, **more: object) -> str:
        """A suspended indexed Job of team nlp, as a person writes it; its uid."""
        body = job(name, pods=pods, gpus=gpus)
        body["metadata"]["labels"] = {"gpubot.dev/team": "nlp", **_marks(more.pop("labels", {}))}
        body["metadata"]["annotations"] = _marks(more.pop("annotations", {}))
        body["spec"] |= more
        made = self.person.post(f"/apis/batch/v1/namespaces/{TEAM}/jobs", body)
        return str(made["metadata"]["uid"])

    def create_job_set(self, name: str, *parts: Json, **more: object) -> str:
        """A suspended JobSet of team nlp, as a person writes it; its uid."""
        body = job_set(name, *parts)
        body["metadata"]["labels"] = {"gpubot.dev/team": "nlp", **_marks(more.pop("labels", {}))}
        if annotations := _marks(more.pop("annotations", {})):
            body["metadata"]["annotations"] = annotations
        body["spec"] |= more
        made = self.person.post(JOB_SETS, body)
        return str(made["metadata"]["uid"])

    def delete_job_set(self, name: str) -> None:
        self.person.delete(f"{JOB_SETS}/{name}", {"propagationPolicy": "Background"})

    def job_set(self, name: str) -> Json:
        found = self.api.cluster.get(JOB_SET, TEAM, name)
        assert found is not None, name
        return dict(found.body)

    def create_pod(self, name: str, gpus: int, **labels: str) -> None:
        """A pod as a person writes it; its gate is put there by the admission policy."""
        body = gated_pod(name, gpus=gpus)
        body["metadata"]["labels"] = _marks({k.replace("_", "-"): v for k, v in labels.items()})
        self.person.post(f"/api/v1/namespaces/{TEAM}/pods", body)

    def delete_job(self, name: str) -> None:
        path = f"/apis/batch/v1/namespaces/{TEAM}/jobs/{name}"
        self.person.delete(path, {"propagationPolicy": "Background"})

    def key(self, name: str) -> tuple[Kind, str, str]:
        return JOB, TEAM, name

    def job(self, name: str) -> Json:
        found = self.api.cluster.get(*self.key(name))
        assert found is not None, name
        return dict(found.body)

    def pods(self) -> list[Json]:
        with self.api.cluster.store.lock:
            return [dict(one.body) for one in self.api.cluster.store.all(POD)]

    def bound(self) -> dict[str, str]:
        """The node of each pod that has one, by the pod's name less its random end."""
        return {
            pod["metadata"]["name"].rpartition("-")[0]: pod["spec"]["nodeName"]
            for pod in self.pods()
            if pod["spec"].get("nodeName")
        }

    def let_pods_run(self) -> None:
        self.api.kubelet.start_all()

    def finish_pods(self, *, exit_code: int = 0) -> None:
        for pod in self.pods():
            if pod["status"].get("phase") == "Running":
                where = f"{pod['metadata']['namespace']}/{pod['metadata']['name']}"
                self.api.kubelet.finish(where, exit_code=exit_code)

    # ---- time

    def settle(self) -> None:
        """Let everything happen that can happen without time, and be heard of."""
        for _ in range(10):
            wait_until(self._written, "the writes to go out")
            written = self.api.controllers.settle()
            self.api.kubelet.confirm_all()
            written += self.api.controllers.settle()
            self.hear()
            if not written and self.cluster.writer.wait(0.0):
                return

    def _written(self) -> bool:
        return self.cluster.writer.wait(0.0) or (self.doom is not None and self.doom.dead)

    def hear(self) -> None:
        """Wait until the mirror is as the API server is.

        Nodes have no version in the mirror: one that went and came back looks the same before
        either was heard of. So their watch must have come as far as their last change.
        """
        mirror = self.cluster.mirror
        store = self.api.cluster.store
        (nodes_watch,) = (one for one in self.cluster.watchers if one.path == NODES)

        def same() -> bool:
            with store.lock, mirror.lock:
                pods = {p.body["metadata"]["uid"]: _version(p.body) for p in store.all(POD)}
                jobs, sets = (
                    {
                        j.body["metadata"]["uid"]: _version(j.body)
                        for j in store.all(kind)
                        if "gpubot.dev/team" in (j.body["metadata"].get("labels") or {})
                    }
                    for kind in (JOB, JOB_SET)
                )
                found = [set_of(dict(one.body)) for one in store.all(LEADER_WORKER_SET)]
                replicated = {one.key: one for one in found}
                nodes = {n.body["metadata"]["name"]: node_of(dict(n.body)) for n in store.all(NODE)}
                return (
                    int(nodes_watch.version or 0) >= store.changed(NODE)
                    and pods == {p.uid: p.version for p in mirror.pods.items.values()}
                    and jobs == {j.uid: j.version for j in mirror.jobs.items.values()}
                    and sets == {j.uid: j.version for j in mirror.job_sets.items.values()}
                    and nodes == mirror.nodes.items
                    and replicated == mirror.sets.items
                )

        wait_until(same, "the mirror to be as the cluster is")

    def close(self) -> None:
        """Nothing that the bot wrote could have met another object than it was about."""
        self.cluster.close()
        assert not self.loose


def _version(body: Json) -> str:
    return str(body["metadata"]["resourceVersion"])


def _marks(given: object) -> dict[str, str]:
    assert isinstance(given, dict)
    return {f"gpubot.dev/{name}": str(text) for name, text in given.items()}
