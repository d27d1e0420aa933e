"""Orders about a request that exists: stored once, carried out by the loop."""

from __future__ import annotations

from dataclasses import dataclass

from bot.clock import moment
from bot.desk.office import OPEN, Office
from bot.plans import refuse
from bot.refusals import read_refusal, write_refusal
from bot.rights import refuse_order
from bot.views import Done, RefusalCode, Refused, Unconfirmed, Verb
from storage.records import EventKind, Json, Request
from storage.work import Work


class Ordering(Office):
    """Ending requests and giving back what they hold."""

    def cancel(
        self,
        person_id: str,
        request_id: str,
        *,
        key: str,
        confirmed: bool = True,
        grant: int | None = None,
    ) -> Done | Unconfirmed | Refused:
        """End a request that waits, or stop one that runs; the latter only if confirmed.

        Where a `grant` (see `CardView.attempt`) was confirmed, no other is stopped.
        """
        says = Confirmation(confirmed, grant)
        return self._order(person_id, request_id, EventKind.CANCEL, key, says)

    def release(
        self,
        person_id: str,
        request_id: str,
        *,
        key: str,
        confirmed: bool = True,
        grant: int | None = None,
    ) -> Done | Unconfirmed | Refused:
        """Give back what a running request holds, if that is confirmed; see `cancel`."""
        says = Confirmation(confirmed, grant)
        return self._order(person_id, request_id, EventKind.RELEASE, key, says)

    def _order(
        self, person_id: str, request_id: str, kind: EventKind, key: str, says: Confirmation
    ) -> Done | Unconfirmed | Refused:
        person = self._directory.person(person_id)
        wanted = request_id.strip().upper()
        verb = Verb.RELEASING if kind is EventKind.RELEASE else Verb.CANCELLED
        with self._store.write() as work:
            first = work.inbox.first(key, self._wall())
            request = work.requests.get(wanted)
            if request is None:
                return refuse(RefusalCode.NO_SUCH_REQUEST, request=request_id)
            answer = {} if first else work.inbox.answer(key) or {}
            if "refused" in answer:
                return read_refusal(answer)
            refused = None
            if first:
                refused = refuse_order(person, request, kind, _replicas(work, request))
            if refused is not None:
                work.inbox.remember(key, write_refusal(refused))
                return refused
            asks = says.leaves_open(request) if first else "unconfirmed" in answer
            anew = says.was_of_another(request) if first else bool(answer.get("anew"))
            if first and asks:
                work.inbox.remember(key, {"unconfirmed": request.id, "anew": anew})
            elif first:
                at = moment(self._control.clock.now())
                event = work.events.add(kind, request.id, person_id, at, says.args(request))
                work.inbox.remember(key, {"request": request.id})
        if asks:
            return Unconfirmed(verb=verb, card=self.card(wanted), anew=anew)
        if first:
            self._carried_out(event.id)
        return Done(verb=verb, card=self.card(wanted), again=not first)


def _replicas(work: Work, request: Request) -> int:
    """How many open replicas its family has; 0 for what is no replica."""
    head = request.head
    return 0 if head is None else len(work.requests.replicas([head], OPEN)[head])


@dataclass(frozen=True, slots=True)
class Confirmation:
    """Whether a stop was confirmed, and of which grant, where that was said."""

    given: bool
    grant: int | None

    def was_of_another(self, request: Request) -> bool:
        """Whether it was given, for an earlier grant than the one that runs."""
        return self.grant is not None and self.grant != request.attempt

    def leaves_open(self, request: Request) -> bool:
        """Whether somebody has to be asked before this request is stopped."""
        return request.state.holding and (not self.given or self.was_of_another(request))

    def args(self, request: Request) -> Json:
        """What the loop is told: to stop no grant but this one, if it holds any."""
        return {"grant": request.attempt} if request.state.holding else {}
