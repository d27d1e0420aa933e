"""Whatever happens to senders, and in whatever order: all is said, in order, and once."""

from __future__ import annotations

import datetime as dt
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    invariant,
    multiple,
    precondition,
    rule,
)

from storage.records import Audience, OutboxItem, OutboxState
from storage.store import open_store
from tests.storage.samples import later, notice, request

LEASE = 30
REQUEST = "R-1001"


class Delivery(RuleBasedStateMachine):
    """Several senders, which may crash before or after Slack has the message, and a Slack.

    As the announcer must, a sender looks for the key before it posts something that was
    claimed before (`attempts` > 1). `posts` is what Slack has, `shown` the arguments of the
    newest edit.
    """

    held = Bundle("held")

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = open_store(f"sqlite:///{Path(self.folder.name) / 'gpubot.db'}")
        self.clock = 0.0
        self.posts: list[str] = []
        self.shown: dict[str, object] = {}
        self.put: dict[str, int] = {}
        with self.store.write() as work:
            work.requests.add(request(REQUEST))

    @property
    def now(self) -> dt.datetime:
        return later(self.clock)

    @rule(n=st.integers(0, 3), urgent=st.booleans())
    def say(self, n: int, urgent: bool) -> None:
        key = f"thread:{n}"
        with self.store.write() as work:
            said = notice(key, Audience.THREAD, request=REQUEST, urgent=urgent)
            work.outbox.put(said, self.now)
        self.put.setdefault(key, len(self.put))

    @rule(n=st.integers())
    def change_card(self, n: int) -> None:
        with self.store.write() as work:
            said = notice("card", Audience.CARD, request=REQUEST, args={"n": n})
            work.outbox.put(said, self.now)
        self.put["card"] = n

    @rule(target=held, limit=st.integers(1, 3))
    def claim(self, limit: int) -> Any:
        with self.store.write() as work:
            items = work.outbox.claim(self.now, LEASE, limit, after_cards=True)
        return multiple(*((item, self.clock + LEASE) for item in items))

    @rule(seconds=st.sampled_from([1.0, LEASE / 2, LEASE + 1.0]))
    def wait(self, seconds: float) -> None:
        self.clock += seconds

    @rule(claim=consumes(held), crash=st.booleans())
    def send(self, claim: tuple[OutboxItem, float], crash: bool) -> None:
        item, until = claim
        if self.clock >= until:
            return  # a sender gives up what it did not send within its lease
        self._post(item)
        if not crash:
            with self.store.write() as work:
                work.outbox.sent(item.id, item.revision, "C1", item.notice.key, self.now)

    @rule(claim=consumes(held), seconds=st.integers(0, 60))
    def fail(self, claim: tuple[OutboxItem, float], seconds: int) -> None:
        item, until = claim
        if self.clock < until:
            due = self.now + dt.timedelta(seconds=seconds)
            with self.store.write() as work:
                work.outbox.retry(item.id, item.revision, "ratelimited", due)

    def _post(self, item: OutboxItem) -> None:
        key = item.notice.key
        found = item.attempts > 1 and key in self.posts
        if item.ts is None and not found:
            self.posts.append(key)
        self.shown[key] = item.notice.args

    @invariant()
    def nothing_is_said_twice(self) -> None:
        assert len(self.posts) == len(set(self.posts))

    @invariant()
    def a_thread_follows_its_card_and_keeps_its_order(self) -> None:
        said = [key for key in self.posts if key != "card"]
        assert said == sorted(said, key=lambda key: self.put[key])

    @precondition(lambda self: self.put)
    @rule()
    def calm(self) -> None:
        """With senders that work, all of it is said in the end, and the card shows the last."""
        for _ in range(len(self.put) + 1):
            self.clock += 100
            for item, _until in self._claimed():
                self._post(item)
                with self.store.write() as work:
                    work.outbox.sent(item.id, item.revision, "C1", item.notice.key, self.now)
        with self.store.read() as view:
            states = {i.notice.key: i.state for i in view.outbox.items(*OutboxState)}
        assert states == dict.fromkeys(self.put, OutboxState.SENT)
        assert sorted(self.posts) == sorted(self.put)
        if "card" in self.put:
            assert self.shown["card"] == {"n": self.put["card"]}

    def _claimed(self) -> list[tuple[OutboxItem, float]]:
        with self.store.write() as work:
            items = work.outbox.claim(self.now, LEASE, 10, after_cards=True)
        return [(item, self.clock + LEASE) for item in items]

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()


TestDelivery = Delivery.TestCase
TestDelivery.settings = settings(
    max_examples=25,
    stateful_step_count=25,
    # a busy machine is no failure
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],  # to explain is slow
    suppress_health_check=[HealthCheck.too_slow],
)
