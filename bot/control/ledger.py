"""What one step of the loop will have stored and done, kept together until it is stored.

The loop is the only one that moves requests, so the copies loaded here stay true until
`record` writes them. Nothing in a ledger may be acted on before its transaction commits.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Unpack

from bot import notices
from bot.clock import moment
from bot.clusters.base import Action, Taken
from scheduler.model import Seconds
from storage.accounts import Gauge, Grant, Outcome
from storage.audit import Intervention
from storage.errors import UnknownRequest
from storage.records import Audience, Notice, Request, Setting, Source, UsageSample
from storage.requests import Changes
from storage.states import RequestState, check_move
from storage.store import Store
from storage.work import Work

LOOP = "gpubot"  # the actor of what nobody asked for
STARVING = "starving"  # the reason of the line that says when a request began to starve
_OUTCOMES = {
    RequestState.FINISHED: Outcome.FINISHED,
    RequestState.FAILED: Outcome.FAILED,
    RequestState.RELEASED: Outcome.RELEASED,
    RequestState.EXPIRED: Outcome.EXPIRED,
    RequestState.CANCELLED: Outcome.CANCELLED,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One move of one request, with what else changes on its row.

    Without `after` it stays in its state, and only a line of its story is written.
    """

    request: str
    after: RequestState | None
    at: dt.datetime
    actor: str
    reason: str
    details: Mapping[str, object] = field(default_factory=dict)
    changes: Changes = field(default_factory=Changes)


def card_notice(request_id: str) -> Notice:
    """Has the card of a request drawn again."""
    return Notice(
        key=f"card:{request_id}",
        kind=notices.NoticeKind.CARD,
        audience=Audience.CARD,
        request=request_id,
        args=notices.CardArgs(request=request_id).model_dump(mode="json"),
    )


