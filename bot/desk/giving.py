"""Handing a request over to a colleague: who owns it changes, what is charged follows.

In the request's own team its owner may do it, in one step: it is explicit, both are told, and
the receiver may give it back. Across teams only the lead or an admin may, and the other
team is charged from then on; what runs on one team's own quota stays with that team.
"""

from __future__ import annotations

import dataclasses

from bot.answers import Changed
from bot.desk.changes import Order
from bot.desk.editing import Editing
from bot.plans import named, refuse
from bot.reask import ask_of, changes_of
from bot.replans import replan
from bot.rights import leads, refuse_rewrite
from bot.views import RefusalCode, Refused
from scheduler.model import TeamName, Workload
from storage.records import EventKind, Person, Request
from storage.states import RequestState

S = RequestState
HOLDS = frozenset({S.ADMITTED, S.RUNNING})


class Giving(Editing):
    """Changing who owns a request."""

    def give(self, person_id: str, request_id: str, to: str, *, key: str) -> Changed | Refused:
        """Make a colleague the owner of a request; `to` is a Slack id, a mention or a name."""
        person = self._directory.person(person_id)

        def judge() -> Order | Refused:
            request = self._request(request_id)
            if isinstance(request, Refused):
                return request
            receiver = self._owner(to)
            if receiver is None:
                return refuse(RefusalCode.NO_SUCH_PERSON, person=to)
            return self._hand(person, request, self._directory.person(receiver))

        return self._change(person_id, key, judge)

    def _hand(self, person: Person, request: Request, to: Person) -> Order | Refused:
        refused = refuse_rewrite(person, request)
        if refused is not None:
            return refused
        before = request.workload
        if to.id == before.owner:
            return refuse(RefusalCode.SAME_OWNER, request=request.id, person=to.name)
        if request.state is not S.WAITING and request.state not in HOLDS:
            return refuse(RefusalCode.IN_TRANSIT, request=request.id, state=request.state)
        after = self._theirs(person, request, to)
        if isinstance(after, Refused):
            return after
        if request.state is S.WAITING and self._has_too_many(to):
            return refuse(RefusalCode.RECEIVER_FULL, person=to.name, most=self._waiting_at_most)
        return Order(
            kind=EventKind.GIVE,
            request=request,
            after=after,
            changes=changes_of(before, after, self._terms),
            back=request.state is S.WAITING and after.team != before.team,
        )

    def _theirs(self, person: Person, request: Request, to: Person) -> Workload | Refused:
        """The workload as the receiver's, charged to a team of theirs."""
        before = request.workload
        if before.team in to.teams:
            return dataclasses.replace(before, owner=to.id)
        teams = [TeamName(team) for team in to.teams if team in self._terms.teams]
        if not teams or not leads(person, before.team):
            return refuse(
                RefusalCode.NOT_IN_TEAM, request=request.id, person=to.name, team=before.team
            )
        if request.state is S.WAITING:
            ask = dataclasses.replace(ask_of(before, self._terms), team=teams[0])
            now = self._control.clock.now()
            planned = replan(before, request.ref, ask, to, self._terms, now)
            if isinstance(planned, Refused):
                return planned
            fits = self._over_budget(before, planned) or self._fits(planned, None)
            return fits if isinstance(fits, Refused) else named(fits, request.id)
        queue = request.admission.queue if request.admission else before.queue
        own = self._terms.team_of(queue)
        if own is not None:
            return refuse(RefusalCode.ON_TEAM_QUOTA, request=request.id, team=own, queue=queue)
        return dataclasses.replace(before, owner=to.id, team=teams[0])

    def _has_too_many(self, person: Person) -> bool:
        with self._store.read() as view:
            return self._too_many(view, person.id)
