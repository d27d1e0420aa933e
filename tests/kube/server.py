"""An emulated Kubernetes API server for the real `kubernetes` client, over loopback HTTP.

In a test, ask for the fixture `api_server` (tests/kube/fixtures.py; re-export it from a conftest:
`from tests.kube.fixtures import api_server`). Elsewhere, a benchmark for example:

    with ApiServer(wall_clock=True) as api:
        api.add_nodes(1_250, gpus=8)
        jobs = kubernetes.client.BatchV1Api(api.client("bot"))

`tests.kubectl.Kubectl(api, folder)` is the real kubectl before it, for which there are discovery,
OpenAPI and tables. For what the bot alone costs, `tests.kube.standalone.running(...)` gives a
process of its own whose cluster runs by itself.

What there is:

- `api.url`; `api.client(who)` and `api.configuration(who)` for `who` in admin, alice (may edit),
  bot (what it might do in the recordings), viewer (nothing), kubelet. Tokens are '<who>-token'.
- `api.add_namespace(name, **labels)`, `api.add_node(name, gpus=8, labels=...)`,
  `api.add_nodes(count)`: straight into the store, as they stand some moments after creation.
  `api.change_node(name, ready=, gpus=, labels=, taints=)`.
  `api.add_running_pods(count, namespace=...)` for load. 'default' and 'gpubot-system' exist.
- `api.advance(seconds)` moves the clock: watches time out, bookmarks come. Nothing else happens by
  itself; with `wall_clock=True` time runs as usual.
- `api.controllers`: `.jobs()`, `.workloads()` (Deployments, ReplicaSets, StatefulSets),
  `.job_sets()`, `.leader_worker_sets()`, `.garbage()`, `.nodes()`, `.budgets()`, `.schedule()`;
  each makes one pass and gives back how many objects it wrote. `.settle()` repeats all until
  nothing changes.
- `api.kubelet`: `.start(pod)`, `.finish(pod, exit_code=0)`, `.confirm(pod)` (containers have
  stopped: a terminating pod goes), each by 'namespace/name'; `.start_all()`, `.confirm_all()`;
  `.silence(node)`, `.recover(node)` (`api.cluster.node_grace` is 50 s); `.vanish(node)` (the
  machine is no more, and its pods with it).
- `api.serve_job_sets()`: JobSet v1alpha2 is installed, until `.withdraw_job_sets()`;
  `api.serve_leader_worker_sets()`; other custom kinds by posting their definition and `settle`.
- `api.grant_shipped_rights()`: the bot has the rights of deploy/kubernetes and no more.
- `api.policies.install_shipped()`: the admission policies of deploy/kubernetes, evaluated, in
  namespaces made with `api.add_namespace(name, **{"gpubot.dev/managed": "true"})`;
  `.install(path)` for others, or post them through the client.
- `api.faults`: `.slow`, `.shed` (429), `.fail(500)`, `.hang` (half-open), `.lose_answer`, `.cut`,
  `.conflict_next`, `.before(action)`; each takes methods, `path=` (a regular expression,
  of path and query) and `times=`. `api.down()` and `api.up()`;
  `api.drop_watches(broken=True)`; `api.mute_watches()` (open but silent);
  `api.app.skew` (the server's clock is ahead); `api.compact()` (the versions watched so far are
  expired: 410); `api.expire_token(who)`, `api.renew_token(who)`.
- `api.requests`: every answered request, in order; `api.open_watches`.
- `api.cluster.get(kind, namespace, name).body`: look without HTTP; bodies are not to be changed.
"""

from __future__ import annotations

import asyncio
import socket
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar, cast

import uvicorn
from kubernetes import client as kube

