"""Over random steps and faults: groups of pods are let go whole and as granted, and all settles."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json, Refused, Unanswered
from scheduler.model import GPU, RestCause
from storage.records import Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM, wait_until
from tests.kube.server import ApiServer

NODES = 3
GROUPS = ("g1", "g2", "g3")


@dataclasses.dataclass(frozen=True)
class Plan:
    """What a group shall be: GPUs by pod, the first of which may be of a role of its own.

    `kept`: somebody makes its pods again when they are gone.
    """

    gpus: tuple[int, ...]
    led: bool
    preemptible: bool
    kept: bool

    def role(self, at: int) -> str:
        return "leader" if self.led and at == 0 else "main"


@dataclasses.dataclass(frozen=True)
class Do:
    """Something happens; `which` is what it happens to, where that matters."""

    what: str
    which: int = 0


PLAN = st.builds(
    lambda pods, gpus, leader, **more: Plan((leader or gpus, *[gpus] * (pods - 1)), **more),
    pods=st.integers(1, 3),
    gpus=st.sampled_from([2, 4, 8]),
    leader=st.sampled_from([0, 2, 8]),
    led=st.booleans(),
    preemptible=st.booleans(),
    kept=st.booleans(),
)
WHAT = [
    "loop",
    "appear",
    "delete-pod",
    "delete-group",
    "swell",
    "mark",
    "finish",
    "fail-pods",
    "wait",
    "node-down",
    "node-up",
    "restart",
    "lose-answer",
    "server-error",
    "conflict",
    "cut-watches",
]
DO = st.builds(Do, what=st.sampled_from(WHAT), which=st.integers(0, 8))
USUAL = [Do("appear"), Do("loop"), Do("controllers"), Do("start-pods"), Do("loop")]
STEPS = st.lists(st.one_of(DO, st.sampled_from(USUAL)), min_size=8, max_size=40)


class Play:
    """Carries out steps and looks, after each, at what the API server has."""

    def __init__(self, api: ApiServer, folder: Path, plans: tuple[Plan, ...]) -> None:
        self.house = KubeHouse(api, folder)
        self.api = api
        self.plans = dict(zip(GROUPS, plans, strict=False))
        self.missing = [(g, at) for g, plan in self.plans.items() for at in range(len(plan.gpus))]

    # ---- what happens

    def act(self, step: Do) -> None:
        api, faults, node = self.api, self.api.faults, f"n{step.which % NODES + 1}"
        acts: dict[str, Callable[[], object]] = {
            "loop": self.loop,
            "controllers": lambda: (api.controllers.settle(), api.kubelet.confirm_all()),
            "start-pods": api.kubelet.start_all,
            "appear": self.appear,
            "delete-pod": lambda: self.delete(step.which),
            "delete-group": lambda: self.delete_group(step.which),
            "swell": lambda: self.swell(step.which),
            "mark": lambda: self.mark(step.which),
            "finish": self.house.finish_pods,
            "fail-pods": lambda: self.house.finish_pods(exit_code=1),
            "wait": lambda: self.wait(150.0),
            "node-down": lambda: self.lose(node),
            "node-up": lambda: api.kubelet.recover(node),
            "restart": self.house.restart,
            "lose-answer": lambda: faults.lose_answer("PATCH", times=1),
            "server-error": lambda: faults.fail(503, "PATCH", times=2),
            "conflict": lambda: faults.conflict_next("PATCH", times=1),
            "cut-watches": lambda: api.drop_watches(broken=True),
        }
        acts[step.what]()
        self.check()

    def loop(self) -> None:
        self.house.clock.advance(1.0)
        self.house.hear()
        self.house.control.step()

    def appear(self) -> None:
        """The pods that are still to come; of a group that is kept, also those that are gone."""
        there = {one["metadata"]["name"] for one in self.house.pods()}
        for group, plan in self.plans.items():
            for at, gpus in enumerate(plan.gpus):
                if f"{group}-{at}" not in there and (plan.kept or (group, at) in self.missing):
                    self.create(group, at, gpus)

    def create(self, group: str, at: int, gpus: int) -> None:
        plan = self.plans[group]
        marks = {"team": "nlp", "group": group, "group_size": str(len(plan.gpus))}
        marks["preemptible"] = str(plan.preemptible).lower()
        self.house.create_pod(f"{group}-{at}", gpus, role=plan.role(at), **marks)
        self.missing = [one for one in self.missing if one != (group, at)]

    def delete(self, which: int) -> str | None:
        """One of the pods; its name."""
        found = sorted(str(one["metadata"]["name"]) for one in self.house.pods())
        if not found:
            return None
        name = found[which % len(found)]
        self.house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/{name}", {})
        return name

    def delete_group(self, which: int) -> None:
        group = GROUPS[which % len(self.plans)]
        for one in self.house.pods():
            if _group(one) == group:
                name = one["metadata"]["name"]
                self.house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/{name}", {})

    def swell(self, which: int) -> None:
        """One of the pods is made again, at once, with more GPUs than it had."""
        name = self.delete(which)
        if name is not None:
            group, _, at = name.partition("-")
            with contextlib.suppress(Refused):  # the old one is still there
                self.create(group, int(at), 8)

    def mark(self, which: int) -> None:
        """One of the pods says something else than its group."""
        found = sorted(str(one["metadata"]["name"]) for one in self.house.pods())
        if found:
            path = f"/api/v1/namespaces/{TEAM}/pods/{found[which % len(found)]}"
            labels = {names.PRIORITY: "high"}
            with contextlib.suppress(Refused, Unanswered):  # people do not try again
                self.house.person.patch(path, {"metadata": {"labels": labels}})

    def lose(self, node: str) -> None:
        self.api.kubelet.silence(node)
        self.api.change_node(node, ready=False)

    def wait(self, seconds: float) -> None:
        self.house.clock.advance(seconds)
        self.api.advance(seconds)

    # ---- what must be so

    def check(self) -> None:
        """What must be so at every instant, whatever is under way."""
        pods = [one for one in self.house.pods() if not _is_over(one)]
        taken: Counter[str] = Counter()
        for pod in pods:
            taken[_host(pod)] += _gpus(pod)
        del taken[""]
        assert max(taken.values(), default=0) <= 8, f"given twice: {taken}"
        for request in self.house.requests():
            self._check_grant(request, [one for one in pods if _decision(one) == request.decision])

    def _check_grant(self, request: Request, pods: list[Json]) -> None:
        """No more pods are let go, nor larger ones, than it was granted last."""
        granted = {
            part.name: (part.count, each.requests.get(GPU, 0))
            for part, each in zip(
                () if request.admission is None else request.admission.assignments,
                request.workload.pod_sets,
                strict=False,
            )
        }
        if request.state.holding:
            for role, count in Counter(map(_role, pods)).items():
                assert count <= granted[role][0], f"{request.id}: {count} of {role}"
            for pod in pods:
                assert _gpus(pod) <= granted[_role(pod)][1], pod["metadata"]["name"]

    def at_rest(self) -> bool:
        """Go round (the loop waits out its own back-off); whether nothing is under way."""
        self.wait(200.0)
        stepped = self.house.control.health().last_step
        self.house.run(1)
        self.check()
        resting = all(
            one.state in {S.WAITING, S.RUNNING} or one.state.final for one in self.house.requests()
        )
        return resting and self.house.control.health().last_step != stepped and self.all_told()

    def all_told(self) -> bool:
        """Whether all that runs is whole, and of all that waits somebody knows why."""
        newest = {one.workload.name: one for one in self.house.requests()}
        return all(self._is_told(group, newest.get(group)) for group in self.plans)

    def _is_told(self, group: str, request: Request | None) -> bool:
        pods = [one for one in self.house.pods() if _group(one) == group and not _is_over(one)]
        if not pods or request is None or request.state.final:
            return all(not _host(one) for one in pods) and not self._is_good(group, pods)
        if request.state is S.RUNNING:
            return len(pods) == len(self.plans[group].gpus) and all(map(_host, pods))
        rest = request.workload.rest
        held = rest is not None and rest.cause is RestCause.SPOILED
        return held != self._is_good(group, pods)

    def _is_good(self, group: str, pods: list[Json]) -> bool:
        """Whether nothing is wrong with a group that waits."""
        plan = self.plans[group]
        shapes = {(_role(one), _gpus(one)) for one in pods}
        marks = {(one["metadata"]["labels"] or {}).get(names.PRIORITY) for one in pods}
        whole = len(pods) == len(plan.gpus)
        return whole and len(marks) == 1 and len(shapes) == len({role for role, _ in shapes})

    def rest(self) -> None:
        """All is well again: whatever can run runs, and whole."""
        self.api.faults.clear()
        for number in range(1, NODES + 1):
            self.api.kubelet.recover(f"n{number}")
        wait_until(lambda: not any(w.trouble for w in self.house.cluster.watchers), "to be heard")
        wait_until(self.at_rest, "everything to settle", seconds=60.0)


@settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))
@given(plans=st.tuples(PLAN, PLAN, PLAN), steps=STEPS)
def test_groups_are_whole_and_as_granted(plans: tuple[Plan, ...], steps: list[Do]) -> None:
    with ApiServer() as api, TemporaryDirectory() as folder:
        for number in range(1, NODES + 1):
            api.add_node(f"n{number}", labels=MODEL)
        api.add_namespace(TEAM, **{names.MANAGED: "true"})
        api.grant_shipped_rights()
        play = Play(api, Path(folder), plans)
        try:
            for step in steps:
                play.act(step)
            play.rest()
        finally:
            play.house.close()


def _group(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(names.GROUP))


def _role(pod: Json) -> str:
    return str((pod["metadata"].get("labels") or {}).get(names.ROLE, "main"))


def _decision(pod: Json) -> str | None:
    decision = (pod["metadata"].get("annotations") or {}).get(names.DECISION)
    return None if decision is None else str(decision)


def _gpus(pod: Json) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])


def _host(pod: Json) -> str:
    """The node that it is on, or was let go to; empty at the gate."""
    sent = (pod["spec"].get("nodeSelector") or {}).get(names.HOSTNAME, "")
    return str(pod["spec"].get("nodeName") or sent)


def _is_over(pod: Json) -> bool:
    return pod["status"].get("phase") in {"Succeeded", "Failed"}
