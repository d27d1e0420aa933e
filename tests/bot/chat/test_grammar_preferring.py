"""Every preference, in the words of each language."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from bot.asks import Preference
from bot.chat import grammar
from bot.chat.words import words_for
from bot.preferences import FIELDS, Preferences
from bot.views import PreferencesView
from tests.bot.chat import saying

P = Preference
WORDS: Mapping[str, tuple[P, str]] = {
    "language auto": (P.LANGUAGE, "auto"),
    "lang chinese": (P.LANGUAGE, "zh"),
    "timezone auto": (P.ZONE, "auto"),
    "zone automatic": (P.ZONE, "auto"),
    "zone asia/shanghai": (P.ZONE, "Asia/Shanghai"),
    "quiet no": (P.QUIET, "off"),
    "quiet never": (P.QUIET, "off"),
    "digest never": (P.DIGEST, "off"),
    "notices off": (P.NOTICES, "none"),
    "where thread": (P.WHERE, "thread"),
    "unmute": (P.NOTICES, "all"),
    "时区 自动": (P.ZONE, "auto"),
    "时区自动": (P.ZONE, "auto"),
    "時區 自動": (P.ZONE, "auto"),
    "时区 auto": (P.ZONE, "auto"),
    "zone 自动": (P.ZONE, "auto"),
    "时区 Asia/Shanghai": (P.ZONE, "Asia/Shanghai"),
    "语言 自动": (P.LANGUAGE, "auto"),
    "語言 中文": (P.LANGUAGE, "zh"),
    "语言英语": (P.LANGUAGE, "en"),
    "免打扰 无": (P.QUIET, "off"),
    "免打扰 关": (P.QUIET, "off"),
    "免打擾 關閉": (P.QUIET, "off"),
    "免打扰 22:00-07:00": (P.QUIET, "22:00-07:00"),
    "通知 关": (P.NOTICES, "none"),
    "通知全部": (P.NOTICES, "all"),
    "取消静音": (P.NOTICES, "all"),
    "摘要 关": (P.DIGEST, "off"),
    "摘要 每週": (P.DIGEST, "weekly"),
    "地点 私信": (P.WHERE, "dm"),
    "地點 話題": (P.WHERE, "thread"),
}


@pytest.mark.parametrize(("words", "meant"), WORDS.items(), ids=str)
def test_a_preference_is_read(words: str, meant: tuple[P, str]) -> None:
    verb = "prefs" if words.isascii() else "偏好"
    assert grammar.parse(f"{verb} {words}") == grammar.Prefs((meant,))


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize(
    ("field", "value"), [(field, value) for field, values in FIELDS.items() for value in values]
)
def test_what_is_shown_can_be_typed(language: str, field: str, value: str) -> None:
    """Each line of the answer names its field and its value in words that set just that."""
    fields = {**Preferences().shown(), field: value}
    view = PreferencesView(person=saying.ANN, fields=fields)
    shown = words_for(language).preferences(view)
    verb = {"en": "prefs", "zh": "偏好"}[language]
    row = list(fields).index(field)
    name, _, rest = str(shown).splitlines()[row].removeprefix("• ").partition("`")
    said = grammar.parse(f"{verb} {name.strip(' :：*')} {rest.partition('`')[0]}")
    assert said == grammar.Prefs(((Preference(field), value),))


@pytest.mark.parametrize(
    ("written", "near"),
    [
        ("Europe/Pariss", ("Europe/Paris",)),
        ("asia/shanghia", ("Asia/Shanghai",)),
        ("UTC+8", ()),
        ("+08:00", ()),
        ("Mars/Phobos", ()),
    ],
)
def test_a_time_zone_is_proposed_as_it_is_spelt(written: str, near: tuple[str, ...]) -> None:
    wrong = grammar.parse(f"prefs zone {written}")
    assert isinstance(wrong, grammar.GrammarError)
    assert (wrong.near, wrong.text[wrong.start : wrong.end]) == (near, written)