from tests.kube.app import App, Seen
from tests.kube.clock import VirtualClock, WallClock
from tests.kube.cluster import Cluster
from tests.kube.controllers import Controllers
from tests.kube.defaults import fill
from tests.kube.discovery import VERSION
from tests.kube.documents import Json, condition_of, copy_of, set_condition
from tests.kube.faults import Faults
from tests.kube.jobsets import JOB_SET, guard_job_sets, keep_in_domain
from tests.kube.kinds import NODE, POD
from tests.kube.kubelet import Kubelet, running_pod
from tests.kube.leaderworkersets import LEADER_WORKER_SET, label_pods
from tests.kube.policies import Policies, mutate, validate
from tests.kube.rights import JOB_SET_EDIT, LEADER_WORKER_SET_EDIT, Person, shipped

HOST = "127.0.0.1"
T = TypeVar("T")


class _Server(uvicorn.Server):
    """Says when it is ready; a thread waits for that."""

    def __init__(self, config: uvicorn.Config, app: App) -> None:
        super().__init__(config)
        self.ready = threading.Event()
        self.loop: asyncio.AbstractEventLoop | None = None
        self._app = app

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        self.loop = asyncio.get_running_loop()
        self._app.attach(self.loop, self.abort)
        await super().startup(sockets=sockets)
        self.ready.set()

    def abort(self, client: tuple[str, int]) -> None:
        """Cut the connection of one client."""
        for connection in tuple(self.server_state.connections):
            if cast("Any", connection).client == client:
                cast("Any", connection).transport.abort()

    def abort_all(self) -> None:
        for connection in tuple(self.server_state.connections):
            cast("Any", connection).transport.abort()


def _listener(port: int) -> socket.socket:
    # With the protocol named, or asyncio leaves Nagle's algorithm on: 40 ms for each answer.
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    listener.bind((HOST, port))
    return listener


