"""Leases: more time for what runs, unless somebody waits for what it holds."""

from __future__ import annotations

import dataclasses

from bot.answers import Changed
from bot.asks import SHORTEST_LEASE
from bot.desk.changes import Changing, Order
from bot.fields import FieldChange, FieldName
from bot.leases import HeldUp, held_up, most_lease, queue_of
from bot.plans import refuse
from bot.rights import refuse_change
from bot.views import RefusalCode, Refused
from scheduler.model import LimitKind, Seconds
from storage.records import EventKind, Person, Request
from storage.states import RequestState

S = RequestState
HOLDS = frozenset({S.ADMITTED, S.RUNNING})


class Leases(Changing):
    """Extending leases."""

    def extend(
        self,
        person_id: str,
        request_id: str,
        by: Seconds,
        *,
        key: str,
        ends: Seconds | None = None,
    ) -> Changed | Refused:
        """Let a lease end later by `by` seconds.

        `ends` is the end that a button was made for: it does nothing once that has moved.
        """
        person = self._directory.person(person_id)

        def judge() -> Order | Refused:
            request = self._request(request_id)
            if isinstance(request, Refused):
                return request
            return self._may_extend(person, request, by, ends)

        return self._change(person_id, key, judge)

    def _may_extend(
        self, person: Person, request: Request, by: Seconds, ends: Seconds | None
    ) -> Order | Refused:
        refused = refuse_change(person, request) or self._refuse_state(request, ends)
        if refused is not None:
            return refused
        if by < SHORTEST_LEASE:
            return refuse(RefusalCode.LEASE_TOO_SHORT, asked=by, least=SHORTEST_LEASE)
        return self._relet(request, (request.workload.duration or 0.0) + by)

    def _relet(self, request: Request, lease: Seconds) -> Order | Refused:
        """A lease of another length for what runs, counted from its grant on."""
        before = request.workload.duration or 0.0
        most = most_lease(request, self._terms)
        if most is not None and lease > most:
            return Refused(
                code=RefusalCode.EXTENDED_TOO_LONG,
                args={
                    "request": request.id,
                    "asked": lease,
                    "most": most,
                    "left": max(0.0, most - before),
                    "pool": self._terms.pool(queue_of(request)),
                },
                limit=LimitKind.LEASE,
            )
        if lease > before:
            waiting = self._held_up(request, lease)
            if waiting:
                return self._somebody_waits(request, waiting)
        return Order(
            kind=EventKind.EXTEND,
            request=request,
            after=dataclasses.replace(request.workload, duration=lease),
            changes=(FieldChange(field=FieldName.LEASE, before=before, after=lease),),
        )

    def _held_up(self, request: Request, lease: Seconds) -> tuple[HeldUp, ...]:
        """Who keeps the lease from being so long."""
        del lease  # whoever waits for its GPUs does, however long
        now = self._control.clock.now()
        return self._look(lambda engine: held_up(engine, request.workload.id, now))

    def _somebody_waits(self, request: Request, waiting: tuple[HeldUp, ...]) -> Refused:
        first = waiting[0]
        return refuse(
            RefusalCode.SOMEBODY_WAITS,
            request=request.id,
            first=first.request,
            owner=self._directory.person(first.owner).name,
            team=first.team,
            gpus=first.gpus,
            more=len(waiting) - 1,
        )

    def _refuse_state(self, request: Request, ends: Seconds | None) -> Refused | None:
        """Why the lease cannot be another as the request stands; None if it can."""
        if request.state not in HOLDS:
            return refuse(RefusalCode.NOT_RUNNING, request=request.id, state=request.state)
        if request.lease_ends is None:
            return refuse(RefusalCode.NO_LEASE, request=request.id)
        until = request.lease_ends.timestamp()
        if until <= self._control.clock.now():
            return refuse(RefusalCode.LEASE_OVER, request=request.id, ended=until)
        if ends is not None and int(ends) != int(until):
            return refuse(RefusalCode.LEASE_MOVED, request=request.id, ends=until)
        return None
