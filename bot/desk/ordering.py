"""Orders about a request that exists: stored once, carried out by the loop."""

from __future__ import annotations

from bot.clock import moment
from bot.desk.office import OPEN, Office
from bot.plans import refuse
from bot.refusals import read_refusal, write_refusal
from bot.rights import refuse_order
from bot.views import Done, RefusalCode, Refused, Unconfirmed, Verb
from storage.records import EventKind, Request
from storage.work import Work


class Ordering(Office):
    """Ending requests and giving back what they hold."""

    def cancel(
        self, person_id: str, request_id: str, *, key: str, confirmed: bool = True
    ) -> Done | Unconfirmed | Refused:
        """End a request that waits, or stop one that runs; the latter only if confirmed."""
        return self._order(person_id, request_id, EventKind.CANCEL, key, confirmed=confirmed)

    def release(
        self, person_id: str, request_id: str, *, key: str, confirmed: bool = True
    ) -> Done | Unconfirmed | Refused:
        """Give back what a running request holds, if that is confirmed."""
        return self._order(person_id, request_id, EventKind.RELEASE, key, confirmed=confirmed)

    def _order(
        self, person_id: str, request_id: str, kind: EventKind, key: str, *, confirmed: bool
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
            asks = request.state.holding and not confirmed if first else "unconfirmed" in answer
            if first and asks:
                work.inbox.remember(key, {"unconfirmed": request.id})
            elif first:
                at = moment(self._control.clock.now())
                event = work.events.add(kind, request.id, person_id, at)
                work.inbox.remember(key, {"request": request.id})
        if asks:
            return Unconfirmed(verb=verb, card=self.card(wanted))
        if first:
            self._carried_out(event.id)
        return Done(verb=verb, card=self.card(wanted), again=not first)


def _replicas(work: Work, request: Request) -> int:
    """How many open replicas its family has; 0 for what is no replica."""
    head = request.head
    return 0 if head is None else len(work.requests.replicas([head], OPEN)[head])
