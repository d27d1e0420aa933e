"""Two bots over one database: one decides, the other looks on, and no decision is made twice."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from bot.asks import Ask
from bot.clusters.kubernetes.leader import DURATION, TRUST
from bot.views import Done, Refused, Submitted
from storage.errors import StaleLeader
from storage.records import Request, Source, Transition
from storage.states import RequestState
from tests.bot.clusters.kubernetes.replicas import Replica, two
from tests.bot.clusters.kubernetes.world import TEAM, wait_until
from tests.bot.house import ADA
from tests.kube.server import ApiServer
from tests.storage.conftest import server, url

__all__ = ["server", "url"]  # fixtures: each test on both databases


@pytest.fixture
def bots(api: ApiServer, url: str) -> Iterator[tuple[Replica, Replica]]:
    pair = two(api, url)
    yield pair
    for one in pair:
        one.close()


def requests(bot: Replica) -> list[Request]:
    with bot.store.read() as view:
        return list(view.requests.from_source(Source.CLUSTER, list(RequestState)))


def story(bot: Replica, request: str) -> tuple[Transition, ...]:
    with bot.store.read() as view:
        return view.transitions.of(request)


def running(bot: Replica) -> int:
    return bot.control.read(lambda engine: engine.figures().running)


def take_over(old: Replica, new: Replica) -> None:
    """The old leader is not heard of; the other waits as long as it must."""
    new.candidate.attend()
    new.hand.now += DURATION
    new.candidate.attend()
    assert new.candidate.leads
    assert old.candidate.fence() < new.candidate.fence()


def settle(*bots: Replica) -> None:
    for bot in bots:
        bot.api.controllers.settle()
        bot.hear()


def test_only_the_leader_decides(bots: tuple[Replica, Replica]) -> None:
    first, second = bots
    first.create_job("train")
    settle(*bots)
    second.step()
    assert requests(second) == []
    first.step()
    first.settle()
    (made,) = requests(first)
    assert made.state is RequestState.ADMITTED
    assert first.bound().keys() == {"train-0"}
    assert (first.control.health().leads, second.control.health().leads) == (True, False)


def test_who_looks_on_answers_and_takes_orders(bots: tuple[Replica, Replica]) -> None:
    first, second = bots
    first.create_job("train")
    settle(*bots)
    first.step()
    first.settle()
    second.step()
    assert running(second) == running(first) == 1
    used = [bot.control.read(lambda engine: engine.figures().used) for bot in bots]
    assert used == [8, 8]
    (made,) = requests(second)
    asked = Ask(pods=1, gpus_per_pod=8, text="8")
    told = second.desk.submit(ADA.id, asked, key="k1")
    assert isinstance(told, Submitted)
    first.step()
    first.settle()
    second.step()
    assert running(second) == 2
    second.desk.patience = 20.0
    with ThreadPoolExecutor(1) as pool:
        cancelled = pool.submit(second.desk.cancel, ADA.id, made.id, key="k2")
        while not cancelled.done():
            first.step()
    assert isinstance(cancelled.result(), (Done, Refused))


def test_the_late_commit_of_a_leader_of_before_is_refused(bots: tuple[Replica, Replica]) -> None:
    first, second = bots
    first.create_job("train")
    settle(*bots)
    take_over(first, second)
    assert first.candidate.leads  # it does not know yet: two leaders for a moment
    second.step()
    second.settle()
    (made,) = requests(second)
    before = story(second, made.id)
    first.create_job("late")
    settle(*bots)
    asked = len(first.api.requests)
    first.step()
    assert first.cluster.writer.wait(5.0)
    done = [(seen.method, seen.path) for seen in first.api.requests[asked:] if seen.method != "GET"]
    assert done == []  # what it decided too late, it does not do either
    assert [one.workload.name for one in requests(first)] == ["train"]
    assert story(second, made.id) == before
    with pytest.raises(StaleLeader), first.store.write(first.candidate.fence()):
        pass
    first.candidate.attend()
    assert first.candidate.deposed.is_set()
    second.step()
    assert [one.workload.name for one in requests(second)] == ["train", "late"]


def test_a_leader_that_cannot_renew_stops_at_once_and_goes_on_with_what_it_knew(
    bots: tuple[Replica, Replica],
) -> None:
    first, _ = bots
    first.create_job("train")
    settle(*bots)
    first.hand.now += TRUST
    first.step()
    assert requests(first) == []
    assert not first.control.health().leads
    first.candidate.attend()
    first.step()
    assert [one.state for one in requests(first)] == [RequestState.ADMITTED]


def test_what_was_decided_and_not_written_is_done_by_the_next(
    bots: tuple[Replica, Replica], api: ApiServer
) -> None:
    first, second = bots
    first.create_job("train")
    settle(*bots)
    api.faults.cut("PATCH", times=None)
    first.step()
    take_over(first, second)
    first.hand.now += TRUST
    api.faults.clear()
    second.step()
    second.settle()
    assert second.bound().keys() == {"train-0"}
    (made,) = requests(second)
    assert second.job("train")["metadata"]["annotations"]["gpubot.dev/decision"] == made.decision


def test_who_looked_on_lets_go_what_the_leader_of_before_had_not(
    bots: tuple[Replica, Replica], api: ApiServer
) -> None:
    """Looking on, it has sent pods on their way as well, and nothing of that was written."""
    first, second = bots
    first.create_job("train", pods=3, gpus=8)
    settle(*bots)
    api.faults.cut("PATCH", path=r"/pods/train-", times=None)
    first.step()
    wait_until(lambda: "gpubot.dev/decision" in marks(first), "the Job to be let go")
    settle(*bots)
    first.step()
    for _ in range(3):
        second.step()
        assert second.cluster.writer.wait(5.0)
    assert first.bound() == {}
    take_over(first, second)
    first.hand.now += TRUST
    api.faults.clear()
    for _ in range(2):
        second.step()
        second.settle()
    assert second.bound().keys() == {"train-0", "train-1", "train-2"}


def marks(bot: Replica) -> dict[str, str]:
    found = bot.job("train")["metadata"].get("annotations") or {}
    assert isinstance(found, dict)
    return found


@pytest.mark.parametrize("seed", range(3))
def test_changes_of_leader_under_load_decide_nothing_twice(
    api: ApiServer, url: str, seed: int
) -> None:
    rng = random.Random(seed)  # noqa: S311 - a story to be played again
    leader, other = two(api, url)
    for number in range(12):
        leader.create_job(f"job-{number}", pods=rng.choice((1, 2)), gpus=8)
        settle(leader, other)
        order = [leader, other]
        rng.shuffle(order)
        for bot in order:
            bot.step()
        if rng.random() < 0.5:
            take_over(leader, other)
            for bot in rng.sample(order, 2):  # both believe to lead
                bot.step()
            leader.candidate.attend()
            assert leader.candidate.deposed.is_set()
            leader.step()
            leader, other = other, leader.again()
        settle(leader, other)
        leader.let_pods_run()
        if rng.random() < 0.4:
            leader.finish_pods()
    for _ in range(12):
        leader.step()
        leader.settle()
        leader.let_pods_run()
        leader.finish_pods()
        leader.api.kubelet.confirm_all()
    found = requests(leader)
    assert Counter(one.workload.name for one in found) == {f"job-{n}": 1 for n in range(12)}
    assert {one.state for one in found} == {RequestState.FINISHED}
    for one in found:
        entered = Counter(move.after for move in story(leader, one.id))
        assert entered[RequestState.ADMITTED] == entered[RequestState.FINISHED] == 1
    leader.close()
    other.close()


def test_who_looked_on_takes_over_what_the_leader_has_started_anew_since(
    bots: tuple[Replica, Replica], api: ApiServer
) -> None:
    """What it had in mind is an attempt that is over: it is not that which is to be stopped."""
    first, second = bots
    first.create_job("train", pods=3, gpus=8)
    for _ in range(3):
        settle(*bots)
        first.step()
        first.settle()
    first.let_pods_run()
    for bot in (first, second):
        settle(*bots)
        bot.step()
    jobs = f"/apis/batch/v1/namespaces/{TEAM}/jobs/train"
    first.clock.advance(60.0)
    first.person.patch(jobs, {"spec": {"suspend": True}})
    for _ in range(5):
        first.settle()
        first.step()
        first.let_pods_run()
    (made,) = requests(first)
    assert (made.state, made.attempt) == (RequestState.RUNNING, 2)
    pods = {pod["metadata"]["uid"] for pod in first.pods()}
    take_over(first, second)
    first.hand.now += TRUST
    for _ in range(4):
        settle(*bots)
        second.step()
        second.settle()
    (made,) = requests(second)
    assert (made.state, made.attempt) == (RequestState.RUNNING, 2)
    assert {pod["metadata"]["uid"] for pod in second.pods()} == pods
    assert not second.job("train")["spec"]["suspend"]
    assert marks(second)["gpubot.dev/decision"] == made.decision
    assert "gpubot.dev/stop-at" not in marks(second)
