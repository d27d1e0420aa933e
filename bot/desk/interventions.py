"""Orders of admins: looked at first, confirmed where somebody is hit, stored for the loop.

An order is always for all to see. Whoever is no admin is told whom to ask.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from bot.byhand import (
    LONGEST_REASON,
    ByHandAnswer,
    DeclineCode,
    Declined,
    HeldBack,
    Intervened,
    Preview,
    Wish,
)
from bot.clock import moment
from bot.control.inforce import DRAIN, PAUSE, QUOTA, name_of
from bot.desk.boosts import foresee_boost
from bot.desk.foresight import foresee_drain, foresee_pause, foresee_preemption, foresee_quota
from bot.desk.office import FORESEEN, Office
from bot.desk.previewed import HITS, Shown, hits_of
from bot.plans import near
from bot.targets import flavors_of, likely_places, queues_named
from scheduler.layout import Queue
from scheduler.model import GPU, Figure, FlavorName, NodeName, QueueName
from storage.audit import Intervention, InterventionKind, InterventionState
from storage.records import Json, Request, Role, Setting
from storage.states import RequestState
from storage.work import Work

K = InterventionKind
S = RequestState
_DECLINED = TypeAdapter(Declined)
TWIN_WITHIN = 60.0  # seconds in which the same order again is taken for the same order
NEXT = 5  # of those whom a pause keeps waiting, so many are named
TWINS_AMONG = 20  # orders looked at for that, the latest first


@dataclass(frozen=True, slots=True)
class _Plan:
    """What is stored of a wish, and what it would do where that has to be confirmed."""

    target: str
    wish: Mapping[str, object]
    preview: Preview | None = None


class Interventions(Office):
    """What admins may do by hand."""

    def intervene(
        self,
        person_id: str,
        wish: Wish,
        *,
        key: str,
        confirmed: bool = False,
        seen: str | None = None,
    ) -> ByHandAnswer:
        """Take an order, or show what it would do; the same key gets the same answer again.

        With `seen`, what is confirmed is that preview: where others would be hit by now, nothing is
        done and the new one is shown.
        """
        now = self._control.clock.now()
        wish = replace(wish, reason=wish.reason.strip()[:LONGEST_REASON])
        planned = self._may(person_id, wish, now) or self._plan_order(wish, now)
        if isinstance(planned, _Plan):
            who = self._directory.person(person_id).name
            planned = replace(planned, wish={**planned.wish, "who": who})
        with self._store.write() as work:
            known = work.inbox.answer(key) or {}
            if not known and isinstance(planned, _Plan) and planned.preview is not None:
                shown = Shown.of(planned.preview, person_id)
                before = Shown.recall(work, seen)
                if not confirmed or (seen is not None and not shown.is_within(before)):
                    token = shown.keep(work, key, self._wall())
                    return replace(planned.preview, token=token, anew=confirmed)
            first = work.inbox.first(key, self._wall())
            if first and isinstance(planned, Declined):
                work.inbox.remember(key, _remember(planned))
            elif first and isinstance(planned, _Plan):
                twin = _twin(work, person_id, wish, planned, now)
                stored = twin or _store(work, person_id, wish, planned, now)
                first = twin is None
                work.inbox.remember(key, {"intervention": stored.id})
                known = {"intervention": stored.id}
        if isinstance(planned, Declined) and first:
            return planned
        if "declined" in known:
            return _DECLINED.validate_json(str(known["declined"]))
        return self._answer(int(str(known["intervention"])), again=not first)

    def admins(self) -> tuple[str, ...]:
        """Who may order by hand, by id."""
        people = self._directory.people()
        return tuple(person.id for person in people if person.role is Role.ADMIN)

    def _answer(self, number: int, *, again: bool) -> Intervened:
        self._control.wake()
        self._control.wait(f"intervention:{number}", self.patience)
        with self._store.read() as view:
            found = view.interventions.get(number)
        if found is None:
            raise KeyError(number)
        pending = found.state is InterventionState.ORDERED
        return Intervened(done=found, pending=pending, again=again)

    # ---- whether, and what exactly

    def _may(self, person_id: str, wish: Wish, now: float) -> Declined | None:
        if self._directory.person(person_id).role is not Role.ADMIN:
            return _decline(wish, DeclineCode.ADMINS_ONLY, self.admins())
        if not any(letter.isalnum() for letter in wish.reason):
            return _decline(wish, DeclineCode.NO_REASON)
        wrong = wish.end.misplaced(now)
        return None if wrong is None else _decline(wish, DeclineCode(wrong))

    def _plan_order(self, wish: Wish, now: float) -> _Plan | Declined:
        match wish.kind:
            case K.PAUSE | K.RESUME:
                return self._plan_pause(wish, now)
            case K.BOOST:
                return self._plan_boost(wish, now)
            case K.PREEMPT:
                return self._plan_preemption(wish, now)
            case K.DRAIN | K.UNDRAIN:
                return self._plan_drain(wish, now)
            case K.QUOTA:
                return self._plan_quota(wish, now)

    def _plan_pause(self, wish: Wish, now: float) -> _Plan | Declined:
        queues = queues_named(self._terms, wish.target)
        if not queues:
            return self._unknown_place(wish)
        names = [str(queue.name) for queue in queues]
        if wish.kind is K.RESUME:
            paused = self._in_force(PAUSE)
            names = [name for name in names if name_of(PAUSE, name) in paused]
            if not names:
                others = tuple(name.removeprefix(PAUSE) for name in paused)
                return _decline(wish, DeclineCode.NOT_PAUSED, others, where=wish.target)
        target = wish.target if len(queues) > 1 else names[0]
        teams = {str(queue.team) for queue in queues if queue.team is not None}
        stored: dict[str, object] = {"queues": names, "tell": self._leads(teams)}
        return _Plan(target, stored, self._foresee_pause(wish, names, now))

    def _foresee_pause(self, wish: Wish, names: Sequence[str], now: float) -> Preview | None:
        """Whom a pause would keep waiting, the next to start first; None where that is nobody."""
        if wish.kind is K.RESUME:
            return None
        queues, end = [QueueName(name) for name in names], wish.end.at(now)
        found, waiting = self._look(lambda engine: foresee_pause(engine, wish, queues, end))
        starts = {one.id: self._expected(one.id, now) for one in waiting}
        late = {request: at if at is not None else math.inf for request, at in starts.items()}
        following = sorted(waiting, key=lambda one: (late[one.id], one.created, one.id))[:NEXT]
        held = tuple(
            HeldBack(
                request=one.id,
                name=one.name,
                owner=one.owner,
                team=one.team,
                gpus=one.gpus,
                start=starts[one.id],
            )
            for one in following
        )
        return replace(found, held=held) if waiting else None

    def _expected(self, request_id: str, now: float) -> float | None:
        """When a request was last expected to start."""
        found = self.foresight.of(request_id)
        if found is None or now - found.at > FORESEEN:
            return None
        return found.forecast.likely

    def _leads(self, teams: Iterable[str]) -> list[str]:
        """Whom an order that hits these teams is told."""
        return sorted({lead for team in teams for lead in self._directory.leads(team)})

    def _plan_boost(self, wish: Wish, now: float) -> _Plan | Declined:
        request = self._request_of(wish.target)
        if request is None:
            return _decline(wish, DeclineCode.NO_SUCH_REQUEST, request=wish.target)
        if request.state is not S.WAITING:
            return _decline(wish, DeclineCode.NOT_WAITING, request=request.id)
        if wish.priority is None:
            return _decline(wish, DeclineCode.NOT_HIGHER, request=request.id, priority="")
        by = self._terms.layout.priorities.get(wish.priority, 0) - request.workload.priority
        if by <= 0:
            has = request.workload.priority_class
            return _decline(wish, DeclineCode.NOT_HIGHER, request=request.id, priority=str(has))
        copy = self._look(lambda engine: engine.fork())
        found = foresee_boost(copy, wish, request.id, by, now)
        stored: dict[str, object] = {"priority": wish.priority.value, "by": by}
        return _Plan(request.id, stored, found if found.hits else None)

    def _plan_preemption(self, wish: Wish, now: float) -> _Plan | Declined:
        request = self._request_of(wish.target)
        if request is None:
            return _decline(wish, DeclineCode.NO_SUCH_REQUEST, request=wish.target)
        if request.state not in {S.ADMITTED, S.RUNNING}:
            return _decline(
                wish, DeclineCode.NOT_RUNNING, request=request.id, state=request.state.value
            )
        winner = None
        if wish.beneficiary is not None:
            winner = self._request_of(wish.beneficiary)
            if winner is None:
                return _decline(wish, DeclineCode.NO_SUCH_REQUEST, request=wish.beneficiary)
            if winner.state is not S.WAITING:
                return _decline(wish, DeclineCode.NOT_WAITING, request=winner.id)
        found = self._look(lambda engine: foresee_preemption(engine, wish, request, winner, now))
        if found is None:
            helped = "" if winner is None else winner.id
            return _decline(wish, DeclineCode.WOULD_NOT_START, request=helped, target=request.id)
        stored: dict[str, object] = {} if winner is None else {"for": winner.id}
        return _Plan(request.id, stored, found)

    def _plan_drain(self, wish: Wish, now: float) -> _Plan | Declined:
        names = self._look(lambda engine: [str(node.name) for node in engine.nodes()])
        drained = [name.removeprefix(DRAIN) for name in self._in_force(DRAIN)]
        node = {name.lower(): name for name in (*names, *drained)}.get(wish.target.lower())
        if node is None:
            return _decline(
                wish, DeclineCode.UNKNOWN_NODE, near(wish.target, names), node=wish.target
            )
        if wish.kind is K.UNDRAIN:
            if node not in drained:
                return _decline(wish, DeclineCode.NOT_DRAINED, tuple(drained), node=node)
            return _Plan(node, {})
        end = wish.end.at(now)
        found = self._look(lambda e: foresee_drain(e, wish, NodeName(node), end, now))
        asks = found if found.hits and wish.move is not False else None
        return _Plan(node, {"move": bool(wish.move)}, asks)

    def _plan_quota(self, wish: Wish, now: float) -> _Plan | Declined:
        queue = self._queue_with_quota(wish)
        if isinstance(queue, Declined):
            return queue
        flavor = self._flavor(wish, queue)
        if isinstance(flavor, Declined):
            return flavor
        gpus = wish.gpus or 0
        pair = (FlavorName(flavor), GPU)
        here = self._look(lambda engine: engine.layout.queue(queue.name).quotas[pair].nominal)
        name = name_of(QUOTA, f"{queue.name}:{flavor}")
        if here == gpus and name not in self._in_force(QUOTA):
            return _decline(wish, DeclineCode.SAME_QUOTA, where=str(queue.name), gpus=gpus)
        copy = self._look(lambda engine: engine.fork())
        found = foresee_quota(copy, wish, queue, flavor, now)
        tell = self._leads([] if queue.team is None else [str(queue.team)])
        stored: dict[str, object] = {"flavor": flavor, "gpus": gpus, "tell": tell}
        return _Plan(str(queue.name), stored, replace(found, before=here))

    def _queue_with_quota(self, wish: Wish) -> Queue | Declined:
        queues = queues_named(self._terms, wish.target)
        if not queues:
            return self._unknown_place(wish)
        own = [queue for queue in queues if queue.team is not None] or list(queues)
        if len(own) > 1:
            names = tuple(str(queue.name) for queue in own)
            return _decline(wish, DeclineCode.NEEDS_QUEUE, names, where=wish.target)
        return own[0]

    def _flavor(self, wish: Wish, queue: Queue) -> str | Declined:
        flavors = flavors_of(queue)
        if wish.flavor is None:
            if len(flavors) == 1:
                return flavors[0]
            return _decline(wish, DeclineCode.NEEDS_FLAVOR, flavors, where=str(queue.name))
        found = {flavor.lower(): flavor for flavor in flavors}.get(wish.flavor.lower())
        if found is None:
            return _decline(
                wish,
                DeclineCode.NO_SUCH_FLAVOR,
                flavors,
                where=str(queue.name),
                flavor=wish.flavor,
            )
        return found

    def _unknown_place(self, wish: Wish) -> Declined:
        likely = likely_places(self._terms, wish.target)
        return _decline(wish, DeclineCode.UNKNOWN_PLACE, likely, where=wish.target)

    def _request_of(self, request_id: str) -> Request | None:
        with self._store.read() as view:
            return view.requests.get(request_id.strip().upper())

    def _in_force(self, prefix: str) -> dict[str, Setting]:
        with self._store.read() as view:
            return {setting.name: setting for setting in view.settings.under(prefix)}


def _store(work: Work, person_id: str, wish: Wish, planned: _Plan, now: float) -> Intervention:
    end = wish.end.at(now)
    return work.interventions.add(
        wish.kind,
        planned.target,
        actor=person_id,
        reason=wish.reason,
        at=moment(now),
        until=None if end is None else moment(end),
        wish={**planned.wish, HITS: sorted(_grants(planned))},
    )


def _grants(planned: _Plan) -> frozenset[str]:
    return frozenset(hit.grant for hit in planned.preview.hits) if planned.preview else frozenset()


def _twin(
    work: Work, person_id: str, wish: Wish, planned: _Plan, now: float
) -> Intervention | None:
    """The same order of a moment ago: a button is pressed twice more often than it is meant."""
    hits = _grants(planned)
    over = {InterventionState.ENDED, InterventionState.FAILED}
    meant = (wish.kind, planned.target, person_id, wish.reason, planned.wish)
    for one in work.interventions.latest(TWINS_AMONG):
        recent = now - one.at.timestamp() < TWIN_WITHIN
        ordered = {name: value for name, value in one.wish.items() if name != HITS}
        same = meant == (one.kind, one.target, one.actor, one.reason, ordered)
        same = same and hits <= hits_of(one)
        if recent and same and one.state not in over:
            return one
    return None


def _decline(wish: Wish, code: DeclineCode, near: tuple[str, ...] = (), **args: Figure) -> Declined:
    return Declined(code=code, kind=wish.kind, args=args, near=near)


def _remember(declined: Declined) -> Json:
    return {"declined": _DECLINED.dump_json(declined).decode()}
