"""Asks the owners of GPUs that do nothing, and acts when nobody answers.

The question is a stored setting under the grant's decision, so it outlives the bot and ends
with the grant. Guaranteed training is never touched: its leads and on-call hear of it.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from pydantic import BaseModel, ConfigDict

from bot import notices
from bot.control import orders
from bot.control.ledger import LOOP, Ledger
from bot.idle.measure import Use
from bot.terms import Terms
from scheduler.engine import Engine
from scheduler.layout import AfterIdle, IdleRule
from storage.records import Audience, Notice, RecipeKind, Request, Setting, Source
from storage.states import RequestState
from storage.store import Store

PREFIX = "idle:"
ASK_FROM = 0.5  # share of a request's GPUs that must be idle before its owner is asked


class Question(BaseModel):
    """One question: how often it was asked, whether it was answered, whether others were told.

    `void`: the GPUs have worked since, so there is none until they do nothing again.
    """

    model_config = ConfigDict(frozen=True, extra="ignore")

    times: int = 1
    kept: bool = False
    told: bool = False
    void: bool = False


@dataclass(slots=True)
class IdleSweep:
    """Run inside `Control.propose` with a fresh measurement, by pool.

    `leads` gives the Slack ids of a team's leads.
    """

    terms: Terms
    store: Store
    leads: Callable[[str], Sequence[str]]
    uses: Mapping[str, Mapping[str, Use]]

    def __call__(self, engine: Engine, ledger: Ledger) -> None:
        """Ask, ask again, act or forget, request by request in the order of ids."""
        with self.store.read() as view:
            open_questions = {one.name: one for one in view.settings.under(PREFIX)}
        wanted = sorted({request for uses in self.uses.values() for request in uses})
        ledger.load(wanted)
        held: set[str] = set()
        for request_id in wanted:
            request = ledger.find(request_id)
            if request is None or request.state is not RequestState.RUNNING:
                continue
            name = PREFIX + request.decision
            held.add(name)
            found = self._rule_and_use(request)
            if found is not None:
                self._judge(engine, ledger, request, *found, open_questions.get(name))
        self._forget_ended(ledger, open_questions, held)

    def _rule_and_use(self, request: Request) -> tuple[IdleRule, Use] | None:
        """What its pool says, and what was measured, if that is enough to judge by."""
        if request.source is Source.TRACE or request.admission is None or request.started is None:
            return None
        pool = self.terms.pool(request.admission.queue)
        rule = self.terms.idle(request.admission.queue)
        use = self.uses.get(pool, {}).get(request.id)
        if rule is None or use is None or use.measured < request.gpus:
            return None
        return rule, use

    def _judge(
        self,
        engine: Engine,
        ledger: Ledger,
        request: Request,
        rule: IdleRule,
        use: Use,
        before: Setting | None,
    ) -> None:
        started = request.started
        if started is None or ledger.now - started.timestamp() < rule.after:
            return
        if use.idle < ASK_FROM * request.gpus:
            self._void(ledger, request, before)
            return
        over = before is None or before.until is None or before.until <= ledger.at
        if before is None or not is_open(before) or (over and _read(before).kept):
            self._ask(ledger, request, rule, use, before)
        elif over and not _read(before).told:
            self._act(engine, ledger, request, rule, use, before)

    def _void(self, ledger: Ledger, request: Request, before: Setting | None) -> None:
        """It works again. How often it was asked is kept, or the next question would be no news."""
        if before is not None and is_open(before) and not _read(before).kept:
            question = Question(times=_read(before).times, void=True)
            _store(ledger, request, question, None)

    def _ask(
        self, ledger: Ledger, request: Request, rule: IdleRule, use: Use, before: Setting | None
    ) -> None:
        question = Question(times=1 if before is None else _read(before).times + 1)
        until = ledger.at + dt.timedelta(seconds=rule.answer)
        _store(ledger, request, question, until)
        args = _args(request, rule, use, until, releases=self._releases(request, rule, use))
        key = f"idle:{request.decision}:{question.times}"
        owner = request.workload.owner
        _say(ledger, f"{key}:person", args, Audience.PERSON, request, owner)
        _say(ledger, f"{key}:thread", args, Audience.THREAD, request)

    def _act(
        self,
        engine: Engine,
        ledger: Ledger,
        request: Request,
        rule: IdleRule,
        use: Use,
        before: Setting,
    ) -> None:
        """Nobody answered: give back what may be given back, else tell those who can."""
        question = _read(before).model_copy(update={"told": True})
        releases = self._releases(request, rule, use)
        args = _args(request, rule, use, ledger.at, releases=releases, over=True)
        key = f"idle-over:{request.decision}:{question.times}"
        _say(ledger, f"{key}:thread", args, Audience.THREAD, request)
        if releases:
            ledger.unset(before.name)
            owner = request.workload.owner
            _say(ledger, f"{key}:person", args, Audience.PERSON, request, owner)
            orders.stop(engine, ledger, self.terms, request, RequestState.RELEASED, LOOP)
            return
        _store(ledger, request, question, None)
        _say(ledger, f"{key}:oncall", args, Audience.ONCALL, request)
        for lead in self.leads(request.workload.team):
            _say(ledger, f"{key}:{lead}", args, Audience.PERSON, request, lead)

    def _releases(self, request: Request, rule: IdleRule, use: Use) -> bool:
        """Whether it is given back without an answer: all of it idle, and nothing guaranteed.

        Nor a replica: its controller would have another at once.
        """
        training = request.recipe is not None and request.recipe.kind is RecipeKind.RUN
        loose = request.workload.preemptible or not (training or request.source is Source.CLUSTER)
        loose = loose and request.head is None
        return rule.then is AfterIdle.RELEASE and loose and use.idle >= request.gpus

    def _forget_ended(
        self, ledger: Ledger, questions: Mapping[str, Setting], held: set[str]
    ) -> None:
        """Drop the questions about grants that are over."""
        for name in sorted(questions.keys() - held):
            request = ledger.find(name.removeprefix(PREFIX).partition("/")[0])
            current = request is not None and PREFIX + request.decision == name
            if not current or request is None or not request.state.holding:
                ledger.unset(name)


def is_open(setting: Setting) -> bool:
    """Whether a question stands, answered or not."""
    return not _read(setting).void


def keep(setting: Setting, person: str, until: dt.datetime) -> Setting:
    """The question, answered with "I need it"."""
    kept = _read(setting).model_copy(update={"kept": True})
    return Setting(name=setting.name, value=kept.model_dump_json(), author=person, until=until)


def _read(setting: Setting) -> Question:
    return Question.model_validate_json(setting.value)


def _store(ledger: Ledger, request: Request, question: Question, until: dt.datetime | None) -> None:
    ledger.set(
        Setting(
            name=PREFIX + request.decision,
            value=question.model_dump_json(),
            author=LOOP,
            until=until,
        )
    )


def _args(
    request: Request,
    rule: IdleRule,
    use: Use,
    until: dt.datetime,
    *,
    releases: bool,
    over: bool = False,
) -> notices.IdleArgs:
    return notices.IdleArgs(
        request=request.id,
        name=request.workload.name,
        owner=request.workload.owner,
        team=request.workload.team,
        gpus=request.gpus,
        idle=use.idle,
        below=rule.below,
        after=rule.after,
        until=until.timestamp(),
        keep=rule.keep,
        releases=releases,
        over=over,
        grant=request.attempt,
        vacant=use.vacant,
    )


def _say(
    ledger: Ledger,
    key: str,
    args: notices.IdleArgs,
    audience: Audience,
    request: Request,
    target: str | None = None,
) -> None:
    ledger.say(
        Notice(
            key=key,
            kind=args.kind,
            audience=audience,
            request=request.id,
            target=target,
            args=args.model_dump(mode="json"),
        )
    )
