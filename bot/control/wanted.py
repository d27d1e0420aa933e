"""What people want through the cluster itself: a Job with our labels becomes a request.

It takes the same way as a request made in chat: planned, checked, stored with its order, carried
out by the loop. What is refused is told to its owner, or to on-call where nobody is known.
The object's uid makes it idempotent. Who wrote an object is not known, whatever it says of its
owner: what needs a role is asked for in chat.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from bot import notices
from bot.clock import moment
from bot.clusters.base import ClusterEvent, Unwanted, Wanted
from bot.clusters.flaws import Flaw, FlawKind
from bot.control.changes import REF, REFUSAL, spoiled, write_change
from bot.control.families import Families, in_order
from bot.control.ledger import LOOP
from bot.control.marks import bad_mark, largest_first, read_ask
from bot.control.orders import OBJECT_GONE
from bot.plans import laid, named, never_fits, plan, refuse
from bot.reask import changes_of, demands_more
from bot.refusals import write_refusal
from bot.terms import Terms
from bot.views import CLUSTER, OUTSIDE, RefusalCode, Refused
from scheduler.lapse import own
from scheduler.model import (
    GPU,
    PodSet,
    Refusal,
    Rest,
    RestCause,
    Seconds,
    Workload,
)
from scheduler.rest import Readiness
from storage.records import Audience, EventKind, Notice, ObjectRef, Person, Request, Role, Source
from storage.requests import number_of
from storage.states import RequestState
from storage.store import Store
from storage.work import Work

Check = Callable[[Workload], Refusal | None]
"""Whether the engine knows that a workload could never start."""


@dataclass(frozen=True, slots=True)
class WhoIsWho:
    """Who is who, as far as the loop has to know: a person by id, the leads of a team."""

    person: Callable[[str], Person] = lambda who: Person(id=who, name=who)
    leads: Callable[[str], Sequence[str]] = lambda _: ()


@dataclass(slots=True)
class WantedDesk:
    """Files orders for what the cluster tells that people want, or want no more.

    What is told in the step in which its gang ends is looked at once more in the next, when it is
    known what became of its request.
    """

    store: Store
    terms: Terms
    people: WhoIsWho = field(default_factory=WhoIsWho)
    _early: list[Wanted] = field(default_factory=list)
    _above: dict[str, Wanted] = field(default_factory=dict)  # held until raised in chat, by uid

    def file(
        self, seen: Sequence[ClusterEvent], check: Check, now: Seconds, fence: int | None
    ) -> list[tuple[ObjectRef, notices.NotTakenArgs]]:
        """Store requests and orders for what is new; what cannot be taken, and why."""
        fresh = [event for event in seen if isinstance(event, Wanted)]
        unwanted = [event.uid for event in seen if isinstance(event, Unwanted)]
        said = {*(one.ref.uid for one in fresh), *unwanted}
        again = [*self._early, *self._raised()]
        wanted = [*fresh, *(one for one in again if one.ref.uid not in said)]
        if not wanted and not unwanted:
            return []
        refused: list[tuple[ObjectRef, notices.NotTakenArgs]] = []
        with self.store.read() as view:
            known = view.requests.for_objects({*(one.ref.uid for one in wanted), *unwanted})
            families = Families.read(view, wanted, unwanted, now)
        self._early = [
            one for one in fresh if one.ref.uid in known and known[one.ref.uid].state.holding
        ]
        waiting = {uid: one for uid, one in known.items() if not one.state.final}
        planned = [
            (one, self._judge(one, before, check, now, guaranteed=families.guarantees(one)))
            for one in in_order(wanted)
            for before in (waiting.get(one.ref.uid),)
            if _is_news(known.get(one.ref.uid), one)
        ]
        self._keep_above(said, waiting, planned)
        added: list[tuple[Wanted, Workload]] = []
        with self.store.write(fence) as work:
            for one, found in planned:
                before = waiting.get(one.ref.uid)
                if isinstance(found, Refused):
                    if before is not None:
                        _hold(work, before, one, found, now)
                    if not _may_grow(one):
                        refused.append((one.ref, self._tell(work, one, before, found, now)))
                elif before is None:
                    added.append((one, families.seated(one, found)))
                else:
                    _amend(work, before, one, found, self.terms, now)
            _add(work, added, families, self.terms.layout.readiness, now)
            for uid in unwanted:
                _let_go(work, known.get(uid), now)
        return refused

    def missing(self, objects: frozenset[str], now: Seconds) -> tuple[Unwanted, ...]:
        """Objects of open requests that are no more, seen from a full list of what there is."""
        with self.store.read() as view:
            waiting = view.requests.from_source(Source.CLUSTER, _OPEN)
        return tuple(
            Unwanted(uid=request.ref.uid, at=now)
            for request in waiting
            if request.ref is not None and request.ref.uid not in objects
        )

    def _raised(self) -> list[Wanted]:
        """What was held for want of a role, and has been raised in chat since."""
        if not self._above:
            return []
        with self.store.read() as view:
            known = view.requests.for_objects(self._above)
        raised = {uid for uid, one in known.items() if self._is_raised(one)}
        return [one for uid, one in self._above.items() if uid in raised]

    def _keep_above(
        self,
        said: Iterable[str],
        waiting: Mapping[str, Request],
        planned: Sequence[tuple[Wanted, Workload | Refused]],
    ) -> None:
        """Have what is held for want of a role looked at again when it was raised."""
        for uid in (*said, *(one.ref.uid for one, _ in planned)):
            self._above.pop(uid, None)
        for one, found in planned:
            held = isinstance(found, Refused) and found.code is RefusalCode.RAISED_IN_CHAT
            if held and one.ref.uid in waiting:
                self._above[one.ref.uid] = one

    def _judge(
        self,
        wanted: Wanted,
        before: Request | None,
        check: Check,
        now: Seconds,
        *,
        guaranteed: bool | None,
    ) -> Workload | Refused:
        """As it is to be from now on; only what is new, or was changed, is planned."""
        if before is None or _is_changed(before, wanted):
            return self._plan(wanted, before, check, now, guaranteed=guaranteed)
        grown = dataclasses.replace(before.workload, pod_sets=_grown(before.workload, wanted))
        refusal = check(grown)
        return grown if refusal is None else never_fits(refusal)

    def _plan(
        self,
        wanted: Wanted,
        before: Request | None,
        check: Check,
        now: Seconds,
        *,
        guaranteed: bool | None,
    ) -> Workload | Refused:
        teams = () if wanted.marks.get("team") else tuple(map(str, self.terms.teams))
        flaw = wanted.flaw
        if flaw is not None and flaw.kind in _OF_CLUSTER:
            return _bad_place(flaw)
        if flaw is not None and flaw.kind is FlawKind.LOOSE:
            return refuse(RefusalCode.NOT_HELD, teams)
        if flaw is not None and flaw.kind in {FlawKind.HELD_NOT, FlawKind.HELD_LESS}:
            return _bad_hold(flaw)
        if not wanted.marks.get("team"):  # whoever came by kubectl may be anybody
            return bad_mark("team", "", teams)
        if flaw is not None:
            return _bad_group(flaw)
        ask = read_ask(wanted, self.terms, guaranteed=guaranteed)
        if isinstance(ask, Refused):
            return ask
        asker = dataclasses.replace(self._owner(wanted.marks), role=_ROLE)
        if before is not None and self._is_raised(before):
            asker = dataclasses.replace(asker, role=Role.LEAD)  # as who raised it had at least
        found = plan(ask, asker, self.terms, now)
        if isinstance(found, Refused):
            return _in_chat(found, wanted, before)
        (as_planned,) = found.pod_sets
        pod_sets = tuple(
            dataclasses.replace(
                pods, node_selector={**as_planned.node_selector, **pods.node_selector}
            )
            for pods in largest_first(wanted.pod_sets)
        )
        found = dataclasses.replace(
            found,
            pod_sets=laid(pod_sets, as_planned.topology, self.terms.levels().values()),
            created=min(wanted.created or now, now),
        )
        refusal = check(found)
        return found if refusal is None else never_fits(refusal)

    def _is_raised(self, request: Request) -> bool:
        """Whether it has a class that nobody gets by `kubectl`: somebody in chat gave it that."""
        own_one = own(request.workload)
        asked = own_one.asked_class or own_one.priority_class
        return asked not in self.terms.priorities(_ROLE)

    def _owner(self, marks: Mapping[str, str]) -> Person:
        """Who hears of it: the person named, else a lead of the team.

        Somebody unknown may ask for that team.
        """
        team = marks.get("team", "")
        named_one = marks.get("owner")
        if named_one is None:
            named_one = next(iter(self.people.leads(team)), None)
        if named_one is None:
            return Person(id=LOOP, name=LOOP, teams=(team,))
        person = self.people.person(named_one)
        return person if person.teams else dataclasses.replace(person, teams=(team,))

    def _tell(
        self, work: Work, wanted: Wanted, before: Request | None, refused: Refused, now: Seconds
    ) -> notices.NotTakenArgs:
        owner = self._owner(wanted.marks).id
        family = wanted.ref.family
        what, name, which = wanted.ref.kind, wanted.ref.name, wanted.ref.uid
        if family is not None:  # once for all replicas of a template, and those to come
            what, name = family.kind, family.name
            which = f"{wanted.ref.family_key}:{family.revision}"
        args = notices.NotTakenArgs(
            what=what,
            namespace=wanted.ref.namespace,
            name=name,
            refusal=dict(write_refusal(refused)),
            request="" if before is None else before.id,
        )
        known = owner != LOOP
        if not known and not wanted.marks.get("team"):  # it stands on the object, and is nobody's
            return args
        work.outbox.put(
            Notice(
                key=f"not-taken:{which}:{wanted.ref.form}:{refused.code}",
                kind=args.kind,
                audience=Audience.PERSON if known else Audience.ONCALL,
                request=args.request or None,
                target=owner if known else None,
                args=args.model_dump(mode="json"),
            ),
            moment(now),
        )
        return args


_ROLE = Role.RESEARCHER  # what comes by `kubectl` has the rights of anybody in its team
_OPEN = tuple(state for state in RequestState if not state.final)


def _in_chat(refused: Refused, wanted: Wanted, before: Request | None) -> Refused:
    """Where it is for want of a role: how somebody who has it asks for that in chat."""
    if refused.code is not RefusalCode.PRIORITY_NOT_ALLOWED:
        return refused
    return refuse(
        RefusalCode.RAISED_IN_CHAT,
        refused.near,
        priority=refused.args["priority"],
        team=wanted.marks.get("team", ""),
        request="" if before is None else before.id,
        replica=int(wanted.ref.family is not None),
    )


_OF_CLUSTER = frozenset({FlawKind.ELSEWHERE, FlawKind.LINGERS, FlawKind.NODE_NAMED})


def _bad_place(flaw: Flaw) -> Refused:
    if flaw.kind is FlawKind.ELSEWHERE:
        return refuse(RefusalCode.MANAGED_ELSEWHERE, manager=flaw.values[0])
    if flaw.kind is FlawKind.NODE_NAMED:
        return refuse(RefusalCode.NODE_NAMED, node=flaw.values[0])
    pod, node = flaw.values
    return refuse(RefusalCode.LINGERS, pod=pod, node=node)


def _bad_group(flaw: Flaw) -> Refused:
    if flaw.kind is FlawKind.SHORT:
        return refuse(RefusalCode.GROUP_SHORT, there=flaw.there, size=flaw.size)
    if flaw.kind is FlawKind.MIXED:
        return refuse(RefusalCode.GROUP_MIXED, flaw.values, label=flaw.mark)
    return refuse(RefusalCode.GROUP_UNLIKE, label=flaw.mark, role=flaw.values[0])


def _bad_hold(flaw: Flaw) -> Refused:
    if flaw.kind is FlawKind.HELD_NOT:
        return refuse(RefusalCode.HOLDS_NOTHING, request=flaw.values[0], gpus=flaw.size)
    return refuse(RefusalCode.HOLDS_LESS, request=flaw.values[0], gpus=flaw.size, most=flaw.there)


def _is_news(known: Request | None, wanted: Wanted) -> bool:
    """Something new, or another than it was; what has ended stays as it is.

    A group has no uid: one of other pods than that which ended is new. So is what had ended because
    it was no more, or waited no longer, or because the policy lacked its queue. News is also that
    its pods were seen to ask for more than it says.
    """
    told = not _may_grow(wanted)
    if known is None or known.ref is None:
        return told
    if known.state.final:
        if known.ended_by in {CLUSTER, OUTSIDE} or (
            known.ended_by == LOOP and known.state is RequestState.CANCELLED
        ):
            return told
        members = known.ref.members
        return told and members not in ("", wanted.ref.members)
    return _is_changed(known, wanted) or _grown(known.workload, wanted) != known.workload.pod_sets


def _is_changed(known: Request, wanted: Wanted) -> bool:
    """Whether the object is another than it was; what is held is looked at each time."""
    lingers = wanted.flaw is not None and wanted.flaw.kind is FlawKind.LINGERS
    return known.ref != wanted.ref or lingers or spoiled(known.workload) is not None


def _grown(known: Workload, wanted: Wanted) -> tuple[PodSet, ...]:
    """The pod sets of an object that says what it said, with what pods were seen to ask for.

    That is kept although a later look may not know of it: a bot that comes anew has seen none.
    """
    asked = {pods.name: pods.requests for pods in wanted.pod_sets}
    found = []
    for pods in known.pod_sets:
        more = {
            name: amount
            for name, amount in asked.get(pods.name, {}).items()
            if name != GPU and amount > pods.requests.get(name, 0)
        }
        found.append(dataclasses.replace(pods, requests={**pods.requests, **more}))
    return tuple(found)


def _may_grow(wanted: Wanted) -> bool:
    """Whether it is a group of which more pods are to come: nothing is wrong with it yet."""
    flaw = wanted.flaw
    return flaw is not None and flaw.kind is FlawKind.SHORT and not flaw.lasting


def _add(
    work: Work,
    added: Sequence[tuple[Wanted, Workload]],
    families: Families,
    rules: Readiness,
    now: Seconds,
) -> None:
    """Store all that is new, in a few statements however much it is."""
    if not added:
        return
    at = moment(now)
    ids = work.requests.next_ids(len(added))
    requests = []
    for request_id, (wanted, planned) in zip(ids, added, strict=True):
        head = families.head(wanted, request_id)
        workload = named(planned, request_id)
        if head is not None:
            workload = dataclasses.replace(workload, replica=number_of(request_id))
        request = Request(
            id=request_id,
            workload=workload,
            state=RequestState.WAITING,
            source=Source.CLUSTER,
            text=f"{wanted.ref.kind} {wanted.ref.namespace}/{wanted.ref.name}",
            created=at,
            changed=at,
            ref=wanted.ref,
            head=head,
        )
        requests.append(families.rested(request, rules, now))
    work.requests.add_all(requests)
    work.events.add_all(
        (EventKind.SUBMIT, request.id, request.workload.owner, at) for request in requests
    )


def _amend(
    work: Work, before: Request, wanted: Wanted, planned: Workload, terms: Terms, now: Seconds
) -> None:
    """An object that was changed while it waits: at its old place unless it asks for more.

    Where it says the same, for other pods, or its pods were seen to ask for more, nothing else is
    changed, but that what was held is so no more.
    """
    old = before.workload
    after = dataclasses.replace(
        named(planned, before.id),
        created=old.created,
        queued=old.queued,
        raised=old.raised,
        replica=old.replica,
    )
    if before.ref is not None and before.ref.form == wanted.ref.form:
        rest = old.rest if spoiled(old) is None else None
        after = dataclasses.replace(old, rest=rest, pod_sets=_grown(old, wanted))
    elif demands_more(old, after, terms):
        after = dataclasses.replace(after, created=now, raised=0)
    changes = changes_of(old, after, terms)
    order = {**write_change(old, after, changes), REF: dataclasses.asdict(wanted.ref)}
    work.events.add(EventKind.EDIT, before.id, after.owner, moment(now), order)


def _hold(work: Work, before: Request, wanted: Wanted, refused: Refused, now: Seconds) -> None:
    """What waits cannot be asked for as it is now: it keeps its place and is not tried.

    Its form stays that which was asked for last, so that nothing else starts in its name.
    """
    if before.ref is None or (
        spoiled(before.workload) is not None and before.ref.members == wanted.ref.members
    ):
        return
    lingers = refused.code is RefusalCode.LINGERS
    cause = RestCause.LINGERS if lingers else RestCause.SPOILED
    rest = Rest(cause=cause, tries=0, most=None, until=None)
    after = dataclasses.replace(before.workload, rest=rest)
    ref = dataclasses.replace(before.ref, members=wanted.ref.members)
    order = {
        **write_change(before.workload, after, ()),
        REF: dataclasses.asdict(ref),
        REFUSAL: write_refusal(refused),
    }
    work.events.add(EventKind.EDIT, before.id, before.workload.owner, moment(now), order)


def _let_go(work: Work, known: Request | None, now: Seconds) -> None:
    if known is not None and not known.state.final:
        work.events.add(EventKind.RELEASE, known.id, CLUSTER, moment(now), {OBJECT_GONE: True})
