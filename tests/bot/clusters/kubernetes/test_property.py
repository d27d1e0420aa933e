"""Over random steps and faults: gangs are let go whole, no GPU is given twice, all settles."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.gangs import read_grant
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.playing import ROUND, Acts, Do, Play, play, playing, steps_of
from tests.kube.jobsets import JOB_SET
from tests.kube.kinds import JOB
from tests.kube.samples import part
from tests.kube.server import ApiServer


@dataclasses.dataclass(frozen=True)
class Create:
    """Somebody wants so many pods of so many GPUs; with a `leader` of so many, as a JobSet."""

    pods: int
    gpus: int
    preemptible: bool
    leader: int


CREATE = st.builds(
    Create,
    pods=st.integers(1, 3),
    gpus=st.sampled_from([2, 4, 8]),
    preemptible=st.booleans(),
    leader=st.sampled_from([0, 0, 2, 8]),
)
WHAT = [
    "loop",
    "controllers",
    "start-pods",
    "finish",
    "fail-pods",
    "wait",
    "node-down",
    "node-up",
    "restart",
    "delete",
    "lose-answer",
    "server-error",
    "conflict",
    "cut-watches",
    "compact",
]
# The taint of a node that was down stays until the node controller has gone round once more.
COMES_BACK = ["cut-watches", "node-down", "loop", "controllers", "loop", "node-up", "loop", "loop"]
STEPS = steps_of(WHAT, ROUND, CREATE)


class GangPlay(Play):
    """Jobs and JobSets that come and go."""

    nodes = 4

    def __init__(self, api: ApiServer, folder: Path) -> None:
        super().__init__(api, folder)
        self.count = 0
        self.whole: set[tuple[str, str]] = set()

    @classmethod
    def prepare(cls, api: ApiServer) -> None:
        api.serve_job_sets()

    def acts(self, which: int) -> Acts:
        return super().acts(which) | {"delete": lambda: self.delete(which)}

    def act(self, step: Create | Do) -> None:
        if isinstance(step, Do):
            super().act(step)
            return
        self.create(step)
        self.check()

    def create(self, step: Create) -> None:
        self.count += 1
        labels = {"preemptible": "true"} if step.preemptible else {}
        name = f"j{self.count}"
        if step.leader:
            workers = part("workers", pods=step.pods, gpus=step.gpus)
            parts = [part("leader", gpus=step.leader), workers]
            self.house.create_job_set(name, *parts, labels=labels)
        else:
            self.house.create_job(name, pods=step.pods, gpus=step.gpus, labels=labels)

    def delete(self, number: int) -> None:
        works = self.works()
        if works:
            work = works[number % len(works)]
            delete = self.house.delete_job_set if _is_set(work) else self.house.delete_job
            delete(work["metadata"]["name"])

    def works(self) -> list[Json]:
        """What people have made: Jobs, but for those of JobSets, and JobSets."""
        with self.api.cluster.store.lock:
            jobs = [dict(one.body) for one in self.api.cluster.store.all(JOB)]
            sets = [dict(one.body) for one in self.api.cluster.store.all(JOB_SET)]
        return [*(job for job in jobs if not job["metadata"].get("ownerReferences")), *sets]

    def check(self) -> None:
        """What must be so at every instant, whatever is under way."""
        with self.api.cluster.store.lock:  # both at one instant
            works, pods = self.works(), self.house.pods()
        taken: Counter[str] = Counter()
        for job in works:
            mine = [pod for pod in pods if _is_of(pod, job)]
            self._check_whole(job, mine)
            taken += _taken(job, mine)
        assert max(taken.values(), default=0) <= 8, f"given twice: {taken}"

    def _check_whole(self, job: Json, pods: list[Json]) -> None:
        marks = job["metadata"].get("annotations") or {}
        key = job["metadata"]["uid"], marks.get(names.DECISION, "")
        alive = [pod for pod in pods if not _is_over(pod)]
        if len(alive) >= _size(job):
            self.whole.add(key)
        allowed = [pod for pod in alive if not pod["spec"].get("schedulingGates")]
        if (len(_nodes(job)) > 1 or _is_set(job)) and allowed and not job["spec"]["suspend"]:
            assert key in self.whole, "a pod was let go before its gang was there"

    def is_settled(self) -> bool:
        """Whether whatever runs has all its pods; a watch may tell later that it has not."""
        pods, running = self.house.pods(), []
        for request in self.house.requests():
            if request.state is S.RUNNING and request.ref is not None:
                is_set = request.ref.kind == JOB_SET.name
                job = (self.house.job_set if is_set else self.house.job)(request.ref.name)
                ready = [pod for pod in pods if _is_of(pod, job) and _is_ready(pod)]
                running.append(len(ready) == _size(job))
        return all(running)


@playing(12)
@given(steps=STEPS)
@example(steps=[Create(2, 8, preemptible=False, leader=0), *map(Do, COMES_BACK)])
def test_gangs_are_whole_and_no_gpu_is_given_twice(steps: list[Create | Do]) -> None:
    play(GangPlay, steps)


def _is_set(work: Json) -> bool:
    return "replicatedJobs" in work["spec"]


def _gpus(work: Json) -> dict[str, tuple[int, int]]:
    """Pods and the GPUs of each, by part; a Job is one."""
    parts = work["spec"].get("replicatedJobs") or [{"name": "main", "template": work}]
    return {
        one["name"]: (
            one["template"]["spec"]["parallelism"],
            _asked(one["template"]["spec"]["template"]["spec"]),
        )
        for one in parts
    }


def _asked(spec: Json) -> int:
    return int(spec["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])


def _size(work: Json) -> int:
    return sum(pods for pods, _ in _gpus(work).values())


def _is_of(pod: Json, job: Json) -> bool:
    of = (pod["metadata"].get("labels") or {}).get("jobset.sigs.k8s.io/jobset-uid")
    if of is not None:
        return bool(of == job["metadata"]["uid"])
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(one["uid"] == job["metadata"]["uid"] for one in owners)


def _is_over(pod: Json) -> bool:
    over = pod["status"].get("phase") in {"Succeeded", "Failed"}
    return over or bool(pod["metadata"].get("deletionTimestamp"))


def _is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def _nodes(job: Json) -> Counter[str]:
    """GPUs by node of what was granted last."""
    grant = read_grant((job["metadata"].get("annotations") or {}).get(names.GRANT))
    each = _gpus(job)
    found: Counter[str] = Counter()
    for one in () if grant is None else grant.assignments:
        for node, pods in one.nodes:
            found[str(node)] += pods * each[one.name][1]
    return found


def _taken(job: Json, pods: list[Json]) -> Counter[str]:
    """GPUs by node that nobody else may have: the grant of what runs, the pods of what stops."""
    status = job.get("status") or {}
    ended = any(
        one["type"] in {"Complete", "Completed", "Failed"} and one["status"] == "True"
        for one in status.get("conditions") or ()
    )
    if not job["spec"]["suspend"] and not ended:
        return _nodes(job)
    found: Counter[str] = Counter()
    for pod in pods:
        if pod["spec"].get("nodeName") and pod["status"].get("phase") in {"Pending", "Running"}:
            found[pod["spec"]["nodeName"]] += _asked(pod["spec"])
    return found
