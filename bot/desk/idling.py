"""Answers to the question whether idle GPUs are still needed."""

from __future__ import annotations

import datetime as dt

from bot.answers import Kept
from bot.clock import moment
from bot.control.idleness import PREFIX, is_open, keep
from bot.desk.office import Office
from bot.plans import refuse
from bot.refusals import read_refusal, write_refusal
from bot.rights import refuse_change
from bot.views import RefusalCode, Refused
from storage.records import Request, Setting
from storage.work import Work


class Idling(Office):
    """Keeping what does nothing at the moment."""

    def keep(self, person_id: str, request_id: str, *, key: str) -> Kept | Refused:
        """Say that a request's GPUs are needed; it is asked again when that has run out."""
        person = self._directory.person(person_id)
        now = moment(self._control.clock.now())
        with self._store.write() as work:
            first = work.inbox.first(key, self._wall())
            answer = {} if first else work.inbox.answer(key) or {}
            if "refused" in answer:
                return read_refusal(answer)
            request = work.requests.get(request_id.strip().upper())
            if request is None:
                return refuse(RefusalCode.NO_SUCH_REQUEST, request=request_id)
            found = _question(work, request)
            refused = refuse_change(person, request)
            if refused is None and found is None:
                refused = refuse(RefusalCode.NOT_ASKED, request=request.id)
            if refused is not None:
                if first:
                    work.inbox.remember(key, write_refusal(refused))
                return refused
            if first and found is not None:
                found = keep(found, person_id, now + dt.timedelta(seconds=self._keeping(request)))
                work.settings.put(found)
                work.inbox.remember(key, {"request": request.id})
        until = found.until if found is not None else None
        return Kept(request=request.id, until=None if until is None else until.timestamp())

    def _keeping(self, request: Request) -> float:
        queue = request.admission.queue if request.admission else request.workload.queue
        rule = self._terms.idle(queue)
        return rule.keep if rule is not None else 0.0


def _question(work: Work, request: Request) -> Setting | None:
    found = work.settings.get(PREFIX + request.decision) if request.state.holding else None
    return found if found is not None and is_open(found) else None
