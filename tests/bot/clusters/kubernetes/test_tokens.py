"""Tokens that run out: nothing is decided by what is old, and all goes on with a new one."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clusters.kubernetes import writing
from bot.clusters.kubernetes.leader import DURATION, TRUST
from storage.records import Request, Source
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.replicas import Replica, two
from tests.bot.clusters.kubernetes.world import wait_until
from tests.kube.server import ApiServer

Bots = tuple[Replica, Replica]


@pytest.fixture(autouse=True)
def _impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Writes are tried again, and watches taken up again, as fast as a test wants."""
    monkeypatch.setattr(writing, "FIRST_PAUSE", 0.002)
    monkeypatch.setattr(writing, "LONGEST_PAUSE", 0.02)
    monkeypatch.setattr("bot.control.loop.FIRST_PAUSE", 0.001)


@pytest.fixture
def files(api: ApiServer, tmp_path: Path) -> tuple[Path, Path]:
    """The token of each bot, as it is mounted in its pod."""
    paths = tmp_path / "a", tmp_path / "b"
    for path in paths:
        issue(api, path, 1)
    return paths


@pytest.fixture
def bots(api: ApiServer, tmp_path: Path, files: tuple[Path, Path]) -> Iterator[Bots]:
    pair = two(api, f"sqlite:///{tmp_path / 'gpubot.db'}", files)
    yield pair
    for one in pair:
        one.close()


def issue(api: ApiServer, path: Path, number: int) -> None:
    """A new token is written to the file."""
    token = f"{path.name}-{number}"
    api.cluster.gate.people[token] = api.cluster.gate.people["bot-token"]
    path.write_text(token)


def expire(api: ApiServer, path: Path) -> None:
    """The token in the file is taken no more, and the watches that it opened are over."""
    del api.cluster.gate.people[path.read_text()]
    api.drop_watches()


def attend(*bots: Replica) -> None:
    """Both look after the Lease, as their threads do whatever comes of it."""
    for bot in bots:
        bot.candidate._try()


def wait_for_trouble(*bots: Replica) -> None:
    for bot in bots:
        wait_until(lambda bot=bot: all(map(in_trouble, bot.cluster.watchers[:3])), "the 401")  # type: ignore[misc]  # bound now


def wait_for_health(*bots: Replica) -> None:
    for bot in bots:
        wait_until(lambda bot=bot: not any(map(in_trouble, bot.cluster.watchers)), "the new token")  # type: ignore[misc]  # bound now


def in_trouble(watcher: object) -> bool:
    return getattr(watcher, "trouble", None) is not None


def requests(bot: Replica) -> list[Request]:
    with bot.store.read() as view:
        return list(view.requests.from_source(Source.CLUSTER, list(S)))


def leaders(*bots: Replica) -> list[str]:
    return [bot.candidate.who for bot in bots if bot.candidate.leads]


def goes_on(bot: Replica, name: str) -> None:
    """The bot decides again: what waits is let go."""

    def runs() -> bool:
        bot.api.controllers.settle()
        bot.let_pods_run()
        bot.step()
        return any(one.workload.name == name and one.state is S.RUNNING for one in requests(bot))

    wait_until(runs, f"{name} to run")


def test_without_a_token_nobody_decides_and_with_a_new_one_one_does(
    bots: Bots, api: ApiServer, files: tuple[Path, Path]
) -> None:
    first, second = bots
    for path in files:
        expire(api, path)
    wait_for_trouble(*bots)
    first.create_job("train")
    api.controllers.settle()
    for bot in bots:
        attend(*bots)
        bot.control.step()
        bot.hand.now += TRUST
    attend(*bots)
    assert leaders(*bots) == []
    assert requests(first) == []
    for number, path in enumerate(files):
        issue(api, path, 2 + number)
    wait_for_health(*bots)
    attend(*bots)
    assert leaders(*bots) == ["bot-a"]  # it was only in doubt: nobody has led since
    second.step()
    goes_on(first, "train")
    assert [(one.workload.name, one.attempt) for one in requests(second)] == [("train", 1)]


def test_who_has_no_token_any_more_is_followed_by_the_other(
    bots: Bots, api: ApiServer, files: tuple[Path, Path]
) -> None:
    first, second = bots
    first.create_job("train")
    for bot in bots:
        bot.settle()
    expire(api, files[0])
    wait_for_trouble(first)
    wait_for_health(second)
    first.control.step()
    assert requests(first) == []
    first.hand.now += TRUST
    attend(first)
    attend(second)
    second.hand.now += DURATION
    attend(second)
    assert leaders(*bots) == ["bot-b"]
    goes_on(second, "train")
    issue(api, files[0], 2)
    wait_for_health(first)
    attend(first)
    assert first.candidate.deposed.is_set()
    assert leaders(*bots) == ["bot-b"]
    first.step()
    assert [one.attempt for one in requests(first)] == [1]
    assert first.cluster.writer.wait(0.0)


def test_who_looks_on_without_a_token_does_not_take_over(
    bots: Bots, api: ApiServer, files: tuple[Path, Path]
) -> None:
    first, second = bots
    expire(api, files[1])
    wait_for_trouble(second)
    wait_for_health(first)
    second.hand.now += 2 * DURATION
    attend(second)
    assert leaders(*bots) == ["bot-a"]
    first.create_job("train")
    api.controllers.settle()
    goes_on(first, "train")
    issue(api, files[1], 2)
    wait_for_health(second)
    attend(first)
    attend(second)  # it sees that the Lease was renewed, and waits anew
    assert leaders(*bots) == ["bot-a"]
    assert [one.attempt for one in requests(second)] == [1]


def test_writes_wait_for_the_token_while_the_watches_that_are_open_go_on(
    bots: Bots, api: ApiServer, files: tuple[Path, Path]
) -> None:
    """The server ends no watch for its token: what is decided is not stale, and not lost."""
    first, _ = bots
    first.create_job("train", pods=2, gpus=8)
    first.settle()
    before = files[0].read_text()
    api.cluster.gate.people.pop(before)
    first.step()
    (made,) = requests(first)
    assert made.state is S.ADMITTED
    wait_until(lambda: first.cluster.writer.stuck > 0.0, "its start to be refused")
    assert first.job("train")["spec"]["suspend"]
    issue(api, files[0], 2)
    goes_on(first, "train")
    assert [(one.state, one.attempt) for one in requests(first)] == [(S.RUNNING, 1)]


def test_a_file_that_is_away_for_a_moment_loses_no_write(
    bots: Bots, api: ApiServer, files: tuple[Path, Path]
) -> None:
    first, _ = bots
    first.create_job("train", pods=2, gpus=8)
    first.settle()
    api.cluster.gate.people.pop(files[0].read_text())
    files[0].unlink()
    first.step()
    wait_until(lambda: first.cluster.writer.stuck > 0.0, "its start to wait")
    assert first.cluster.writer.busy(first.job("train")["metadata"]["uid"])
    issue(api, files[0], 2)
    goes_on(first, "train")
    assert [one.attempt for one in requests(first)] == [1]
