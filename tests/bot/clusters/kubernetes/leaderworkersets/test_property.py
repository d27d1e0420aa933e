"""Over random steps and faults: replicas of a LeaderWorkerSet run whole or wait whole."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from scheduler.invariants import check_invariants
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.leaderworkersets.crews import LLAMA, by_name
from tests.bot.clusters.kubernetes.serving import keep_groups, scale
from tests.bot.clusters.kubernetes.world import TEAM, wait_until
from tests.kube.server import ApiServer

NODES = 4


@dataclasses.dataclass(frozen=True)
class Do:
    """Something happens; `which` is what it happens to, or how much of it."""

    what: str
    which: int = 0


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
DO = st.builds(Do, what=st.sampled_from(WHAT), which=st.integers(0, 8))
USUAL = [Do("loop"), Do("controllers"), Do("start-pods"), Do("loop"), Do("controllers")]
STEPS = st.lists(st.one_of(DO, st.sampled_from(USUAL)), min_size=8, max_size=40)


class Play:
    """A set of replicas of two pods, on a cluster that has room for two of them."""

    def __init__(self, api: ApiServer, folder: Path, restart: str, policy: str) -> None:
        self.house = KubeHouse(api, folder)
        self.api = api
        self.heroes = 0
        self.ordered = policy == "LeaderReady"
        more = {"startupPolicy": policy}
        keep_groups(self.house, 1, 2, restart=restart, preemptible="true", more=more)

    def act(self, step: Do) -> None:
        api, faults, node = self.api, self.api.faults, f"n{step.which % NODES + 1}"
        acts: dict[str, Callable[[], object]] = {
            "loop": self.loop,
            "controllers": lambda: (api.controllers.settle(), api.kubelet.confirm_all()),
            "start-pods": api.kubelet.start_all,
            "scale": lambda: scale(self.house, step.which % 4, LLAMA),
            "delete-pod": lambda: self.delete(step.which),
            "hero": self.hero,
            "finish-hero": self.finish_heroes,
            "wait": lambda: self.wait(150.0),
            "node-down": lambda: self.lose(node),
            "node-up": lambda: api.kubelet.recover(node),
            "restart": self.house.restart,
            "lose-answer": lambda: faults.lose_answer("PATCH", path="/pods/", times=1),
            "server-error": lambda: faults.fail(503, "PATCH", path="/pods/", times=2),
            "cut-watches": lambda: api.drop_watches(broken=True),
        }
        acts[step.what]()
        self.check()

    def loop(self) -> None:
        self.house.clock.advance(1.0)
        self.house.hear()
        self.house.control.step()

    def delete(self, which: int) -> None:
        found = sorted(str(one["metadata"]["name"]) for one in self.house.pods())
        if found:
            path = f"/api/v1/namespaces/{TEAM}/pods/{found[which % len(found)]}"
            self.house.person.delete(path, {})

    def hero(self) -> None:
        """Somebody who is not preemptible needs two nodes."""
        self.heroes += 1
        if self.heroes <= 2:
            self.house.create_job(f"hero{self.heroes}", pods=2, gpus=8)

    def finish_heroes(self) -> None:
        for pod in self.house.pods():
            name = pod["metadata"]["name"]
            if name.startswith("hero") and pod["status"].get("phase") == "Running":
                self.api.kubelet.finish(f"{TEAM}/{name}")

    def lose(self, node: str) -> None:
        self.api.kubelet.silence(node)
        self.api.change_node(node, ready=False)

    def wait(self, seconds: float) -> None:
        self.house.clock.advance(seconds)
        self.api.advance(seconds)

    def check(self) -> None:
        """No node is given twice: a pod takes all of one."""
        taken = Counter(_node(one) for one in self.house.pods() if not _is_over(one))
        del taken[""]
        assert max(taken.values(), default=0) <= 1, f"given twice: {taken}"

    def at_rest(self) -> bool:
        """Go round (the loop waits out its own back-off); whether nothing is under way."""
        self.wait(200.0)
        stepped = self.house.control.health().last_step
        self.house.run(1)
        self.check()
        return self.house.control.health().last_step != stepped and self.is_as_it_should_be()

    def is_as_it_should_be(self) -> bool:
        """Whether each replica that is wanted has a request, and runs or waits whole."""
        wanted = int(self.house.person.get(LLAMA)["spec"].get("replicas", 1))
        open_ones = by_name(self.house)
        replicas = {name: one for name, one in open_ones.items() if name.startswith("llama")}
        if len(replicas) != wanted:
            return False
        pods = [one for one in self.house.pods() if not _is_over(one)]
        for name, request in replicas.items():
            mine = [one for one in pods if one["metadata"]["name"] in {name, f"{name}-1"}]
            there = [bool(_node(one)) for one in mine]
            runs = request.state is S.RUNNING
            if there != [runs] * (2 if runs or not self.ordered else 1):
                return False
        return all(one.state in {S.RUNNING, S.WAITING} for one in open_ones.values())

    def rest(self) -> None:
        """All is well again: whatever can run runs, and whole."""
        self.api.faults.clear()
        for number in range(1, NODES + 1):
            self.api.kubelet.recover(f"n{number}")
        wait_until(lambda: not any(w.trouble for w in self.house.cluster.watchers), "to be heard")
        wait_until(self.at_rest, "everything to settle", seconds=60.0)
        self.house.control.read(check_invariants)


@settings(max_examples=8, deadline=None, suppress_health_check=list(HealthCheck))
@given(
    restart=st.sampled_from(["RecreateGroupOnPodRestart", "None"]),
    policy=st.sampled_from(["LeaderCreated", "LeaderCreated", "LeaderReady"]),
    steps=STEPS,
)
def test_replicas_run_whole_or_wait_whole(restart: str, policy: str, steps: list[Do]) -> None:
    with ApiServer() as api, TemporaryDirectory() as folder:
        for number in range(1, NODES + 1):
            api.add_node(f"n{number}", labels=MODEL)
        api.serve_leader_worker_sets()
        api.policies.install_shipped()
        api.add_namespace(TEAM, **{names.MANAGED: "true"})
        api.grant_shipped_rights()
        play = Play(api, Path(folder), restart, policy)
        try:
            for step in steps:
                play.act(step)
            play.rest()
        finally:
            play.house.close()


def _node(pod: Json) -> str:
    """The node that it is on, or was let go to; empty at the gate."""
    sent = (pod["spec"].get("nodeSelector") or {}).get(names.HOSTNAME, "")
    return str(pod["spec"].get("nodeName") or sent)


def _is_over(pod: Json) -> bool:
    return pod["status"].get("phase") in {"Succeeded", "Failed"}
