"""Over random steps and faults: groups of pods are let go whole and as granted, and all settles."""

from __future__ import annotations

import contextlib
import dataclasses
from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json, Refused, Unanswered
from scheduler.model import GPU, RestCause
from storage.records import Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.playing import (
    PODS,
    ROUND,
    Acts,
    Do,
    Play,
    decision_of,
    gpus_of,
    host_of,
    is_over,
    label_of,
    name_of,
    play,
    playing,
    steps_of,
)
from tests.kube.server import ApiServer

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
STEPS = steps_of(WHAT, ["appear", *ROUND, "loop"])


class GroupPlay(Play):
    """Three groups, on a cluster that has not room for all."""

    def __init__(self, api: ApiServer, folder: Path, plans: tuple[Plan, ...]) -> None:
        super().__init__(api, folder)
        self.plans = dict(zip(GROUPS, plans, strict=False))
        self.missing = [(g, at) for g, plan in self.plans.items() for at in range(len(plan.gpus))]

    # ---- what happens

    def acts(self, which: int) -> Acts:
        return super().acts(which) | {
            "appear": self.appear,
            "delete-group": lambda: self.delete_group(which),
            "swell": lambda: self.swell(which),
            "mark": lambda: self.mark(which),
        }

    def appear(self) -> None:
        """The pods that are still to come; of a group that is kept, also those that are gone."""
        there = {name_of(one) for one in self.house.pods()}
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

    def delete_group(self, which: int) -> None:
        group = GROUPS[which % len(self.plans)]
        for one in self.house.pods():
            if _group(one) == group:
                name = name_of(one)
                self.house.person.delete(f"{PODS}/{name}", {})

    def swell(self, which: int) -> None:
        """One of the pods is made again, at once, with more GPUs than it had."""
        name = self.delete_pod(which)
        if name is not None:
            group, _, at = name.partition("-")
            with contextlib.suppress(Refused):  # the old one is still there
                self.create(group, int(at), 8)

    def mark(self, which: int) -> None:
        """One of the pods says something else than its group."""
        found = sorted(name_of(one) for one in self.house.pods())
        if found:
            path = f"{PODS}/{found[which % len(found)]}"
            labels = {names.PRIORITY: "high"}
            with contextlib.suppress(Refused, Unanswered):  # people do not try again
                self.house.person.patch(path, {"metadata": {"labels": labels}})

    # ---- what must be so

    def check(self) -> None:
        super().check()
        pods = [one for one in self.house.pods() if not is_over(one)]
        for request in self.requests():
            self._check_grant(
                request, [one for one in pods if decision_of(one) == request.decision]
            )

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
                assert gpus_of(pod) <= granted[_role(pod)][1], name_of(pod)

    def is_settled(self) -> bool:
        """Whether all that runs is whole, and of all that waits somebody knows why."""
        newest = {one.workload.name: one for one in self.house.requests()}
        return all(self._is_told(group, newest.get(group)) for group in self.plans)

    def _is_told(self, group: str, request: Request | None) -> bool:
        pods = [one for one in self.house.pods() if _group(one) == group and not is_over(one)]
        if not pods or request is None or request.state.final:
            return all(not host_of(one) for one in pods) and not self._is_good(group, pods)
        if request.state is S.RUNNING:
            return len(pods) == len(self.plans[group].gpus) and all(map(host_of, pods))
        rest = request.workload.rest
        held = rest is not None and rest.cause is RestCause.SPOILED
        return held != self._is_good(group, pods)

    def _is_good(self, group: str, pods: list[Json]) -> bool:
        """Whether nothing is wrong with a group that waits."""
        plan = self.plans[group]
        shapes = {(_role(one), gpus_of(one)) for one in pods}
        marks = {(one["metadata"]["labels"] or {}).get(names.PRIORITY) for one in pods}
        whole = len(pods) == len(plan.gpus)
        return whole and len(marks) == 1 and len(shapes) == len({role for role, _ in shapes})


@playing(12)
@given(plans=st.tuples(PLAN, PLAN, PLAN), steps=STEPS)
def test_groups_are_whole_and_as_granted(plans: tuple[Plan, ...], steps: list[Do]) -> None:
    play(GroupPlay, steps, lambda api, folder: GroupPlay(api, folder, plans))


def _group(pod: Json) -> str:
    return label_of(pod, names.GROUP)


def _role(pod: Json) -> str:
    return label_of(pod, names.ROLE, "main")
