"""One method for each thing a person can ask for; Slack, the CLI and tests all come here.

The desk stores what is wanted and reads what is so; it never changes the engine and
never speaks to a cluster. `key` makes an order idempotent: the same delivery again gets
the first answer again. No network call happens here and no transaction stays open while
the desk waits for the loop.
"""

from __future__ import annotations

import contextlib
import dataclasses
import datetime as dt
from collections.abc import Callable, Sequence
from typing import TypeVar

from bot.asks import Ask
from bot.atlas import map_view
from bot.clock import moment
from bot.control.loop import Control
from bot.glance import cluster_view, doubts_for, team_shares
from bot.listing import list_queue
from bot.people import Directory
from bot.places import Domain, domains_of
from bot.plans import Load, named, near, never_fits, plan, refuse
from bot.refusals import read_refusal, write_refusal
from bot.remedies import mend, without
from bot.rights import refuse_order, seen_by
from bot.rows import OPEN_FIRST, card_of, explain_all, story_of
from bot.terms import WAITING_AT_MOST
from bot.views import (
    CardView,
    Choices,
    Done,
    Grouping,
    HomeView,
    MapView,
    MineView,
    NotReady,
    QueueView,
    RefusalCode,
    Refused,
    StatusView,
    Submitted,
    Unconfirmed,
    Verb,
    WhyView,
)
from scheduler.engine import Engine
from scheduler.model import Explanation, Refusal, Seconds, Workload
from storage.records import EventKind, Json, Person, Request, Role, Setting, Source
from storage.states import FINAL, RequestState
from storage.work import Work

T = TypeVar("T")
S = RequestState
PATIENCE = 1.0  # seconds the desk waits for the loop's decision before it answers without
OPEN = tuple(state for state in RequestState if state not in FINAL)
ROWS = 10  # rows of a status; the rest is counted
ENDED_ROWS = 5
LOAD_SLACK = 1.25  # background work asks for this much more time than it will need
GLANCE = 0.5  # seconds a look may wait that Slack waits for


