"""Over random steps and faults: holds let through what they were granted, adopted pods go on."""

from __future__ import annotations

from pathlib import Path

from hypothesis import example, given

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from bot.views import Submitted
from storage.records import Request
from tests.bot.clusters.kubernetes.asking import (
    ASKED,
    SPACE,
    ChatPlay,
    granted_to,
    is_let_go,
    path_of,
)
from tests.bot.clusters.kubernetes.playing import (
    PODS,
    ROUND,
    Acts,
    Do,
    decision_of,
    gpus_of,
    host_of,
    label_of,
    name_of,
    play,
    playing,
    steps_of,
    taken_by,
)
from tests.bot.house import ADA
from tests.kube.samples import pod
from tests.kube.server import ApiServer

MORE = ["pod", "pod", "past", "relabel", "relabel", "adopt", "adopt"]
USUAL = ["ask", "pod", "go-on", "go-on", *ROUND]
BEGIN = ["ask", "go-on", "pod", "go-on"]
STEPS = steps_of([*ASKED, *MORE], USUAL, first=BEGIN)
LEAVES = [*BEGIN, "relabel", "loop", "pod", "go-on"]  # to have a pod more than was granted


class HoldPlay(ChatPlay):
    """People label pods, before and after they were let go, and adopt what runs."""

    wrong = "/pods/"

    def __init__(self, api: ApiServer, folder: Path) -> None:
        super().__init__(api, folder)
        self.adopted: dict[str, str] = {}  # pod by request

    def acts(self, which: int) -> Acts:
        return super().acts(which) | {
            "pod": lambda: self.create(which),
            "past": lambda: self.create_past(which),
            "relabel": lambda: self.relabel(which),
            "adopt": lambda: self.adopt(which),
        }

    def meant(self, which: int) -> str:
        """What a label says: one of the requests, or one that nobody has heard of."""
        request = self.one(which)
        return "R-9999" if request is None else request.id

    def create(self, which: int) -> None:
        """A pod at the gate, for one of the requests."""
        body = pod(f"p-{self.key()}", gpus=(2, 4, 2, 1)[self.count % 4])
        body["metadata"]["labels"] = {names.REQUEST: self.meant(which)}
        self.do(lambda: self.house.person.post(PODS, body))

    def create_past(self, which: int) -> None:
        """A pod that is for one of the requests, and never was at the gate."""
        body = pod(f"q-{self.key()}", gpus=(2, 4, 2, 1)[self.count % 4], gated=False)
        body["metadata"]["labels"] = {names.REQUEST: self.meant(which)}
        self.do(lambda: self.house.person.post(f"/api/v1/namespaces/{SPACE}/pods", body))

    def relabel(self, which: int) -> None:
        """One of the pods is for another request from now on, or for none."""
        one = self.pod_at(which)
        if one is not None and name_of(one) not in self.strangers:
            label = None if which % 2 == 0 else self.meant(which // 2)
            body = {"metadata": {"labels": {names.REQUEST: label}}}
            self.do(lambda: self.house.person.patch(path_of(one), body))

    def adopt(self, which: int) -> None:
        """Somebody makes a request of a pod that runs past the bot."""
        found = [one for one in self.house.pods() if one["metadata"]["namespace"] == SPACE]
        if found:
            name = sorted(map(name_of, found))[which % len(found)]
            loose = which % 2 == 0
            where, key = f"{SPACE}/{name}", self.key()
            answer = self.do(
                lambda: self.house.desk.adopt(ADA.id, where, key=key, preemptible=loose)
            )
            if isinstance(answer, Submitted):
                self.strangers.discard(name)
                self.adopted[answer.card.request] = name

    # ---- what must be so

    def is_right(self, request: Request) -> bool:
        if request.id in self.adopted:
            return [name_of(one) for one in self.pods_by(request)] == [self.adopted[request.id]]
        room = granted_to(request)
        mine = [one for one in self.there() if self.is_for(request, one)]
        room.subtract(taken_by(one for one in mine if is_let_go(one)))
        waiting = [one for one in mine if not is_let_go(one)]
        least = min(map(gpus_of, waiting), default=9)
        return all(map(host_of, self.pods_by(request))) and max(room.values(), default=0) < least

    def is_for(self, request: Request, one: Json) -> bool:
        """Whether a pod is for a hold: what let it go says, or before that its label."""
        decision = decision_of(one) if is_let_go(one) else None
        if decision is not None:
            return decision == request.decision
        return label_of(one, names.REQUEST) == request.id


@playing(15)
@given(steps=STEPS)
@example(steps=[*map(Do, LEAVES)])
def test_holds_let_through_what_they_were_granted(steps: list[Do]) -> None:
    play(HoldPlay, steps)
