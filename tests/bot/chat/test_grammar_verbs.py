"""Every verb beyond the plain request: its words, its mistakes, and the way back to words."""

from __future__ import annotations

import dataclasses
import datetime as dt
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from bot.asks import Ask, Change, End, Nearness, Period, Preference, Provision, Together
from bot.chat import grammar
from bot.chat.grammar import Expected, GrammarError, Mistake
from bot.maps import Grouping
from scheduler.model import Priority, Spend

HOUR = 3600.0


def read(text: str, here: str | None = None) -> Any:
    """What is read; an ask without its text."""
    return bare(grammar.parse(text, here=here))


def bare(found: Any) -> Any:
    ask = getattr(found, "ask", None)
    if isinstance(ask, Ask):
        return dataclasses.replace(found, ask=dataclasses.replace(ask, text=""))
    return found


ASK = Ask(gpus=16, model="h100", duration=8 * HOUR)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("try 16 h100 8h", grammar.Try(ASK)),
        ("hold 16 h100 8h", grammar.Hold(ASK)),
        ("debug h100 2h", grammar.Debug(Ask(gpus=1, model="h100", duration=2 * HOUR))),
        ("debug", grammar.Debug(Ask(gpus=1))),
        ("run repo/img:1 16 h100 8h", grammar.Run("repo/img:1", ASK)),
        (
            "run repo/img:1 16 h100 8h -- echo it's “on --x",
            grammar.Run("repo/img:1", ASK, "echo it's “on --x"),
        ),
        ("please run img 16 h100 8h — python a.py", grammar.Run("img", ASK, "python a.py")),
        (
            "run <http://nvcr.io/nv/torch:1|nvcr.io/nv/torch:1> 16 h100 8h",
            grammar.Run("nvcr.io/nv/torch:1", ASK),
        ),
        ("32 h100 at least 16", None),
        ("when R-7?", grammar.When("R-7")),
        ("R-7 when", grammar.When("R-7")),
        ("extend R-7 2h", grammar.Extend("R-7", 2 * HOUR)),
        ("extend R-7 by 1 h 30 min", grammar.Extend("R-7", 1.5 * HOUR)),
        ("edit R-7 8 gpus", grammar.Edit("R-7", Change(gpus=8))),
        ("edit R-7 to 2 nodes", grammar.Edit("R-7", Change(nodes=2))),
        ("edit R-7 lease 4h", grammar.Edit("R-7", Change(duration=4 * HOUR))),
        ("edit R-7 not preemptible", grammar.Edit("R-7", Change(preemptible=False))),
        (
            "edit R-7 priority low same rack name x team nlp spend low",
            grammar.Edit(
                "R-7",
                Change(
                    priority=Priority.LOW,
                    topology=Together(Nearness.SAME, "rack"),
                    name="x",
                    team="nlp",
                    spend=Spend.LOW,
                ),
            ),
        ),
        ("adopt nlp/notebook-0", grammar.Adopt("nlp/notebook-0")),
        (
            "adopt pod nlp/notebook-0 for 8h team nlp preemptible",
            grammar.Adopt("nlp/notebook-0", 8 * HOUR, "nlp", preemptible=True),
        ),
        ("please adopt the nlp/a.b-1 2h", grammar.Adopt("nlp/a.b-1", 2 * HOUR)),
        ("give R-7 to <@U0BOB|bob>", grammar.Give("R-7", "U0BOB")),
        ("give R-7 @bob", grammar.Give("R-7", "@bob")),
        ("fair", grammar.Fair()),
        ("fair team nlp", grammar.Fair("nlp")),
        ("report", grammar.Report()),
        ("report month nlp", grammar.Report(Period.MONTH, "nlp")),
        ("report for nlp", grammar.Report(Period.WEEK, "nlp")),
        ("prefs", grammar.Prefs()),
        ("prefs mute", grammar.Prefs(((Preference.NOTICES, "none"),))),
        (
            "prefs language zh quiet 22:00-7 digest weekly",
            grammar.Prefs(
                (
                    (Preference.LANGUAGE, "zh"),
                    (Preference.QUIET, "22:00-07:00"),
                    (Preference.DIGEST, "weekly"),
                )
            ),
        ),
        ("prefs quiet off", grammar.Prefs(((Preference.QUIET, "off"),))),
        ("link", grammar.Link()),
        ("link team nlp", grammar.Link("nlp")),
        ("link team", grammar.Link("team")),
        ("link team team", grammar.Link("team")),
        ("link nlp as <@U0BOB>", grammar.Link("nlp", "U0BOB")),
        ("map by team", grammar.Map(Grouping.TEAM)),
        ("pause nlp for 2h reason x", grammar.Pause("nlp", End(after=2 * HOUR), "x")),
        ("pause nlp 2h x y", grammar.Pause("nlp", End(after=2 * HOUR), "x y")),
        ("pause nlp because the fan's loud", grammar.Pause("nlp", End(), "the fan's loud")),
        ('pause nlp reason "a b"', grammar.Pause("nlp", End(), "a b")),
        ("pause nlp reason: a b", grammar.Pause("nlp", End(), "a b")),
        ("pause nlp until 18:00 x", grammar.Pause("nlp", End(minute=1080), "x")),
        ("resume nlp reason done", grammar.Resume("nlp", "done")),
        (
            "boost R-7 high for 6h paper",
            grammar.Boost("R-7", Priority.HIGH, End(after=6 * HOUR), "paper"),
        ),
        (
            "boost R-7 high-priority reason paper",
            grammar.Boost("R-7", Priority.HIGH, End(), "paper"),
        ),
        ("preempt R-7 reason node swap", grammar.Preempt("R-7", "node swap")),
        ("drain h100-0042 fan", grammar.Drain("h100-0042", End(), "fan")),
        ("undrain h100-0042 reason fixed", grammar.Undrain("h100-0042", "fixed")),
        (
            "quota nlp 640 until 2026-12-05 18:30 reason x",
            grammar.Quota("nlp", 640, None, End(day=dt.date(2026, 12, 5), minute=1110), "x"),
        ),
        (
            "quota nlp 0 gpus reserved-h100 for 2d reason x",
            grammar.Quota("nlp", 0, "reserved-h100", End(after=48 * HOUR), "x"),
        ),
        ("quota nlp 64 flavor spot x", grammar.Quota("nlp", 64, "spot", End(), "x")),
        ("quota nlp 64 moving racks", grammar.Quota("nlp", 64, None, End(), "moving racks")),
    ],
)
def test_verb_is_understood(text: str, wanted: object) -> None:
    if wanted is None:
        wanted = grammar.Request(Ask(gpus=32, model="h100", minimum=16))
    assert read(text) == wanted


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("extend 2h", grammar.Extend("R-9", 2 * HOUR)),
        ("extend R-3 2h", grammar.Extend("R-3", 2 * HOUR)),
        ("edit 8 gpus", grammar.Edit("R-9", Change(gpus=8))),
        ("edit 4 h", grammar.Edit("R-9", Change(duration=4 * HOUR))),
        ("edit preemptible", grammar.Edit("R-9", Change(preemptible=True))),
        ("give <@U0BOB>", grammar.Give("R-9", "U0BOB")),
        ("when", grammar.When("R-9")),
        ("preempt reason x", grammar.Preempt("R-9", "x")),
    ],
)
def test_thread_supplies_the_request(text: str, wanted: object) -> None:
    assert read(text, here="R-9") == wanted


