"""Replicas of one object that keeps several: one card, one thread, and who of them is guaranteed.

Each replica is a request of its own. The first of a family is its head: its card is the
family's. A family without replicas rests, and is taken up again for a day: an autoscaler that
goes to none at night goes on in its thread.

With the label `gpubot.dev/guaranteed: "2"` the first two replicas are asked for as not
preemptible, all above them as preemptible, so that capacity comes from the newest of those
first (`scheduler.candidates`: later start first, then the id). They are counted for each
template, so that a rolling update hands the guarantee on.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass, field, replace

from bot import notices
from bot.clusters.base import Wanted
from bot.control.ledger import Ledger
from bot.control.successors import LATE_OF, Latecomers
from bot.grants import nodes_of
from bot.terms import Terms
from scheduler.model import Rest, Seconds, Workload
from scheduler.rest import Readiness
from storage.records import Audience, FamilyRef, Notice, Request
from storage.states import RequestState
from storage.work import Work

RESTS: Seconds = 86400.0  # a family that has had no replica for so long is over
LABEL = "guaranteed"
_LEAVING = frozenset({RequestState.PREEMPTING, RequestState.EVICTING, RequestState.STOPPING})
_FOR_OTHERS = frozenset({RequestState.PREEMPTING, RequestState.EVICTING})
_OPEN = tuple(state for state in RequestState if not state.final)


def in_order(wanted: Iterable[Wanted]) -> list[Wanted]:
    """In the order in which objects are taken in.

    1. made earlier first; 2. by namespace; 3. by name, shorter ones first, so that ordinals
    count up; 4. the uid.
    """
    return sorted(
        wanted,
        key=lambda w: (w.created, w.ref.namespace, len(w.ref.name), w.ref.name, w.ref.uid),
    )


@dataclass(slots=True)
class Families:
    """The families that are asked about, as storage has them and as they become.

    `heads`, `open` replicas and `places` are by the family's key; `gone` are uids that are wanted
    no more. `places` are those in line of replicas that are being stopped for others, oldest
    first. `late` is whose replicas were not ready in time.
    """

    heads: dict[str, str] = field(default_factory=dict)
    open: dict[str, list[Request]] = field(default_factory=dict)
    gone: frozenset[str] = frozenset()
    places: dict[str, list[Seconds]] = field(default_factory=dict)
    late: Latecomers = field(default_factory=lambda: Latecomers({}))
    _promised: dict[tuple[str, FamilyRef], set[str]] = field(default_factory=dict)

    def rested(self, request: Request, rules: Readiness, now: Seconds) -> Request:
        """A new replica, which rests where those before it were not ready in time."""
        key = None if request.ref is None else request.ref.family_key
        others = self.open.get(key or "", ())
        rest = self.late.rest(request, others, rules, now)
        if rest is None:
            return request
        return replace(request, workload=replace(request.workload, rest=rest))

    @classmethod
    def read(
        cls, view: Work, wanted: Iterable[Wanted], gone: Iterable[str], now: Seconds
    ) -> Families:
        """Those that some objects belong to."""
        keys = {one.ref.family_key for one in wanted}
        newest = view.requests.newest_of({key for key in keys if key is not None})
        members = view.requests.replicas({one.card for one in newest.values()}, _OPEN)
        found = cls(gone=frozenset(gone))
        if newest:
            found.late = Latecomers.of(view.settings.under(LATE_OF), now)
        for key, last in newest.items():
            there = list(members[last.card])
            if there or last.changed.timestamp() > now - RESTS:
                found.heads[key], found.open[key] = last.card, there
                found.places[key] = _places(view, there)
        return found

    def seated(self, wanted: Wanted, planned: Workload) -> Workload:
        """A new replica in the place of one that is stopped for others, if there is one.

        Who is stopped waits at his old place; a replica does so by its successor, unless it is
        several pods: then it waits as itself.
        """
        places = self.places.get(wanted.ref.family_key or "")
        if not places:
            return planned
        return replace(planned, created=places.pop(0), queued=planned.created)

    def head(self, wanted: Wanted, request_id: str) -> str | None:
        """Whose card a new request goes under; its own if it is the first of its family."""
        key = wanted.ref.family_key
        return None if key is None else self.heads.setdefault(key, request_id)

    def guarantees(self, wanted: Wanted) -> bool | None:
        """Whether a replica is among those that are guaranteed; None where nothing says so."""
        key, ref = wanted.ref.family_key, wanted.ref
        most = read_count(wanted.marks.get(LABEL, ""))
        if key is None or ref.family is None or most is None:
            return None
        promised = self._promised.setdefault(
            (key, ref.family),
            {
                one.ref.uid
                for one in self.open.get(key, ())
                if one.ref is not None
                and one.ref.family == ref.family
                and one.state not in _LEAVING
                and not one.workload.preemptible
            },
        )
        promised -= wanted.leaving | self.gone
        if len(promised - {ref.uid}) >= most:
            promised.discard(ref.uid)
            return False
        promised.add(ref.uid)
        return True


def _places(view: Work, there: Iterable[Request]) -> list[Seconds]:
    """When those were asked for that are stopped for others, less those who have a successor.

    A successor is known by it that it counts as asked for before it came.
    """
    found: dict[Seconds, int] = {}
    for one in there:
        if one.ref is not None and one.ref.members:
            continue
        if one.state not in _LEAVING:
            if one.workload.queued is None:
                continue
            found[one.workload.created] = found.get(one.workload.created, 0) - 1
        elif one.state is not RequestState.STOPPING or _was_stopped(view, one):
            found[one.workload.created] = found.get(one.workload.created, 0) + 1
    return sorted(at for at, count in found.items() for _ in range(count))


def _was_stopped(view: Work, one: Request) -> bool:
    """Whether one that ends was being stopped for others before its pod was gone."""
    story = view.transitions.of(one.id)
    return len(story) > 1 and story[-1].before in _FOR_OTHERS


def read_count(text: str) -> int | None:
    """A number of replicas; None for anything else."""
    return int(text) if text.isascii() and text.isdigit() and len(text) < 7 else None


def say_started(ledger: Ledger, terms: Terms, request: Request) -> None:
    """Tell the thread of a replica that got its GPUs; the channel of the first of a family."""
    admission = request.admission
    told = _told(ledger, request, "started")
    if admission is None or told is None:
        return
    one = notices.ReplicaArgs(
        request=request.id,
        name=request.workload.name,
        gpus=request.gpus,
        nodes=tuple(node for node, _ in nodes_of(admission, request)),
    )
    key, args = told
    pool = terms.pool(admission.queue)
    _say(ledger, key, args.model_copy(update={"pool": pool, "started": (*args.started, one)}))


def say_ended(ledger: Ledger, request: Request, ran: Seconds) -> None:
    """Tell the thread of a replica that is gone; `ran` is 0 where it never ran."""
    told = _told(ledger, request, "ended")
    if told is None:
        return
    one = notices.ReplicaArgs(
        request=request.id,
        name=request.workload.name,
        gpus=request.granted,
        ran=ran,
        failed=request.state is RequestState.FAILED,
    )
    key, args = told
    _say(ledger, key, args.model_copy(update={"ended": (*args.ended, one)}))


def say_held(ledger: Ledger, request: Request, rest: Rest, series: str) -> None:
    """Tell thread and owner that no replica of a template is tried any more, once a `series`."""
    ref = request.ref
    if ref is None or ref.family is None:
        return
    args = notices.RequeuedArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        cause="late",
        position=0,
        rest=notices.RestArgs(**asdict(rest)),
        what=ref.family.kind,
        where=f"{ref.namespace}/{ref.family.name}",
    )
    for audience, target in ((Audience.THREAD, None), (Audience.PERSON, request.workload.owner)):
        ledger.say(
            Notice(
                key=f"template-held:{series}:{audience}",
                kind=args.kind,
                audience=audience,
                request=request.id,
                target=target,
                args=args.model_dump(mode="json"),
            )
        )


def _told(ledger: Ledger, request: Request, what: str) -> tuple[str, notices.ReplicasArgs] | None:
    """What this step tells of a family so far, under the key of what happened first in it."""
    ref = request.ref
    if request.head is None or ref is None or ref.family is None:
        return None
    return ledger.replicas.get(request.head) or (
        f"replicas:{request.decision}:{what}",
        notices.ReplicasArgs(
            request=request.head,
            what=ref.family.kind,
            namespace=ref.namespace,
            name=ref.family.name,
            owner=request.workload.owner,
            team=request.workload.team,
        ),
    )


def _say(ledger: Ledger, key: str, args: notices.ReplicasArgs) -> None:
    ledger.replicas[args.request] = (key, args)
    audiences = [Audience.THREAD]
    if args.started and not ledger.has_begun(args.request):
        audiences.append(Audience.CHANNEL)
    for audience in audiences:
        ledger.say(
            Notice(
                key=f"{key}:{audience}",
                kind=args.kind,
                audience=audience,
                request=args.request,
                args=args.model_dump(mode="json"),
            )
        )
