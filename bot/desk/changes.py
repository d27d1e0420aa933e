"""Orders that change a request: judged, stored once with what shall be, carried out by the loop."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pydantic import TypeAdapter

from bot.answers import Changed, ChangeKind
from bot.clock import moment
from bot.control.changes import ORDER, write_change
from bot.desk.office import Office
from bot.fields import FieldChange
from bot.plans import refuse
from bot.refusals import read_refusal, write_refusal
from bot.views import RefusalCode, Refused
from scheduler.model import Workload
from storage.records import EventKind, Json, Request

KINDS = {
    EventKind.EXTEND: ChangeKind.EXTENDED,
    EventKind.EDIT: ChangeKind.EDITED,
    EventKind.GIVE: ChangeKind.GIVEN,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Order:
    """A change that may be: `request` as it was judged, and its workload as it shall be."""

    kind: EventKind
    request: Request
    after: Workload
    changes: tuple[FieldChange, ...]
    back: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class _Kept:
    """What the inbox remembers of an order."""

    request: str
    event: int
    kind: EventKind
    changes: tuple[FieldChange, ...]
    back: bool


_KEPT = TypeAdapter(_Kept)


class Changing(Office):
    """Changing a request. Base of the counters that do."""

    def _change(
        self, person_id: str, key: str, judge: Callable[[], Order | Refused]
    ) -> Changed | Refused:
        """The first answer to `key`; `judge` is asked only where there is none yet."""
        answer = self._answered(key)
        again = answer is not None
        if answer is None:
            answer, again = self._record(person_id, key, judge())
        if "refused" in answer:
            return read_refusal(answer)
        return self._told(_KEPT.validate_python(answer), again=again)

    def _answered(self, key: str) -> Json | None:
        with self._store.read() as view:
            return view.inbox.answer(key)

    def _record(self, person_id: str, key: str, judged: Order | Refused) -> tuple[Json, bool]:
        """Store an order with its answer; the answer of whoever was first, and if that was not we.

        Nothing is ordered about a request that has moved on since it was judged: the loop
        compares.
        """
        with self._store.write() as work:
            if not work.inbox.first(key, self._wall()):
                return work.inbox.answer(key) or {}, True
            if isinstance(judged, Refused):
                answer = write_refusal(judged)
            else:
                event = work.events.add(
                    judged.kind,
                    judged.request.id,
                    person_id,
                    moment(self._control.clock.now()),
                    write_change(judged.request.workload, judged.after, judged.changes),
                )
                kept = _Kept(
                    request=judged.request.id,
                    event=event.id,
                    kind=judged.kind,
                    changes=judged.changes,
                    back=judged.back,
                )
                answer = _KEPT.dump_python(kept, mode="json")
            work.inbox.remember(key, answer)
            return answer, False

    def _told(self, kept: _Kept, *, again: bool) -> Changed | Refused:
        """What became of an order, by the story of its request."""
        decided = again or self._carried_out(kept.event)
        if decided and not self._is_done(kept):
            return self._overtaken(kept)
        self.foresight.keep(kept.request, None)
        return Changed(
            kind=KINDS[kept.kind],
            card=self.card(kept.request),
            changes=kept.changes,
            back=kept.back,
            decided=decided,
            again=again,
        )

    def _is_done(self, kept: _Kept) -> bool:
        with self._store.read() as view:
            story = view.transitions.of(kept.request)
            waits = any(event.id == kept.event for event in view.events.unhandled())
        return waits or any(line.details.get(ORDER) == kept.event for line in story)

    def _overtaken(self, kept: _Kept) -> Refused:
        """The request ended, or was changed by somebody else, before the order was carried out."""
        card = self.card(kept.request)
        ended = card.state.final
        code = RefusalCode.ALREADY_ENDED if ended else RefusalCode.CHANGED_MEANWHILE
        return refuse(code, request=kept.request, state=card.state)

    def _request(self, request_id: str) -> Request | Refused:
        """The stored request that a person names."""
        with self._store.read() as view:
            found = view.requests.get(request_id.strip().upper())
        return refuse(RefusalCode.NO_SUCH_REQUEST, request=request_id) if found is None else found
