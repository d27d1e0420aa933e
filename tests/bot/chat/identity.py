"""Who is in which team, one message of each kind, for tests of rendering."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from bot import notices
from bot.chat.cards import alerts
from bot.chat.cards import identity as cards
from bot.chat.cards.lists import status
from bot.chat.cards.requests import submitted
from bot.chat.message import Message
from bot.chat.voice import Voice
from bot.duty import DutyDoubt
from bot.identity import LinkAnswered, LinkAsked, LinkRefusal, LinkRefused, LinkView, OnCallView
from bot.views import StatusView, Submitted
from scheduler.budgets import Budget
from scheduler.model import Priority
from storage.records import Audience, Role
from tests.bot.chat.saying import ANN, BOB, CAT, CLUSTER, NOW, WAITING

_WEEK = 7 * 86400.0
_VIEWS = (
    LinkView(person=ANN, name="Ann Meyer", teams=(), role=Role.RESEARCHER, filed=False),
    LinkView(
        person=ANN,
        name="Ann Meyer",
        teams=("nlp", "vision"),
        role=Role.LEAD,
        filed=False,
        asked=("rl",),
    ),
    LinkView(person=BOB, name="Bob Okoye", teams=("nlp",), role=Role.ADMIN, filed=True),
)
_NEAR = {LinkRefusal.UNKNOWN_TEAM: ("nlp", "vision"), LinkRefusal.FILED: (BOB, CAT)}


def messages(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    """Every message of this kind, by name."""
    yield "link-who", lambda: [cards.who(voice, view) for view in _VIEWS]
    yield (
        "link-asked",
        lambda: [
            cards.asked(voice, LinkAsked(team="nlp", asked=asked, until=NOW + _WEEK))
            for asked in ((BOB,), (BOB, CAT))
        ],
    )
    yield (
        "link-refused",
        lambda: [
            cards.refused(
                voice, LinkRefused(code=code, team="nlp", person=ANN, near=_NEAR.get(code, ()))
            )
            for code in LinkRefusal
        ],
    )
    yield (
        "link-answered",
        lambda: [
            cards.answered(voice, LinkAnswered(person=ANN, team="nlp", agreed=agreed))
            for agreed in (True, False)
        ],
    )
    group = OnCallView(called="S0ONCALL", people=(BOB, CAT))
    views = (
        group,
        replace(group, people=(), doubt=DutyDoubt.NO_ANSWER),
        replace(group, called=None, people=()),
        replace(group, substitute=ANN, until=NOW + 3600.0, changed=True),
        replace(group, changed=True),
    )
    yield "oncall", lambda: [cards.on_call(voice, view) for view in views]
    stands = [
        notices.SubstituteArgs(by=BOB, person=ANN, until=NOW + 3600.0),
        notices.SubstituteArgs(by=BOB, person=None, until=None),
    ]
    yield "substitute", lambda: [alerts.notice(voice, each, Audience.ONCALL) for each in stands]
    lowered = replace(WAITING, priority="high", asked_priority="critical")
    yield "submitted-lowered", lambda: [submitted(voice, Submitted(card=lowered, decided=True))]
    budgets = (
        Budget(priority=Priority.CRITICAL, has=64, most=64),
        Budget(priority=Priority.HIGH, has=128, most=1024),
    )
    about = StatusView(person=ANN, mine=(), cluster=CLUSTER, about="nlp", budgets=budgets)
    yield "status-budgets", lambda: [status(voice, about)]
    asked = notices.LinkAskedArgs(person=ANN, team="nlp", until=NOW + _WEEK)
    yield "link-question", lambda: [alerts.notice(voice, asked, Audience.PERSON)]
    told = [
        notices.LinkAnsweredArgs(person=ANN, team="nlp", by=BOB, agreed=agreed)
        for agreed in (True, False)
    ]
    yield "link-told", lambda: [alerts.notice(voice, each, Audience.PERSON) for each in told]
