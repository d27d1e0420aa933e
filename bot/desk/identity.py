"""Who is who: `link` with a lead's confirmation, what Slack's groups say, and who has left.

A wish to be in a team is a setting with an end, `link-wish:<person>:<team>`; what a lead has
confirmed is one without, `link:<person>:<team>`, by its author.
"""

from __future__ import annotations

import dataclasses
import logging
from collections.abc import Iterable, Sequence

from bot import notices
from bot.asks import End
from bot.clock import moment
from bot.control.changes import write_change
from bot.control.ledger import LOOP
from bot.desk.acknowledging import Acknowledging
from bot.desk.office import OPEN
from bot.identity import (
    LinkAnswer,
    LinkAnswered,
    LinkAsked,
    LinkRefusal,
    LinkRefused,
    LinkView,
    OnCallView,
)
from bot.plans import near
from bot.reask import changes_of
from storage.records import Audience, EventKind, Notice, Person, Request, Role, Setting, Source
from storage.work import Work

WISH, LINK, SUBSTITUTE = "link-wish:", "link:", "oncall:substitute"
LAPSES = 7 * 86400.0
"""Seconds for which a lead may answer."""

log = logging.getLogger(__name__)


class Identity(Acknowledging):
    """Teams, roles, and who stands in for whom."""

    # ---- link

    def link(
        self, person_id: str, team: str | None = None, whom: str | None = None, *, key: str
    ) -> LinkAnswer:
        """See who one is, or ask to be in a team; a lead may put somebody else into it."""
        if team is None:
            return self._who(person_id)
        subject = person_id if whom is None else self._owner(whom)
        if subject is None:
            return LinkRefused(code=LinkRefusal.UNKNOWN_PERSON, person=whom or "")
        wanted = team.lower()
        refused = self._may_link(subject, team)
        if refused is not None:
            return refused
        if self._decides(person_id, wanted):
            return self._settle(person_id, subject, wanted, agreed=True)
        if subject != person_id:
            return LinkRefused(code=LinkRefusal.NOT_FOR_OTHERS, team=wanted, person=subject)
        return self._ask_leads(person_id, wanted, key)

    def answer_link(self, lead: str, person: str, team: str, *, agree: bool) -> LinkAnswer:
        """A lead's answer to a wish; the first one counts."""
        if not self._decides(lead, team):
            return LinkRefused(code=LinkRefusal.NOT_YOURS_TO_ANSWER, team=team, person=person)
        with self._store.read() as view:
            wish = view.settings.get(f"{WISH}{person}:{team}")
        if wish is None or wish.until is None or wish.until <= self._world():
            return LinkRefused(code=LinkRefusal.ANSWERED, team=team, person=person)
        return self._settle(lead, person, team, agreed=agree)

    def _who(self, person_id: str) -> LinkView:
        person = self._directory.person(person_id)
        with self._store.read() as view:
            wishes = view.settings.under(f"{WISH}{person_id}:")
        return LinkView(
            person=person_id,
            name=person.name,
            teams=person.teams,
            role=person.role,
            filed=self._directory.filed(person_id),
            asked=tuple(
                wish.name.rpartition(":")[2]
                for wish in wishes
                if wish.until is not None and wish.until > self._world()
            ),
        )

    def _may_link(self, subject: str, team: str) -> LinkRefused | None:
        wanted = team.lower()
        if wanted not in self._terms.teams:
            likely = near(team, self._terms.teams) or tuple(map(str, self._terms.teams))[:5]
            return LinkRefused(code=LinkRefusal.UNKNOWN_TEAM, team=team, near=likely)
        if wanted in self._directory.person(subject).teams:
            return LinkRefused(code=LinkRefusal.ALREADY_IN, team=wanted, person=subject)
        if self._directory.filed(subject):
            return LinkRefused(code=LinkRefusal.FILED, team=wanted, near=self._admins())
        return None

    def _decides(self, person_id: str, team: str) -> bool:
        person = self._directory.person(person_id)
        leads = person.role is Role.LEAD and team in person.teams
        return leads or person.role is Role.ADMIN

    def _admins(self) -> tuple[str, ...]:
        people = self._directory.people()
        return tuple(person.id for person in people if person.role is Role.ADMIN)

    def _ask_leads(self, person_id: str, team: str, key: str) -> LinkAnswer:
        asked = self._directory.leads(team) or self._admins()
        if not asked:
            return LinkRefused(code=LinkRefusal.NOBODY_TO_ASK, team=team)
        now, world = self._wall(), self._world()
        until = world.timestamp() + LAPSES
        args = notices.LinkAskedArgs(person=person_id, team=team, until=until)
        with self._store.write() as work:
            first = work.inbox.first(key, now)
            name = f"{WISH}{person_id}:{team}"
            before = work.settings.get(name)
            open_ = before is not None and before.until is not None and before.until > world
            if first and not open_:
                work.settings.put(
                    Setting(name=name, value="", author=person_id, until=moment(until))
                )
                for lead in asked:
                    work.outbox.put(
                        _to(lead, f"link-asked:{person_id}:{team}:{int(until)}:{lead}", args), now
                    )
            elif before is not None and before.until is not None:
                until = before.until.timestamp()
        self._control.on_notices()
        return LinkAsked(team=team, asked=asked, until=until, again=not first or open_)

    def _settle(self, lead: str, person: str, team: str, *, agreed: bool) -> LinkAnswered:
        now = self._wall()
        args = notices.LinkAnsweredArgs(person=person, team=team, by=lead, agreed=agreed)
        with self._store.write() as work:
            work.settings.delete(f"{WISH}{person}:{team}")
            if agreed:
                work.settings.put(
                    Setting(
                        name=f"{LINK}{person}:{team}",
                        value=now.isoformat(),
                        author=lead,
                        reason="confirmed",
                    )
                )
            key = f"link-answered:{person}:{team}:{int(now.timestamp())}"
            if lead != person:
                work.outbox.put(_to(person, key, args), now)
            self._directory.confirm(_links(work))
        self._control.on_notices()
        log.info("%s %s %s in team %s", lead, "put" if agreed else "refused", person, team)
        return LinkAnswered(person=person, team=team, agreed=agreed)

    # ---- what Slack says

    def recall_roll(self) -> None:
        """At start: who was known when the bot last ran, and who was confirmed."""
        with self._store.read() as view:
            self._directory.learn(view.people.all())
            self._directory.confirm(_links(view))

    def take_roll(self, people: Sequence[Person], gone: Iterable[str]) -> tuple[str, ...]:
        """Take over everybody's teams and roles; what those who left had is inherited.

        Returns the ids of the requests that change hands.
        """
        left = frozenset(gone)
        with self._store.write() as work:
            known = {person.id: person for person in work.people.all()}
            work.people.put(*(one for one in people if known.get(one.id) != one))
            work.people.forget(known.keys() - {person.id for person in people})
        self._directory.learn(people, left)
        return self._inherit(left)

    def strangers(self) -> tuple[str, ...]:
        """Ids that were met and are not known."""
        return self._directory.strangers()

    def meet(self, person: Person) -> None:
        """Somebody who was looked up alone, between two rolls."""
        with self._store.write() as work:
            work.people.put(person)
        self._directory.meet(person)

    def _inherit(self, left: frozenset[str]) -> tuple[str, ...]:
        """Let the lead of the team own what somebody who left still has open."""
        if not left:
            return ()
        with self._store.read() as view:
            requests = [
                request
                for request in view.requests.from_source(Source.CHAT, list(OPEN))
                if request.workload.owner in left
            ]
            going = {event.request for event in view.events.unhandled()}
        given = []
        for request in requests:
            heir = self._heir(request, left)
            if heir is not None and request.id not in going:
                self._bequeath(request, heir)
                given.append(request.id)
        if given:
            self._control.wake()
        return tuple(given)

    def _heir(self, request: Request, left: frozenset[str]) -> str | None:
        candidates = (*self._directory.leads(request.workload.team), *self._admins())
        return next((one for one in candidates if one not in left), None)

    def _bequeath(self, request: Request, heir: str) -> None:
        before = request.workload
        after = dataclasses.replace(before, owner=heir)
        order = write_change(before, after, changes_of(before, after, self._terms))
        with self._store.write() as work:
            at = moment(self._control.clock.now())
            work.events.add(EventKind.GIVE, request.id, LOOP, at, order)

    # ---- on call

    def substitute(self) -> str | None:
        """Who stands in for on-call now, if somebody does."""
        found = self._substitution()
        return None if found is None else found.value

    def stand_in(
        self, person_id: str, whom: str | None, end: End, *, key: str, off: bool = False
    ) -> OnCallView | LinkRefused:
        """Who is on call; with somebody named, or `off`, the change first, once for each key.

        Admins may change it, and whoever is on call.
        """
        if whom is None and not off:
            return self._on_call()
        person = self._directory.person(person_id)
        if person.role not in {Role.ADMIN, Role.ONCALL} and person_id not in self._on_duty():
            return LinkRefused(code=LinkRefusal.NOT_ON_CALL)
        substitute = None if whom is None else self._owner(whom)
        if whom is not None and substitute is None:
            return LinkRefused(code=LinkRefusal.UNKNOWN_PERSON, person=whom)
        wrong = end.misplaced(self._world().timestamp())
        if wrong is not None:
            return LinkRefused(code=LinkRefusal(wrong))
        with self._store.write() as work:
            if work.inbox.first(key, self._wall()):
                self._substitute(work, person_id, substitute, end)
        self._control.on_notices()
        return dataclasses.replace(self._on_call(), changed=True)

    def _substitute(self, work: Work, by: str, person: str | None, end: End) -> None:
        """Note who stands in, or that nobody does, and tell on-call and them."""
        now = self._wall()
        until = end.at(self._world().timestamp())
        args = notices.SubstituteArgs(by=by, person=person, until=until)
        work.settings.delete(SUBSTITUTE)
        if person is not None:
            over = None if until is None else moment(until)
            work.settings.put(Setting(name=SUBSTITUTE, value=person, author=by, until=over))
        key = f"substitute:{person}:{now.isoformat()}"
        work.outbox.put(_to(None, key, args), now)
        if person not in {None, by}:
            work.outbox.put(_to(person, f"{key}:person", args), now)

    def _on_duty(self) -> frozenset[str]:
        return self.duty.oncall().people

    def _on_call(self) -> OnCallView:
        found, set_by_hand = self.duty.oncall(), self._substitution()
        until = None if set_by_hand is None else set_by_hand.until
        return OnCallView(
            called=found.called,
            people=tuple(sorted(found.people)),
            doubt=found.doubt,
            substitute=None if set_by_hand is None else set_by_hand.value,
            until=None if until is None else until.timestamp(),
        )

    def _substitution(self) -> Setting | None:
        with self._store.read() as view:
            found = view.settings.get(SUBSTITUTE)
        if found is None or (found.until is not None and found.until <= self._world()):
            return None
        return found


def _links(view: Work) -> dict[str, tuple[str, ...]]:
    """Confirmed teams by person, in order of name."""
    found: dict[str, tuple[str, ...]] = {}
    for setting in view.settings.under(LINK):
        person, _, team = setting.name.removeprefix(LINK).partition(":")
        found[person] = (*found.get(person, ()), team)
    return found


def _to(
    person: str | None,
    key: str,
    args: notices.LinkAskedArgs | notices.LinkAnsweredArgs | notices.SubstituteArgs,
) -> Notice:
    """A notice to somebody, or to on-call."""
    return Notice(
        key=key,
        kind=args.kind,
        audience=Audience.ONCALL if person is None else Audience.PERSON,
        request=None,
        target=person,
        args=args.model_dump(mode="json"),
    )
