"""Names that people chose, in every kind of notice and in both languages: shown, never obeyed."""

from __future__ import annotations

from collections.abc import Mapping

import pytest
from pydantic import BaseModel

from bot import notices
from bot.chat.cards import alerts
from bot.chat.people import People
from bot.chat.voice import Voice
from bot.chat.words import words_for
from storage.records import Audience, Person
from tests.bot.chat import interventions, outsiders, replicas, saying, using
from tests.bot.chat.slack_rules import check_blocks, check_text

K = notices.NoticeKind
FREE = frozenset({"name", "team", "owner", "actor", "reason", "what", "target", "where", "error"})
"""Fields that hold what a person, an admin or another program wrote."""

LINK = notices.LinkAskedArgs(person=saying.ANN, team="nlp", until=saying.NOW)
SAMPLES: Mapping[notices.NoticeKind, notices.NoticeArgs] = {
    args.kind: args
    for args in (
        saying.ADMITTED,
        saying.preempted("R-1001", saying.BOB, "vision"),
        saying.GROUP,
        saying.STARVING,
        saying.ENDED,
        replicas.CHANGED,
        saying.REQUEUED,
        saying.LEASE_ENDING,
        saying.UNPROTECTED,
        saying.CHANGED,
        saying.FLIPPED,
        saying.REPAIRED,
        saying.NODE_FAILED,
        saying.NODE_AVOIDED,
        saying.OVERFULL,
        next(iter(interventions.posts())),
        next(iter(interventions.overs())),
        interventions.FAILED,
        next(iter(interventions.displaced())),
        interventions.STUCK,
        interventions.NOT_TAKEN,
        outsiders.TAKEN,
        outsiders.FOREIGN,
        LINK,
        notices.LinkAnsweredArgs(person=saying.ANN, team="nlp", by=saying.BOB, agreed=True),
        notices.SubstituteArgs(by=saying.BOB, person=saying.ANN, until=saying.NOW),
        using.MONTHLY,
        using.IDLE,
        notices.UndeliverableArgs(where="C0GONE", error="is_archived"),
        saying.ESCALATED,
    )
}
NOT_NAMED = frozenset({K.CARD, K.DIGEST, K.DIGEST_PLOTS})
"""Drawn from the store when they are sent, not from what the notice holds."""

MENTIONS = ("<!channel>", "<!here>", "<!everyone>", "<@U0BOB>", "<!subteam^S0ONCALL>")
ODD = (
    "\u202egnp.exe",
    "a\u200bb",
    "tab\there\x00\x1b[31m",
    "```x``` `y` *z*",
    "x" * 5000,
    "{0} %s",
)

LONGEST = {K.LINK_ASKED: 100}
"""Of a team that somebody asks to join: it has to be one of the policy's."""


def poisoned(args: notices.NoticeArgs, poison: str) -> notices.NoticeArgs:
    """The same notice with every name a person could have chosen replaced."""
    return type(args).model_validate(_poisoned(args, poison))


def _poisoned(value: object, poison: str) -> object:
    if isinstance(value, BaseModel):
        return {
            key: poison
            if key in FREE and isinstance(held, str) and not _is_code(value, key)
            else _poisoned(held, poison)
            for key in type(value).model_fields
            for held in (getattr(value, key),)
        }
    if isinstance(value, tuple):
        return tuple(_poisoned(each, poison) for each in value)
    return value


def _is_code(value: BaseModel, key: str) -> bool:
    """Whether a field takes codes only, whatever its name."""
    return type(value).model_fields[key].annotation is not str


def test_every_kind_has_a_sample() -> None:
    assert set(SAMPLES) == set(K) - NOT_NAMED


@pytest.mark.parametrize("language", ["en", "zh"])
@pytest.mark.parametrize("poison", [*MENTIONS, *ODD])
@pytest.mark.parametrize("kind", SAMPLES)
def test_a_hostile_name_is_shown_and_not_obeyed(
    kind: notices.NoticeKind, poison: str, language: str
) -> None:
    people = People(lambda person: Person(id=person, name=poison))
    voice = Voice(words=words_for(language), people=people, oncall_group="S0ONCALL")
    for audience in (Audience.CHANNEL, Audience.ONCALL, Audience.PERSON, Audience.THREAD):
        args = poisoned(SAMPLES[kind], poison[: LONGEST.get(kind)])
        message = alerts.notice(voice, args, audience)
        check_text(message.text)
        check_blocks(message.blocks)
        if poison in MENTIONS[:3]:
            assert poison not in message.text
        assert len(message.text) <= 12_000
