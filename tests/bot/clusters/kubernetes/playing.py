"""What random plays have in common: what happens to a cluster, and a rest at which all is well."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ClassVar, TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from storage.records import Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import MODEL, KubeHouse
from tests.bot.clusters.kubernetes.world import TEAM, wait_until
from tests.kube.server import ApiServer

T = TypeVar("T")
Acts = dict[str, Callable[[], object]]
PODS = f"/api/v1/namespaces/{TEAM}/pods"
ROUND = ("loop", "controllers", "start-pods")  # with these, everything goes on


@dataclasses.dataclass(frozen=True)
class Do:
    """Something happens; `which` is what it happens to, or how much of it."""

    what: str
    which: int = 0


def playing(examples: int) -> settings:
    """How often a play is played."""
    return settings(max_examples=examples, suppress_health_check=list(HealthCheck))


def steps_of(
    what: Sequence[str],
    usual: Iterable[str],
    *more: st.SearchStrategy[T],
    first: Sequence[str] = (),
) -> st.SearchStrategy[list[Do | T]]:
    """Some steps after the `first`: any of `what` or of `more`, or what things go on by."""
    any_of = st.builds(Do, what=st.sampled_from(what), which=st.integers(0, 8))
    one = st.one_of(*more, any_of, st.sampled_from([Do(each) for each in usual]))
    steps = st.lists(one, min_size=8, max_size=40)
    return steps.map(lambda found: [*map(Do, first), *found])


class Play:
    """Carries out steps on nodes `n1` … of 8 GPUs, and looks after each at what is there."""

    nodes: ClassVar[int] = 3
    wrong: ClassVar[str] = ""
    """The paths at which a fault meets the next patch."""

    def __init__(self, api: ApiServer, folder: Path) -> None:
        self.house = KubeHouse(api, folder)
        self.api = api

    @classmethod
    def prepare(cls, api: ApiServer) -> None:
        """What else the API server has before the bot comes."""

    # ---- what happens

    def acts(self, which: int) -> Acts:
        """What a step may be, by its name."""
        api, faults, node = self.api, self.api.faults, f"n{which % self.nodes + 1}"
        return {
            "loop": self.loop,
            "controllers": lambda: (api.controllers.settle(), api.kubelet.confirm_all()),
            "start-pods": api.kubelet.start_all,
            "finish": self.house.finish_pods,
            "fail-pods": lambda: self.house.finish_pods(exit_code=1),
            "delete-pod": lambda: self.delete_pod(which),
            "wait": lambda: self.wait(150.0),
            "node-down": lambda: self.lose(node),
            "node-up": lambda: api.kubelet.recover(node),
            "restart": self.house.restart,
            "lose-answer": lambda: faults.lose_answer("PATCH", path=self.wrong, times=1),
            "server-error": lambda: faults.fail(503, "PATCH", path=self.wrong, times=2),
            "conflict": lambda: faults.conflict_next("PATCH", path=self.wrong, times=1),
            "cut-watches": lambda: api.drop_watches(broken=True),
            "compact": api.compact,
        }

    def act(self, step: Any) -> None:
        """Carry out a step; what is no `Do` is a play's own."""
        self.acts(step.which)[step.what]()
        self.check()

    def loop(self) -> None:
        self.house.clock.advance(1.0)
        self.house.hear()
        self.house.control.step()

    def lose(self, node: str) -> None:
        self.api.kubelet.silence(node)
        self.api.change_node(node, ready=False)

    def wait(self, seconds: float) -> None:
        self.house.clock.advance(seconds)
        self.api.advance(seconds)

    def delete_pod(self, which: int) -> str | None:
        """Somebody deletes one of the pods; its name."""
        found = sorted(str(one["metadata"]["name"]) for one in self.house.pods())
        if not found:
            return None
        name = found[which % len(found)]
        self.house.person.delete(f"{PODS}/{name}", {})
        return name

    # ---- what must be so

    def check(self) -> None:
        """What must be so at every instant, whatever is under way: no node is given twice."""
        taken = taken_by(self.house.pods())
        assert max(taken.values(), default=0) <= 8, f"given twice: {taken}"

    def is_settled(self) -> bool:
        """Whether all is as it should be when nothing is under way any more."""
        raise NotImplementedError

    def requests(self) -> Sequence[Request]:
        """All that was asked for."""
        return self.house.requests()

    def at_rest(self) -> bool:
        """Go round (the loop waits out its own back-off); whether nothing is under way."""
        self.wait(200.0)
        stepped = self.house.control.health().last_step
        self.house.run(1)
        self.check()
        states = {one.state for one in self.requests() if not one.state.final}
        resting = states <= {S.WAITING, S.RUNNING}
        return resting and self.house.control.health().last_step != stepped and self.is_settled()

    def rest(self) -> None:
        """All is well again: whatever can run runs, and whole."""
        self.api.faults.clear()
        for number in range(1, self.nodes + 1):
            self.api.kubelet.recover(f"n{number}")
        wait_until(lambda: not any(w.trouble for w in self.house.cluster.watchers), "to be heard")
        wait_until(self.at_rest, "everything to settle", seconds=60.0)


def play(
    kind: type[Play], steps: Iterable[object], make: Callable[[ApiServer, Path], Play] | None = None
) -> None:
    """A play from its beginning to its rest."""
    with ApiServer() as api, TemporaryDirectory() as folder:
        for number in range(1, kind.nodes + 1):
            api.add_node(f"n{number}", labels=MODEL)
        api.add_namespace(TEAM, **{names.MANAGED: "true"})
        api.grant_shipped_rights()
        kind.prepare(api)
        made = (make or kind)(api, Path(folder))
        try:
            for step in steps:
                made.act(step)
            made.rest()
        finally:
            made.house.close()


# ---- what is read of a pod


def taken_by(pods: Iterable[Json]) -> Counter[str]:
    """GPUs by node of pods that are there, or were let go to it, and are not over."""
    found: Counter[str] = Counter()
    for pod in pods:
        if not is_over(pod):
            found[host_of(pod)] += gpus_of(pod)
    del found[""]
    return found


def name_of(pod: Json) -> str:
    return str(pod["metadata"]["name"])


def label_of(pod: Json, name: str, default: str = "") -> str:
    return str((pod["metadata"].get("labels") or {}).get(name, default))


def decision_of(pod: Json) -> str | None:
    decision = (pod["metadata"].get("annotations") or {}).get(names.DECISION)
    return None if decision is None else str(decision)


def gpus_of(pod: Json) -> int:
    return int(pod["spec"]["containers"][0]["resources"]["limits"]["nvidia.com/gpu"])


def host_of(pod: Json) -> str:
    """The node that it is on, or was let go to; empty at the gate."""
    sent = (pod["spec"].get("nodeSelector") or {}).get(names.HOSTNAME, "")
    return str(pod["spec"].get("nodeName") or sent)


def is_over(pod: Json) -> bool:
    """Whether its containers have ended."""
    return pod["status"].get("phase") in {"Succeeded", "Failed"}
