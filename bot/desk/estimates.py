"""Looking ahead: when a request will start, what would start sooner, and taking such an offer.

What is foreseen first is kept in storage, to be compared with what happened.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping
from functools import partial

from bot.answers import Changed, Tried, WhenView
from bot.asks import Ask
from bot.clock import moment
from bot.control.ledger import card_notice
from bot.desk.changes import Order
from bot.desk.giving import HOLDS, Giving
from bot.desk.naming import Naming
from bot.desk.submission import new_request
from bot.leases import HeldUp
from bot.lookout.questions import consider, find_offer, forecasts, who_is_delayed
from bot.plans import UNNAMED, refuse
from bot.prospects import Prospect
from bot.rights import refuse_rewrite, seen_by
from bot.views import NotReady, RefusalCode, Refused, Submitted
from scheduler.forecast import Forecast, Reach
from scheduler.model import Seconds, Workload
from storage.records import Estimate, EventKind, Person, Recipe, Request, Source
from storage.states import RequestState

S = RequestState
STARE = 5.0  # seconds somebody who asks for nothing else may
FRESH: Seconds = 10.0  # what was foreseen so lately is told again, as of then
SWEPT = 100  # requests looked at in one sweep
WHOLE = 5  # of these, so many get offers worked out
MOVED: Seconds = 300.0  # a card is drawn again when its start moves by more


class Estimates(Giving, Naming):
    """Everything that needs a look ahead."""

    def submit(
        self,
        person_id: str,
        ask: Ask,
        *,
        key: str,
        channel: str | None = None,
        recipe: Recipe | None = None,
    ) -> Submitted | Refused:
        """As `Submission.submit`; the answer to what waits says until when, if that is quick."""
        answer = super().submit(person_id, ask, key=key, channel=channel, recipe=recipe)
        if isinstance(answer, Refused) or answer.again or not answer.decided:
            return answer
        if answer.card.state is not S.WAITING:
            return answer
        self._foresee(answer.card.request)
        return dataclasses.replace(answer, card=self.card(answer.card.request))

    def try_out(self, person_id: str, ask: Ask) -> Tried | Refused:
        """What would become of a request; nothing is created."""
        now = self._control.clock.now()
        person = self._directory.person(person_id)
        planned = self._plan(ask, person, now)
        if isinstance(planned, Workload) and self._has_too_many(person):
            planned = refuse(RefusalCode.TOO_MANY_WAITING, most=self._waiting_at_most)
        if isinstance(planned, Refused):
            return self._with_example(planned, ask, person, now)
        request = new_request(planned, UNNAMED, ask.text, Source.CHAT, now)
        prospect = self.foresight.look(
            partial(consider, request=request, planner=person), patience=STARE, shared=True
        )
        if prospect is None:
            raise NotReady
        return Tried(card=dataclasses.replace(self._card_of(request), prospect=prospect), ask=ask)

    def when(self, person_id: str, request_id: str) -> WhenView | Refused:
        """When a request is expected to start, as of now or a moment ago. Anybody may ask.

        It may be named, as in `why`.
        """
        wanted = self._which(person_id, request_id)
        request = wanted if isinstance(wanted, Refused) else self._request(wanted)
        if isinstance(request, Refused):
            return request
        request = self._next_of(request)
        if request.state is S.WAITING and not self._lately(request.id):
            self._foresee(request.id, STARE)
        card = seen_by(self._directory.person(person_id), self.card(request.id))
        with self._store.read() as view:
            first = view.estimates.get(request.id)
        return WhenView(card=card, first=first)

    def _next_of(self, request: Request) -> Request:
        """Of a family of replicas the oldest that waits; else the request itself."""
        if request.head != request.id:
            return request
        with self._store.read() as view:
            waiting = view.requests.replicas([request.id], [S.WAITING])[request.id]
        return next(iter(waiting), request)

    def take(self, person_id: str, request_id: str, offer: str, *, key: str) -> Changed | Refused:
        """Change a request that waits as an offer says, if that still starts it sooner."""
        person = self._directory.person(person_id)

        def judge() -> Order | Refused:
            request = self._request(request_id)
            return request if isinstance(request, Refused) else self._taken(person, request, offer)

        return self._change(person_id, key, judge)

    def _change(
        self, person_id: str, key: str, judge: Callable[[], Order | Refused]
    ) -> Changed | Refused:
        """As `Changing._change`; what still waits is looked at anew."""
        answer = super()._change(person_id, key, judge)
        if isinstance(answer, Changed) and answer.decided and answer.card.state is S.WAITING:
            self._foresee(answer.card.request, queue=STARE)
            answer = dataclasses.replace(answer, card=self.card(answer.card.request))
        return answer

    def _held_up(self, request: Request, lease: Seconds) -> tuple[HeldUp, ...]:
        """Who would start later if a lease were longer, by playing both; at a glance if busy."""
        try:
            return self.foresight.look(
                partial(who_is_delayed, workload=request.workload.id, lease=lease),
                patience=STARE,
            )
        except NotReady:
            return super()._held_up(request, lease)

    def look_ahead(self) -> None:
        """Foresee anew what waits, keep first estimates, and have cards drawn that have changed."""
        with self._store.read() as view:
            waiting = view.requests.from_source(Source.CHAT, [S.WAITING])[:SWEPT]
        if not waiting:
            return
        for request in [one for one in waiting if self.foresight.of(one.id) is None][:WHOLE]:
            self._foresee(request.id, STARE)
        before = {one.id: self.foresight.of(one.id) for one in waiting}
        ids = [one.id for one in waiting]
        self._renew(waiting, self.foresight.look(partial(forecasts, requests=ids), patience=STARE))
        moved = [one for one in waiting if _moved(before[one.id], self.foresight.of(one.id))]
        self._keep(waiting, moved)

    def _lately(self, request_id: str) -> bool:
        """Whether a request was looked at a moment ago."""
        known = self.foresight.of(request_id)
        return known is not None and 0.0 <= self._control.clock.now() - known.at < FRESH

    # -- looking ---------------------------------------------------------------------

    def _foresee(
        self, request_id: str, patience: Seconds | None = None, *, queue: Seconds = 0.0
    ) -> None:
        """Look ahead for a request and remember what was seen.

        Without `patience` it is a glance: what takes too long is remembered when it is there,
        and stored and drawn with the next sweep. With `queue` it waits its turn for so long.
        """
        with self._store.read() as view:
            request = view.requests.get(request_id)
        if request is None or request.state is not S.WAITING:
            return
        owner = self._directory.person(request.workload.owner)
        look = partial(consider, request=request, planner=owner)

        def keep(prospect: Prospect | None) -> None:
            self.foresight.keep(request.id, prospect)

        try:
            if patience is None:
                keep(self.foresight.glance(look, late=keep, queue=queue))
            else:
                keep(self.foresight.look(look, patience=patience))
        except NotReady:
            return
        self._keep([request], [request])

    def _taken(self, person: Person, request: Request, offer: str) -> Order | Refused:
        refused = refuse_rewrite(person, request)
        if refused is not None:
            return refused
        if request.state in HOLDS:
            return refuse(RefusalCode.RUNS_ALREADY, request=request.id)
        if request.state is not S.WAITING:
            return refuse(RefusalCode.IN_TRANSIT, request=request.id, state=request.state)
        owner = self._directory.person(request.workload.owner)
        planner = dataclasses.replace(owner, role=person.role)
        try:
            found = self.foresight.look(
                partial(find_offer, request=request, planner=planner, offer=offer), patience=STARE
            )
        except NotReady:
            return refuse(RefusalCode.LOOKING, request=request.id)
        if isinstance(found, Refused):
            return found
        judged = self._over_budget(request.workload, found.workload)
        judged = judged or _refusal(self._fits(found.workload, None))
        if judged is not None:
            return judged
        return Order(
            kind=EventKind.EDIT,
            request=request,
            after=found.workload,
            changes=found.changes,
            back=found.back,
        )

    def _renew(
        self, waiting: Iterable[Request], found: Mapping[str, tuple[Forecast, Seconds]]
    ) -> None:
        """Remember fresh forecasts, with those of the offers that still start sooner."""
        for request in waiting:
            if request.id not in found:
                continue
            forecast, now = found[request.id]
            known = self.foresight.of(request.id)
            offers = () if known is None else known.offers
            likely = forecast.likely
            still = tuple(
                o for o in offers if o.start > now and (likely is None or o.start < likely)
            )
            self.foresight.keep(request.id, Prospect(forecast=forecast, offers=still, at=now))

    def _keep(self, foreseen: Iterable[Request], drawn: Iterable[Request]) -> None:
        """Store the first estimates of some requests, and have the cards of others drawn again."""
        prospects = {one.id: self.foresight.of(one.id) for one in foreseen}
        with self._store.write() as work:
            known = work.estimates.known(list(prospects))
            for request in foreseen:
                prospect = prospects[request.id]
                if prospect is None or prospect.forecast.reason is Reach.NOW:
                    continue
                if request.id not in known:
                    work.outbox.put(card_notice(request.id), self._wall())
                    pool = self._terms.pool(request.workload.queue)
                    work.estimates.put(_estimate(request.id, pool, prospect))
            for request in drawn:
                work.outbox.put(card_notice(request.id), self._wall())
        self._control.on_notices()


def _refusal(judged: Workload | Refused) -> Refused | None:
    return judged if isinstance(judged, Refused) else None


def _moved(before: Prospect | None, after: Prospect | None) -> bool:
    """Whether what a card says of the start is no longer true."""
    if before is None or after is None:
        return before is not after
    old, new = before.forecast, after.forecast
    if (old.reason, len(before.offers)) != (new.reason, len(after.offers)):
        return True
    pairs = ((old.low, new.low), (old.likely, new.likely), (old.high, new.high))
    return any(
        (one is None) != (other is None)
        or (one is not None and other is not None and abs(one - other) > MOVED)
        for one, other in pairs
    )


def _estimate(request_id: str, pool: str, prospect: Prospect) -> Estimate:
    told = prospect.forecast
    low, likely, high = (
        None if at is None else moment(at) for at in (told.low, told.likely, told.high)
    )
    return Estimate(
        request=request_id,
        pool=pool,
        at=moment(prospect.at),
        low=low,
        likely=likely,
        high=high,
        basis=told.basis,
    )
