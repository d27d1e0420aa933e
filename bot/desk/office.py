"""What every counter of the desk shares: the loop, the store, who is who, and cards."""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence
from typing import TypeVar

from bot.clock import moment
from bot.control.loop import Control
from bot.foresight import Foresight
from bot.lookout.here import Here
from bot.people import Directory
from bot.places import Domain, domains_of
from bot.prospects import SOON, Prospect
from bot.replicas import family_view, gathered
from bot.rows import OPEN_FIRST, boost_of, card_of, explain_all
from bot.terms import WAITING_AT_MOST
from bot.views import Boost, CardView, NotReady
from scheduler.engine import Engine
from scheduler.model import Explanation
from storage.records import Request, Setting
from storage.states import FINAL, RequestState

T = TypeVar("T")
S = RequestState
FORESEEN = 1800.0  # seconds for which a card shows what was foreseen
PATIENCE = 1.0  # seconds the desk waits for the loop's decision before it answers without
OPEN = tuple(state for state in RequestState if state not in FINAL)


class Office:
    """The base of all counters. Safe to call from any thread."""

    def __init__(
        self,
        control: Control,
        directory: Directory,
        *,
        patience: float = PATIENCE,
        waiting_at_most: int = WAITING_AT_MOST,
    ) -> None:
        self._control = control
        self._store = control.store
        self._terms = control.terms
        self._directory = directory
        self.patience = patience
        self._waiting_at_most = waiting_at_most
        self.foresight = Foresight(Here(control))

    def setting(self, name: str) -> Setting | None:
        """A stored setting, or None."""
        with self._store.read() as view:
            return view.settings.get(name)

    def card(self, request_id: str) -> CardView:
        """Everything the card of a request shows, read fresh. Raises KeyError."""
        with self._store.read() as view:
            request = view.requests.get(request_id)
        if request is None:
            raise KeyError(request_id)
        return self._card_of(request)

    def _carried_out(self, event_id: int) -> bool:
        self._control.wake()
        return self._control.wait(event_id, self.patience)

    def _look(self, look: Callable[[Engine], T]) -> T:
        return self._control.read(look)

    def _wall(self) -> dt.datetime:
        return moment(self._control.wall.now())

    def _world(self) -> dt.datetime:
        """The time that people are told, which runs faster where a cluster is only simulated."""
        return moment(self._control.clock.now())

    def _owner(self, what: str) -> str | None:
        """The id of the person that a name, an id or a mention (even one spelt out) means."""
        word = what.strip().removeprefix("<@").removesuffix(">").removeprefix("@").split("|")[0]
        if self._directory.knows(word):
            return word
        by_name = [p.id for p in self._directory.people() if p.name.lower() == word.lower()]
        return by_name[0] if by_name else None

    def _card_of(self, request: Request) -> CardView:
        return self._cards([request])[0]

    def _cards(self, requests: Sequence[Request]) -> tuple[CardView, ...]:
        """The cards of requests; one that stands for a family of replicas tells of all of them."""
        heads = {request.head for request in requests if request.head is not None}
        if not heads:
            return self._single_cards(requests)
        with self._store.read() as view:
            families = view.requests.replicas(heads, OPEN)
        every = {one.id: one for family in families.values() for one in family}
        every.update((one.id, one) for one in requests)
        cards = {card.request: card for card in self._single_cards(list(every.values()))}
        return tuple(
            dataclasses.replace(
                cards[one.id],
                may_end=one.head is None,
                family=family_view(one, families.get(one.card, ()), cards),
            )
            for one in requests
        )

    def _gathered(self, requests: Sequence[Request]) -> tuple[Request, ...]:
        """The requests with each family of replicas as one: its head."""
        missing = {one.head for one in requests if one.head is not None}
        with self._store.read() as view:
            return gathered(requests, view.requests.by_ids(sorted(missing)))

    def _single_cards(self, requests: Sequence[Request]) -> tuple[CardView, ...]:
        now = self._control.clock.now()
        waiting = [request.id for request in requests if request.state is S.WAITING]
        holding = [request for request in requests if request.state.holding]
        reasons: dict[str, Explanation] = {}
        domains: dict[str, Domain] = {}
        boosts: dict[str, Boost | None] = {}
        with contextlib.suppress(NotReady):
            if waiting:
                reasons = self._look(lambda engine: explain_all(engine, waiting, now))
            boosts = self._look(lambda engine: self._boosts(engine, requests))
            if holding:
                domains = self._look(lambda engine: domains_of(engine, self._terms, holding))
        foreseen = {one.id: self._foreseen(one, now) for one in requests if one.state is S.WAITING}
        return tuple(
            card_of(
                request,
                self._terms,
                now,
                reasons.get(request.id),
                domains.get(request.id, ()),
                foreseen.get(request.id),
                boosts.get(request.id),
            )
            for request in requests
        )

    def _boosts(self, engine: Engine, requests: Sequence[Request]) -> dict[str, Boost | None]:
        return {
            request.id: boost_of(engine, self._terms, request.workload, lifted=False)
            for request in requests
            if not request.state.final
        }

    def _foreseen(self, request: Request, now: float) -> Prospect | None:
        """What was last foreseen for a request, unless that is long ago or did not come true."""
        found = self.foresight.of(request.id)
        if found is None or now - found.at > FORESEEN:
            return None
        if request.head is not None:  # what it asks for is changed in its template, not here
            found = dataclasses.replace(found, offers=())
        likely = found.forecast.likely
        return found if likely is None or likely > now - SOON else None


def by_state(requests: Sequence[Request]) -> tuple[Request, ...]:
    """What runs first, then what waits; the newest first in each."""
    return tuple(
        request for state in OPEN_FIRST for request in reversed(requests) if request.state is state
    )