@pytest.mark.parametrize(
    ("text", "mistake", "expected", "token"),
    [
        ("try", Mistake.MISSING, Expected.SIZE, ""),
        ("run", Mistake.MISSING, Expected.IMAGE, ""),
        ("run img h100 -- x", Mistake.MISSING, Expected.SIZE, ""),
        ("extend R-7", Mistake.MISSING, Expected.DURATION, ""),
        ("extend R-7 3", Mistake.NO_UNIT, Expected.DURATION, "3"),
        ("extend R-7 -3h", Mistake.NEGATIVE, Expected.DURATION, "-3h"),
        ("extend R-7 0h", Mistake.ZERO, Expected.DURATION, "0h"),
        ("edit R-7", Mistake.MISSING, Expected.CHANGE, ""),
        ("edit R-7 gpus", Mistake.MISSING, Expected.CHANGE, ""),
        ("edit llama 8", Mistake.UNKNOWN_WORD, Expected.REQUEST_ID, "llama"),
        ("adopt", Mistake.MISSING, Expected.POD, ""),
        ("adopt notebook-0", Mistake.UNKNOWN_WORD, Expected.POD, "notebook-0"),
        ("adopt nlp/Notebook", Mistake.UNKNOWN_WORD, Expected.POD, "nlp/Notebook"),
        ("adopt nlp/", Mistake.UNKNOWN_WORD, Expected.POD, "nlp/"),
        ("adopt nlp/a 8h 9h", Mistake.TWICE, Expected.DURATION, "9h"),
        ("adopt nlp/a 0h", Mistake.ZERO, Expected.DURATION, "0h"),
        ("adopt nlp/a team", Mistake.MISSING, Expected.TEAM, ""),
        ("adopt nlp/a 16 h100", Mistake.UNKNOWN_WORD, Expected.TERMS, "16"),
        ("give R-7", Mistake.MISSING, Expected.PERSON, ""),
        ("give R-7 bob", Mistake.UNKNOWN_WORD, Expected.PERSON, "bob"),
        ("prefs volume 11", Mistake.UNKNOWN_WORD, Expected.PREFERENCE, "volume"),
        ("prefs quiet 25:00-7", Mistake.UNKNOWN_WORD, Expected.QUIET, "25:00-7"),
        ("prefs quiet 7-7", Mistake.UNKNOWN_WORD, Expected.QUIET, "7-7"),
        ("prefs language xx", Mistake.UNKNOWN_WORD, Expected.LANGUAGE, "xx"),
        ("prefs mute notices all", Mistake.TWICE, Expected.NOTHING, "notices"),
        ("pause", Mistake.MISSING, Expected.PLACE, ""),
        ("pause nlp for 2h", Mistake.MISSING, Expected.REASON, ""),
        ("pause nlp for 2h reason", Mistake.MISSING, Expected.REASON, ""),
        ("pause nlp until tomorrow x", Mistake.UNKNOWN_WORD, Expected.END, "tomorrow"),
        ("pause nlp until 2026-02-30 x", Mistake.UNKNOWN_WORD, Expected.END, "2026-02-30"),
        ("resume nlp", Mistake.MISSING, Expected.REASON, ""),
        ("boost R-7 hgh x", Mistake.UNKNOWN_WORD, Expected.PRIORITY, "hgh"),
        ("boost R-7", Mistake.MISSING, Expected.PRIORITY, ""),
        ("preempt R-7", Mistake.MISSING, Expected.REASON, ""),
        ("drain h100-0042 for 2h", Mistake.MISSING, Expected.REASON, ""),
        ("quota nlp many x", Mistake.UNKNOWN_WORD, Expected.GPUS, "many"),
        ("quota nlp -4 x", Mistake.NEGATIVE, Expected.GPUS, "-4"),
        ("quota nlp 2 h x", Mistake.UNKNOWN_WORD, Expected.GPUS, "2"),
        ("quota nlp 640", Mistake.MISSING, Expected.REASON, ""),
        ("16 h100 at least 32", Mistake.PAST_SIZE, Expected.MINIMUM, "32"),
        ("16 h100 at least 2 nodes", Mistake.OTHER_UNIT, Expected.MINIMUM, "2"),
        ("16 h100 at least some", Mistake.UNKNOWN_WORD, Expected.MINIMUM, "some"),
        ("16 h100 spot flex", Mistake.TWICE, Expected.NOTHING, "flex"),
    ],
)
def test_error_points_at_the_token_and_shows_what_would_do(
    text: str, mistake: Mistake, expected: Expected, token: str
) -> None:
    wrong = read(text)
    assert isinstance(wrong, GrammarError), wrong
    assert (wrong.mistake, wrong.expected, wrong.token) == (mistake, expected, token)
    assert not isinstance(read(wrong.example), GrammarError)


