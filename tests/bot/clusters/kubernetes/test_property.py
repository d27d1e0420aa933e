"""Over random steps and faults: gangs are let go whole, no GPU is given twice, all settles."""

from __future__ import annotations

import dataclasses
from collections import Counter
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from bot.clusters.kubernetes.connection import Json
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.playing import (
    ROUND,
    Acts,
    Do,
    Play,
    gpus_of,
    name_of,
    play,
    playing,
    steps_of,
)
from tests.bot.clusters.kubernetes.witness import (
    Witness,
    attempt_of,
    decision_on,
    gpus_granted,
    has_ended,
    is_of,
    is_partly,
    is_ready,
    is_set,
    size_of,
    works_of,
)
from tests.bot.clusters.kubernetes.world import wait_until
from tests.bot.house import small_layout
from tests.kube.cluster import Cluster
from tests.kube.cluster import Request as Asked
from tests.kube.job_verdicts import INDEX
from tests.kube.jobsets import JOB_SET
from tests.kube.kinds import POD
from tests.kube.samples import part
from tests.kube.server import ApiServer
from tests.kube.statuses import Refusal


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
    "start-one",
    "finish",
    "fail-pods",
    "wait",
    "wait-long",
    "delete-pod",
    "refuse-pod",
    "glance",
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
# One of two pods comes late: nothing is let go before it.
COMES_LATE = ["loop", "controllers", "loop", "loop", "wait", "controllers", "loop", "loop"]
# One of two pods runs alone.
ALONE = [*["loop", "written", "controllers"] * 3, "start-one", *["loop"] * 4, "wait-long", "loop"]
# What is done has given its nodes back before its Job says so.
DONE = [*["loop", "written", "controllers"] * 3, "start-pods", "loop", "finish", "loop", "loop"]
STEPS = steps_of(WHAT, ROUND, CREATE)
TWO = Create(2, 8, preemptible=False, leader=0)
ANEW = {"node-down", "node-up", "restart"}  # from then on the time of a gang counts anew
READY_IN = small_layout().readiness.ready_in


