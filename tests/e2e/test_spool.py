"""kill -9 in the middle of bursts: each acknowledged command is carried out exactly once."""

from __future__ import annotations

import random
import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from bot.workspace.visitor import Visitor, VisitorError
from storage.store import open_store
from tests.bot.house import ADA
from tests.e2e.test_kill import Place
from tests.fixtures_workspace import GENERAL, eventually

ROUNDS, BURST = 3, 24


@pytest.mark.timeout(300)
def test_no_acknowledged_command_is_lost_or_doubled(tmp_path: Path) -> None:
    chance = random.Random(5)  # noqa: S311 - chooses moments, guards nothing
    place = Place(tmp_path)
    acknowledged: list[str] = []
    try:
        for number in range(ROUNDS):
            names = [f"r{number}-{each}" for each in range(BURST)]
            acknowledged += _burst(place, names, chance.uniform(0.0, 0.4))
        with place.serving():
            store = open_store(place.url)
            eventually(lambda: not place.spool.read_bytes(), seconds=60)
            with store.read() as view:
                stored = Counter(request.workload.name for request in view.requests.find())
            store.close()
    finally:
        place.server.stop()
    assert acknowledged
    assert {name: stored[name] for name in acknowledged} == dict.fromkeys(acknowledged, 1)
    assert set(stored.values()) == {1}


def _burst(place: Place, names: list[str], seconds: float) -> list[str]:
    """Say many commands at once and kill the bot `seconds` later; those acknowledged."""
    visitor = Visitor(place.server.base_url, ADA.id)
    taken: list[str] = []
    begun = threading.Event()

    def say(name: str) -> None:
        begun.set()
        try:
            answer = visitor.say(GENERAL, f"/gpu 1 h100 2h name {name}")
        except VisitorError:
            return
        if not answer.get("error"):
            taken.append(name)

    with ThreadPoolExecutor(8) as people, place.serving():
        for name in names:
            people.submit(say, name)
        begun.wait(10)
        time.sleep(seconds)  # the moment of the kill is what the test draws
    return taken
