"""Random plays of what people ask for in chat, beside pods that are none of the bot's business."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from bot.byhand import Wish
from bot.clusters.kubernetes.connection import Json, Refused, Unanswered
from bot.views import NotReady
from scheduler.invariants import check_invariants
from scheduler.model import GPU
from storage.audit import InterventionKind
from storage.records import Recipe, Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.meddling import check_counts, given_by_node
from tests.bot.clusters.kubernetes.playing import (
    Acts,
    Play,
    decision_of,
    is_over,
    name_of,
    taken_by,
)
from tests.bot.house import ADA, ANA, BEN, an_ask
from tests.kube.faults import WRITES
from tests.kube.samples import pod
from tests.kube.server import ApiServer

SPACE = "nlp"  # of Ada's team
ASKED = [
    "ask",
    "ask",
    "loop",
    "stranger",
    "delete-pod",
    "finish-one",
    "fail-one",
    "release",
    "cancel",
    "preempt",
    "wait",
    "node-down",
    "node-up",
    "restart",
    "lose-answer",
    "server-error",
    "conflict",
    "shed",
    "fail-delete",
    "cut-watches",
]


class ChatPlay(Play):
    """Ada and Ben ask and release, an admin preempts, strangers run pods past the bot."""

    sizes: tuple[dict[str, int], ...] = ({"gpus": 2}, {"gpus": 4}, {"gpus": 8}, {"nodes": 2})

    def __init__(self, api: ApiServer, folder: Path) -> None:
        super().__init__(api, folder)
        self.count = 0
        self.strangers: set[str] = set()  # by name: the bot has nothing to do with them
        self._seen = 0

    @classmethod
    def prepare(cls, api: ApiServer) -> None:
        api.add_namespace(SPACE)

    # ---- what happens

    def acts(self, which: int) -> Acts:
        faults = self.api.faults
        return super().acts(which) | {
            "go-on": self.go_on,
            "ask": lambda: self.ask(which),
            "stranger": lambda: self.run_past(which),
            "finish-one": lambda: self.finish_one(which),
            "fail-one": lambda: self.finish_one(which, exit_code=1),
            "release": lambda: self.release(which),
            "cancel": lambda: self.cancel(which),
            "preempt": lambda: self.preempt(which),
            "shed": lambda: faults.shed(path=self.wrong, times=2, after=0),
            "fail-delete": lambda: faults.fail(503, "DELETE", path=self.wrong, times=2),
        }

    def loop(self) -> None:
        before = self.house.control.health().last_step
        super().loop()
        if self.house.control.health().last_step != before:
            check_counts(self.house, taken=True)

    def key(self) -> str:
        """A delivery that there was not before, and a name."""
        self.count += 1
        return f"k{self.count}"

    def recipe(self, which: int) -> Recipe | None:
        """What is to be made for the next request; None for a hold."""
        del which
        return None

    def ask(self, which: int) -> None:
        """Somebody asks for GPUs; nothing comes of what cannot be."""
        who = (ADA, BEN)[which % 5 == 0]
        size = self.sizes[which % len(self.sizes)]
        wanted = an_ask(preemptible=which % 3 == 2, **size)
        key, recipe = self.key(), self.recipe(which)
        self.do(lambda: self.house.desk.submit(who.id, wanted, key=key, recipe=recipe))

    def one(self, which: int) -> Request | None:
        """One of the requests, the latest first."""
        found = self.requests()[::-1]
        return found[which % len(found)] if found else None

    def release(self, which: int) -> None:
        request = self.one(which)
        if request is not None:
            who, key = request.workload.owner, self.key()
            self.do(lambda: self.house.desk.release(who, request.id, key=key))

    def cancel(self, which: int) -> None:
        request = self.one(which)
        if request is not None:
            who, key = request.workload.owner, self.key()
            self.do(lambda: self.house.desk.cancel(who, request.id, key=key))

    def preempt(self, which: int) -> None:
        request = self.one(which)
        if request is not None:
            wish = Wish(kind=InterventionKind.PREEMPT, target=request.id, reason="a play")
            key = self.key()
            self.do(lambda: self.house.desk.intervene(ANA.id, wish, key=key, confirmed=True))

    def run_past(self, which: int) -> None:
        """A pod that never was at the gate, which the Kubernetes scheduler finds a node for."""
        name = f"past-{self.key()}"
        body = pod(name, gpus=(2, 4, 8)[which % 3], gated=False)
        if self.do(lambda: self.house.person.post(f"/api/v1/namespaces/{SPACE}/pods", body)):
            self.strangers.add(name)

    def do(self, what: Callable[[], object]) -> object:
        """Something that a person tries once; None if it was not done."""
        with contextlib.suppress(Refused, Unanswered, NotReady):
            return what()
        return None

    def go_on(self) -> None:
        """The loop goes round, and the cluster does what it then has to do."""
        self.loop()
        self.house.cluster.writer.wait(0.5)
        for what in ("controllers", "start-pods"):
            self.acts(0)[what]()
        self.loop()

    def pod_at(self, which: int) -> Json | None:
        """One of the pods there are."""
        found = sorted(self.house.pods(), key=name_of)
        return found[which % len(found)] if found else None

    def delete_pod(self, which: int) -> None:
        one = self.pod_at(which)
        if one is not None:
            self.do(lambda: self.house.person.delete(path_of(one), {}))

    def finish_one(self, which: int, *, exit_code: int = 0) -> None:
        """The containers of one of the pods end."""
        running = [one for one in self.house.pods() if one["status"].get("phase") == "Running"]
        if running:
            meta = sorted(running, key=name_of)[which % len(running)]["metadata"]
            where = f"{meta['namespace']}/{meta['name']}"
            self.api.kubelet.finish(where, exit_code=exit_code)

    # ---- what must be so

    def requests(self) -> tuple[Request, ...]:
        with self.house.store.read() as view:
            return view.requests.find()

    def pods_by(self, request: Request) -> list[Json]:
        """The pods that were let go by the decision that stands, and are not over."""
        return [
            one for one in self.there() if is_let_go(one) and decision_of(one) == request.decision
        ]

    def there(self) -> list[Json]:
        """The pods that are not over."""
        return [one for one in self.house.pods() if not is_over(one)]

    def check(self) -> None:
        """What was let go fits on its node and into its grant; strangers are left alone."""
        let_go = [one for one in self.there() if is_let_go(one) and decision_of(one) is not None]
        taken = taken_by(let_go)
        assert max(taken.values(), default=0) <= 8, f"given twice: {taken}"
        for request in self.requests():
            if request.state.holding:
                mine, granted = taken_by(self.pods_by(request)), granted_to(request)
                more = [node for node in granted if mine[node] > granted[node]]  # others are left
                assert not more, f"{request.id} of {granted} has {mine}"
        self._check_strangers()

    def _check_strangers(self) -> None:
        done, self._seen = self.api.requests[self._seen :], len(self.api.requests)
        for one in done:
            if one.agent == "gpubot" and one.method in WRITES and one.code < 300:
                about = one.path.removesuffix("/eviction").rpartition("/")[2]
                assert about not in self.strangers, f"{one.method} {one.path}"

    def is_settled(self) -> bool:
        """Whether what is stored, what the engine counts and what is there are one."""
        requests = self.requests()
        for request in requests:
            runs = request.state is S.RUNNING
            granted = granted_to(request) if runs else Counter()
            mine = [one for one in self.there() if self.is_of(request, one)]
            if any(decision_of(one) != request.decision or not runs for one in mine):
                return False
            if not taken_by(mine) <= granted:
                return False
        running = [one for one in requests if one.state is S.RUNNING]
        return all(map(self.is_right, running)) and self.is_counted(running)

    def is_of(self, request: Request, one: Json) -> bool:
        """Whether a pod was let go for a request, whichever decision that was."""
        return is_let_go(one) and (decision_of(one) or "").startswith(f"{request.id}/")

    def is_right(self, request: Request) -> bool:
        """Whether a request that runs has what it should have."""
        raise NotImplementedError

    def is_counted(self, running: list[Request]) -> bool:
        """Whether the engine counts what is granted, and takes off what others hold."""
        granted: Counter[str] = Counter()
        for request in running:
            granted += granted_to(request)
        if +self.house.control.read(given_by_node) != granted:
            return False
        there = [one for one in self.there() if one["spec"].get("nodeName")]
        held, strange = taken_by(there), taken_by(o for o in there if name_of(o) in self.strangers)
        standing = {request.decision for request in running}
        mine = taken_by(one for one in there if decision_of(one) in standing)
        for node in self.house.control.read(lambda engine: engine.nodes()):
            name, outside = node.name, node.outside.get(GPU, 0)
            least = max(min(strange[name], 8 - granted[name]), held[name] - granted[name])
            if not least <= outside <= held[name] - mine[name]:
                return False
        return True

    def rest(self) -> None:
        super().rest()
        self.house.control.read(check_invariants)
        keys = {item.notice.key for item in self.house.said("ended")}
        ended = {f"ended:{one.id}:thread" for one in self.requests() if one.state.final}
        assert ended <= keys, f"not told: {ended - keys}"


def is_let_go(one: Json) -> bool:
    return not one["spec"].get("schedulingGates")


def path_of(one: Json) -> str:
    meta = one["metadata"]
    return f"/api/v1/namespaces/{meta['namespace']}/pods/{meta['name']}"


def granted_to(request: Request) -> Counter[str]:
    """GPUs by node."""
    found: Counter[str] = Counter()
    parts = () if request.admission is None else request.admission.assignments
    for part, pods in zip(parts, request.workload.pod_sets, strict=True) if parts else ():
        for node, count in part.nodes:
            found[str(node)] += count * pods.requests.get(GPU, 0)
    return found
