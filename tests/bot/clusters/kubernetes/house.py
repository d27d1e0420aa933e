"""A whole bot without Slack over the emulated API server: kubectl → request → pods → truth."""

from __future__ import annotations

from pathlib import Path

from bot.clock import ManualClock
from bot.clusters.kubernetes.claims import claims_in
from bot.composition import build_core
from bot.people import Directory
from scheduler.layout import Layout
from scheduler.model import Seconds
from storage.records import OutboxItem, OutboxState, Request, Source
from storage.states import RequestState
from storage.store import open_store
from tests.bot.clusters.kubernetes.world import World
from tests.bot.house import PEOPLE, START
from tests.kube.server import ApiServer

MODEL = {"gpubot.dev/model": "h100", "gpubot.dev/provision": "reserved"}


class KubeHouse(World):
    """Desk, loop and store joined to a `World`. `step` is one round of the loop."""

    def __init__(
        self,
        api: ApiServer,
        folder: Path,
        *,
        layout: Layout | None = None,
        patience: Seconds = 0.0,
    ) -> None:
        self.folder = folder
        self.clock = ManualClock(START)
        self._open_store()
        super().__init__(api, layout=layout, patience=patience)
        self._build()

    def _open_store(self) -> None:
        self.store = open_store(f"sqlite:///{self.folder / 'gpubot.db'}")
        self.bot, self.claims = self.store.identity, claims_in(self.store)

    def _build(self) -> None:
        self.core = build_core(
            store=self.store,
            cluster=self.cluster,
            layout=self.layout,
            directory=Directory(PEOPLE),
            clock=self.clock,
        )
        self.core.desk.patience = 0.0
        self.control, self.desk = self.core.control, self.core.desk

    def restart(self) -> None:
        """The bot dies and comes back: only the database and the API server are left."""
        self.store.close()
        self._open_store()
        super().restart()
        self._build()

    def close(self) -> None:
        super().close()
        self.store.close()

    def step(self, seconds: Seconds = 0.0) -> None:
        """Let time pass, hear what happened, go round the loop once."""
        self.pass_time(seconds)
        self.control.step()

    def pass_time(self, seconds: Seconds) -> None:
        if seconds:
            self.clock.advance(seconds)
            self.api.advance(seconds)
        self.settle()

    def run(self, rounds: int = 3, *, pods: bool = True) -> None:
        """Go round until what was decided has been done and heard of."""
        for _ in range(rounds):
            self.step()
            self.settle()
            if pods:
                self.let_pods_run()
            self.settle()

    def requests(self) -> list[Request]:
        """All requests that stand for an object, by number."""
        with self.store.read() as view:
            return list(view.requests.from_source(Source.CLUSTER, list(RequestState)))

    def request(self, name: str) -> Request:
        """The request of the Job of this name that was made last."""
        return [one for one in self.requests() if one.workload.name == name][-1]

    def state(self, name: str) -> RequestState:
        return self.request(name).state

    def said(self, kind: str) -> list[OutboxItem]:
        with self.store.read() as view:
            items = view.outbox.items(*OutboxState)
        return [item for item in items if item.notice.kind == kind]