class Desk:
    """Everything a person can ask for. Safe to call from any thread."""

    def __init__(
        self,
        control: Control,
        directory: Directory,
        *,
        patience: float = PATIENCE,
        waiting_at_most: int = WAITING_AT_MOST,
    ) -> None:
        self._control = control
        self._store = control.store
        self._terms = control.terms
        self._directory = directory
        self.patience = patience
        self._waiting_at_most = waiting_at_most

    # ---- orders

    def submit(
        self,
        person_id: str,
        ask: Ask,
        *,
        key: str,
        channel: str | None = None,
    ) -> Submitted | Refused:
        """Store a request and have it decided on; or say why it cannot be, creating nothing."""
        now = self._control.clock.now()
        person = self._directory.person(person_id)
        planned = self._plan(ask, person, now)
        if isinstance(planned, Refused):
            planned = self._with_example(planned, ask, person, now)
        with self._store.write() as work:
            first = work.inbox.first(key, self._wall())
            answer = None if first else work.inbox.answer(key)
            if first and isinstance(planned, Workload) and self._too_many(work, person_id):
                planned = refuse(RefusalCode.TOO_MANY_WAITING, most=self._waiting_at_most)
            if first and isinstance(planned, Refused):
                work.inbox.remember(key, write_refusal(planned))
            elif first and isinstance(planned, Workload):
                request_id = work.requests.next_id()
                request = _new_request(planned, request_id, ask.text, Source.CHAT, now)
                request = dataclasses.replace(request, channel=channel)
                work.requests.add(request)
                event = work.events.add(EventKind.SUBMIT, request.id, person_id, request.created)
                work.inbox.remember(key, {"request": request.id})
        if not first:
            return self._again(answer or {})
        if isinstance(planned, Refused):
            return planned
        decided = self._carried_out(event.id)
        return Submitted(card=self.card(request.id), decided=decided)

    def examine(self, person_id: str, ask: Ask) -> tuple[Refused, ...]:
        """Everything that is wrong with an ask, found in memory and fast; nothing is stored.

        `submit` may still refuse what only storage knows.
        """
        now = self._control.clock.now()
        person = self._directory.person(person_id)
        found: list[Refused] = []
        rest: Ask | None = ask
        while rest is not None:
            planned = self._plan(rest, person, now, patience=GLANCE)
            if isinstance(planned, Workload):
                break
            found.append(planned)
            rest = without(rest, planned)
        return tuple(found)

    def submit_load(self, loads: Sequence[Load], *, fed: Setting) -> tuple[str, ...]:
        """Store background load, and with it how far it was fed; returns the new ids.

        What could never run is left out. The loop takes the rest in at its next step.
        """
        now = self._control.clock.now()
        planned = [(load, self._plan_load(load, now)) for load in loads]
        good = [(load, found) for load, found in planned if isinstance(found, Workload)]
        with self._store.write() as work:
            ids = work.requests.next_ids(len(good)) if good else ()
            requests = [
                dataclasses.replace(
                    _new_request(workload, request_id, "", Source.TRACE, now), run_for=load.run_for
                )
                for request_id, (load, workload) in zip(ids, good, strict=True)
            ]
            work.requests.add_all(requests)
            for request in requests:
                owner = request.workload.owner
                work.events.add(EventKind.SUBMIT, request.id, owner, request.created)
            work.settings.put(fed)
        self._control.wake()
        return ids

    def caught_up(self) -> bool:
        """Whether the loop has taken in all that was asked for so far."""
        with self._store.read() as view:
            return not view.events.any_unhandled()

    def _plan_load(self, load: Load, now: Seconds) -> Workload | Refused:
        team = load.ask.team or ""
        nobody = Person(id=load.owner, name=load.owner, teams=(team,), role=Role.ADMIN)
        found = self._plan(load.ask, nobody, now)
        if isinstance(found, Refused):
            return found
        # Its lease covers its run time: what a trace recorded is not cut short by our policy.
        return dataclasses.replace(found, duration=load.run_for * LOAD_SLACK)

    def _plan(
        self, ask: Ask, person: Person, now: Seconds, *, patience: float | None = None
    ) -> Workload | Refused:
        found = plan(ask, person, self._terms, now)
        if isinstance(found, Workload):
            found = self._graded(found, ask, person, now, patience)
        return self._fits(found, patience) if isinstance(found, Workload) else found

    def _graded(
        self, planned: Workload, ask: Ask, person: Person, now: float, patience: float | None
    ) -> Workload | Refused:
        """The workload in the class that its team's budgets leave it, often the one it asks for."""
        asked = planned.priority_class
        try:
            grade = self._control.read(
                lambda engine: engine.grade(planned.team, asked, planned.gpus),
                patience=patience,
            )
        except NotReady:
            return planned
        if isinstance(grade, Refusal):
            return never_fits(grade)
        if grade.given is asked:
            return planned
        found = plan(dataclasses.replace(ask, priority=grade.given), person, self._terms, now)
        if isinstance(found, Workload):
            found = dataclasses.replace(found, asked_class=asked)
        return found

    def _with_example(self, refused: Refused, ask: Ask, person: Person, now: Seconds) -> Refused:
        """The refusal with a request that would be taken, if changing one thing does it."""
        mended = mend(ask, refused, self._terms.node_gpus())
        if mended is None or isinstance(self._plan(mended, person, now), Refused):
            return refused
        return dataclasses.replace(refused, instead=mended)

    def setting(self, name: str) -> Setting | None:
        """A stored setting, or None."""
        with self._store.read() as view:
            return view.settings.get(name)

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
            refused = refuse_order(person, request, kind) if first else None
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

    def _fits(self, workload: Workload, patience: float | None) -> Workload | Refused:
        """The workload, unless the engine knows that it could never start."""
        try:
            refusal = self._control.read(lambda engine: engine.check(workload), patience=patience)
        except NotReady:
            return workload  # stored now, judged when the engine is there
        return workload if refusal is None else never_fits(refusal)

    def _too_many(self, work: Work, person_id: str) -> bool:
        most = self._waiting_at_most
        waiting = work.requests.find(states=[S.WAITING], owner=person_id, limit=most)
        return len(waiting) >= most

    def _again(self, answer: Json) -> Submitted | Refused:
        """The first answer to a key that was seen before.

        Not to be called while writing: the loop writes while it holds the engine, which a
        card has to look at.
        """
        if "refused" in answer:
            return read_refusal(answer)
        try:
            card = self.card(str(answer.get("request", "")))
        except KeyError:
            return refuse(RefusalCode.NO_SUCH_REQUEST, request="")
        return Submitted(card=card, decided=True, again=True)

    def _carried_out(self, event_id: int) -> bool:
        self._control.wake()
        return self._control.wait(event_id, self.patience)

    # ---- looking

    def card(self, request_id: str) -> CardView:
        """Everything the card of a request shows, read fresh. Raises KeyError."""
        with self._store.read() as view:
            request = view.requests.get(request_id)
        if request is None:
            raise KeyError(request_id)
        return self._card_of(request)

    def status(self, person_id: str, what: str | None = None) -> StatusView | Refused:
        """Own requests, the cluster, and those of one request, person or team."""
        now = self._control.clock.now()
        person = self._directory.person(person_id)
        about: str | None = None
        rows: tuple[Request, ...] = ()
        with self._store.read() as view:
            mine = view.requests.find(states=OPEN, owner=person_id)
            if what is not None:
                found = self._about(view, what)
                if isinstance(found, Refused):
                    return found
                about, rows = found
        cards = tuple(seen_by(person, card) for card in self._cards(rows[:ROWS]))
        return StatusView(
            person=person_id,
            mine=self._cards(_by_state(mine)[:ROWS]),
            cluster=self._look(lambda engine: cluster_view(engine, self._terms, now)),
            about=about,
            rows=cards,
            more=len(rows) - len(cards),
            may_ask=self._may_ask(person),
            doubts=self._look(doubts_for(person)),
        )

    def _about(self, view: Work, what: str) -> tuple[str, tuple[Request, ...]] | Refused:
        """What a word means, by its id, and the requests that are meant."""
        word = what.strip()
        if word.upper().startswith("R-"):
            request = view.requests.get(word.upper())
            if request is None:
                return refuse(RefusalCode.NO_SUCH_REQUEST, request=word)
            return request.id, (request,)
        owner = self._owner(word)
        if owner is not None:
            return owner, _by_state(view.requests.find(states=OPEN, owner=owner))
        team = word.lower()
        if team in self._terms.teams:
            return team, _by_state(view.requests.find(states=OPEN, team=team))
        names = [*self._terms.teams, *(p.name for p in self._directory.people())]
        return refuse(RefusalCode.UNKNOWN_TARGET, near(word, names), what=word)

    def _owner(self, what: str) -> str | None:
        """The id of the person that a name, an id or a mention (even one spelt out) means."""
        word = what.strip().removeprefix("<@").removesuffix(">").removeprefix("@").split("|")[0]
        if self._directory.knows(word):
            return word
        by_name = [p.id for p in self._directory.people() if p.name.lower() == word.lower()]
        return by_name[0] if by_name else None

    def queue(self, person_id: str, what: str | None = None, page: int = 1) -> QueueView | Refused:
        """Who waits, in the engine's own order and with its reasons; own rows first."""
        now = self._control.clock.now()
        owner = self._owner(what) if what is not None else None
        return self._look(
            lambda engine: list_queue(engine, self._terms, person_id, what, page, now, owner=owner)
        )

    def why(self, person_id: str, request_id: str) -> WhyView | Refused:
        """The card, why it waits, and the story so far. Anybody may ask."""
        wanted = request_id.strip().upper()
        with self._store.read() as view:
            request = view.requests.get(wanted)
            lines = view.transitions.of(wanted)
        if request is None:
            return refuse(RefusalCode.NO_SUCH_REQUEST, request=request_id, person=person_id)
        card = seen_by(self._directory.person(person_id), self._card_of(request))
        return WhyView(card=card, story=story_of(lines), owners=self._owners(card.explanation))

    def _owners(self, why: Explanation | None) -> dict[str, str]:
        if why is None:
            return {}
        named_ids = [*why.ahead, *(holder.workload for holder in why.holders)]

        def look(engine: Engine) -> dict[str, str]:
            found = {i: engine.workload(i) for i in named_ids}
            return {i: workload.owner for i, workload in found.items() if workload is not None}

        return self._look(look)

    def map(self, by: Grouping = Grouping.POOL) -> MapView:
        """The cluster node by node; worked out after the engine was looked at."""
        now = self._control.clock.now()
        nodes, running = self._look(lambda engine: (engine.nodes(), engine.running()))
        return map_view(nodes, running, self._terms, by, now)

    def mine(self, person_id: str) -> MineView:
        """Open requests, then the ones that ended last."""
        with self._store.read() as view:
            opened = view.requests.find(states=OPEN, owner=person_id)
            ended = view.requests.find(
                states=sorted(FINAL), owner=person_id, limit=ENDED_ROWS, newest_first=True
            )
        return MineView(
            person=person_id,
            open=self._cards(_by_state(opened)),
            ended=self._cards(ended),
            at=self._control.clock.now(),
            may_ask=self._may_ask(self._directory.person(person_id)),
        )

    def _may_ask(self, person: Person) -> bool:
        """Whether there is a team to charge what this person asks for."""
        return any(team in self._terms.teams for team in person.teams)

    def last_request(self, person_id: str) -> str | None:
        """The id of the request that a person made last, whatever became of it."""
        with self._store.read() as view:
            found = view.requests.find(owner=person_id, limit=1, newest_first=True)
        return found[0].id if found else None

    def home(self, person_id: str) -> HomeView:
        """What the App Home of a person shows."""
        now = self._control.clock.now()
        person = self._directory.person(person_id)
        cluster, shares = self._look(
            lambda engine: (
                cluster_view(engine, self._terms, now),
                team_shares(engine, self._terms, person.teams, now),
            )
        )
        return HomeView(
            person=person.id,
            name=person.name,
            role=person.role,
            mine=self.mine(person_id),
            shares=shares,
            cluster=cluster,
        )

    def choices(self, person_id: str) -> Choices:
        """What the form offers to a person."""
        person = self._directory.person(person_id)
        teams = [str(t) for t in self._terms.teams]
        mine = [t for t in person.teams if t in teams]
        return Choices(
            teams=tuple(teams if person.role is Role.ADMIN else mine),
            models=self._terms.models,
            priorities=tuple(str(p) for p in self._terms.priorities(person.role)),
            default_lease=self._terms.usual_lease(),
            most_lease=self._terms.longest_lease(),
            node_gpus=self._terms.node_gpus(),
            levels=tuple(word for word in self._terms.levels() if word != "node"),
        )

    def person(self, person_id: str) -> Person | None:
        """A person the directory knows, or None."""
        return self._directory.person(person_id) if self._directory.knows(person_id) else None

    def people(self) -> tuple[Person, ...]:
        """Everybody the directory knows."""
        return self._directory.people()

    # ---- how it is done

    def _look(self, look: Callable[[Engine], T]) -> T:
        return self._control.read(look)

    def _wall(self) -> dt.datetime:
        return moment(self._control.wall.now())

    def _card_of(self, request: Request) -> CardView:
        return self._cards([request])[0]

    def _cards(self, requests: Sequence[Request]) -> tuple[CardView, ...]:
        now = self._control.clock.now()
        waiting = [request.id for request in requests if request.state is S.WAITING]
        holding = [request for request in requests if request.state.holding]
        reasons: dict[str, Explanation] = {}
        domains: dict[str, Domain] = {}
        with contextlib.suppress(NotReady):
            if waiting:
                reasons = self._look(lambda engine: explain_all(engine, waiting, now))
            if holding:
                domains = self._look(lambda engine: domains_of(engine, self._terms, holding))
        return tuple(
            card_of(r, self._terms, now, reasons.get(r.id), domains.get(r.id, ())) for r in requests
        )


def _by_state(requests: Sequence[Request]) -> tuple[Request, ...]:
    """What runs first, then what waits; the newest first in each."""
    return tuple(
        request for state in OPEN_FIRST for request in reversed(requests) if request.state is state
    )


def _new_request(
    workload: Workload, request_id: str, text: str, source: Source, now: Seconds
) -> Request:
    created = moment(now)
    return Request(
        id=request_id,
        workload=named(workload, request_id),
        state=S.WAITING,
        source=source,
        text=text,
        created=created,
        changed=created,
    )
