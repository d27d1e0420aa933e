"""The bot dies, comes back, or another takes over: nothing is said twice, lost, or half done."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clock import ManualClock
from bot.clusters.kubernetes import leader
from bot.clusters.kubernetes.leader import DURATION, TRUST
from bot.composition import Bot
from storage.records import OutboxState, Request
from storage.states import RequestState as S
from storage.store import Store
from tests.bot.clusters.kubernetes.replicas import Replica
from tests.bot.clusters.kubernetes.world import Doom
from tests.bot.house import ADA, BEN, START
from tests.e2e.kube_rig import KubeRig, KubeRoom
from tests.e2e.rig import SECONDS, eventually
from tests.kube.server import ApiServer
from tests.storage.conftest import ON_POSTGRES, server, url

__all__ = ["server", "url"]  # fixtures
WRITES = 4  # that let a gang of three go: one for the Job, one for each pod


def check_said(room: KubeRoom, store: Store) -> None:
    """Every notice is out, those of the channels once; every request has a card."""
    with store.read() as view:
        items = view.outbox.items(*OutboxState)
        requests = view.requests.find()
    assert {item.state for item in items} == {OutboxState.SENT}
    said = room.keys_said()
    assert [key for key, times in said.items() if times > 1] == []
    assert {f"card:{request.id}" for request in requests} <= said.keys()
    admitted = {f"admitted:{one.decision}:channel" for one in requests if one.decision}
    assert admitted <= {item.notice.key for item in items}


def entered(store: Store, request: str, state: S) -> int:
    """How often a request came into a state."""
    with store.read() as view:
        return sum(move.after is state for move in view.transitions.of(request))


@pytest.mark.parametrize("sent", [False, True])
@pytest.mark.parametrize("at", range(1, WRITES + 1))
def test_a_bot_that_dies_between_two_writes_starts_its_gang_whole(
    kube: KubeRig, at: int, sent: bool
) -> None:
    ada = kube.visitor(ADA)
    kube.house.doom = doom = Doom(at, sent=sent)
    kube.house.create_job("train", pods=3, gpus=8, annotations={"owner": ADA.id})
    kube.until(lambda: doom.dead)
    train = kube.named("train")
    hold = kube.ask(ada, "/gpu 8 h100 2h")  # decided, and never written
    kube.restart_bot()
    for request in (train, hold):
        kube.reach(request, S.RUNNING)
        assert entered(kube.house.store, request, S.ADMITTED) == 1
    assert kube.phases() == ["Running"] * 3
    assert len(set(kube.house.bound().values())) == 3
    kube.settled()
    check_said(kube, kube.house.store)


class Pair(KubeRoom):
    """Two bots over one database, both connected to one workspace."""

    def __init__(self, folder: Path, api: ApiServer, url: str) -> None:
        super().__init__(folder, api)
        clock = self.clock = ManualClock(START)
        self.first, self.second = (Replica(api, url, who, clock) for who in ("bot-a", "bot-b"))
        self.bots = [self.join(one.core) for one in (self.first, self.second)]

    def close(self) -> None:
        for bot in self.bots:
            bot.stop()
        self.server.stop()

    def end(self, bot: Bot) -> None:
        """A process that was deposed ends."""
        self.bots.remove(bot)
        bot.stop()

    def request(self, name: str) -> Request | None:
        """The request of this name, by what both have in common."""
        with self.second.store.read() as view:
            return next((one for one in view.requests.find() if one.workload.name == name), None)

    def reach(self, name: str, state: S) -> Request:
        def there() -> Request | None:
            found = self.request(name)
            return found if found is not None and found.state is state else None

        return self.until(there)


@pytest.fixture
def pair(
    tmp_path: Path, api: ApiServer, url: str, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Pair]:
    monkeypatch.setattr(leader, "EVERY", 0.05)  # their durations are measured by hand
    made = Pair(tmp_path, api, url)
    yield made
    made.close()


@pytest.mark.parametrize("url", [ON_POSTGRES], indirect=True)
def test_two_bots_serve_slack_and_the_second_takes_over(pair: Pair) -> None:
    ada, ben = pair.visitor(ADA), pair.visitor(BEN)
    first, second = pair.first, pair.second
    assert (first.candidate.leads, second.candidate.leads) == (True, False)
    first.create_job("before", pods=2, gpus=8)
    pair.reach("before", S.RUNNING)
    # Slack gives each delivery to one of them, whoever leads.
    for number in range(4):
        pair.ask(ada, f"/gpu 1 h100 2h name early-{number}")
        pair.reach(f"early-{number}", S.RUNNING)

    first.doom = Doom(0, sent=False)  # it may read, and none of its writes gets through any more
    first.create_job("between", pods=2, gpus=8)
    decided = pair.reach("between", S.ADMITTED)
    first.hand.now += TRUST
    for _ in range(5):  # it may hear of the last renewal only when that time has passed
        second.hand.now += DURATION
        with contextlib.suppress(AssertionError):
            pair.until(lambda: second.candidate.leads, seconds=2.0)
            break
    assert second.candidate.leads
    first.doom = None  # it is heard again, and learns that its time is over
    eventually(first.candidate.deposed.is_set, seconds=SECONDS)
    pair.reach("between", S.RUNNING)
    job = second.job("between")
    assert job["metadata"]["annotations"]["gpubot.dev/decision"] == decided.decision

    pair.end(pair.bots[0])
    for number in range(2):
        pair.ask(ben, f"/gpu 1 h100 2h name late-{number}")
        pair.reach(f"late-{number}", S.RUNNING)
    store = second.store
    eventually(lambda: not unsent(store), seconds=SECONDS)
    check_said(pair, store)
    with store.read() as view:
        requests = view.requests.find()
    assert len(requests) == 8
    assert {entered(store, one.id, S.ADMITTED) for one in requests} == {1}


def unsent(store: Store) -> int:
    with store.read() as view:
        return len(view.outbox.items(OutboxState.PENDING, OutboxState.CLAIMED))