class GangPlay(Play):
    """Jobs and JobSets that come and go."""

    nodes = 4

    def __init__(self, api: ApiServer, folder: Path) -> None:
        super().__init__(api, folder)
        self.count = 0
        self.witness = Witness(self.house)

    @classmethod
    def prepare(cls, api: ApiServer) -> None:
        api.serve_job_sets()

    def acts(self, which: int) -> Acts:
        return super().acts(which) | {
            "delete": lambda: self.delete(which),
            "glance": self.glance,
            "refuse-pod": self.refuse_pod,
            "start-one": lambda: self.start_one(which),
            "wait-long": lambda: self.wait(READY_IN + 1.0),
            "written": self.let_writes_go,
        }

    def act(self, step: Create | Do) -> None:
        if isinstance(step, Do):
            if step.what in ANEW:
                self.witness.forgive()
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
            delete = self.house.delete_job_set if is_set(work) else self.house.delete_job
            delete(work["metadata"]["name"])

    def let_writes_go(self) -> None:
        wait_until(lambda: self.house.cluster.writer.wait(0.0), "the writes to go out")

    def glance(self) -> None:
        """Go round without waiting for what there may be to hear."""
        self.house.clock.advance(1.0)
        self.house.control.step()

    def start_one(self, which: int) -> None:
        """The containers of one pod start, of all that have a node."""
        waiting = [
            f"{pod['metadata']['namespace']}/{name_of(pod)}"
            for pod in self.house.pods()
            if pod["spec"].get("nodeName") and pod["status"].get("phase") == "Pending"
        ]
        if waiting:
            self.api.kubelet.start(waiting[which % len(waiting)])

    def refuse_pod(self) -> None:
        """The next pod that is not the first of its Job is refused once: its controller waits."""
        validators = self.api.cluster.validators

        def refuse(cluster: Cluster, request: Asked, new: Json, old: Json | None) -> None:
            marks = new["metadata"].get("annotations") or {}
            if request.target.kind is POD and old is None and marks.get(INDEX, "0") != "0":
                validators.remove(refuse)
                raise Refusal(403, "Forbidden", "exceeded quota")

        validators.append(refuse)

    def works(self) -> list[Json]:
        return works_of(self.house)

    def loop(self) -> None:
        """Go round; then nothing may be partly under way for longer than is allowed."""
        stepped = self.house.control.health().last_step
        super().loop()
        self._check_rounds(stepped)

    def _check_rounds(self, stepped: float | None) -> None:
        if self.house.control.health().last_step == stepped:
            return  # it could not look at the cluster
        now = self.house.clock.now()
        late = {attempt_of(one) for one in self.witness.late(self.works(), now, READY_IN)}
        if late:
            self.let_writes_go()
            still = [one for one in self.works() if attempt_of(one) in late]
            names = [name_of(one) for one in still if is_partly(self.house, one)]
            assert not names, f"partly let go, or partly running, for too long: {names}"

    def check(self) -> None:
        """What must be so at every instant, whatever is under way."""
        with self.api.cluster.store.lock:  # both at one instant
            works, pods = self.works(), self.house.pods()
        taken: Counter[str] = Counter()
        for work in works:
            taken += _taken(work, [pod for pod in pods if is_of(pod, work)])
        assert max(taken.values(), default=0) <= 8, f"given twice: {taken}"
        assert not self.witness.wrong

    def is_settled(self) -> bool:
        """Whether whatever runs has all its pods; a watch may tell later that it has not."""
        pods, running = self.house.pods(), []
        for request in self.house.requests():
            if request.state is S.RUNNING and request.ref is not None:
                of_set = request.ref.kind == JOB_SET.name
                job = (self.house.job_set if of_set else self.house.job)(request.ref.name)
                ready = [pod for pod in pods if is_of(pod, job) and is_ready(pod)]
                running.append(len(ready) == size_of(job))
        return all(running)


@playing(12)
@given(steps=STEPS)
@example(steps=[TWO, *map(Do, COMES_BACK)])
@example(steps=[Do("refuse-pod"), TWO, *map(Do, COMES_LATE)])
@example(steps=[Do("refuse-pod"), dataclasses.replace(TWO, leader=8), *map(Do, COMES_LATE)])
@example(steps=[TWO, *map(Do, ALONE)])
@example(steps=[TWO, TWO, TWO, *map(Do, DONE)])
def test_gangs_are_whole_and_no_gpu_is_given_twice(steps: list[Create | Do]) -> None:
    """At no instant are some pods of a gang allowed and others not.

    Whatever happens, in whatever order, at every change of a pod that the API server takes:

    - Of a gang none is let go before all have been there together; of one on a single node, all are
      let go by the one write that starts it.
    - None is let go but by the decision that stands, and none by what is sent after a stop.
    - Never are more of a gang under way than it was granted, and no GPU is given twice.

    From then on some may be let go, or run, without the others: gates are taken off one after the
    other, pods fail and come anew. That lasts no longer than a gang may take to be ready; then it
    is stopped whole. When all is well again, whatever runs has all of its pods.
    """
    play(GangPlay, steps)


def _taken(work: Json, pods: list[Json]) -> Counter[str]:
    """GPUs by node that nobody else may have.

    Of what runs, the grant but for what of it is done; of what stops, the pods that are there.
    """
    if not work["spec"]["suspend"] and not has_ended(work):
        done = Counter[str]()
        for pod in pods:
            if pod["status"].get("phase") == "Succeeded" and decision_on(pod) == decision_on(work):
                done[pod["spec"]["nodeName"]] += gpus_of(pod)
        return gpus_granted(work) - done
    found: Counter[str] = Counter()
    for pod in pods:
        if pod["spec"].get("nodeName") and pod["status"].get("phase") in {"Pending", "Running"}:
            found[pod["spec"]["nodeName"]] += gpus_of(pod)
    return found
