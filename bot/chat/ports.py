"""What the chat needs from the rest of the house, as protocols.

The desk, the outbox, a memory of what was answered, and Slack as the announcer sees it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from bot.answers import Changed, Kept, Tried, WhenView
from bot.asks import Ask, Change, End, Period
from bot.byhand import ByHandAnswer, Wish
from bot.chat.message import Message
from bot.chat.replies import Picture
from bot.fairness import FairView
from bot.identity import LinkAnswer, LinkRefused, OnCallView
from bot.maps import Grouping, MapView
from bot.preferences import Preferences
from bot.reports import ReportView
from bot.views import (
    Acknowledged,
    CardView,
    Choices,
    Done,
    HomeView,
    MineView,
    PreferencesView,
    QueueView,
    Refused,
    StatusView,
    Submitted,
    Unconfirmed,
    WhyView,
)
from storage.records import Notice, OutboxItem, Person, Recipe


class Desk(Protocol):
    """One method for each thing a person can ask for. Safe to call from any thread."""

    def submit(
        self,
        person_id: str,
        ask: Ask,
        *,
        key: str,
        channel: str | None = None,
        recipe: Recipe | None = None,
    ) -> Submitted | Refused: ...

    def adopt(
        self,
        person_id: str,
        where: str,
        *,
        key: str,
        lease: float | None = None,
        team: str | None = None,
        preemptible: bool = False,
        channel: str | None = None,
    ) -> Submitted | Refused: ...

    def examine(self, person_id: str, ask: Ask) -> tuple[Refused, ...]: ...

    def cancel(
        self,
        person_id: str,
        request_id: str,
        *,
        key: str,
        confirmed: bool = True,
        grant: int | None = None,
    ) -> Done | Unconfirmed | Refused: ...

    def release(
        self,
        person_id: str,
        request_id: str,
        *,
        key: str,
        confirmed: bool = True,
        grant: int | None = None,
    ) -> Done | Unconfirmed | Refused: ...

    def extend(
        self,
        person_id: str,
        request_id: str,
        by: float,
        *,
        key: str,
        ends: float | None = None,
    ) -> Changed | Refused: ...

    def edit(
        self, person_id: str, request_id: str, change: Change, *, key: str
    ) -> Changed | Refused: ...

    def asked(self, person_id: str, request_id: str) -> Ask | Refused: ...

    def rewrite(
        self, person_id: str, request_id: str, ask: Ask, *, key: str
    ) -> Changed | Refused: ...

    def examine_rewrite(self, person_id: str, request_id: str, ask: Ask) -> Refused | None: ...

    def give(self, person_id: str, request_id: str, to: str, *, key: str) -> Changed | Refused: ...

    def try_out(self, person_id: str, ask: Ask) -> Tried | Refused: ...

    def when(self, person_id: str, request_id: str) -> WhenView | Refused: ...

    def take(
        self, person_id: str, request_id: str, offer: str, *, key: str
    ) -> Changed | Refused: ...

    def status(self, person_id: str, what: str | None = None) -> StatusView | Refused: ...

    def queue(
        self, person_id: str, what: str | None = None, page: int = 1
    ) -> QueueView | Refused: ...

    def why(self, person_id: str, request_id: str) -> WhyView | Refused: ...

    def map(self, by: Grouping = Grouping.POOL) -> MapView: ...

    def fair(self, person_id: str, team: str | None = None) -> FairView | Refused: ...

    def report(
        self, period: Period = Period.WEEK, team: str | None = None
    ) -> ReportView | Refused: ...

    def link(
        self, person_id: str, team: str | None = None, whom: str | None = None, *, key: str
    ) -> LinkAnswer: ...

    def stand_in(
        self, person_id: str, whom: str | None, end: End, *, key: str, off: bool = False
    ) -> OnCallView | LinkRefused: ...

    def answer_link(self, lead: str, person: str, team: str, *, agree: bool) -> LinkAnswer: ...

    def intervene(
        self,
        person_id: str,
        wish: Wish,
        *,
        key: str,
        confirmed: bool = False,
        seen: str | None = None,
    ) -> ByHandAnswer: ...

    def mine(self, person_id: str) -> MineView: ...

    def home(self, person_id: str) -> HomeView: ...

    def choices(self, person_id: str) -> Choices: ...

    def person(self, person_id: str) -> Person | None: ...

    def preferences(self, person_id: str) -> Preferences: ...

    def prefs(
        self, person_id: str, changes: Iterable[tuple[str, str]] = (), *, key: str
    ) -> PreferencesView | Refused: ...

    def keep(self, person_id: str, request_id: str, *, key: str) -> Kept | Refused: ...

    def acknowledge(self, person_id: str, call: str, *, key: str) -> Acknowledged | Refused: ...


class Once(Protocol):
    """Remembers what was answered, across restarts."""

    def first(self, key: str) -> bool:
        """True the first time a key is seen."""
        ...


class Threads(Protocol):
    """Which request a thread is about."""

    def request_at(self, channel: str, thread_ts: str) -> str | None: ...


class Cards(Protocol):
    """What a card or a digest shows, read fresh."""

    def card(self, request_id: str) -> CardView:
        """Raises KeyError if there is no such request."""
        ...

    def report_until(self, until: float, period: Period, team: str | None = None) -> ReportView:
        """What a period came to."""
        ...


class Outbox(Protocol):
    """Messages to be sent; every call is a short transaction of its own."""

    def claim(self, now: dt.datetime, limit: int) -> tuple[OutboxItem, ...]: ...

    def put(self, notice: Notice, *, at: dt.datetime) -> None:
        """Have something more said, once for its key."""
        ...

    def sent_all(
        self,
        items: Sequence[OutboxItem],
        *,
        channel: str | None,
        ts: str | None,
        at: dt.datetime,
        more: Sequence[Notice] = (),
    ) -> None:
        """Several notices that went out as one message; `more` is to be said because of it.

        No channel: there was nobody who wanted to hear it.
        """
        ...

    def get(self, key: str) -> OutboxItem | None:
        """The message of a key as it stands now."""
        ...

    def at(self, channel: str, ts: str) -> tuple[OutboxItem, ...]:
        """The notices that one message says."""
        ...

    def retry(self, item: OutboxItem, *, error: str, due: dt.datetime) -> None: ...

    def defer(self, items: Sequence[OutboxItem], *, due: dt.datetime) -> None:
        """Give them back untried."""
        ...

    def dead(self, item: OutboxItem, *, error: str) -> None: ...

    def card_of(self, request: str) -> OutboxItem | None: ...


@dataclass(frozen=True, slots=True)
class Posted:
    """Where a message is."""

    channel: str
    ts: str


class Slack(Protocol):
    """The few calls of Slack's Web API that announcing takes.

    All raise `SlackRefused` when Slack says no and `SlackUnreachable` when it says nothing.
    """

    def post(
        self,
        channel: str,
        message: Message,
        *,
        keys: Sequence[str],
        thread_ts: str | None = None,
    ) -> Posted: ...

    def show(self, channel: str, picture: Picture, *, thread_ts: str) -> Posted:
        """Upload a picture into a thread; `find` knows it by `file:` and its name."""
        ...

    def update(self, channel: str, ts: str, message: Message, *, keys: Sequence[str]) -> Posted: ...

    def find(
        self, channel: str, keys: Sequence[str], *, since: float, thread_ts: str | None = None
    ) -> Mapping[str, Posted]:
        """The messages that carry these keys, as far as history can be read and has them."""
        ...


class SlackRefused(Exception):
    """Slack answered with an error code; `wait` is its Retry-After in seconds, if any."""

    def __init__(self, code: str, *, wait: float | None = None) -> None:
        super().__init__(code)
        self.code, self.wait = code, wait


class SlackUnreachable(Exception):
    """No answer came: the call may or may not have taken effect."""