class ApiServer:
    """One emulated cluster that serves from `start()` to `stop()`."""

    def __init__(self, *, wall_clock: bool = False) -> None:
        self.clock: VirtualClock = WallClock() if wall_clock else VirtualClock()
        self.cluster = Cluster(clock=self.clock)
        self.faults = Faults()
        self.app = App(self.cluster, self.faults)
        self.controllers = Controllers(self.cluster)
        self.kubelet = Kubelet(self.cluster)
        self.policies = Policies(self.cluster)
        self.cluster.mutators.append(mutate)
        self.cluster.validators.append(validate)
        self.port = 0
        self._server: _Server | None = None
        self._thread: threading.Thread | None = None
        self._expired: dict[str, Person] = {}
        for name in ("default", "gpubot-system", "kube-system"):
            self.cluster.add_namespace(name)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.port}"

    @property
    def requests(self) -> list[Seen]:
        return self.app.requests

    @property
    def open_watches(self) -> int:
        return self.app.hub.open if self.app.hub is not None else 0

    def start(self) -> ApiServer:
        """Listen and serve in a thread.

        Raises:
            RuntimeError: it did not come up.

        """
        listener = _listener(self.port)
        self.port = listener.getsockname()[1]
        config = uvicorn.Config(
            self.app,
            log_level="error",
            access_log=False,
            log_config=None,
            lifespan="off",
            date_header=False,  # the app sends the cluster's own time
            ws="none",
            timeout_keep_alive=600,
            timeout_graceful_shutdown=1,
        )
        self._server = server = _Server(config, self.app)
        self._thread = threading.Thread(
            target=server.run, args=([listener],), name="api-server", daemon=True
        )
        self._thread.start()
        if not server.ready.wait(timeout=15):
            raise RuntimeError("the emulated API server did not come up")
        return self

    def stop(self) -> None:
        """Cut all connections and end the thread."""
        if self._server is None or self._thread is None:
            return
        server = self._server
        server.should_exit = True
        self._call(self._end_streams)
        self._thread.join(timeout=15)
        self._server = self._thread = None

    def _end_streams(self) -> None:
        self.app.release()
        if self.app.hub is not None:
            self.app.hub.stop_all(broken=False)
        if self._server is not None:
            self._server.abort_all()

    def __enter__(self) -> ApiServer:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def configuration(self, who: str = "bot") -> kube.Configuration:
        """Of the client library, with the address and the token."""
        settings = kube.Configuration()
        settings.host = self.url
        settings.api_key = {"authorization": f"Bearer {who}-token"}
        settings.retries = 0
        return settings

    def client(self, who: str = "bot") -> kube.ApiClient:
        """A client of its own; its User-Agent names who asks, as the real programs' do."""
        made = kube.ApiClient(self.configuration(who))
        made.user_agent = {"bot": "gpubot", "admin": "kubectl", "alice": "kubectl"}.get(who, who)
        return made

    def add_namespace(self, name: str, **labels: str) -> None:
        self.cluster.add_namespace(name, labels)

    def add_node(
        self,
        name: str,
        *,
        gpus: int = 8,
        labels: dict[str, str] | None = None,
        taints: list[Json] | None = None,
    ) -> None:
        """A node that is ready."""
        now = self.cluster.now()
        resources = {
            "cpu": "96",
            "ephemeral-storage": "1Ti",
            "memory": "1Ti",
            "nvidia.com/gpu": str(gpus),
            "pods": "110",
        }
        condition = {
            "type": "Ready",
            "status": "True",
            "lastHeartbeatTime": now,
            "lastTransitionTime": now,
            "reason": "KubeletReady",
            "message": "kubelet is posting ready status",
        }
        body: Json = {
            "metadata": {
                "name": name,
                "uid": self.cluster.new_uid(),
                "creationTimestamp": now,
                "labels": {"kubernetes.io/hostname": name, **(labels or {})},
            },
            "spec": {"taints": taints} if taints else {},
            "status": {
                "capacity": resources,
                "allocatable": dict(resources),
                "conditions": [condition],
                "nodeInfo": {"kubeletVersion": VERSION["gitVersion"]},
            },
        }
        fill(NODE, body)
        with self.cluster.store.lock:
            self.cluster.store.put(NODE, ("", name), body)

    def change_node(
        self,
        name: str,
        *,
        ready: bool | None = None,
        gpus: int | None = None,
        labels: dict[str, str] | None = None,
        taints: list[Json] | None = None,
    ) -> None:
        """Change what is given: readiness, healthy GPUs, further labels, all taints.

        Raises:
            KeyError: there is no such node.

        """
        with self.cluster.store.lock:
            live = self.cluster.get(NODE, "", name)
            if live is None:
                raise KeyError(f"there is no node {name!r}")
            body: Json = copy_of(live.body)
            if ready is not None:
                condition = condition_of(body, "Ready") or {"type": "Ready"}
                state, reason = ("True", "KubeletReady") if ready else ("False", "KubeletNotReady")
                changed = {"status": state, "reason": reason}
                changed["lastTransitionTime"] = self.cluster.now()
                set_condition(body["status"], {**condition, **changed})
            if gpus is not None:
                body["status"]["allocatable"]["nvidia.com/gpu"] = str(gpus)
            body["metadata"].setdefault("labels", {}).update(labels or {})
            if taints is not None:
                body["spec"]["taints"] = taints
            self.cluster.store.put(NODE, live.key, body)

    def add_nodes(
        self, count: int, *, gpus: int = 8, per_rack: int = 16, model: str = "h100"
    ) -> list[str]:
        """Nodes 'n00001'... in racks; their names."""
        names = [f"n{number:05d}" for number in range(1, count + 1)]
        for place, name in enumerate(names):
            rack = f"r{place // per_rack + 1:04d}"
            marks = {"gpubot.dev/gpu": model, "topology.gpubot.dev/rack": rack}
            self.add_node(name, gpus=gpus, labels=marks)
        return names

    def add_running_pods(self, count: int, *, namespace: str, gpus: int = 1) -> None:
        """Unmanaged pods 'u000001'... that run, spread over the nodes in order of name."""
        now = self.cluster.now()
        with self.cluster.store.lock:
            nodes = [node.key[1] for node in self.cluster.store.all(NODE)]
            for number in range(count):
                key = (namespace, f"u{number + 1:06d}")
                body = running_pod(key, nodes[number % len(nodes)], self.cluster.new_uid(), now)
                container = body["spec"]["containers"][0]
                for part in ("limits", "requests"):
                    container["resources"][part] = {"nvidia.com/gpu": str(gpus)}
                self.cluster.store.put(POD, key, body)

    def advance(self, seconds: float) -> None:
        """Move the clock; watches see it."""
        self.clock.advance(seconds)
        if self.app.hub is not None:
            self.app.hub.notice()

    def compact(self) -> None:
        """Forget the history: open and new watches of old versions get 410."""
        with self.cluster.store.lock:
            self.cluster.store.compact()
        if self.app.hub is not None:
            self.app.hub.notice()

    def drop_watches(self, *, broken: bool = False) -> None:
        """End all open watches, or cut their connections."""

        def drop() -> None:
            if self.app.hub is not None:
                self.app.hub.stop_all(broken=broken)

        self._call(drop)

    def mute_watches(self, *, muted: bool = True) -> None:
        """Open watches stay open and say nothing, until they are unmuted."""
        if self.app.hub is not None:
            self.app.hub.muted = muted
            self.app.hub.notice()

    def release_hanging(self) -> None:
        """Cut the connections of all requests that hang."""
        self.faults.clear()
        self._call(self.app.release)

    def serve_job_sets(self) -> None:
        """Install JobSet: its kind is served and its controller takes part in `settle`."""
        self.cluster.kinds.add(JOB_SET)
        self.cluster.gate.give("alice-token", JOB_SET_EDIT)
        self.cluster.validators.append(guard_job_sets)
        self.cluster.mutators.append(keep_in_domain)

    def withdraw_job_sets(self) -> None:
        """Take JobSet away, with all JobSets there are."""
        with self.cluster.store.lock:
            for one in tuple(self.cluster.store.all(JOB_SET)):
                self.cluster.store.remove(JOB_SET, one.key)
            self.cluster.kinds.drop(JOB_SET)
        self.cluster.validators.remove(guard_job_sets)
        self.cluster.mutators.remove(keep_in_domain)

    def serve_leader_worker_sets(self) -> None:
        """Install LeaderWorkerSet, with its controllers and its webhook for pods."""
        self.cluster.kinds.add(LEADER_WORKER_SET)
        self.cluster.gate.give("alice-token", LEADER_WORKER_SET_EDIT)
        self.cluster.mutators.append(label_pods)

    def grant_shipped_rights(self) -> None:
        """Give the bot what the deployment gives it, in place of the rights of the recordings."""
        self.cluster.gate.grant("bot-token", *shipped())

    def expire_token(self, who: str) -> None:
        """401 for this token from now on."""
        token = f"{who}-token"
        self._expired[token] = self.cluster.gate.people.pop(token)

    def renew_token(self, who: str) -> None:
        token = f"{who}-token"
        self.cluster.gate.people[token] = self._expired.pop(token)

    def down(self) -> None:
        """Refuse connections and cut the open ones."""

        async def close() -> None:
            if self._server is not None:
                for each in self._server.servers:
                    each.close()
                self._server.servers = []
                self._end_streams()

        self._await(close())

    def up(self) -> None:
        """Serve again on the same port."""
        server = self._server
        if server is None or server.loop is None:
            return

        async def listen() -> None:
            config, loop = server.config, asyncio.get_running_loop()
            protocol = cast("Any", config.http_protocol_class)

            def make() -> asyncio.Protocol:
                made: asyncio.Protocol = protocol(
                    config=config, server_state=server.server_state, app_state={}
                )
                return made

            server.servers = [await loop.create_server(make, sock=_listener(self.port))]

        self._await(listen())

    def _call(self, work: Callable[[], None]) -> None:
        async def run() -> None:
            work()

        self._await(run())

    def _await(self, work: Coroutine[Any, Any, T]) -> T | None:
        if self._server is None or self._server.loop is None:
            work.close()
            return None
        return asyncio.run_coroutine_threadsafe(work, self._server.loop).result(timeout=15)
