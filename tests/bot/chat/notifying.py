"""One of each message about notices: bursts, calls for on-call, preferences, dead letters."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Callable, Iterable

from bot import notices, views
from bot.chat.cards import alerts, bursts, lists, oncall
from bot.chat.message import Message
from bot.chat.voice import Voice
from bot.duty import DutyDoubt
from bot.preferences import Preferences, changed
from scheduler.model import LimitKind
from storage.records import Audience, Call
from tests.bot.chat import saying

BURSTS: tuple[tuple[notices.NoticeArgs, Audience], ...] = (
    (saying.ADMITTED, Audience.CHANNEL),
    (saying.preempted("R-1001", saying.BOB, "vision"), Audience.PERSON),
    (saying.GROUP, Audience.ONCALL),
    (saying.STARVING, Audience.CHANNEL),
    (saying.LEASE_ENDING, Audience.PERSON),
    (saying.ENDED, Audience.PERSON),
    (saying.NODE_FAILED, Audience.ONCALL),
)
"""Every kind that is said together with others of its kind, and to whom."""

_CALL = notices.CallArgs(
    notice=notices.NoticeKind.STARVING, request="R-1042", channel="C0ONCALL", ts="1.000001"
)
_ESCALATIONS = [
    saying.ESCALATED,
    notices.EscalatedArgs(calls=(_CALL,) * 3, since=saying.NOW, level=2, called="S0FALLBACK"),
    notices.EscalatedArgs(calls=(_CALL,), since=saying.NOW, level=1),
    notices.EscalatedArgs(calls=(_CALL,), since=saying.NOW, level=3, over=True),
]
_TAKEN: list[views.Acknowledged | views.Refused] = [
    views.Acknowledged(by=saying.ANN, at=saying.NOW),
    views.Acknowledged(by=saying.ANN, at=saying.NOW, count=3),
    views.Acknowledged(by=saying.BOB, at=saying.NOW, before=True),
    views.Refused(code=views.RefusalCode.NOT_ON_CALL),
]
_PREFERENCES = [
    views.PreferencesView(person=saying.ANN, fields=Preferences().shown()),
    views.PreferencesView(
        person=saying.ANN,
        fields=changed(Preferences(), "quiet", "22-7").shown(),
        changed=("quiet",),
    ),
]
_LETTER = views.Letter(
    kind="preempted", request="R-9", where=saying.BOB, error="user_disabled", at=saying.NOW
)
LETTERS = (_LETTER, dataclasses.replace(_LETTER, request=None))

_Row = tuple[views.RefusalCode, dict[str, int | float | str], tuple[str, ...], LimitKind | None]
REFUSED: list[_Row] = [
    (
        views.RefusalCode.UNKNOWN_PREFERENCE,
        {"field": "quite", "fields": "notices, where, digest, quiet, zone, language"},
        ("quiet",),
        None,
    ),
    (
        views.RefusalCode.NOT_A_PREFERENCE,
        {"field": "quiet", "value": "at night"},
        ("22:00-07:00", "off"),
        None,
    ),
    (views.RefusalCode.NOT_ON_CALL, {}, (), None),
]


def messages(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    """Each by its name, as the golden files have them."""
    admitted = [saying.ADMITTED] * 3
    yield "admitted-group", lambda: [bursts.burst(voice, admitted, Audience.CHANNEL)[0]]
    yield "bursts", lambda: [bursts.burst(voice, [a, a], who)[0] for a, who in BURSTS[1:]]
    yield (
        "preempted-owner-several",
        lambda: [alerts.notice(voice, saying.GROUP, Audience.PERSON)],
    )
    yield "calls", lambda: _calls(voice)
    yield "escalated", lambda: [alerts.notice(voice, a, Audience.ONCALL) for a in _ESCALATIONS]
    yield "acknowledged", lambda: [oncall.taken(voice, each) for each in _TAKEN]
    yield "preferences", lambda: [lists.preferences(voice, each) for each in _PREFERENCES]


def _calls(voice: Voice) -> list[Message]:
    """A notice for on-call with its button, taken, and when on-call could not be looked up."""
    told = alerts.notice(voice, saying.STARVING, Audience.ONCALL)
    raised = dt.datetime.fromtimestamp(saying.NOW, dt.UTC)
    call = Call(
        key="k", kind="starving", request="R-1042", channel="C0ONCALL", ts="1.1", raised=raised
    )
    taken = dataclasses.replace(call, acknowledged_by=saying.CAT, acknowledged_at=raised)
    starving = notices.NoticeKind.STARVING
    return [
        oncall.called(voice, told, starving, "k", call, None),
        oncall.called(voice, told, starving, "k", taken, None),
        *(oncall.called(voice, told, starving, "k", None, doubt) for doubt in DutyDoubt),
    ]
