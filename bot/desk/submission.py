"""Requests are made here: planned, checked against the engine, stored with their event."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from bot.asks import Ask
from bot.clock import moment
from bot.desk.office import Office, S
from bot.plans import Load, named, never_fits, plan, refuse
from bot.recipes import check_recipe, with_name
from bot.refusals import read_refusal, write_refusal
from bot.remedies import mend, without
from bot.views import NotReady, RefusalCode, Refused, Submitted
from scheduler.model import Refusal, Seconds, Workload
from storage.records import EventKind, Json, Person, Recipe, Request, Role, Setting, Source
from storage.work import Work

LOAD_SLACK = 1.25  # background work asks for this much more time than it will need
GLANCE = 0.5  # seconds a look may wait that Slack waits for


class Submission(Office):
    """Making requests."""

    def submit(
        self,
        person_id: str,
        ask: Ask,
        *,
        key: str,
        channel: str | None = None,
        recipe: Recipe | None = None,
    ) -> Submitted | Refused:
        """Store a request and have it decided on; or say why it cannot be, creating nothing.

        With a recipe the cluster makes its pods; without one it is a hold.
        """
        now = self._control.clock.now()
        person = self._directory.person(person_id)
        if recipe is not None:
            ask = with_name(ask, recipe)
        wrong = None if recipe is None else check_recipe(recipe)
        planned = self._plan(ask, person, now) if wrong is None else wrong
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
                request = new_request(planned, request_id, ask.text, Source.CHAT, now)
                request = dataclasses.replace(request, channel=channel, recipe=recipe)
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
                    new_request(workload, request_id, "", Source.TRACE, now), run_for=load.run_for
                )
                for request_id, (load, workload) in zip(ids, good, strict=True)
            ]
            work.requests.add_all(requests)
            work.events.add_all(
                (EventKind.SUBMIT, one.id, one.workload.owner, one.created) for one in requests
            )
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

    def _fits(self, workload: Workload, patience: float | None) -> Workload | Refused:
        """The workload, unless the engine knows that it could never start."""
        try:
            refusal = self._control.read(lambda engine: engine.check(workload), patience=patience)
        except NotReady:
            return workload  # stored now, judged when the engine is there
        return workload if refusal is None else never_fits(refusal)

    def _too_many(self, work: Work, person_id: str) -> bool:
        """Whether as many wait as one may ask for in chat; replicas and Jobs do not count."""
        return work.requests.count_waiting(person_id, Source.CHAT) >= self._waiting_at_most

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


def new_request(
    workload: Workload, request_id: str, text: str, source: Source, now: Seconds
) -> Request:
    """The row of a request that waits from now on."""
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
