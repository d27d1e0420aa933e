"""How long is waited between tries: ever longer, spread at random, and as the server says.

Nothing waits here: what would be waited for is written down, and chance is what it is said to be.
"""

from __future__ import annotations

import itertools
import threading
from collections.abc import Iterator
from types import SimpleNamespace

import pytest

from bot import pauses
from bot.clusters.kubernetes import writing
from bot.clusters.kubernetes.connection import Connection, Refused, Unanswered
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.watching import Pace, Watcher
from bot.clusters.kubernetes.writing import Write, Writer
from tests.bot.clusters.kubernetes.world import wait_until
from tests.kube.server import ApiServer

SPREAD = (0.5, 1.0)


class Chance:
    """What `random` is to those who wait: the parts that it was given, over and over."""

    def __init__(self, *parts: float) -> None:
        self._parts = itertools.cycle(parts)
        self.asked: set[tuple[float, float]] = set()

    def uniform(self, least: float, most: float) -> float:
        self.asked.add((least, most))
        return next(self._parts)


class Waits(threading.Event):
    """Is set after so many waits, none of which takes any time."""

    def __init__(self, many: int) -> None:
        super().__init__()
        self._many = many
        self.found: list[float | None] = []

    def wait(self, timeout: float | None = None) -> bool:
        self.found.append(timeout)
        if len(self.found) >= self._many:
            self.set()
        return self.is_set()


def waits_of(api: ApiServer, many: int, longest: float = 10.0) -> list[float | None]:
    """How long a watcher of the pods waits between its first tries."""
    connection = Connection(lambda: api.client("bot"))
    watcher = Watcher(
        connection, "/api/v1/pods", Mirror().pods, pace=Pace(first=1.0, longest=longest)
    )
    waits = Waits(many)
    watcher._stopping = waits
    watcher._follow()
    return waits.found


@pytest.mark.parametrize("part", SPREAD)
@pytest.mark.parametrize("code", [503, 403], ids=["unanswered", "refused"])
def test_a_watcher_waits_twice_as_long_each_time(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch, code: int, part: float
) -> None:
    chance = Chance(part)
    monkeypatch.setattr(pauses, "CHANCE", chance)
    api.faults.fail(code, "GET", path="pods", reason="Forbidden", times=None)
    found = waits_of(api, 6)
    assert found == [each * part for each in (1.0, 2.0, 4.0, 8.0, 10.0, 10.0)]
    assert chance.asked == {SPREAD}


def test_each_wait_of_a_watcher_is_spread_by_itself(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses, "CHANCE", Chance(0.5, 1.0, 0.75))
    api.faults.fail(503, "GET", path="pods", times=None)
    assert waits_of(api, 4) == [0.5, 2.0, 3.0, 4.0]


@pytest.mark.parametrize("watch", [False, True], ids=["list", "watch"])
def test_a_watcher_comes_back_when_the_server_says(
    api: ApiServer, monkeypatch: pytest.MonkeyPatch, watch: bool
) -> None:
    """Never before; what it would have waited anyway may be longer."""
    monkeypatch.setattr(pauses, "CHANCE", Chance(1.0))
    api.faults.shed("GET", path="watch=true" if watch else "pods", times=None, after=7)
    found = waits_of(api, 6, longest=30.0)
    assert found == [7.0, 7.0, 7.0, 8.0, 16.0, 30.0]


# ---- writes


@pytest.fixture
def now(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """The time of writers, which a test moves."""
    found = [1000.0]
    monkeypatch.setattr(writing, "time", SimpleNamespace(monotonic=lambda: found[0]))
    return found


@pytest.fixture
def writer() -> Iterator[Writer]:
    made = Writer()
    yield made
    made.stop()


def pauses_of(writer: Writer, now: list[float], many: int) -> list[float]:
    """How long the writer waits between the tries of the one write that it has."""
    found: list[float] = []
    for _ in range(many):
        wait_until(lambda: bool(writer._later), "the next try to be put off")
        with writer._lock:
            when = writer._later[0][0]
            found.append(when - now[0])
            now[0] = when
            writer._changed.notify_all()
        wait_until(lambda: not writer._later or writer._later[0][0] > now[0], "it to be due")
    return found


@pytest.mark.parametrize("part", SPREAD)
@pytest.mark.parametrize(
    "error", [Unanswered("no answer"), Refused(409, "Conflict", "another was quicker")], ids=str
)
def test_a_write_waits_twice_as_long_each_time(
    writer: Writer,
    now: list[float],
    monkeypatch: pytest.MonkeyPatch,
    error: Exception,
    part: float,
) -> None:
    chance = Chance(part)
    monkeypatch.setattr(pauses, "CHANCE", chance)
    monkeypatch.setattr(writing, "LONGEST_PAUSE", 1.0)

    def send() -> None:
        raise error

    writer.put(Write(about="a", what="x", send=send))
    found = pauses_of(writer, now, 5)
    assert found == pytest.approx([each * part for each in (0.2, 0.4, 0.8, 1.0, 1.0)])
    assert chance.asked == {SPREAD}


def test_a_write_is_sent_again_when_the_server_says(
    writer: Writer, now: list[float], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pauses, "CHANCE", Chance(1.0))
    after = iter([30.0, None, 7.0, 0.0])

    def send() -> None:
        raise Unanswered("too many requests", after=next(after))

    writer.put(Write(about="a", what="x", send=send))
    assert pauses_of(writer, now, 4) == pytest.approx([30.0, 0.4, 7.0, 1.6])


@pytest.mark.parametrize("part", SPREAD)
def test_a_storm_is_left_alone_twice_as_long_each_time(
    writer: Writer, monkeypatch: pytest.MonkeyPatch, part: float
) -> None:
    """What fails together counts as one; nothing is tried before the server says."""
    monkeypatch.setattr(pauses, "CHANCE", Chance(part))
    monkeypatch.setattr(writing, "LONGEST_PAUSE", 1.0)
    found, now = [], 1000.0
    with writer._lock:
        for after in (0.0, 0.0, 0.0, 30.0, 0.0):
            for _ in range(3):
                writer._rest(now, after)
            found.append(writer._next_try - now)
            now = writer._next_try
    assert found == pytest.approx([0.2 * part, 0.4 * part, 0.8 * part, 30.0, part])
