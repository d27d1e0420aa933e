"""What the kubelets would report, when a test says so."""

from __future__ import annotations

from tests.kube.children import is_terminating
from tests.kube.cluster import Cluster, Options, Request, Target
from tests.kube.defaults import fill_pod_spec
from tests.kube.documents import Json, condition_of, copy_of, set_condition
from tests.kube.kinds import NODE, POD
from tests.kube.operations import replace
from tests.kube.removal import DeleteOptions, delete
from tests.kube.rights import ADMIN
from tests.kube.store import Stored
from tests.kube.tags import ENDING, STARTS, on_node

_CONDITIONS = ("Initialized", "Ready", "ContainersReady", "PodReadyToStartContainers")


class Kubelet:
    """All nodes' kubelets; pods are named 'namespace/name'."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def _pod(self, where: str) -> Stored:
        namespace, _, name = where.partition("/")
        found = self._cluster.get(POD, namespace, name)
        if found is None:
            raise KeyError(f"there is no pod {where!r}; give it as 'namespace/name'")
        return found

    def _write(self, pod: Stored, status: Json) -> None:
        target = Target(POD, pod.key[0], pod.key[1], "status")
        request = Request(ADMIN, target, Options(manager="kubelet"))
        body = {**pod.document(), "metadata": dict(pod.body["metadata"]), "status": status}
        replace(self._cluster, request, body)

    def start(self, where: str) -> None:
        """The containers of a bound pod run and are ready.

        Raises:
            KeyError: there is no such pod.
            ValueError: it is on no node.

        """
        with self._cluster.store.lock:
            self._start(self._pod(where))

    def _start(self, pod: Stored) -> None:
        if not pod.body["spec"].get("nodeName"):
            raise ValueError(f"pod {'/'.join(pod.key)} is on no node, so no kubelet starts it")
        now = self._cluster.now()
        status = copy_of(pod.body["status"])
        status.update(phase="Running", startTime=now, podIP="10.0.0.5", hostIP="10.1.0.5")
        status["podIPs"], status["hostIPs"] = [{"ip": "10.0.0.5"}], [{"ip": "10.1.0.5"}]
        for kind in _CONDITIONS:
            set_condition(status, _condition(kind, "True", now))
        status["containerStatuses"] = [
            _container(each, {"running": {"startedAt": now}}, ready=True)
            for each in pod.body["spec"]["containers"]
        ]
        self._write(pod, status)

    def hold_up(self, where: str, reason: str, *, restarts: int = 0) -> None:
        """The containers of a bound pod wait for this reason, say `ImagePullBackOff`.

        Raises:
            KeyError: there is no such pod.

        """
        with self._cluster.store.lock:
            pod = self._pod(where)
            status = copy_of(pod.body["status"])
            state = {"waiting": {"reason": reason, "message": f"it is {reason}"}}
            status["containerStatuses"] = [
                {**_container(each, state, ready=False), "restartCount": restarts}
                for each in pod.body["spec"]["containers"]
            ]
            self._write(pod, status)

    def refuse(self, where: str) -> None:
        """The node has no device for a pod that was bound to it: it fails at once.

        Raises:
            KeyError: there is no such pod.

        """
        with self._cluster.store.lock:
            pod = self._pod(where)
            message = "Pod was rejected: Allocate failed due to no healthy devices present"
            failed = {"phase": "Failed", "reason": "UnexpectedAdmissionError", "message": message}
            self._write(pod, {**copy_of(pod.body["status"]), **failed})

    def finish(self, where: str, *, exit_code: int = 0) -> None:
        """The containers end: phase Succeeded for 0, else Failed.

        Raises:
            KeyError: there is no such pod.

        """
        with self._cluster.store.lock:
            pod = self._pod(where)
            now = self._cluster.now()
            status = copy_of(pod.body["status"])
            status["phase"] = "Failed" if exit_code else "Succeeded"
            reason = "PodFailed" if exit_code else "PodCompleted"
            if not exit_code:
                set_condition(status, {**_condition("Initialized", "True", now), "reason": reason})
            for kind in _CONDITIONS[1:3]:
                set_condition(status, {**_condition(kind, "False", now), "reason": reason})
            set_condition(status, _condition(_CONDITIONS[3], "False", now))
            word = "Error" if exit_code else "Completed"
            ended = {"exitCode": exit_code, "reason": word, "finishedAt": now}
            status["containerStatuses"] = [
                _container(each, {"terminated": ended}, ready=False)
                for each in pod.body["spec"]["containers"]
            ]
            self._write(pod, status)

    def confirm(self, where: str) -> None:
        """The containers of a terminating pod have stopped: it is removed for good.

        Raises:
            KeyError: there is no such pod.
            ValueError: it is not terminating.

        """
        with self._cluster.store.lock:
            pod = self._pod(where)
            if not is_terminating(pod.body):
                raise ValueError(f"pod {where} is not being deleted: delete or evict it first")
            self._remove(pod)

    def _remove(self, pod: Stored) -> None:
        target = Target(POD, pod.key[0], pod.key[1])
        request = Request(ADMIN, target, Options(manager="kubelet"))
        delete(self._cluster, request, pod, DeleteOptions(grace=0))

    def start_all(self) -> int:
        """Start every bound pod that waits on a node that is not silent; how many."""
        with self._cluster.store.lock:
            waiting = self._waiting()
            for pod in waiting:
                self._start(pod)
        return len(waiting)

    def startable(self) -> list[str]:
        """The pods that `start_all` would start."""
        with self._cluster.store.lock:
            return ["/".join(pod.key) for pod in self._waiting()]

    def _waiting(self) -> list[Stored]:
        return [
            pod
            for pod in self._cluster.store.tagged(POD, STARTS)
            if pod.body["spec"]["nodeName"] not in self._cluster.silent_nodes
        ]

    def confirm_all(self) -> int:
        """Remove every terminating pod of a node that is not silent; how many."""
        with self._cluster.store.lock:
            ending = [
                pod
                for pod in self._cluster.store.tagged(POD, ENDING)
                if pod.body["metadata"].get("deletionGracePeriodSeconds")
                and pod.body["spec"].get("nodeName") not in self._cluster.silent_nodes
            ]
            for pod in ending:
                self._remove(pod)
        return len(ending)

    def vanish(self, node: str) -> int:
        """The machine is no more: its pods are removed at once, asked or not; how many."""
        self.silence(node)
        with self._cluster.store.lock:
            lost = list(self._cluster.store.tagged(POD, on_node(node)))
            for pod in lost:
                self._remove(pod)
        return len(lost)

    def silence(self, node: str) -> None:
        """A node stops to report; its pods neither start nor end from now on."""
        self._cluster.silent_nodes[node] = self._cluster.clock.now()

    def recover(self, node: str) -> None:
        """A silent node reports again and is ready."""
        cluster = self._cluster
        with cluster.store.lock:
            cluster.silent_nodes.pop(node, None)
            live = cluster.get(NODE, "", node)
            ready = condition_of(live.body, "Ready") if live is not None else None
            if live is None or ready is None:
                return
            status = copy_of(live.body["status"])
            fresh = {**_condition("Ready", "True", cluster.now()), "reason": "KubeletReady"}
            set_condition(status, fresh)
            body = {**live.body, "metadata": dict(live.body["metadata"]), "status": status}
            cluster.store.put(NODE, live.key, body)


def running_pod(key: tuple[str, str], node: str, uid: str, now: str) -> Json:
    """A pod as it stands while it runs on a node; its container asks for nothing yet."""
    spec: Json = {"containers": [{"name": "main", "image": "example.com/train:1"}]}
    fill_pod_spec(spec)
    conditions = [_condition(kind, "True", now) for kind in (*_CONDITIONS, "PodScheduled")]
    return {
        "metadata": {
            "name": key[1],
            "namespace": key[0],
            "uid": uid,
            "generation": 1,
            "creationTimestamp": now,
        },
        "spec": {**spec, "nodeName": node, "priority": 0},
        "status": {"phase": "Running", "startTime": now, "conditions": conditions},
    }


def _condition(kind: str, state: str, now: str) -> Json:
    return {"type": kind, "status": state, "lastProbeTime": None, "lastTransitionTime": now}


def _container(spec: Json, state: Json, *, ready: bool) -> Json:
    return {
        "name": spec["name"],
        "ready": ready,
        "started": ready,
        "restartCount": 0,
        "image": spec.get("image", ""),
        "imageID": "",
        "containerID": "fake://c",
        "state": state,
    }
