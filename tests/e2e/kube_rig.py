"""The whole bot on an emulated Kubernetes: workspace, Bolt app, loop, API server, pods.

Nothing of the bot is replaced: it hears Slack over a real socket and the API server over real
watches. The test is the people, the cluster's own loops and the kubelets.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from bot.chat.webslack import keys_of
from bot.workspace.visitor import Visitor
from bot.workspace.workspace import Workspace
from scheduler.layout import Layout
from scheduler.model import Seconds
from storage.records import OutboxState, Request
from storage.states import RequestState
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.e2e.rig import GENERAL, ONCALL, SECONDS, Room, eventually
from tests.kube.server import ApiServer

T = TypeVar("T")
Json = dict[str, Any]


class KubeRoom(Room):
    """A workspace beside a cluster that goes on as long as somebody waits for something."""

    def __init__(self, folder: Path, api: ApiServer) -> None:
        super().__init__(folder)
        self.api = api
        self.starts: Callable[[str], bool] = bool
        """Whether a kubelet starts the pod of this name."""
        self.confirms = True
        """Whether containers end when they are told to."""

    def go_on(self) -> None:
        """Let the cluster do what is to be done at this moment."""
        self.api.controllers.settle()
        for pod in self.api.kubelet.startable():
            if self.starts(pod.partition("/")[2]):
                self.api.kubelet.start(pod)
        if self.confirms:
            self.api.kubelet.confirm_all()
        self.api.controllers.settle()

    def until(self, look: Callable[[], T | None], *, seconds: float = SECONDS) -> T:
        """Let the cluster go on until something is seen."""

        def go_and_look() -> T | None:
            self.go_on()
            return look()

        return eventually(go_and_look, seconds=seconds)

    def keys_said(self) -> Counter[str]:
        """The notices that the messages of both channels stand for, each as often as said."""

        def read(space: Workspace) -> list[str]:
            rooms = [space.rooms.find(channel) for channel in (GENERAL, ONCALL)]
            messages = [message for room in rooms if room for message in room.messages.values()]
            return [key for message in messages for key in keys_of(message)]

        return Counter(self.server.look(read))

    def ask(self, who: Visitor, text: str) -> str:
        """Ask for GPUs by a slash command; the id of the request."""
        answer = self.command(who, text)["text"]
        found = re.search(r"R-\d+", answer)
        assert found is not None, answer
        return found[0]

    def thread_of(self, who: Visitor, word: str) -> list[str]:
        """What stands under the card of a request."""
        card = self.wait_for(who, word)
        return [message["text"] for message in who.thread(GENERAL, card["ts"])]


class KubeRig(KubeRoom):
    """One bot over a house on the emulated API server. World's time moves by `pass_time` only."""

    def __init__(self, folder: Path, api: ApiServer, layout: Layout | None = None) -> None:
        super().__init__(folder, api)
        self.house = KubeHouse(api, folder, layout=layout)
        self.bot = self.join(self.house.core)

    def close(self) -> None:
        """Stop everything."""
        self.bot.stop()
        self.server.stop()

    def restart_bot(self) -> None:
        """The bot ends and comes back: database, API server and workspace are left."""
        self.bot.stop()
        self.house.restart()
        self.bot = self.join(self.house.core)

    def pass_time(self, seconds: Seconds) -> None:
        """Let the world's time pass, and the loop and the watches notice.

        Not before the cluster has been told what was decided: that is stored first.
        """
        with self.house.control._stepping:
            self.house.clock.advance(seconds)
            self.api.advance(seconds)
        self.house.control.wake()

    def reach(self, request: str, state: RequestState) -> None:
        """Wait until a request is stored in a state."""
        self.until(lambda: self.state(request) is state)

    def state(self, request: str) -> RequestState | None:
        """Where a request stands; None while there is none."""
        with self.house.store.read() as view:
            found = view.requests.get(request)
        return None if found is None else found.state

    def named(self, name: str) -> str:
        """The request that an object of this name became, once it did."""
        return self.until(lambda: next((r.id for r in self._called(name)), None))

    def _called(self, name: str) -> list[Request]:
        return [one for one in self.house.requests() if one.workload.name == name]

    def open(self) -> list[Request]:
        """Requests that stand for an object and are not over."""
        return [one for one in self.house.requests() if not one.state.final]

    # ---- the cluster as it is

    def pods_of(self, job: str) -> list[Json]:
        """The pods of a Job."""
        pods = self.house.pods()
        return [one for one in pods if one["metadata"]["labels"].get("job-name") == job]

    def finish(self, job: str) -> None:
        """The containers of a Job's pods end well."""
        for pod in self.pods_of(job):
            meta = pod["metadata"]
            self.api.kubelet.finish(f"{meta['namespace']}/{meta['name']}")

    def phases(self) -> list[str]:
        """The phases of all pods, sorted."""
        return sorted(one["status"]["phase"] for one in self.house.pods())

    def terminating(self) -> int:
        """How many pods are being deleted."""
        return sum("deletionTimestamp" in one["metadata"] for one in self.house.pods())

    def phase(self, pod: str) -> str | None:
        """How a pod is; None when it is gone."""
        found = self._pod(pod)
        return None if found is None else str(found["status"]["phase"])

    def node(self, pod: str) -> str | None:
        """Where a pod is; None while it waits."""
        found = self._pod(pod)
        return None if found is None else found["spec"].get("nodeName")

    def _pod(self, name: str) -> Json | None:
        found = (one for one in self.house.pods() if one["metadata"]["name"] == name)
        return next(found, None)

    def settled(self) -> None:
        """Wait until everything the loop wanted said has been said."""
        eventually(lambda: not self.unsent(), seconds=SECONDS)

    def unsent(self) -> list[str]:
        """Keys of notices that still have to go out."""
        with self.house.store.read() as view:
            items = view.outbox.items(OutboxState.PENDING, OutboxState.CLAIMED)
        return [item.notice.key for item in items]
