"""Editing requests: anything while they wait; name, lease and a lower class while they run.

Who waits keeps the place in line where nobody behind could lose by it, else goes to the back.
"""

from __future__ import annotations

import dataclasses

from bot.answers import Changed
from bot.asks import SHORTEST_LEASE, Ask, Change
from bot.desk.changes import Order
from bot.desk.leases import HOLDS, Leases
from bot.desk.submission import Submission
from bot.fields import FieldName
from bot.plans import named, never_fits, plan, refuse, shape_of
from bot.reask import ask_of, changes_of, demands_more, difference
from bot.replans import replan
from bot.rights import leads, refuse_rewrite
from bot.terms import NAME_AT_MOST
from bot.views import NotReady, RefusalCode, Refused
from scheduler.lapse import lapse, own
from scheduler.model import LimitKind, Priority, Refusal, Workload
from storage.records import EventKind, Person, Request
from storage.states import RequestState

S = RequestState
WHILE_RUNNING = frozenset({FieldName.NAME, FieldName.LEASE, FieldName.PRIORITY})
_CLASSES = tuple(Priority)


class Editing(Leases, Submission):
    """Changing what a request asks for."""

    def edit(
        self, person_id: str, request_id: str, change: Change, *, key: str
    ) -> Changed | Refused:
        """Change a request in what `change` names; the rest stays."""
        person = self._directory.person(person_id)

        def judge() -> Order | Refused:
            request = self._request(request_id)
            return request if isinstance(request, Refused) else self._judge(person, request, change)

        return self._change(person_id, key, judge)

    def asked(self, person_id: str, request_id: str) -> Ask | Refused:
        """What a request asks for, told again to whoever may change it."""
        request = self._request(request_id)
        if isinstance(request, Refused):
            return request
        refused = refuse_rewrite(self._directory.person(person_id), request)
        if refused is not None:
            return refused
        return ask_of(request.workload, self._terms, request.text)

    def rewrite(self, person_id: str, request_id: str, ask: Ask, *, key: str) -> Changed | Refused:
        """Let a request ask for this instead, in everything; without a team it keeps its own."""
        person = self._directory.person(person_id)
        return self._change(person_id, key, lambda: self._rewritten(person, request_id, ask))

    def examine_rewrite(self, person_id: str, request_id: str, ask: Ask) -> Refused | None:
        """What is wrong with a rewritten request; nothing is stored."""
        judged = self._rewritten(self._directory.person(person_id), request_id, ask)
        return judged if isinstance(judged, Refused) else None

    def _rewritten(self, person: Person, request_id: str, ask: Ask) -> Order | Refused:
        request = self._request(request_id)
        if isinstance(request, Refused):
            return request
        ask = dataclasses.replace(ask, team=ask.team or request.workload.team)
        refused = refuse_rewrite(person, request)
        if refused is None and request.state is S.WAITING:
            return self._edit_waiting(person, request, ask)
        shape = shape_of(ask, self._terms.node_gpus())
        if isinstance(shape, Refused):
            return shape
        sized = dataclasses.replace(
            ask, gpus=None, nodes=None, pods=shape[0], gpus_per_pod=shape[1]
        )
        return self._judge(
            person, request, difference(ask_of(request.workload, self._terms), sized)
        )

    def _judge(self, person: Person, request: Request, change: Change) -> Order | Refused:
        refused = refuse_rewrite(person, request)
        if refused is not None:
            return refused
        if request.state in HOLDS:
            return self._edit_running(person, request, change)
        if request.state is not S.WAITING:
            return refuse(RefusalCode.IN_TRANSIT, request=request.id, state=request.state)
        ask = change.of(ask_of(request.workload, self._terms, request.text))
        return self._edit_waiting(person, request, ask)

    def _edit_waiting(self, person: Person, request: Request, ask: Ask) -> Order | Refused:
        before = request.workload
        planned = self._replan(person, request, ask)
        if isinstance(planned, Refused):
            return planned
        raises = leads(person, before.team)
        back = demands_more(before, planned, self._terms, may_raise=raises)
        after = dataclasses.replace(
            named(planned, request.id),
            owner=before.owner,
            created=self._control.clock.now() if back else before.created,
            queued=None if back else before.queued,
        )
        changes = changes_of(before, after, self._terms)
        if not changes:
            return refuse(RefusalCode.NOTHING_NEW, request=request.id)
        return Order(kind=EventKind.EDIT, request=request, after=after, changes=changes, back=back)

    def _replan(self, person: Person, request: Request, ask: Ask) -> Workload | Refused:
        """The workload of an ask that takes a request's place, by the rights of who changes it."""
        before = request.workload
        teams = dict.fromkeys((*person.teams, before.team))
        planner = dataclasses.replace(person, teams=tuple(teams))
        planned = replan(before, request.ref, ask, planner, self._terms, before.created)
        if isinstance(planned, Refused):
            return planned
        over = self._over_budget(before, planned)
        return self._fits(planned, None) if over is None else over

    def _over_budget(self, before: Workload, planned: Workload) -> Refused | None:
        """Whether the team's budget of the class is too small for what the change adds to it."""
        same = (before.priority_class, before.team) == (planned.priority_class, planned.team)
        more = planned.gpus - (before.gpus if same else 0)
        if more <= 0:
            return None
        try:
            grade = self._look(
                lambda engine: engine.grade(planned.team, planned.priority_class, more)
            )
        except NotReady:
            return None
        if isinstance(grade, Refusal):
            return never_fits(grade)
        if grade.given is planned.priority_class:
            return None
        left = max(0, (grade.most or 0) - grade.has)
        return never_fits(
            Refusal(limit=LimitKind.BUDGET, where=planned.team, asked=more, most=left)
        )

    def _edit_running(self, person: Person, request: Request, change: Change) -> Order | Refused:
        before = request.workload
        wanted = _named_fields(change)
        fixed = [field for field in wanted if field not in WHILE_RUNNING]
        if fixed:
            return refuse(RefusalCode.RUNS, tuple(fixed), request=request.id)
        after = before
        if change.priority is not None:
            lower = self._lowered(person, before, change.priority)
            if isinstance(lower, Refused):
                return lower
            after = lower
        if change.name is not None:
            if len(change.name) > NAME_AT_MOST:
                length = len(change.name)
                return refuse(RefusalCode.NAME_TOO_LONG, length=length, most=NAME_AT_MOST)
            after = dataclasses.replace(after, name=change.name)
        if change.duration is not None and change.duration != before.duration:
            let = self._let_for(request, change.duration)
            if isinstance(let, Refused):
                return let
            after = dataclasses.replace(after, duration=let.after.duration)
        changes = changes_of(before, after, self._terms)
        if not changes:
            return refuse(RefusalCode.NOTHING_NEW, request=request.id)
        return Order(kind=EventKind.EDIT, request=request, after=after, changes=changes)

    def _lowered(self, person: Person, before: Workload, priority: Priority) -> Workload | Refused:
        """With a lower class; what runs cannot be given a higher one."""
        if _CLASSES.index(priority) > _CLASSES.index(before.priority_class):
            return refuse(
                RefusalCode.NOT_LOWER,
                request=before.id,
                priority=str(priority),
                has=str(before.priority_class),
            )
        mine = own(before)
        ask = dataclasses.replace(ask_of(mine, self._terms), priority=priority)
        planner = dataclasses.replace(person, teams=(before.team,))
        planned = plan(ask, planner, self._terms, before.created)
        same = isinstance(planned, Workload) and planned.queue == before.queue
        number = (
            planned.priority
            if same and isinstance(planned, Workload)
            else self._terms.layout.priorities.get(priority, mine.priority)
        )
        lower = dataclasses.replace(
            mine,
            priority_class=priority,
            priority=min(number, mine.priority),
            asked_class=None,
        )
        return lower if before.lapsed is None else lapse(lower)

    def _let_for(self, request: Request, lease: float) -> Order | Refused:
        """With a lease of this length, counted from the grant on."""
        refused = self._refuse_state(request, None)
        if refused is not None:
            return refused
        began = request.admission.at if request.admission else self._control.clock.now()
        had = self._control.clock.now() - began
        if lease < had + SHORTEST_LEASE:
            return refuse(RefusalCode.LEASE_PAST, request=request.id, asked=lease, had=had)
        return self._relet(request, lease)


def _named_fields(change: Change) -> tuple[FieldName, ...]:
    """The fields that a change names, in their order."""
    given = {
        FieldName.SIZE: change.resizes,
        FieldName.MINIMUM: change.minimum is not None,
        FieldName.MODEL: change.model is not None,
        FieldName.LEASE: change.duration is not None,
        FieldName.PREEMPTIBLE: change.preemptible is not None,
        FieldName.PRIORITY: change.priority is not None,
        FieldName.SPEND: change.spend is not None,
        FieldName.PROVISION: change.provision is not None,
        FieldName.TOPOLOGY: change.topology is not None,
        FieldName.TEAM: change.team is not None,
        FieldName.NAME: change.name is not None,
    }
    return tuple(field for field, named in given.items() if named)
