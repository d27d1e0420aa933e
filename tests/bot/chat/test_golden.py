"""Every kind of message, as a person would read it.

`GPUBOT_GOLDEN=write pytest tests/bot/chat/test_golden.py` writes the files anew.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import pytest

from bot import maps, notices, views
from bot.answers import Kept
from bot.chat import grammar
from bot.chat.actions import FormPlace
from bot.chat.cards import alerts, changes, idle, lists, prospects, reports, requests
from bot.chat.cards.form import form
from bot.chat.cards.home import home
from bot.chat.message import Lines, Message, build
from bot.chat.voice import Voice
from bot.reports import Guess
from scheduler.model import Basis, PreemptionRule, Verdict, WaitReason
from storage.records import Audience, Recipe, RecipeKind
from tests.bot.chat import (
    byhand,
    foreseeing,
    identity,
    mapping,
    notifying,
    outsiders,
    refusing,
    replicas,
    resting,
    saying,
    using,
)
from tests.bot.chat import interventions as orders
from tests.bot.chat.accounting import FAIR, REPORT
from tests.bot.chat.written import FOLDER, compare, lines_of, plain_of, readable, said_by

LANGUAGES = ("en", "zh")

_FIGURES: dict[WaitReason, dict[str, int | float | str]] = {
    WaitReason.PAUSED: {
        "queue": "shared-multi",
        "by": "Cat",
        "because": "switch upgrade",
        "until": 1767609000.0,
    },
    WaitReason.RESTING: {"cause": "late", "tries": 2, "most": 4, "until": 1767609000.0},
    WaitReason.MISCONFIGURED: {"queue": "nlp", "problem": "no flavor"},
    WaitReason.EXCEEDS_LIMIT: {"asked": 24, "most": 16, "where": "nlp"},
    WaitReason.NO_FLAVOR: {"model": "b200"},
    WaitReason.QUOTA: {
        "where": "shared",
        "flavor": "h100-reserved",
        "resource": "nvidia.com/gpu",
        "asked": 16,
        "available": 4,
        "limit": 4096,
        "used": 4092,
    },
    WaitReason.TOPOLOGY: {
        "flavor": "h100-reserved",
        "pods": 2,
        "per_pod": 8,
        "free": 20,
        "largest": 8,
        "nodes": 5,
        "room": 1,
    },
    WaitReason.PROTECTED: {
        "recall_at": 1767609000.0,
        "targets": 2,
        "gpus": 16,
        "queue": "team-nlp",
        "asked_class": "critical",
        "class": "high",
    },
    WaitReason.RESERVED: {
        "for": "R-1030",
        "from": 1767620000.0,
        "gpus": 512,
        "queue": "shared-multi",
        "seconds": 7300.0,
        "lasts": 28800.0,
    },
    WaitReason.WAITING_FOR_TARGETS: {"targets": 3, "gpus": 24},
    WaitReason.BEHIND: {"position": 3, "first": "R-1030"},
    WaitReason.NOT_EVALUATED: {},
}
_RACK: dict[str, int | float | str] = {"level": "gpubot.dev/rack", "pods": 4, "per_pod": 8}
_DOMAINS: tuple[dict[str, int | float | str], ...] = (
    {**_RACK, "domain": "h100-block-001/h100-rack-003", "in_domain": 3},
    {**_RACK, "domain": "east/r17", "in_domain": 1},
    {**_RACK, "domain": "east/r17", "in_domain": 1, "room": 6},
    {**_RACK, "domain": "", "in_domain": 0},
    {**_RACK, "level": "kubernetes.io/hostname", "domain": "h100-0007", "in_domain": 2},
)
"""A required level that no domain can hold now."""
_HELD: dict[str, int | float | str] = {"cause": "late", "tries": 4, "most": 4}
"""It was not ready in time too often."""
_UNMADE = {**_HELD, "cause": "unmade"}
_LINGERS: dict[str, int | float | str] = {"cause": "lingers", "tries": 0}
_SPOILED: dict[str, int | float | str] = {"cause": "spoiled", "tries": 0}
_LOWERED = {**_FIGURES[WaitReason.QUOTA], "limit": 4, "available": 4, "lowered": 1}
"""Quota that people have lowered for a while."""


def _messages(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    yield from (
        (f"card-{name}", _one(voice, requests.card, card)) for name, card in saying.CARDS.items()
    )
    waiting = views.Submitted(card=saying.WAITING, decided=True)
    admitted = views.Submitted(card=saying.CARDS["starting"], decided=True)
    stored = views.Submitted(
        card=dataclasses.replace(saying.WAITING, explanation=None), decided=False
    )
    yield "submitted", lambda: [requests.submitted(voice, s) for s in (waiting, admitted, stored)]
    done = [
        views.Done(verb=views.Verb.CANCELLED, card=saying.CARDS["cancelled"]),
        views.Done(verb=views.Verb.CANCELLED, card=saying.CARDS["stopping"]),
        views.Done(verb=views.Verb.RELEASING, card=saying.CARDS["stopping"]),
    ]
    yield "done", lambda: [requests.done(voice, each) for each in done]
    asked = [views.Unconfirmed(verb=verb, card=saying.RUNNING) for verb in views.Verb]
    asked.append(dataclasses.replace(asked[0], anew=True))
    yield "unconfirmed", lambda: [requests.unconfirmed(voice, each) for each in asked]
    yield "already-ended", lambda: [requests.refused(voice, each) for each in _ended()]
    on_demand = dataclasses.replace(
        saying.WAITING, spend="high", pool="on-demand", queue="flex-start", explanation=None
    )
    yield "card-on-demand", _one(voice, requests.card, on_demand)
    yield "refused", lambda: [requests.refused(voice, each) for each in refusing.REFUSALS]
    yield (
        "mistakes",
        lambda: [
            lists.mistake(voice, _wrong(text)) for text in refusing.MISTAKES[voice.words.language]
        ],
    )
    yield "recipes", lambda: _recipes(voice)
    yield "fair", lambda: [reports.fair(voice, FAIR)]
    yield "report", lambda: [*_reports(voice), reports.report(voice, REPORT, digest=True)]
    yield "status", lambda: [lists.status(voice, each) for each in _statuses()]
    yield "queue", lambda: [lists.queue(voice, each) for each in _queues()]
    yield "why", lambda: [requests.why(voice, each) for each in _whys()]
    teamless = views.MineView(person=saying.ANN, open=(), ended=(), at=saying.NOW, may_ask=False)
    yield "mine", lambda: [lists.mine(voice, saying.HOME.mine), lists.mine(voice, teamless)]
    pods = [maps.OutsidePod(where=f"nlp/p-{n}", gpus=8 - n, node="gpu-0007") for n in range(7)]
    outside = views.StatusView(
        person=saying.ANN, mine=(), cluster=saying.CLUSTER, outside=tuple(pods)
    )
    yield "status-outside", lambda: [lists.status(voice, outside)]
    yield "map", lambda: [build([Lines(voice.words.map_text(view))]) for view in _maps()]
    yield "help", lambda: [lists.general_help(voice, admin=admin) for admin in (False, True)]
    yield "help-verbs", lambda: [lists.verb_help(voice, verb) for verb in grammar.Verb]
    yield from _reasons(voice)
    yield from orders.messages(voice)
    yield from byhand.messages(voice)
    yield from replicas.messages(voice)
    yield from identity.messages(voice)
    yield from _alerts(voice)


def _reasons(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    yield "reasons", lambda: [requests.card(voice, _because(reason)) for reason in WaitReason]
    yield (
        "reasons-one-pod",
        lambda: [requests.card(voice, _because(WaitReason.TOPOLOGY, more)) for more in _ONE_POD],
    )
    yield (
        "reasons-domain",
        lambda: [requests.card(voice, _because(WaitReason.TOPOLOGY, more)) for more in _DOMAINS],
    )
    yield (
        "reasons-quota-lowered",
        lambda: [requests.card(voice, _because(WaitReason.QUOTA, _LOWERED))],
    )
    yield (
        "reasons-held",
        lambda: [
            requests.card(voice, _because(WaitReason.RESTING, each))
            for each in (_HELD, _UNMADE, _SPOILED, _LINGERS)
        ],
    )


def _reports(voice: Voice) -> list[Message]:
    """Of all, of one team, of a period without use, and of a bot younger than its period."""
    young = dataclasses.replace(
        REPORT,
        since=REPORT.until - 3600.0,
        guess=Guess(count=3, error=60.0, relative=None, late=1),
        guesses={},
    )
    one_team = dataclasses.replace(REPORT, team="nlp", teams=REPORT.teams[:1])
    unused = dataclasses.replace(REPORT, gpu_hours=0.0, points=())
    return [reports.report(voice, view) for view in (REPORT, one_team, unused, young)]


def _maps() -> list[maps.MapView]:
    return [mapping.MAP, dataclasses.replace(mapping.MAP, by=maps.Grouping.TEAM)]


def _alerts(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    yield "admitted-channel", _notice(voice, saying.ADMITTED, Audience.CHANNEL)
    yield "admitted-thread", _notice(voice, saying.ADMITTED, Audience.THREAD)
    yield from notifying.messages(voice)
    yield from outsiders.messages(voice)
    yield (
        "preempted-owner",
        lambda: [
            alerts.notice(voice, told, Audience.PERSON)
            for told in (*_preemptions(), _preemptions()[0].model_copy(update=OVERSTAYED))
        ],
    )
    yield "preempted-channel", _notice(voice, saying.GROUP, Audience.CHANNEL)
    yield "preempted-oncall", _notice(voice, saying.GROUP, Audience.ONCALL)
    first, *rest = saying.GROUP.targets
    graces = saying.GROUP.model_copy(
        update={"targets": (first.model_copy(update={"grace": 600.0}), *rest)}
    )
    yield "preempted-graces", _notice(voice, graces, Audience.CHANNEL)
    yield "starving-channel", _notice(voice, saying.STARVING, Audience.CHANNEL)
    yield "starving-oncall", _notice(voice, saying.STARVING, Audience.ONCALL)
    yield (
        "starving-plan",
        lambda: [alerts.notice(voice, _starving(basis), Audience.CHANNEL) for basis in Basis],
    )
    yield "ended", _notice(voice, saying.ENDED, Audience.THREAD)
    gone = [
        saying.ENDED.model_copy(update={"by": views.CLUSTER, "ran": ran, "gpu_hours": ran / 3600})
        for ran in (saying.ENDED.ran, 0.0)
    ]
    yield "ended-gone", lambda: [alerts.notice(voice, one, Audience.THREAD) for one in gone]
    yield "ended-owner", _notice(voice, saying.ENDED, Audience.PERSON)
    yield "requeued", _notice(voice, saying.REQUEUED, Audience.THREAD)
    yield "requeued-rests", _notice(voice, resting.RESTS, Audience.THREAD)
    yield "requeued-held", _notice(voice, resting.HELD, Audience.PERSON)
    yield "requeued-unmade", _notice(voice, resting.UNMADE, Audience.PERSON)
    yield "template-held", _notice(voice, resting.TEMPLATE_HELD, Audience.PERSON)
    yield "flipped", _notice(voice, saying.FLIPPED, Audience.ONCALL)
    yield "repaired", _notice(voice, saying.REPAIRED, Audience.THREAD)
    for how in ("whole", "held"):
        args = saying.REPAIRED.model_copy(update={how: True})
        yield f"repaired-{how}", _notice(voice, args, Audience.THREAD)
    yield "node-failed", _notice(voice, saying.NODE_FAILED, Audience.ONCALL)
    leaving = saying.NODE_FAILED.model_copy(update={"leaving": True})
    yield "node-leaving", _notice(voice, leaving, Audience.ONCALL)
    yield "idle", lambda: _idle(voice)
    yield "monthly", _notice(voice, using.MONTHLY, Audience.CHANNEL)
    yield "node-avoided", _notice(voice, saying.NODE_AVOIDED, Audience.ONCALL)
    yield "overfull", _notice(voice, saying.OVERFULL, Audience.ONCALL)
    yield (
        "lease-ending",
        lambda: [alerts.notice(voice, each, Audience.PERSON) for each in saying.LEASES_ENDING],
    )
    yield from _later(voice)


def _later(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    yield "card-foreseen", _one(voice, requests.card, foreseeing.FORESEEN)
    yield "when", lambda: [prospects.when(voice, each) for each in foreseeing.WHENS]
    yield "tried", lambda: [prospects.tried(voice, foreseeing.TRIED)]
    yield "changed", lambda: [changes.changed(voice, each) for each in saying.CHANGES]
    yield "lease-over", _notice(voice, saying.UNPROTECTED, Audience.PERSON)
    yield "handed-over", _notice(voice, saying.HANDED, Audience.PERSON)
    yield "changed-thread", _notice(voice, saying.CHANGED, Audience.THREAD)
    again = [
        saying.CHANGED.model_copy(update={"again": True, "changes": changes})
        for changes in (saying.CHANGED.changes, ())
    ]
    yield "held-no-more", lambda: [alerts.notice(voice, one, Audience.THREAD) for one in again]
    yield (
        "undeliverable",
        _notice(
            voice,
            notices.UndeliverableArgs(where="C0GONE", error="is_archived"),
            Audience.ONCALL,
        ),
    )
    yield (
        "redirected",
        lambda: [alerts.redirected(voice, requests.card(voice, saying.WAITING), "C0GONE")],
    )


def _starving(basis: Basis) -> notices.StarvingArgs:
    plan = saying.PLAN.model_copy(update={"basis": basis})
    return saying.STARVING.model_copy(update={"plan": plan})


OVERSTAYED = {"overstayed": True}


def _preemptions() -> list[notices.PreemptedArgs]:
    return [saying.preempted("R-1001", saying.BOB, "vision", rule) for rule in PreemptionRule]


def _one(
    voice: Voice, draw: Callable[[Any, Any], Message], value: object
) -> Callable[[], list[Message]]:
    return lambda: [draw(voice, value)]


def _notice(voice: Voice, args: Any, audience: Audience) -> Callable[[], list[Message]]:
    return lambda: [alerts.notice(voice, args, audience)]


def _ended() -> list[views.Refused]:
    states = ("stopping", "finished", "failed", "cancelled", "released", "expired")
    return [
        views.Refused(
            code=views.RefusalCode.ALREADY_ENDED, args={"request": "R-1042", "state": state}
        )
        for state in states
    ]


def _wrong(text: str) -> grammar.GrammarError:
    wrong = grammar.parse(text)
    assert isinstance(wrong, grammar.GrammarError), text
    return wrong


_ONE_POD = tuple(
    {"pods": 1, "per_pod": each, "free": free, "largest": free // 5, "nodes": 5, "room": 0}
    for each, free in ((8, 20), (1, 0))
)


def _because(
    reason: WaitReason, more: Mapping[str, int | float | str] | None = None
) -> views.CardView:
    verdict = Verdict(reason=reason, figures={**_FIGURES[reason], **(more or {})})
    explanation = dataclasses.replace(saying.EXPLANATION, verdict=verdict)
    return dataclasses.replace(saying.WAITING, explanation=explanation)


def _recipes(voice: Voice) -> list[Message]:
    """What the bot makes: on the card, and when it is admitted."""
    debug = Recipe(kind=RecipeKind.DEBUG)
    run = Recipe(kind=RecipeKind.RUN, image="registry.example/train:1", command="python a.py <in")
    cards = [dataclasses.replace(saying.WAITING, recipe=one) for one in (debug, run)]
    told = [saying.ADMITTED.model_copy(update={"made": kind}) for kind in RecipeKind]
    told.append(saying.ADMITTED.model_copy(update={"kept": True}))
    return [
        *(requests.card(voice, card) for card in cards),
        *(alerts.notice(voice, args, Audience.THREAD) for args in told),
    ]


def _idle(voice: Voice) -> list[Message]:
    """The question, its answer, and what follows without one, with and without a release."""
    told = using.IDLE.model_copy(update={"releases": False, "idle": 14})
    over = {"over": True, "until": saying.NOW}
    return [
        alerts.notice(voice, using.IDLE, Audience.PERSON),
        alerts.notice(voice, told, Audience.PERSON),
        idle.kept(voice, Kept(request="R-1042", until=saying.NOW + saying.HOUR)),
        alerts.notice(voice, using.IDLE.model_copy(update=over), Audience.THREAD),
        alerts.notice(voice, told.model_copy(update=over), Audience.ONCALL),
        alerts.notice(voice, told.model_copy(update=over), Audience.PERSON),
        alerts.notice(voice, using.IDLE.model_copy(update={"vacant": 16}), Audience.PERSON),
        alerts.notice(voice, told.model_copy(update={"vacant": 8}), Audience.PERSON),
    ]


def _statuses() -> list[views.StatusView]:
    own = views.StatusView(
        person=saying.ANN, mine=(saying.RUNNING, saying.WAITING), cluster=saying.CLUSTER
    )
    about = views.StatusView(
        person=saying.ANN,
        mine=(),
        cluster=saying.CLUSTER,
        about=saying.BOB,
        rows=tuple(saying.CARDS.values()),
        more=7,
    )
    nobody = views.StatusView(person=saying.ANN, mine=(), cluster=saying.CLUSTER)
    team = dataclasses.replace(nobody, about="nlp", rows=(saying.RUNNING, saying.WAITING))
    request = dataclasses.replace(nobody, about="R-1042", rows=(saying.RUNNING,))
    odd = dataclasses.replace(nobody, doubts=saying.DOUBTS)
    levels = tuple(
        dataclasses.replace(one, whole_free=0, largest=0) for one in saying.CLUSTER.levels
    )
    full = dataclasses.replace(nobody, cluster=dataclasses.replace(saying.CLUSTER, levels=levels))
    undelivered = dataclasses.replace(nobody, letters=notifying.LETTERS)
    return [own, about, nobody, team, request, odd, undelivered, full]


def _queues() -> list[views.QueueView]:
    return [saying.queue_view(400, page=2, pages=40), saying.queue_view(0)]


def _whys() -> list[views.WhyView]:
    story = (
        (saying.NOW - 7200, "waiting", "submitted", saying.ANN),
        (saying.NOW - 3600, "admitted", "admitted", "gpubot"),
        (saying.NOW - 1800, "preempting", "preempted", "gpubot"),
        (saying.NOW - 1700, "waiting", "requeued", "gpubot"),
    )
    owners = {"R-1030": saying.BOB, "R-1037": saying.CAT}
    kept = dataclasses.replace(saying.EXPLANATION, reservation=saying.RESERVATION)
    return [
        views.WhyView(card=saying.WAITING, story=story, owners=owners),
        views.WhyView(card=saying.RUNNING, story=story[:2]),
        views.WhyView(card=dataclasses.replace(saying.WAITING, explanation=kept), story=()),
        views.WhyView(card=dataclasses.replace(saying.RUNNING, may_end=False), story=()),
        views.WhyView(card=dataclasses.replace(saying.WAITING, may_end=False), story=()),
    ]


VOICES = {language: saying.VOICE.within(language) for language in LANGUAGES}
MESSAGES = {language: dict(_messages(voice)) for language, voice in VOICES.items()}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", MESSAGES["en"])
def test_message_reads_as_written_down(language: str, name: str) -> None:
    shown = "\n".join(readable(message) for message in MESSAGES[language][name]())
    compare(language, name, shown)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", MESSAGES["en"])
def test_text_says_all_that_the_blocks_say(language: str, name: str) -> None:
    """Phones and screen readers read only `text`."""
    for message in MESSAGES[language][name]():
        for said in (each for block in message.blocks for each in said_by(block)):
            assert said in message.text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("name", ["form", "form-prefilled", "home"])
def test_surface_reads_as_written_down(language: str, name: str) -> None:
    voice = VOICES[language]
    ask = grammar.parse("2 nodes a100 12h preemptible priority low team vision prefer rack name x")
    assert isinstance(ask, grammar.Request)
    place = FormPlace(channel="C0GPU")
    views_by_name = {
        "form": lambda: form(voice, saying.CHOICES, place),
        "form-prefilled": lambda: form(voice, saying.CHOICES, place, ask.ask),
        "home": lambda: home(voice, saying.HOME),
    }
    view = views_by_name[name]()
    head = [f"{key}: {plain_of(view[key])}" for key in ("title", "submit", "close") if key in view]
    blocks = view["blocks"]
    assert isinstance(blocks, list)
    compare(
        language,
        name,
        "\n".join([*head, *(line for block in blocks for line in lines_of(block))]) + "\n",
    )


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_file_is_left_of_a_message_that_is_gone(language: str) -> None:
    written = {path.stem for path in (FOLDER / language).glob("*.txt")}
    assert written == {*MESSAGES[language], "form", "form-prefilled", "home"}


def test_every_refusal_is_written_down() -> None:
    assert {refused.code for refused in refusing.REFUSALS} == set(views.RefusalCode)


_MARKED = re.compile(r"(?<!`)(`[^`\n]+`|(?<![\w*])\*[^*\n ][^*\n]*\*(?![\w*]))(?!`)")


@pytest.mark.parametrize("name", [*MESSAGES["zh"], "form", "home"])
def test_chinese_leaves_room_around_what_slack_draws_otherwise(name: str) -> None:
    """Slack sees bold and code only between spaces, line ends and ASCII punctuation."""
    text = (FOLDER / "zh" / f"{name}.txt").read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", text, flags=re.DOTALL)
    for found in _MARKED.finditer(text):
        around = text[found.start() - 1 : found.start()] + text[found.end() : found.end() + 1]
        assert all(char.isspace() or char in "().,;:/|&" for char in around), found.group()
