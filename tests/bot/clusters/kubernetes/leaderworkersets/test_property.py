"""Over random steps and faults: replicas of a LeaderWorkerSet run whole or wait whole."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from scheduler.invariants import check_invariants
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.leaderworkersets.crews import LLAMA, by_name
from tests.bot.clusters.kubernetes.playing import (
    ROUND,
    Acts,
    Do,
    Play,
    host_of,
    is_over,
    name_of,
    play,
    playing,
    steps_of,
)
from tests.bot.clusters.kubernetes.serving import keep_groups, scale
from tests.bot.clusters.kubernetes.world import TEAM
from tests.kube.server import ApiServer

WHAT = [
    "loop",
    "scale",
    "delete-pod",
    "hero",
    "finish-hero",
    "wait",
    "node-down",
    "node-up",
    "restart",
    "lose-answer",
    "server-error",
    "cut-watches",
]
STEPS = steps_of(WHAT, [*ROUND, "loop", "controllers"])


class CrewPlay(Play):
    """A set of replicas of two pods, on a cluster that has room for two of them."""

    nodes = 4
    wrong = "/pods/"

    def __init__(self, api: ApiServer, folder: Path, restart: str, policy: str) -> None:
        super().__init__(api, folder)
        self.heroes = 0
        self.ordered = policy == "LeaderReady"
        more = {"startupPolicy": policy}
        keep_groups(self.house, 1, 2, restart=restart, preemptible="true", more=more)

    @classmethod
    def prepare(cls, api: ApiServer) -> None:
        api.serve_leader_worker_sets()
        api.policies.install_shipped()

    def acts(self, which: int) -> Acts:
        return super().acts(which) | {
            "scale": lambda: scale(self.house, which % 4, LLAMA),
            "hero": self.hero,
            "finish-hero": self.finish_heroes,
        }

    def hero(self) -> None:
        """Somebody who is not preemptible needs two nodes."""
        self.heroes += 1
        if self.heroes <= 2:
            self.house.create_job(f"hero{self.heroes}", pods=2, gpus=8)

    def finish_heroes(self) -> None:
        for pod in self.house.pods():
            name = name_of(pod)
            if name.startswith("hero") and pod["status"].get("phase") == "Running":
                self.api.kubelet.finish(f"{TEAM}/{name}")

    def check(self) -> None:
        """No node is given twice: a pod takes all of one."""
        taken = Counter(host_of(one) for one in self.house.pods() if not is_over(one))
        del taken[""]
        assert max(taken.values(), default=0) <= 1, f"given twice: {taken}"

    def is_settled(self) -> bool:
        """Whether each replica that is wanted has a request, and runs or waits whole."""
        wanted = int(self.house.person.get(LLAMA)["spec"].get("replicas", 1))
        open_ones = by_name(self.house)
        replicas = {name: one for name, one in open_ones.items() if name.startswith("llama")}
        if len(replicas) != wanted:
            return False
        pods = [one for one in self.house.pods() if not is_over(one)]
        for name, request in replicas.items():
            mine = [one for one in pods if name_of(one) in {name, f"{name}-1"}]
            there = [bool(host_of(one)) for one in mine]
            runs = request.state is S.RUNNING
            if there != [runs] * (2 if runs or not self.ordered else 1):
                return False
        return all(one.state in {S.RUNNING, S.WAITING} for one in open_ones.values())

    def rest(self) -> None:
        super().rest()
        self.house.control.read(check_invariants)


@playing(8)
@given(
    restart=st.sampled_from(["RecreateGroupOnPodRestart", "None"]),
    policy=st.sampled_from(["LeaderCreated", "LeaderCreated", "LeaderReady"]),
    steps=STEPS,
)
def test_replicas_run_whole_or_wait_whole(restart: str, policy: str, steps: list[Do]) -> None:
    play(CrewPlay, steps, lambda api, folder: CrewPlay(api, folder, restart, policy))
