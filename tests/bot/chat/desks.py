"""A desk, a memory and threads in memory, with the real one's promises about keys."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Callable, Iterable

from bot import maps, views
from bot.answers import Changed, Kept, Tried, WhenView
from bot.asks import Ask, Change, End, Period
from bot.byhand import ByHandAnswer, DeclineCode, Declined, Wish
from bot.fairness import FairView
from bot.identity import LinkAnswer, LinkAnswered, LinkRefusal, LinkRefused, OnCallView
from bot.preferences import Preferences, changed
from bot.reports import ReportView
from bot.views import RefusalCode, Refused
from storage.records import Person, Recipe, Role
from storage.states import RequestState
from tests.bot.chat import accounting, foreseeing, mapping, saying


class MemoryOnce:
    """Remembers keys."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.lock = threading.Lock()

    def first(self, key: str) -> bool:
        with self.lock:
            new = key not in self.seen
            self.seen.add(key)
            return new


class MemoryDesk:
    """Stores requests in a dict; the second call with a key gets the first answer again."""

    def __init__(self) -> None:
        self.cards: dict[str, views.CardView] = {"R-1042": saying.WAITING}
        self.asks: list[tuple[str, Ask, str | None]] = []
        self.answers: dict[str, views.Submitted | views.Done | Refused] = {}
        self.examined: list[Ask] = []
        self.links: list[tuple[str, str | None, bool | None]] = []
        self.wishes: list[tuple[str, Wish, bool]] = []
        self.seen: list[str | None] = []
        self.wrong: tuple[Refused, ...] = ()
        self.offered = saying.CHOICES
        self.roles: dict[str, Role] = {}
        self.preferred: dict[str, Preferences] = {}
        self.acknowledged: list[tuple[str, str]] = []
        self.before: Callable[[], None] = lambda: None

    def submit(
        self,
        person_id: str,
        ask: Ask,
        *,
        key: str,
        channel: str | None = None,
        recipe: Recipe | None = None,
    ) -> views.Submitted | Refused:
        self.before()
        first = self.answers.get(key)
        if isinstance(first, views.Submitted):
            return dataclasses.replace(first, again=True)
        if ask.model == "h1000":
            return Refused(
                code=RefusalCode.UNKNOWN_MODEL, args={"model": ask.model}, near=("h100",)
            )
        self.asks.append((person_id, ask, channel))
        card = dataclasses.replace(
            saying.WAITING,
            request=f"R-{2000 + len(self.asks)}",
            owner=person_id,
            recipe=recipe,
        )
        self.cards[card.request] = card
        answer = views.Submitted(card=card, decided=True)
        self.answers[key] = answer
        return answer

    def adopt(
        self,
        person_id: str,
        where: str,
        *,
        key: str,
        lease: float | None = None,
        team: str | None = None,
        preemptible: bool = False,
        channel: str | None = None,
    ) -> views.Submitted | Refused:
        del key, lease, team, preemptible, channel
        card = dataclasses.replace(saying.RUNNING, owner=person_id, text=f"adopt {where}")
        return views.Submitted(card=card, decided=True)

    def examine(self, person_id: str, ask: Ask) -> tuple[Refused, ...]:
        del person_id
        self.examined.append(ask)
        return self.wrong

    def cancel(
        self,
        person_id: str,
        request_id: str,
        *,
        key: str,
        confirmed: bool = True,
        grant: int | None = None,
    ) -> views.Done | views.Unconfirmed | Refused:
        self.before()
        card = self.cards.get(request_id)
        if card is None:
            return Refused(code=RefusalCode.NO_SUCH_REQUEST, args={"request": request_id})
        if key in self.answers:
            return views.Done(verb=views.Verb.CANCELLED, card=card, again=True)
        if card.owner != person_id:
            return Refused(code=RefusalCode.NOT_YOURS, args={"request": request_id})
        if card.state.final:
            return Refused(code=RefusalCode.ALREADY_ENDED, args={"request": request_id})
        if card.state.holding and not (confirmed and grant in (None, card.attempt)):
            return views.Unconfirmed(verb=views.Verb.CANCELLED, card=card)
        card = dataclasses.replace(card, state=RequestState.CANCELLED, ended_by=person_id)
        self.cards[request_id] = card
        done = views.Done(verb=views.Verb.CANCELLED, card=card)
        self.answers[key] = done
        return done

    def release(
        self,
        person_id: str,
        request_id: str,
        *,
        key: str,
        confirmed: bool = True,
        grant: int | None = None,
    ) -> views.Done | views.Unconfirmed | Refused:
        del person_id, key, confirmed, grant
        return Refused(code=RefusalCode.NOT_RUNNING, args={"request": request_id})

    def extend(
        self, person_id: str, request_id: str, by: float, *, key: str, ends: float | None = None
    ) -> Changed | Refused:
        del person_id, key
        if ends is not None and ends != saying.RUNNING.lease_ends:
            return Refused(code=RefusalCode.LEASE_MOVED, args={"request": request_id})
        return dataclasses.replace(saying.EXTENDED, changes=(saying.longer(by),))

    def edit(
        self, person_id: str, request_id: str, change: Change, *, key: str
    ) -> Changed | Refused:
        del person_id, request_id, change, key
        return saying.EDITED

    def asked(self, person_id: str, request_id: str) -> Ask | Refused:
        del person_id, request_id
        return foreseeing.TRIED.ask

    def rewrite(self, person_id: str, request_id: str, ask: Ask, *, key: str) -> Changed | Refused:
        del person_id, request_id, ask, key
        return saying.EDITED

    def examine_rewrite(self, person_id: str, request_id: str, ask: Ask) -> Refused | None:
        del person_id, request_id, ask
        return None

    def give(self, person_id: str, request_id: str, to: str, *, key: str) -> Changed | Refused:
        del person_id, request_id, to, key
        return saying.GIVEN

    def try_out(self, person_id: str, ask: Ask) -> Tried | Refused:
        del person_id
        return dataclasses.replace(foreseeing.TRIED, ask=ask)

    def when(self, person_id: str, request_id: str) -> WhenView | Refused:
        del person_id, request_id
        return foreseeing.WHEN

    def take(self, person_id: str, request_id: str, offer: str, *, key: str) -> Changed | Refused:
        del person_id, key
        known = {one.key for one in foreseeing.PROSPECT.offers}
        if offer not in known:
            return Refused(code=RefusalCode.OFFER_STALE, args={"request": request_id})
        return saying.EDITED

    def status(self, person_id: str, what: str | None = None) -> views.StatusView | Refused:
        self.before()
        return views.StatusView(
            person=person_id, mine=(saying.RUNNING,), cluster=saying.CLUSTER, about=what
        )

    def queue(
        self, person_id: str, what: str | None = None, page: int = 1
    ) -> views.QueueView | Refused:
        del person_id
        return dataclasses.replace(saying.queue_view(400, page=page, pages=40), about=what)

    def why(self, person_id: str, request_id: str) -> views.WhyView | Refused:
        del person_id
        if request_id not in self.cards:
            return Refused(code=RefusalCode.NO_SUCH_REQUEST, args={"request": request_id})
        return views.WhyView(card=self.cards[request_id], story=())

    def map(self, by: maps.Grouping = maps.Grouping.POOL) -> maps.MapView:
        return dataclasses.replace(mapping.MAP, by=by)

    def fair(self, person_id: str, team: str | None = None) -> FairView | Refused:
        del person_id, team
        return accounting.FAIR

    def report(self, period: Period = Period.WEEK, team: str | None = None) -> ReportView | Refused:
        return dataclasses.replace(accounting.REPORT, period=period, team=team)

    def link(
        self, person_id: str, team: str | None = None, whom: str | None = None, *, key: str
    ) -> LinkAnswer:
        del whom, key
        self.links.append((person_id, team, None))
        return LinkRefused(code=LinkRefusal.UNKNOWN_TEAM, team=team or "", near=("nlp",))

    def stand_in(
        self, person_id: str, whom: str | None, end: End, *, key: str, off: bool = False
    ) -> OnCallView | LinkRefused:
        del person_id, key, off
        until = end.at(saying.NOW)
        return OnCallView(called="S0ONCALL", people=(saying.BOB,), substitute=whom, until=until)

    def answer_link(self, lead: str, person: str, team: str, *, agree: bool) -> LinkAnswer:
        self.links.append((lead, team, agree))
        return LinkAnswered(person=person, team=team, agreed=agree)

    def intervene(
        self,
        person_id: str,
        wish: Wish,
        *,
        key: str,
        confirmed: bool = False,
        seen: str | None = None,
    ) -> ByHandAnswer:
        del key
        self.wishes.append((person_id, wish, confirmed))
        self.seen.append(seen)
        return Declined(code=DeclineCode.ADMINS_ONLY, kind=wish.kind, near=(saying.BOB,))

    def report_until(self, until: float, period: Period, team: str | None = None) -> ReportView:
        return dataclasses.replace(accounting.REPORT, until=until, period=period, team=team)

    def keep(self, person_id: str, request_id: str, *, key: str) -> Kept | Refused:
        del person_id, key
        return Kept(request=request_id, until=saying.NOW + 4 * saying.HOUR)

    def mine(self, person_id: str) -> views.MineView:
        return dataclasses.replace(saying.HOME.mine, person=person_id)

    def home(self, person_id: str) -> views.HomeView:
        self.before()
        return dataclasses.replace(saying.HOME, person=person_id)

    def choices(self, person_id: str) -> views.Choices:
        del person_id
        return self.offered

    def person(self, person_id: str) -> Person | None:
        known, role = saying.person(person_id), self.roles.get(person_id)
        return known if known is None or role is None else dataclasses.replace(known, role=role)

    def preferences(self, person_id: str) -> Preferences:
        return self.preferred.get(person_id, Preferences())

    def prefs(
        self, person_id: str, changes: Iterable[tuple[str, str]] = (), *, key: str
    ) -> views.PreferencesView | Refused:
        del key
        for name, value in changes:
            self.preferred[person_id] = changed(self.preferences(person_id), name, value)
        return views.PreferencesView(person=person_id, fields=self.preferences(person_id).shown())

    def acknowledge(self, person_id: str, call: str, *, key: str) -> views.Acknowledged | Refused:
        del key
        self.acknowledged.append((person_id, call))
        return views.Acknowledged(by=person_id, at=saying.NOW)

    def card(self, request_id: str) -> views.CardView:
        return self.cards[request_id]
