"""The grammar: what people say is understood, or an error points at the token."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bot.asks import Ask, Nearness, Together
from bot.chat import grammar
from bot.chat.grammar import Expected, GrammarError, Mistake, Verb
from bot.chat.grammar.tokens import LONGEST_LINE, tokenize
from scheduler.model import Priority, Spend

HOUR = 3600.0


def ask(text: str) -> Ask:
    command = grammar.parse(text)
    assert isinstance(command, grammar.Request), command
    return dataclasses.replace(command.ask, text="")


def error(text: str) -> GrammarError:
    wrong = grammar.parse(text)
    assert isinstance(wrong, GrammarError), wrong
    return wrong


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("16 h100 8h", Ask(gpus=16, model="h100", duration=8 * HOUR)),
        ("4x8 h100 for 8h", Ask(pods=4, gpus_per_pod=8, model="h100", duration=8 * HOUR)),
        ("4 x 8 h100", Ask(pods=4, gpus_per_pod=8, model="h100")),
        ("4×8 H100", Ask(pods=4, gpus_per_pod=8, model="h100")),
        ("4 pods of 8 h100", Ask(pods=4, gpus_per_pod=8, model="h100")),
        ("8xh100 1h30m", Ask(gpus=8, model="h100", duration=1.5 * HOUR)),
        ("h100 16 8 hours", Ask(gpus=16, model="h100", duration=8 * HOUR)),
        ("8h 16 gpus", Ask(gpus=16, duration=8 * HOUR)),
        ("request 1 gpu 90min", Ask(gpus=1, duration=1.5 * HOUR)),
        ("I need 1.5d 2 nodes", Ask(nodes=2, duration=36 * HOUR)),
        ("１６ Ｈ１００ ８h", Ask(gpus=16, model="h100", duration=8 * HOUR)),
        ("١٦ h100", Ask(gpus=16, model="h100")),
        ("1\u200b6 h100", Ask(gpus=16, model="h100")),
        ("16 h100 team=nlp", Ask(gpus=16, model="h100", team="nlp")),
        ("16 h100 name “night run”", Ask(gpus=16, model="h100", name="night run")),
        ("16 h100 not preemptible", Ask(gpus=16, model="h100")),
        ("4 nodes same rack", Ask(nodes=4, topology=Together(Nearness.SAME, "rack"))),
        ("4 nodes in the same rack", Ask(nodes=4, topology=Together(Nearness.SAME, "rack"))),
        ("4 nodes prefer block", Ask(nodes=4, topology=Together(Nearness.PREFER, "block"))),
        ("4 nodes prefer the same Rack", Ask(nodes=4, topology=Together(Nearness.PREFER, "rack"))),
        ("16 spread h100", Ask(gpus=16, model="h100", topology=Together(Nearness.SPREAD))),
        ("16 h100 name &lt;!channel&gt;", Ask(gpus=16, model="h100", name="<!channel>")),
        (
            "2 nodes h100 8h preemptible priority high team nlp spend high name x",
            Ask(
                nodes=2,
                model="h100",
                duration=8 * HOUR,
                preemptible=True,
                priority=Priority.HIGH,
                spend=Spend.HIGH,
                team="nlp",
                name="x",
            ),
        ),
    ],
)
def test_request_is_understood(text: str, wanted: Ask) -> None:
    assert ask(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("", grammar.Form()),
        ("   ", grammar.Form()),
        ("request", grammar.Form()),
        ("please", grammar.Form()),
        ("status", grammar.Status()),
        ("status r1042", grammar.Status("R-1042")),
        ("status <@U0ANN|ann>", grammar.Status("U0ANN")),
        ("status team nlp", grammar.Status("nlp")),
        ("queue", grammar.Queue()),
        ("queue h100 page 3", grammar.Queue("h100", 3)),
        ("why R-1042?", grammar.Why("R-1042")),
        ("why llama-sft", grammar.Why("llama-sft")),
        ("why llama-sft?", grammar.Why("llama-sft")),
        ("why llama-微调", grammar.Why("llama-微调")),
        ("why 微调-llama2", grammar.Why("微调-llama2")),
        ("when 队列测试", grammar.When("队列测试")),
        ("为什么llama-sft", grammar.Why("llama-sft")),
        ("为什么 llama-sft吗", grammar.Why("llama-sft")),
        ("为什么 请求R-9", grammar.Why("R-9")),
        ('when "night sweep 2"', grammar.When("night sweep 2")),
        ("when 1042", grammar.When("R-1042")),
        ("WHY #1042", grammar.Why("R-1042")),
        ("cancel request R-7", grammar.Cancel("R-7")),
        ("release 1042", grammar.Release("R-1042")),
        ("mine", grammar.Mine()),
        ("help", grammar.Help()),
        ("help queue", grammar.Help(Verb.QUEUE)),
    ],
)
def test_verb_is_understood(text: str, wanted: grammar.Command) -> None:
    assert grammar.parse(text) == wanted


def test_thread_supplies_the_request() -> None:
    assert grammar.parse("why", here="R-9") == grammar.Why("R-9")
    assert grammar.parse("cancel", here="R-9") == grammar.Cancel("R-9")
    assert grammar.parse("why R-3", here="R-9") == grammar.Why("R-3")
    assert grammar.parse("why llama-sft", here="R-9") == grammar.Why("llama-sft")


@pytest.mark.parametrize(
    ("text", "mistake", "expected", "token", "example"),
    [
        ("16 h100 8", Mistake.NO_UNIT, Expected.DURATION, "8", "16 h100 8h"),
        ("0 h100", Mistake.ZERO, Expected.SIZE, "0", "16 h100 8h"),
        ("-4 h100", Mistake.NEGATIVE, Expected.SIZE, "-4", "16 h100 8h"),
        ("1.5 h100", Mistake.NOT_WHOLE, Expected.SIZE, "1.5", "16 h100 8h"),
        ("999999999 h100", Mistake.TOO_BIG, Expected.SIZE, "999999999", "16 h100 8h"),
        ("99999x99999 h100", Mistake.TOO_BIG, Expected.SIZE, "99999x99999", "16 h100 8h"),
        ("4 h100 0h", Mistake.ZERO, Expected.DURATION, "0h", "16 h100 8h"),
        ("4 h100 900w", Mistake.TOO_BIG, Expected.DURATION, "900w", "16 h100 8h"),
        ("16 h100 2 gpus", Mistake.TWO_SIZES, Expected.NOTHING, "2", "16 h100 8h"),
        ("16 h100 2 nodes", Mistake.TWO_SIZES, Expected.NOTHING, "2", "16 h100 8h"),
        ("4 h100 0.0001h", Mistake.TOO_SHORT, Expected.DURATION, "0.0001h", "16 h100 8h"),
        ("4 h100 0.5 min", Mistake.TOO_SHORT, Expected.DURATION, "0.5 min", "16 h100 8h"),
        ("16 h100 -3h", Mistake.NEGATIVE, Expected.DURATION, "-3h", "16 h100 8h"),
        ("16 h100 -3 h", Mistake.NEGATIVE, Expected.DURATION, "-3", "16 h100 8h"),
        ("16 h100 -1.5d", Mistake.NEGATIVE, Expected.DURATION, "-1.5d", "16 h100 8h"),
        ("16 h100 -3", Mistake.NEGATIVE, Expected.DURATION, "-3", "16 h100 8h"),
        ("-3h 16 h100", Mistake.NEGATIVE, Expected.DURATION, "-3h", "16 h100 8h"),
        ("-4 h100 8h", Mistake.NEGATIVE, Expected.SIZE, "-4", "16 h100 8h"),
        ("16 h100 1.5", Mistake.NO_UNIT, Expected.DURATION, "1.5", "16 h100 1.5h"),
        ("16 h100 8h 4h", Mistake.TWICE, Expected.NOTHING, "4h", "16 h100 8h"),
        ("16 h100 a100", Mistake.TWICE, Expected.NOTHING, "a100", "16 h100 8h"),
        ("h100 8h", Mistake.MISSING, Expected.SIZE, "", "16 h100 8h"),
        ("16 h100 team", Mistake.MISSING, Expected.TEAM, "", "16 h100 8h team nlp"),
        ("16 h100 team a team b", Mistake.TWICE, Expected.NOTHING, "team", "16 h100 8h"),
        ("map colour", Mistake.UNKNOWN_WORD, Expected.GROUPING, "colour", "map team"),
        ("map team rl", Mistake.LEFT_OVER, Expected.NOTHING, "rl", "map team"),
        ("16 h100 same", Mistake.MISSING, Expected.LEVEL, "", "16 h100 8h same rack"),
        ("16 h100 same 8h", Mistake.UNKNOWN_WORD, Expected.LEVEL, "8h", "16 h100 8h same rack"),
        ("16 h100 same rack spread", Mistake.TWICE, Expected.NOTHING, "spread", "16 h100 8h"),
        ("4 h100 high", Mistake.AMBIGUOUS, Expected.OPTION, "high", "4 h100 priority high"),
        ("4 h100 prio hgh", Mistake.UNKNOWN_WORD, Expected.PRIORITY, "hgh", "4 h100 prio high"),
        ("4 h100 preemtible", Mistake.UNKNOWN_WORD, Expected.OPTION, "preemtible", None),
        ("stauts R-1", Mistake.UNKNOWN_VERB, Expected.VERB, "stauts", "status R-1"),
        ("why", Mistake.MISSING, Expected.REQUEST_ID, "", "why llama-sft"),
        ("cancel llama", Mistake.UNKNOWN_WORD, Expected.REQUEST_ID, "llama", "cancel R-1042"),
        ("queue page 0", Mistake.ZERO, Expected.PAGE, "0", "queue nlp page 2"),
        ("mine too", Mistake.LEFT_OVER, Expected.NOTHING, "too", "mine"),
        ('4 h100 name "x', Mistake.UNCLOSED, Expected.QUOTE, '"x', None),
        ("4 h100 name " + "x" * 61, Mistake.NAME_TOO_LONG, Expected.NAME, "x" * 61, None),
        ("hello there", Mistake.UNKNOWN_VERB, Expected.VERB, "hello", "help"),
    ],
)
def test_error_points_at_the_token(
    text: str, mistake: Mistake, expected: Expected, token: str, example: str | None
) -> None:
    wrong = error(text)
    assert (wrong.mistake, wrong.expected, wrong.token) == (mistake, expected, token)
    if example is not None:
        assert wrong.example == example
    assert not isinstance(grammar.parse(wrong.example), GrammarError)


def test_ten_thousand_characters_are_cut_before_any_work() -> None:
    wrong = error("16 h100 " * 1250)
    assert wrong.mistake is Mistake.TOO_LONG
    assert len(wrong.text) <= LONGEST_LINE


@pytest.mark.parametrize("verb", list(Verb))
def test_every_printed_example_parses(verb: Verb) -> None:
    for example in (*grammar.EXAMPLES[verb], *grammar.CHINESE_EXAMPLES[verb]):
        command = grammar.parse(example)
        assert type(command).__name__.lower() == verb.value


_SAID = [
    "16", "0", "-1", "4x8", "8", "h100", "H100", "8h", "90m", "nodes", "node", "gpus", "pods",
    "of", "x", "for", "team", "nlp", "name", "priority", "high", "low", "spend", "preemptible",
    "not", "status", "queue", "page", "why", "R-1042", "cancel", "release", "mine", "help", '"',
    "same", "prefer", "spread", "rack",
    "“", "<@U1>", "&lt;", "２", "节点", "<http://a/b>", "team=", "name:", "\u202e", "\u200b",
]  # fmt: skip
_WORDS = st.sampled_from(_SAID)


@settings(max_examples=150)
@given(
    st.one_of(
        st.text(max_size=200),
        st.lists(_WORDS, max_size=12).map(" ".join),
        st.lists(st.one_of(_WORDS, st.text(max_size=8)), max_size=10).map("".join),
    ),
    st.one_of(st.none(), st.just("R-1")),
)
def test_any_text_gives_a_command_or_an_error_inside_the_line(text: str, here: str | None) -> None:
    result = grammar.parse(text, here=here)
    if isinstance(result, GrammarError):
        assert 0 <= result.start <= result.end <= len(result.text)
        assert not isinstance(grammar.parse(result.example, here=here), GrammarError)
    elif isinstance(result, grammar.Request):
        sizes = (result.ask.gpus, result.ask.nodes, result.ask.pods)
        assert sum(size is not None for size in sizes) == 1


@given(st.text(max_size=120))
def test_tokens_lie_where_they_say(text: str) -> None:
    line = tokenize(text)
    for token in line.tokens:
        assert token.text in line.text[token.start : token.end]
    starts = [token.start for token in line.tokens]
    assert starts == sorted(starts)


_NAMES = st.text(
    alphabet=st.characters(
        codec="utf-8", exclude_categories=["C", "Z"], exclude_characters='&<>«»"'
    ),
    min_size=1,
    max_size=30,
).filter(lambda name: name.strip() == name)
_SIZES = st.one_of(
    st.builds(lambda n: {"gpus": n}, st.integers(1, 9999)),
    st.builds(lambda n: {"nodes": n}, st.integers(1, 999)),
    st.builds(lambda n, m: {"pods": n, "gpus_per_pod": m}, st.integers(1, 99), st.integers(1, 16)),
)


_ASKS = st.builds(
    lambda size, rest: dataclasses.replace(rest, **size),
    _SIZES,
    st.builds(
        Ask,
        model=st.sampled_from([None, "h100", "a100-80gb", "l40s"]),
        duration=st.none() | st.integers(1, 366 * 24 * 60).map(lambda minutes: minutes * 60.0),
        preemptible=st.booleans(),
        spend=st.sampled_from(Spend),
        priority=st.none() | st.sampled_from(Priority),
        team=st.none() | _NAMES,
        name=st.none() | _NAMES,
        topology=st.sampled_from(
            [
                None,
                Together(Nearness.SAME, "rack"),
                Together(Nearness.PREFER, "gpubot.dev/block"),
                Together(Nearness.SPREAD),
            ]
        ),
    ),
)


@given(_ASKS)
def test_spelt_ask_is_read_back(wanted: Ask) -> None:
    assert ask(grammar.spell(wanted)) == wanted