class Ledger:
    """Collects moves, notices and actions of one step, in order.

    `said_at` is the wall-clock moment from which the notices are due. `replicas` are what the
    step tells of each family of replicas, by its head: the key of the notice, and its arguments.
    `taken` is what of holds others have, by the request that is to go on elsewhere. `unmendable`
    are requests that are stopped whole when they are to go on elsewhere.
    """

    def __init__(self, store: Store, now: Seconds, said_at: dt.datetime) -> None:
        self.now = now
        self.at = moment(now)
        self.actions: list[Action] = []
        self.taken: dict[str, Taken] = {}
        self.unmendable: set[str] = set()
        self.replicas: dict[str, tuple[str, notices.ReplicasArgs]] = {}
        self._store = store
        self._said_at = said_at
        self._requests: dict[str, Request] = {}
        self._moves: list[Move] = []
        self._amendments: dict[str, Changes] = {}
        self._notices: dict[str, Notice] = {}
        self._handled: list[int] = []
        self._samples: list[UsageSample] = []
        self._gauges: list[Gauge] = []
        self._grants: list[Grant] = []
        self._handed: list[Request] = []
        self._resized: dict[str, int] = {}
        self._started: list[str] = []
        self._void: list[str] = []
        self._ends: dict[str, tuple[dt.datetime, Outcome]] = {}
        self._settings: dict[str, Setting | None] = {}
        self._interventions: dict[int, Intervention] = {}

    def __bool__(self) -> bool:
        kept = (self._moves, self._amendments, self._notices, self._handled, self._samples)
        others = (self._gauges, self._settings, self._interventions, self._resized)
        return any(kept) or any(others)

    @property
    def handled(self) -> tuple[int, ...]:
        """The desk events this step carries out."""
        return tuple(self._handled)

    @property
    def carried(self) -> tuple[str, ...]:
        """The interventions of which this step writes down what became of them."""
        return tuple(f"intervention:{number}" for number in self._interventions)

    @property
    def speaks(self) -> bool:
        """Whether the announcer has something to do after this step."""
        return bool(self._notices)

    def threads(self) -> list[tuple[str, notices.NoticeKind, Request, object]]:
        """What the threads of requests are told: key, kind, request and arguments, in order."""
        return [
            (one.key, notices.NoticeKind(one.kind), self.get(one.request), one.args)
            for one in self._notices.values()
            if one.audience is Audience.THREAD and one.request is not None
        ]

    def load(self, ids: Iterable[str]) -> None:
        """Read the requests of these ids that are not here yet, in one go."""
        missing = sorted(set(ids) - self._requests.keys())
        if missing:
            with self._store.read() as view:
                self.put(view.requests.by_ids(missing).values())

    def put(self, requests: Iterable[Request]) -> None:
        """Take in requests that were read elsewhere."""
        for request in requests:
            self._requests.setdefault(request.id, request)

    def find(self, request_id: str) -> Request | None:
        """The request as it will be, or None if storage does not know it."""
        if request_id not in self._requests:
            self.load([request_id])
        return self._requests.get(request_id)

    def get(self, request_id: str) -> Request:
        """The request as it will be. Raises UnknownRequest."""
        request = self.find(request_id)
        if request is None:
            raise UnknownRequest(request_id)
        return request

    def move(
        self,
        request_id: str,
        after: RequestState,
        *,
        reason: str,
        actor: str = LOOP,
        details: Mapping[str, object] | None = None,
        **changes: Unpack[Changes],
    ) -> Request:
        """Move a request and update its card. Raises IllegalMove, and keeps nothing of it."""
        request = self.get(request_id)
        check_move(request.id, request.state, after)
        self._moves.append(
            Move(
                request=request.id,
                after=after,
                at=self.at,
                actor=actor,
                reason=reason,
                details=details or {},
                changes=changes,
            )
        )
        if request.state.holding and not after.holding:
            self._ends[request.decision] = (self.at, _outcome(request.state, after))
        moved = dataclasses.replace(request, state=after, changed=self.at, **changes)
        return self._keep(moved)

    def note(
        self,
        request_id: str,
        *,
        reason: str,
        details: Mapping[str, object],
        actor: str = LOOP,
        **changes: Unpack[Changes],
    ) -> Request:
        """Change a request that does not move, with a line in its story."""
        request = self.get(request_id)
        self._moves.append(
            Move(
                request=request.id,
                after=None,
                at=self.at,
                actor=actor,
                reason=reason,
                details=details,
                changes=changes,
            )
        )
        return self._keep(dataclasses.replace(request, changed=self.at, **changes))

    def amend(self, request_id: str, **changes: Unpack[Changes]) -> Request:
        """Change a request that does not move. Raises UnknownRequest."""
        request = self.get(request_id)
        self._amendments.setdefault(request_id, Changes()).update(changes)
        return self._keep(dataclasses.replace(request, **changes))

    def charged(self, request_id: str) -> float:
        """GPU-hours that the request has been charged so far, in all its attempts."""
        with self._store.read() as view:
            grants = view.grants.of(request_id)
        return sum(grant.hours(grant.begun, self.at) for grant in grants)

    def say(self, notice: Notice) -> None:
        """Have a notice sent once the step is stored; the last of a key wins.

        What is said about a replica goes to the card and thread of its family.
        """
        about = None if notice.request is None else self.find(notice.request)
        if about is not None and about.card != notice.request:
            notice = dataclasses.replace(notice, request=about.card)
        self._notices[notice.key] = notice

    def redraw(self, request: Request) -> None:
        """Have the card of a request drawn again; background load has none."""
        if request.source is Source.TRACE:
            return
        self.say(card_notice(request.card))

    def act(self, action: Action) -> None:
        """Have the cluster do something once the step is stored."""
        self.actions.append(action)

    def done(self, event_id: int) -> None:
        """Mark a desk event as carried out."""
        self._handled.append(event_id)

    def charge(self, request: Request, *, pool: str, flavor: str, spend: str) -> None:
        """Open a grant in the usage ledger for what a request holds from now on."""
        self._grants.append(
            Grant(
                decision=request.decision,
                request=request.id,
                source=request.source,
                owner=request.workload.owner,
                team=request.workload.team,
                pool=pool,
                queue=request.admission.queue if request.admission else request.workload.queue,
                flavor=flavor,
                spend=spend,
                gpus=request.gpus,
                waited=max(0.0, (self.at - request.created).total_seconds()),
                begun=self.at,
            )
        )

    def started(self, request: Request) -> None:
        """Compare what was expected of a request with its first start, which is now."""
        if request.source is not Source.TRACE:
            self._started.append(request.id)

    def void_estimate(self, request: Request) -> None:
        """Forget what was expected of a request: it is another now."""
        self._void.append(request.id)

    def hand_over(self, request: Request) -> None:
        """Charge what a request holds to its new owner and team from now on."""
        self._handed.append(request)

    def resize(self, request: Request) -> None:
        """Charge a request for the GPUs that it holds from now on."""
        self._resized[request.decision] = request.gpus

    def gauge(self, gauge: Gauge) -> None:
        """Keep a sample of the cluster."""
        self._gauges.append(gauge)

    def sample(self, samples: Iterable[UsageSample]) -> None:
        """Keep usage samples."""
        self._samples.extend(samples)

    def settings(self, prefix: str) -> tuple[Setting, ...]:
        """The settings whose names begin so, as storage has them."""
        with self._store.read() as view:
            return view.settings.under(prefix)

    def set(self, setting: Setting) -> None:
        """Keep a setting in place of the one of its name."""
        self._settings[setting.name] = setting

    def unset(self, name: str) -> None:
        """Remove a setting."""
        self._settings[name] = None

    def intervention(self, number: int) -> Intervention | None:
        """An intervention as it will be, or None if storage does not know it."""
        if number in self._interventions:
            return self._interventions[number]
        with self._store.read() as view:
            return view.interventions.get(number)

    def write_down(self, done: Intervention) -> None:
        """Keep what became of an intervention."""
        self._interventions[done.id] = done

    def stopped_because(self, request_id: str) -> str:
        """The reason of the last move that storage knows of a request; empty without any."""
        with self._store.read() as view:
            story = view.transitions.of(request_id)
        return story[-1].reason if story else ""

    def has_begun(self, head: str) -> bool:
        """Whether storage knows of a replica of this family that has ever held GPUs."""
        with self._store.read() as view:
            return view.requests.has_begun(head)

    def others(self, request: Request) -> tuple[Request, ...]:
        """The other open replicas of its family as they will be, by number."""
        if request.head is None:
            return ()
        with self._store.read() as view:
            open_states = [state for state in RequestState if not state.final]
            stored = view.requests.replicas([request.head], open_states)[request.head]
        found = [self._requests.get(one.id, one) for one in stored if one.id != request.id]
        return tuple(one for one in found if not one.state.final)

    def times(self, request_id: str, reason: str, *, since: Container[str] = ()) -> int:
        """How many moves of a request storage knows of that had this reason.

        Counted from the last line of its story that has one of the reasons `since`.
        """
        with self._store.read() as view:
            story = [line.reason for line in view.transitions.of(request_id)]
        anew = max((at for at, each in enumerate(story) if each in since), default=-1)
        return story[anew + 1 :].count(reason)

    def record(self, work: Work) -> None:
        """Write everything. Call inside one transaction; commit is the caller's."""
        # One query for all rows, instead of one for each move.
        work.requests.by_ids([move.request for move in self._moves])
        for move in self._moves:
            _write(work, move)
        for request_id, changes in self._amendments.items():
            work.requests.amend(request_id, **changes)
        for notice in self._notices.values():
            work.outbox.put(notice, self._said_at)
        self._account(work)
        if self._samples:
            work.usage.put(*self._samples)
        for name, setting in self._settings.items():
            if setting is None:
                work.settings.delete(name)
            else:
                work.settings.put(setting)
        for done in self._interventions.values():
            work.interventions.write(done)
        if self._handled:
            work.events.mark(self._handled, self.at)

    def _account(self, work: Work) -> None:
        """Open what was granted, then close what was given back: one step may do both."""
        for grant in self._grants:
            first = grant.decision == f"{grant.request}/1"
            since = None if first else work.grants.last_end(grant.request)
            waited = grant.waited if since is None else (grant.begun - since).total_seconds()
            work.grants.open(dataclasses.replace(grant, waited=max(0.0, waited)))
        work.estimates.forget(self._void)
        work.estimates.settle(self._started, self.at)
        for request in self._handed:
            owner, team = request.workload.owner, request.workload.team
            work.grants.hand_over(request.decision, self.at, owner=owner, team=team)
        for decision, gpus in self._resized.items():
            work.grants.resize(decision, self.at, gpus)
        work.grants.close(self._ends)
        for gauge in self._gauges:
            work.gauges.put(gauge)

    def _keep(self, request: Request) -> Request:
        self._requests[request.id] = request
        self.redraw(request)
        return request


def _outcome(before: RequestState, after: RequestState) -> Outcome:
    """How a grant ended that went from `before` to `after`."""
    if after is RequestState.WAITING:
        return Outcome.PREEMPTED if before is RequestState.PREEMPTING else Outcome.LOST
    return _OUTCOMES[after]


def _write(work: Work, move: Move) -> None:
    if move.after is None:
        work.requests.note(
            move.request,
            at=move.at,
            actor=move.actor,
            reason=move.reason,
            details=move.details,
            **move.changes,
        )
        return
    work.requests.move(
        move.request,
        move.after,
        at=move.at,
        actor=move.actor,
        reason=move.reason,
        details=move.details,
        **move.changes,
    )