_NOW = dt.datetime(2026, 11, 30, 12, 0, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    ("end", "wanted"),
    [
        (End(), None),
        (End(after=HOUR), _NOW + dt.timedelta(hours=1)),
        (End(minute=18 * 60), _NOW.replace(hour=18)),
        (End(minute=6 * 60), _NOW.replace(day=1, month=12, hour=6)),
        (End(minute=12 * 60), _NOW.replace(day=1, month=12)),
        (End(day=dt.date(2026, 12, 5)), dt.datetime(2026, 12, 6, tzinfo=dt.UTC)),
        (
            End(day=dt.date(2026, 12, 5), minute=90),
            dt.datetime(2026, 12, 5, 1, 30, tzinfo=dt.UTC),
        ),
    ],
)
def test_an_end_is_a_moment(end: End, wanted: dt.datetime | None) -> None:
    assert end.at(_NOW.timestamp()) == (None if wanted is None else wanted.timestamp())


def test_a_change_leaves_the_rest_of_an_ask_as_it_is() -> None:
    ask = Ask(gpus=16, minimum=8, model="h100", preemptible=True, name="x")
    assert Change(nodes=1, preemptible=False).of(ask) == Ask(nodes=1, model="h100", name="x")
    assert Change(name="y").of(ask) == dataclasses.replace(ask, name="y")


