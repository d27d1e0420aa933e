"""Looking: status, queue, why, map and the rest; nothing changes."""

from __future__ import annotations

from collections.abc import Sequence

from bot.atlas import map_view
from bot.desk.naming import Naming
from bot.desk.office import OPEN, by_state
from bot.glance import cluster_view, doubts_for, team_shares
from bot.listing import list_queue
from bot.maps import Grouping, MapView, OutsidePod
from bot.plans import near, refuse
from bot.rights import seen_by
from bot.rows import story_of
from bot.views import (
    Choices,
    HomeView,
    Letter,
    MineView,
    NotReady,
    QueueView,
    RefusalCode,
    Refused,
    StatusView,
    WhyView,
)
from scheduler.budgets import Budget
from scheduler.engine import Engine
from scheduler.model import GPU, Explanation, TeamName
from storage.records import Person, Request, Role
from storage.states import FINAL
from storage.work import Work

ROWS = 10  # rows of a status; the rest is counted
ENDED_ROWS = 5
LETTERS = 10


class Reading(Naming):
    """Everything a person can look at."""

    def status(self, person_id: str, what: str | None = None) -> StatusView | Refused:
        """Own requests, the cluster, and those of one request, person or team."""
        now = self._control.clock.now()
        person = self._directory.person(person_id)
        about: str | None = None
        rows: tuple[Request, ...] = ()
        with self._store.read() as view:
            mine = view.requests.find(states=OPEN, owner=person_id)
            by_hand = view.interventions.in_force() if what is None else ()
            if what is not None:
                found = self._about(view, what)
                if isinstance(found, Refused):
                    return found
                about, rows = found
        if about not in {one.id for one in rows}:
            rows = self._gathered(rows)
        cards = tuple(seen_by(person, card) for card in self._cards(rows[:ROWS]))
        return StatusView(
            person=person_id,
            mine=self._cards(self._gathered(by_state(mine))[:ROWS]),
            cluster=self._look(lambda engine: cluster_view(engine, self._terms, now)),
            about=about,
            rows=cards,
            more=len(rows) - len(cards),
            may_ask=self._may_ask(person),
            doubts=self._look(doubts_for(person)),
            budgets=self._budgets(about),
            by_hand=by_hand,
            letters=self._letters(person),
            outside=self._outside() if what is None else (),
        )

    def _outside(self) -> tuple[OutsidePod, ...]:
        """GPU pods that no request stands for: 1. more GPUs first; 2. by where they are."""
        nodes = self._look(lambda engine: [n.name for n in engine.nodes() if n.outside.get(GPU)])
        found = self._control.outside(nodes) or ()
        pods = [OutsidePod(where=p.where, gpus=p.gpus, node=p.node or "") for p in found]
        return tuple(sorted(pods, key=lambda pod: (-pod.gpus, pod.where)))

    def _letters(self, person: Person) -> tuple[Letter, ...]:
        """What could not be delivered, the latest first, for those who can mend it."""
        if person.role is not Role.ADMIN:
            return ()
        with self._store.read() as view:
            dead = view.outbox.letters(LETTERS)
        return tuple(
            Letter(
                kind=item.notice.kind,
                request=item.notice.request,
                where=item.notice.target or item.notice.audience,
                error=item.error or "",
                at=item.created.timestamp(),
            )
            for item in dead
        )

    def _budgets(self, about: str | None) -> tuple[Budget, ...]:
        if about is None or about not in self._terms.teams:
            return ()
        return self._look(lambda engine: engine.budgets(TeamName(about)))

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
            return owner, by_state(view.requests.find(states=OPEN, owner=owner))
        team = word.lower()
        if team in self._terms.teams:
            return team, by_state(view.requests.find(states=OPEN, team=team))
        names = [*self._terms.teams, *(p.name for p in self._directory.people())]
        return refuse(RefusalCode.UNKNOWN_TARGET, near(word, names), what=word)

    def queue(self, person_id: str, what: str | None = None, page: int = 1) -> QueueView | Refused:
        """Who waits, in the engine's own order and with its reasons; own rows first."""
        now = self._control.clock.now()
        owner = self._owner(what) if what is not None else None
        return self._look(
            lambda engine: list_queue(engine, self._terms, person_id, what, page, now, owner=owner)
        )

    def why(self, person_id: str, request_id: str) -> WhyView | Refused:
        """The card, why it waits, and the story so far, by id or name. Anybody may ask."""
        wanted = self._which(person_id, request_id)
        if isinstance(wanted, Refused):
            return wanted
        with self._store.read() as view:
            request = view.requests.get(wanted)
            lines = view.transitions.of(wanted)
        if request is None:
            return refuse(RefusalCode.NO_SUCH_REQUEST, request=request_id, person=person_id)
        card = seen_by(self._directory.person(person_id), self._card_of(request))
        family = card.opens
        if family is not None:  # the story of its first replica is not that of all
            first = None if family.first is None else family.first.explanation
            return WhyView(card=card, story=(), owners=self._owners(first))
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
        shown = {one.card for one in opened if one.head is not None}
        return MineView(
            person=person_id,
            open=self._cards(self._gathered(by_state(opened))),
            ended=self._cards(self._gathered([one for one in ended if one.card not in shown])),
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
        return found[0].card if found else None

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
            priorities=self._open_to(person, mine),
            default_lease=self._terms.usual_lease(),
            most_lease=self._terms.longest_lease(),
            node_gpus=self._terms.node_gpus(),
            levels=tuple(word for word in self._terms.levels() if word != "node"),
            provisions=self._terms.provisions(),
        )

    def _open_to(self, person: Person, teams: Sequence[str]) -> tuple[str, ...]:
        """The classes of a role in which one of the teams has budget left."""
        allowed = self._terms.priorities(person.role)
        try:
            used_up = self._look(
                lambda engine: [
                    {one.priority for one in engine.budgets(TeamName(team)) if not one.left}
                    for team in teams
                ]
            )
        except NotReady:
            return tuple(map(str, allowed))
        shut = set.intersection(*used_up) if used_up else set()
        return tuple(str(one) for one in allowed if one not in shut)

    def person(self, person_id: str) -> Person | None:
        """A person the directory knows, or None."""
        return self._directory.person(person_id) if self._directory.knows(person_id) else None

    def people(self) -> tuple[Person, ...]:
        """Everybody the directory knows."""
        return self._directory.people()
