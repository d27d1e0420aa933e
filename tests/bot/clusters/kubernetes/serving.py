"""What keeps replicas, as people make it, and what the bot makes of those."""

from __future__ import annotations

from typing import Any

from bot.byhand import Intervened, Wish
from bot.views import FamilyView
from storage.audit import InterventionKind
from storage.records import Request
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ANA
from tests.kube.samples import GATE, leader_worker_set, pod_spec

DEPLOYMENTS = f"/apis/apps/v1/namespaces/{TEAM}/deployments"
STATEFUL_SETS = f"/apis/apps/v1/namespaces/{TEAM}/statefulsets"
LEADER_WORKER_SETS = f"/apis/leaderworkerset.x-k8s.io/v1/namespaces/{TEAM}/leaderworkersets"


def _body(kind: str, name: str, replicas: int, marks: dict[str, str]) -> dict[str, Any]:
    labels = {"app": name, "gpubot.dev/team": "nlp"}
    labels |= {f"gpubot.dev/{mark}": text for mark, text in marks.items()}
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": labels},
                "spec": pod_spec(8, schedulingGates=[{"name": GATE}]),
            },
        },
    }


def deploy(house: KubeHouse, replicas: int, **marks: str) -> None:
    """A Deployment `chat` of one node a replica, which adds one before it takes one away."""
    body = _body("Deployment", "chat", replicas, marks)
    body["spec"]["strategy"] = {"rollingUpdate": {"maxSurge": 1, "maxUnavailable": 0}}
    house.person.post(DEPLOYMENTS, body)


def keep_state(house: KubeHouse, replicas: int, *, more: dict[str, Any], **marks: str) -> None:
    """A StatefulSet `index` of one node a replica; `more` is for its spec."""
    body = _body("StatefulSet", "index", replicas, marks)
    body["spec"] |= {"serviceName": "index", **more}
    house.person.post(STATEFUL_SETS, body)


def keep_groups(
    house: KubeHouse,
    replicas: int = 1,
    size: int = 2,
    *,
    leader: int | None = None,
    restart: str = "RecreateGroupOnPodRestart",
    more: dict[str, Any] | None = None,
    annotations: dict[str, str] | None = None,
    **marks: str,
) -> None:
    """A LeaderWorkerSet `llama` of one node a pod; `leader` are the GPUs of leaders, if others."""
    spec = None if leader is None else pod_spec(leader)
    body = leader_worker_set("llama", replicas=replicas, size=size, leader=spec, **(more or {}))
    groups = body["spec"]["leaderWorkerTemplate"]
    body["metadata"]["annotations"] = annotations or {}
    groups["restartPolicy"] = restart
    for template in (groups["workerTemplate"], groups.get("leaderTemplate")):
        if template is not None:
            template["metadata"]["labels"] |= {f"gpubot.dev/{m}": text for m, text in marks.items()}
    house.person.post(LEADER_WORKER_SETS, body)


def scale(house: KubeHouse, replicas: int, path: str = f"{DEPLOYMENTS}/chat") -> None:
    house.person.patch(path, {"spec": {"replicas": replicas}})


def new_image(house: KubeHouse, path: str = f"{DEPLOYMENTS}/chat") -> None:
    spec = pod_spec(8, schedulingGates=[{"name": GATE}])
    spec["containers"][0]["image"] = "example.com/serve:2"
    house.person.patch(path, {"spec": {"template": {"spec": spec}}})


def images(house: KubeHouse) -> dict[str, str]:
    """The image of each pod, by name."""
    return {p["metadata"]["name"]: p["spec"]["containers"][0]["image"] for p in house.pods()}


def open_requests(house: KubeHouse) -> list[Request]:
    return [request for request in house.requests() if not request.state.final]


def family(house: KubeHouse) -> FamilyView:
    """The family as its card shows it, whoever of it is asked."""
    found = house.desk.card(house.requests()[0].card).opens
    assert found is not None
    return found


def counts(house: KubeHouse) -> tuple[int, int]:
    seen = family(house)
    return seen.running, seen.waiting


def stop(house: KubeHouse, request: str) -> None:
    """Have a replica stopped by an admin, and let the grace pass."""
    wish = Wish(kind=InterventionKind.PREEMPT, target=request, reason="test")
    done = house.desk.intervene(ANA.id, wish, key=f"stop {request}", confirmed=True)
    assert isinstance(done, Intervened)
    house.run(2)
    house.pass_time(301.0)
    house.run(6)