_NAMES = st.text(
    alphabet=st.characters(
        codec="utf-8", exclude_categories=["C", "Z"], exclude_characters='&<>«»"'
    ),
    min_size=1,
    max_size=30,
)
_IDS = st.integers(1, 10**9).map(lambda number: f"R-{number}")
_PEOPLE = st.from_regex(r"U[A-Z0-9]{4,8}", fullmatch=True)
_LEASES = st.integers(1, 366 * 24 * 60).map(lambda minutes: minutes * 60.0)
_SIZES = st.one_of(
    st.builds(lambda n, m: {"gpus": n, "minimum": m}, st.integers(9, 999), st.integers(1, 9)),
    st.builds(lambda n: {"nodes": n}, st.integers(1, 999)),
    st.builds(lambda n, m: {"pods": n, "gpus_per_pod": m}, st.integers(1, 99), st.integers(1, 16)),
)
_TERMS = {
    "model": st.sampled_from([None, "h100", "a100-80gb"]),
    "duration": st.none() | _LEASES,
    "priority": st.none() | st.sampled_from(Priority),
    "provision": st.none() | st.sampled_from(Provision),
    "team": st.none() | _NAMES,
    "name": st.none() | _NAMES,
    "topology": st.sampled_from([None, Together(Nearness.SAME, "rack"), Together(Nearness.SPREAD)]),
}
_ASKS = st.builds(
    lambda size, rest: dataclasses.replace(rest, **size),
    _SIZES,
    st.builds(Ask, spend=st.sampled_from(Spend), preemptible=st.booleans(), **_TERMS),
)
_CHANGES = st.builds(
    lambda size, rest: dataclasses.replace(rest, **size),
    _SIZES,
    st.builds(
        Change,
        spend=st.none() | st.sampled_from(Spend),
        preemptible=st.none() | st.booleans(),
        **_TERMS,
    ),
)
_ENDS = st.one_of(
    st.just(End()),
    st.builds(End, after=_LEASES),
    st.builds(
        End,
        day=st.dates(dt.date(2026, 1, 1), dt.date(2099, 1, 1)),
        minute=st.none() | st.integers(0, 1439),
    ),
    st.builds(End, minute=st.integers(0, 1439)),
)
_REASONS = st.text(st.characters(codec="ascii", categories=["L", "N"]), min_size=1, max_size=9).map(
    lambda word: f"{word} it's “so"
)
_PLACES = st.sampled_from(["nlp", "shared-multi", "高速 队列", "团队", "priority", "team", "as"])
_PREFS = {
    Preference.LANGUAGE: st.sampled_from(["en", "zh", "auto"]),
    Preference.QUIET: st.sampled_from(["off", "22:00-07:00"]),
    Preference.NOTICES: st.sampled_from(["all", "important", "none"]),
    Preference.DIGEST: st.sampled_from(["daily", "weekly", "off"]),
    Preference.WHERE: st.sampled_from(["dm", "thread"]),
    Preference.ZONE: st.sampled_from(["auto", "UTC", "Asia/Shanghai"]),
}
_COMMANDS = st.one_of(
    st.builds(grammar.Request, _ASKS),
    st.builds(grammar.Try, _ASKS),
    st.builds(grammar.Debug, _ASKS),
    st.builds(grammar.Hold, _ASKS),
    st.builds(grammar.Run, _NAMES, _ASKS, st.just("") | _REASONS),
    st.builds(grammar.Queue, st.none() | _PLACES, st.integers(1, 99)),
    st.builds(grammar.Status, st.none() | _PLACES | _IDS),
    st.builds(grammar.Map, st.sampled_from(Grouping)),
    st.builds(grammar.Help, st.none() | st.sampled_from(grammar.Verb)),
    st.builds(grammar.Extend, _IDS, _LEASES),
    st.builds(grammar.Edit, _IDS, _CHANGES),
    st.builds(grammar.Give, _IDS, _PEOPLE),
    st.builds(grammar.Fair, st.none() | _PLACES),
    st.builds(grammar.Report, st.sampled_from(Period), st.none() | _PLACES),
    st.fixed_dictionaries({}, optional=_PREFS).map(
        lambda prefs: grammar.Prefs(tuple(prefs.items()))
    ),
    st.builds(grammar.Link, _PLACES, st.none() | _PEOPLE),
    *(st.builds(kind, _IDS | _NAMES) for kind in (grammar.Why, grammar.When)),
    st.builds(grammar.Cancel, _IDS),
    st.builds(grammar.Pause, _PLACES, _ENDS, _REASONS),
    st.builds(grammar.Resume, _PLACES, _REASONS),
    st.builds(grammar.Boost, _IDS, st.sampled_from(Priority), _ENDS, _REASONS),
    st.builds(grammar.Preempt, _IDS, _REASONS),
    st.builds(grammar.Drain, _PLACES, _ENDS, _REASONS),
    st.builds(grammar.Undrain, _PLACES, _REASONS),
    st.builds(
        grammar.Quota,
        _PLACES,
        st.integers(0, 9999),
        st.sampled_from([None, "spot", "h100-reserved"]),
        _ENDS,
        _REASONS,
    ),
)


@settings(max_examples=150)
@given(_COMMANDS)
@example(grammar.Why("/"))
def test_a_command_put_into_words_is_read_back(command: grammar.Command) -> None:
    line = grammar.spell_command(command)
    if len(line) <= 1000:
        assert read(line) == command


@pytest.mark.parametrize("word", ["24:30", "24:01", "25:00", "9:60"])
def test_a_day_has_no_more_than_24_hours(word: str) -> None:
    for line, expected in (
        (f"pause all until {word} reason x", Expected.END),
        (f"prefs quiet {word}-07:00", Expected.QUIET),
        (f"prefs quiet 22:00-{word}", Expected.QUIET),
    ):
        wrong = read(line)
        assert isinstance(wrong, grammar.GrammarError)
        assert wrong.expected is expected
    assert read("prefs quiet 22:00-24:00") == grammar.Prefs(((Preference.QUIET, "22:00-00:00"),))
