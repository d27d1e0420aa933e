"""Several bots over one database and one API server, each with a clock of its own for its Lease."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from kubernetes import client as kube

from bot.clock import ManualClock
from bot.clusters.kubernetes.claims import claims_in
from bot.clusters.kubernetes.cluster import KubernetesCluster
from bot.clusters.kubernetes.connection import Connection
from bot.clusters.kubernetes.leader import Candidate, GuardedConnection
from bot.composition import build_core
from bot.people import Directory
from storage.counters import Counter
from storage.store import open_store
from tests.bot.clusters.kubernetes.world import DEADLINE, Doom, MortalConnection, World
from tests.bot.house import PEOPLE, START
from tests.kube.server import ApiServer

SPACE = "gpubot-system"
LEASE = f"/apis/coordination.k8s.io/v1/namespaces/{SPACE}/leases/gpubot"


class Hand:
    """A monotonic clock that is set by hand."""

    def __init__(self) -> None:
        self.now = 1000.0

    def __call__(self) -> float:
        return self.now


def connect(
    api: ApiServer, doom: Callable[[], Doom | None] = lambda: None, token: Path | None = None
) -> Connection:
    """A connection of the bot's, whose token is read from a file where there is one."""

    def open_client() -> kube.ApiClient:
        settings = api.configuration("bot")
        if token is not None:
            settings.api_key = {"authorization": f"Bearer {token.read_text()}"}
        return kube.ApiClient(settings)

    return MortalConnection(open_client, doom)


def candidate(api: ApiServer, who: str, hand: Hand, floor: int = 0) -> Candidate:
    return Candidate(connect(api), namespace=SPACE, who=who, floor=lambda: floor, monotonic=hand)


class Replica(World):
    """One of several bots. Its thread for the Lease is not started: `attend` is called by hand."""

    def __init__(
        self, api: ApiServer, url: str, who: str, clock: ManualClock, token: Path | None = None
    ) -> None:
        self.hand = Hand()
        self.doom: Doom | None = None
        self.clock, self._token = clock, token
        self._born = (api, url, who, clock, token)
        self.store = open_store(url)
        self.candidate = Candidate(
            connect(api, lambda: self.doom, token),
            namespace=SPACE,
            who=who,
            floor=self._newest,
            monotonic=self.hand,
        )
        super().__init__(api)
        self.core = core = build_core(
            store=self.store,
            cluster=self.cluster,
            layout=self.layout,
            directory=Directory(PEOPLE),
            clock=clock,
            leadership=self.candidate,
        )
        self.control, self.desk = core.control, core.desk
        self.desk.patience = 0.0

    def _newest(self) -> int:
        with self.store.read() as view:
            return view.counters.read(Counter.FENCE, start=0)

    def open(self) -> KubernetesCluster:
        guarded = GuardedConnection(
            connect(self.api, lambda: self.doom, self._token), self.candidate
        )
        self.cluster = KubernetesCluster(
            guarded,
            self.layout,
            patience=self.patience,
            bot=self.store.identity,
            claims=claims_in(self.store),
        )
        assert self.cluster.start(DEADLINE)
        return self.cluster

    def again(self) -> Replica:
        """The process that comes after this one has ended, in the same pod."""
        self.close()
        return Replica(*self._born)

    def step(self) -> None:
        self.hear()
        self.control._look_again = 0.0
        self.control.step()

    def close(self) -> None:
        super().close()
        self.store.close()


def two(
    api: ApiServer, url: str, tokens: tuple[Path | None, Path | None] = (None, None)
) -> tuple[Replica, Replica]:
    """Two bots over the database at `url`, of which the first leads."""
    clock = ManualClock(START)
    pairs = zip(("bot-a", "bot-b"), tokens, strict=True)
    first, second = (Replica(api, url, who, clock, token) for who, token in pairs)
    for one in (first, second):
        one.candidate.attend()
        one.step()
    return first, second
