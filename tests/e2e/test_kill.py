"""kill -9 at random moments: what was promised is kept, and nothing is said twice."""

from __future__ import annotations

import random
import re
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bot.chat.webslack import keys_of
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from bot.workspace.workspace import Workspace
from storage.records import OutboxState
from storage.states import RequestState as S
from storage.store import Store, open_store
from tests.bot.house import ADA, BEN, POLICY
from tests.e2e import serving
from tests.fixtures_workspace import GENERAL, ONCALL, eventually, quick_options

PEOPLE = """
U0ADA: {name: Ada Moreau, teams: [nlp, vision]}
U0BEN: {name: Ben Okafor, teams: [vision]}
"""
SEEDS = (11,)


class Place:
    """A workspace that lives on, and the files of a bot that does not."""

    def __init__(self, folder: Path) -> None:
        self.server = WorkspaceServer(
            state_path=folder / "workspace.jsonl", options=quick_options(ack_timeout=1.0)
        )
        self.server.start()
        (folder / "policy.yaml").write_text(POLICY)
        (folder / "people.yaml").write_text(PEOPLE)
        self.spool = folder / "gpubot.spool"
        self.url = f"sqlite:///{folder / 'gpubot.db'}"
        self.environment = {
            "GPUBOT_SLACK_API_URL": self.server.api_url,
            "SLACK_BOT_TOKEN": self.server.options.bot_token,
            "SLACK_APP_TOKEN": self.server.options.app_token,
            "GPUBOT_DATABASE_URL": self.url,
            "GPUBOT_CLUSTER_JOURNAL": str(folder / "journal"),
            "GPUBOT_POLICY": str(folder / "policy.yaml"),
            "GPUBOT_PEOPLE": str(folder / "people.yaml"),
        }

    @contextmanager
    def serving(self) -> Iterator[None]:
        """`gpubot serve` as a process of its own, killed at the end."""
        before = self.server.workspace.sockets.count
        process = serving.start(self.environment)
        try:
            eventually(lambda: self.server.workspace.sockets.count > before, seconds=60)
            yield
        finally:
            serving.kill(process)
            eventually(lambda: self.server.workspace.sockets.count == before, seconds=20)


@pytest.mark.timeout(300)
@pytest.mark.parametrize("seed", SEEDS)
def test_a_killed_bot_loses_nothing_and_repeats_nothing(tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - chooses moments, guards nothing
    place = Place(tmp_path)
    promised: set[str] = set()
    try:
        for _ in range(3):
            with place.serving():
                # Few words, because Slack's pace is a message a second; then a moment that
                # may fall before, between or after any of the bot's writes.
                for _ in range(3):
                    _say_something(place, chance)
                time.sleep(chance.choice([0.0, 0.01, 0.05, 0.2, 0.6]))
            promised |= _answered(place)
        with place.serving():
            store = open_store(place.url)
            # What was only acknowledged is carried out first: it has things to say, too.
            eventually(lambda: not place.spool.read_bytes(), seconds=60)
            eventually(lambda: not _unsent(store), seconds=120)
        _check(place, store, promised)
        store.close()
    finally:
        place.server.stop()


def _say_something(place: Place, chance: random.Random) -> None:
    person = chance.choice([ADA, BEN])
    text = chance.choice(
        [
            "/gpu 8 h100 4h",
            "/gpu 1 h100 2h name tiny",
            "/gpu 2 nodes h100 8h",
            "/gpu 4 nodes h100 8h preemptible",
            "/gpu mine",
        ]
    )
    Visitor(place.server.base_url, person.id).say(GENERAL, text)


def _answered(place: Place) -> set[str]:
    """Requests that somebody was told of."""
    found: set[str] = set()
    for person in (ADA, BEN):
        for message in Visitor(place.server.base_url, person.id).private(GENERAL):
            found |= set(re.findall(r"Your request is (R-\d+)", message["text"]))
    return found


def _unsent(store: Store) -> list[str]:
    with store.read() as view:
        waiting = view.outbox.items(OutboxState.PENDING, OutboxState.CLAIMED)
    return [item.notice.key for item in waiting]


def _check(place: Place, store: Store, promised: set[str]) -> None:
    with store.read() as view:
        requests = {request.id: request for request in view.requests.find()}
        items = view.outbox.items(*OutboxState)
    assert promised
    assert promised <= requests.keys()
    assert {item.state for item in items} == {OutboxState.SENT}
    for request in requests.values():
        if request.state in {S.ADMITTED, S.RUNNING}:
            assert f"admitted:{request.decision}:channel" in {i.notice.key for i in items}
    said = Counter(key for channel in (GENERAL, ONCALL) for key in _keys(place, channel))
    assert [key for key, times in said.items() if times > 1] == []
    cards = {f"card:{request}" for request in requests}
    assert cards <= said.keys()


def _keys(place: Place, channel: str) -> list[str]:
    """The keys that the messages of a channel and its threads carry, each as often as said."""

    def read(space: Workspace) -> list[str]:
        room = space.rooms.find(channel)
        assert room is not None
        return [key for message in room.messages.values() for key in keys_of(message)]

    return place.server.look(read)
