"""Whatever people type and however much there is: valid blocks, escaped text, nothing unsaid."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from bot import notices, views
from bot.asks import Ask
from bot.chat import grammar, markup
from bot.chat.actions import FormPlace
from bot.chat.cards import alerts, bursts, lists, requests
from bot.chat.cards.form import form, read_form
from bot.chat.cards.home import home
from bot.chat.conversation import in_its_words, render
from bot.chat.markup import Markup, say, shorten
from bot.chat.message import Buttons, Lines, Message, build
from bot.chat.people import People
from bot.chat.voice import Voice
from bot.chat.words import words_for
from scheduler.model import Verdict, WaitReason
from storage.records import Audience, Person
from tests.bot.chat import saying
from tests.bot.chat.notifying import BURSTS
from tests.bot.chat.saying import VOICE
from tests.bot.chat.slack_rules import check_blocks, check_text


def poisoned(value: Any, poison: str) -> Any:
    """The same dataclass or notice with every name a person could have chosen replaced."""
    chosen = {"name", "team", "owner", "what", "about", "actor", "ended_by", "model", "flavor"}
    if isinstance(value, BaseModel):
        update = {
            key: poison if key in chosen else poisoned(getattr(value, key), poison)
            for key in type(value).model_fields
            if key != "kind"
        }
        return value.model_copy(update=update)
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        changes = {
            field.name: poison if field.name in chosen else poisoned(item, poison)
            for field in dataclasses.fields(value)
            if (item := getattr(value, field.name)) is not None
        }
        return dataclasses.replace(value, **changes)
    if isinstance(value, tuple):
        return tuple(poisoned(each, poison) for each in value)
    return value


LANGUAGES = ("en", "zh")


def hostile_voice(poison: str, language: str = "en") -> Voice:
    people = People(lambda person_id: Person(id=person_id, name=poison))
    return Voice(words=words_for(language), people=people, oncall_group="S0ONCALL")


def _views() -> dict[str, Callable[[Voice, str], Message]]:
    def drawn(draw: Callable[[Voice, Any], Message], value: Any) -> Callable[[Voice, str], Message]:
        return lambda voice, poison: draw(voice, poisoned(value, poison))

    def told(args: Any, audience: Audience) -> Callable[[Voice, str], Message]:
        return lambda voice, poison: alerts.notice(voice, poisoned(args, poison), audience)

    why = views.WhyView(card=saying.WAITING, story=((saying.NOW, "waiting", "x", saying.ANN),))
    status = views.StatusView(
        person=saying.ANN, mine=(saying.RUNNING,) * 60, cluster=saying.CLUSTER
    )
    return {
        **{f"card-{name}": drawn(requests.card, card) for name, card in saying.CARDS.items()},
        "submitted": drawn(requests.submitted, views.Submitted(card=saying.WAITING, decided=True)),
        "status": drawn(lists.status, status),
        "about": drawn(lists.status, dataclasses.replace(status, about="x", rows=status.mine)),
        "queue": drawn(lists.queue, saying.queue_view(400, pages=40)),
        "mine": drawn(lists.mine, saying.HOME.mine),
        "why": drawn(requests.why, why),
        "admitted": told(saying.ADMITTED, Audience.CHANNEL),
        "admitted-thread": told(saying.ADMITTED, Audience.THREAD),
        "preempted": told(saying.GROUP.targets[0], Audience.PERSON),
        "preempted-group": told(saying.GROUP, Audience.ONCALL),
        "starving": told(saying.STARVING, Audience.CHANNEL),
        "ended": told(saying.ENDED, Audience.THREAD),
        "requeued": told(saying.REQUEUED, Audience.THREAD),
        "flipped": told(saying.FLIPPED, Audience.ONCALL),
        "lease-ending": told(saying.LEASE_ENDING, Audience.PERSON),
        "refused": lambda voice, poison: requests.refused(
            voice,
            views.Refused(
                code=views.RefusalCode.UNKNOWN_TEAM, args={"team": poison}, near=(poison,) * 9
            ),
        ),
        "undeliverable": lambda voice, poison: alerts.notice(
            voice, notices.UndeliverableArgs(where=poison, error=poison), Audience.ONCALL
        ),
        "repaired": told(saying.REPAIRED, Audience.THREAD),
        "node-failed": told(saying.NODE_FAILED, Audience.ONCALL),
        "node-avoided": told(saying.NODE_AVOIDED, Audience.ONCALL),
        "overfull": told(saying.OVERFULL, Audience.ONCALL),
        "preempted-several": told(saying.GROUP, Audience.PERSON),
        **{f"burst-{args.kind}": _burst(args, who) for args, who in BURSTS},
    }


def _burst(args: notices.NoticeArgs, audience: Audience) -> Callable[[Voice, str], Message]:
    return lambda voice, poison: bursts.burst(voice, [poisoned(args, poison)] * 100, audience)[0]


@pytest.mark.parametrize("poison", saying.HOSTILE, ids=range(len(saying.HOSTILE)))
@pytest.mark.parametrize(("args", "who"), BURSTS, ids=[args.kind for args, _ in BURSTS])
def test_what_a_burst_has_no_room_for_is_left_for_the_next(
    args: notices.NoticeArgs, who: Audience, poison: str
) -> None:
    hostile = poisoned(args, poison)
    message, said = bursts.burst(hostile_voice(poison), [hostile] * 100, who)
    name = getattr(args, "request", None) or "R-1042"
    assert said >= 1
    assert message.text.count(f"{name} ") >= said
    assert not message.text.endswith(" …")  # nothing was cut off


@pytest.mark.parametrize("poison", saying.HOSTILE, ids=range(len(saying.HOSTILE)))
@pytest.mark.parametrize("name", _views())
@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_names_are_shown_literally(name: str, poison: str, language: str) -> None:
    message = _views()[name](hostile_voice(poison, language), poison)
    check_text(message.text)
    check_blocks(message.blocks)
    assert len(message.text) < 12_100


@settings(max_examples=40)
@given(st.text(max_size=300))
def test_any_line_gives_a_message_slack_takes(text: str) -> None:
    said = grammar.parse(text)
    if isinstance(said, grammar.GrammarError):
        message = lists.mistake(VOICE, said)
        check_blocks(message.blocks)
        check_text(message.text)


def test_hostile_form_fields_fit_slack() -> None:
    for poison in saying.HOSTILE:
        choices = dataclasses.replace(saying.CHOICES, teams=(poison,) * 200, models=())
        view = form(hostile_voice(poison), choices, FormPlace())
        blocks = view["blocks"]
        assert isinstance(blocks, list)
        check_blocks(blocks, 100)
        assert "model" not in {block["block_id"] for block in blocks}


def test_home_of_somebody_with_much_stays_inside_the_limits() -> None:
    mine = views.MineView(
        person=saying.ANN,
        open=(saying.RUNNING, saying.WAITING) * 100,
        ended=(saying.CARDS["finished"],) * 50,
        at=saying.NOW,
    )
    cluster = dataclasses.replace(saying.CLUSTER, pools=saying.CLUSTER.pools * 40)
    view = home(VOICE, dataclasses.replace(saying.HOME, mine=mine, cluster=cluster))
    blocks = view["blocks"]
    assert isinstance(blocks, list)
    check_blocks(blocks, 100)


def test_a_gang_that_stops_a_hundred_is_one_valid_post() -> None:
    group = saying.GROUP.model_copy(update={"targets": saying.GROUP.targets * 40})
    message = alerts.notice(VOICE, group, Audience.CHANNEL)
    check_blocks(message.blocks)
    assert "120 requests" in message.text
    assert "110 more requests" in message.text
    assert len(message.text) < 3000


def test_every_name_of_a_full_group_of_admissions_is_said() -> None:
    group = [
        saying.ADMITTED.model_copy(update={"request": f"R-{n}", "name": "n" * 60})
        for n in range(2000, 2060)
    ]
    message, said = bursts.burst(VOICE, group, Audience.CHANNEL)
    check_blocks(message.blocks)
    assert said >= 50
    for args in group[:said]:
        assert args.request in message.text
        assert args.request in json.dumps(message.blocks)


@pytest.mark.parametrize("reason", WaitReason)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_reason_without_figures_is_still_a_sentence(reason: WaitReason, language: str) -> None:
    sentence = words_for(language).reason(Verdict(reason=reason))
    assert sentence.endswith((".", "。"))
    assert "None" not in sentence


@pytest.mark.parametrize("code", views.RefusalCode)
@pytest.mark.parametrize("language", LANGUAGES)
def test_a_refusal_without_figures_is_still_a_sentence(
    code: views.RefusalCode, language: str
) -> None:
    sentence = words_for(language).refused(views.Refused(code=code))
    assert "None" not in sentence
    assert "{" not in sentence


@example("0" * 9, 78)  # the last space is inside the date's token
@given(st.text(max_size=4000), st.integers(40, 3000))
def test_shortening_never_breaks_a_token(text: str, limit: int) -> None:
    whole = say(
        "{a} {when} {b}", a=Markup(markup.escape(text, 2000)), when=markup.date(1e9), b=text
    )
    cut = shorten(whole, limit)
    assert len(cut) <= limit
    if cut:
        check_text(cut)


def test_an_unknown_language_speaks_english() -> None:
    assert words_for("xx-YY").language == "en"
    assert VOICE.within(None).words.language == "en"


@pytest.mark.parametrize("locale", ["zh", "zh-CN", "zh_TW", "ZH-hans"])
def test_a_chinese_locale_speaks_chinese(locale: str) -> None:
    assert words_for(locale).language == "zh"


def test_ten_thousand_rows_are_cut_with_a_count() -> None:
    lines = Markup("\n".join(f"row {n}" for n in range(10_000)))
    message = build([Lines(lines), Buttons(())])
    check_blocks(message.blocks)
    assert message.text.endswith("…")


def filled(**values: str) -> dict[str, Any]:
    chosen = {"model", "team", "priority", "preemptible", "spend", "provision"}
    return {
        key: {key: {"selected_option": {"value": value}} if key in chosen else {"value": value}}
        for key, value in values.items()
    }


def test_a_filled_form_is_the_ask_that_was_typed() -> None:
    state = filled(
        size="2 nodes",
        model="h100",
        lease="8h",
        team="nlp",
        priority="high",
        preemptible="yes",
        spend="low",
        name="llama sft",
    )
    read = read_form(VOICE, state)
    assert not read.errors
    typed = grammar.parse('2 nodes h100 8h preemptible priority high team nlp name "llama sft"')
    assert typed == grammar.Request(dataclasses.replace(read.ask))


def test_a_form_asks_for_a_smaller_start_and_a_kind_of_nodes() -> None:
    read = read_form(VOICE, filled(size="4节点", lease="8小时", minimum="2", provision="spot"))
    assert not read.errors
    assert read.ask.text == "4 nodes 8h at least 2 spot"
    nothing = read_form(VOICE, filled(size="16", provision="any"))
    assert (nothing.ask.provision, nothing.ask.minimum) == (None, None)


@pytest.mark.parametrize(
    ("values", "fields"),
    [
        ({"size": "0", "lease": "8h"}, {"size"}),
        ({"size": "", "lease": "8h"}, {"size"}),
        ({"size": "h100", "lease": "8h"}, {"size"}),
        ({"size": "why R-1", "lease": "8"}, {"size", "lease"}),
        ({"size": "16", "lease": "0h"}, {"lease"}),
        ({"size": "16", "lease": "soon"}, {"lease"}),
        ({"size": "16", "lease": "8h", "name": "n" * 61}, {"name"}),
        ({"size": "16", "lease": "8h", "minimum": "32"}, {"minimum"}),
        ({"size": "2 nodes", "lease": "8h", "minimum": "8 gpus"}, {"minimum"}),
        ({"size": "16", "lease": "8h", "minimum": "0"}, {"minimum"}),
        ({"size": "x", "lease": "8h", "minimum": "x"}, {"size"}),
        ({"size": "x" * 5000, "lease": "x" * 5000}, {"size", "lease"}),
    ],
)
def test_errors_of_a_form_name_their_field(values: dict[str, str], fields: set[str]) -> None:
    read = read_form(VOICE, filled(**values))
    assert set(read.errors) == fields
    for sentence in read.errors.values():
        assert 0 < len(sentence) <= 240


REFUSED_SIZE = views.Refused(
    code=views.RefusalCode.NOT_DIVISIBLE,
    args={"asked": 12, "node": 8},
    instead=Ask(gpus=8, model="h100", duration=7200.0),
)


@pytest.mark.parametrize(
    ("said", "example"),
    [
        ("12 h100 2h", "8 h100 2h"),
        ("try 12 h100 2h", "try 8 h100 2h"),
        ("hold 12 h100 2h", "hold 8 h100 2h"),
        ("debug 12 h100 2h", "debug 8 h100 2h"),
        (
            "run repo/train:1 12 h100 2h -- python t.py",
            'run "repo/train:1" 8 h100 2h -- python t.py',
        ),
        ("试算 12 h100 2小时", "try 8 h100 2h"),
    ],
)
def test_what_is_proposed_is_what_was_said_but_for_the_mistake(said: str, example: str) -> None:
    """Whoever only tried and says the example again has not asked for it."""
    command = grammar.parse(said)
    assert not isinstance(command, grammar.GrammarError)
    for language in LANGUAGES:
        voice = dataclasses.replace(VOICE, words=words_for(language))
        shown = render(voice, in_its_words(command, REFUSED_SIZE))
        assert f"`/gpu {example}`" in shown.message.text
