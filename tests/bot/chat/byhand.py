"""Cards of requests that wait for what somebody set by hand, or count with a boost."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Mapping

from bot.answers import WhenView
from bot.chat.cards import lists, prospects, requests
from bot.chat.message import Message
from bot.chat.voice import Voice
from bot.prospects import Prospect
from bot.views import Boost, CardView
from scheduler.byhand import Ending, Hand, Held
from scheduler.model import Figure, Verdict, WaitReason
from tests.bot.chat import saying
from tests.bot.chat.foreseeing import a_forecast

END = saying.NOW + 2 * saying.HOUR
SAID: Mapping[str, Figure] = {"by": "Dora <b>", "because": "new switches & more", "until": END}
_QUOTA: Mapping[str, Figure] = {
    "where": "team-nlp",
    "flavor": "h100",
    "resource": "nvidia.com/gpu",
    "asked": 16,
    "available": 8,
    "limit": 512,
    "used": 504,
    "hand": "quota",
    "set_queue": "team-nlp",
    "set_from": 640,
    "set_to": 512,
}
_DRAIN: Mapping[str, Figure] = {
    "flavor": "h100",
    "pods": 2,
    "per_pod": 8,
    "free": 8,
    "largest": 8,
    "nodes": 40,
    "room": 1,
    "outside": 0,
    "hand": "drain",
    "drained": "h100-0042",
    "nodes_drained": 1,
}
WAITS: tuple[tuple[WaitReason, Mapping[str, Figure]], ...] = (
    (WaitReason.QUOTA, {**_QUOTA, **SAID}),
    (WaitReason.QUOTA, {**_QUOTA, **SAID, "lowered": 1}),
    (WaitReason.QUOTA, _QUOTA),
    (WaitReason.TOPOLOGY, {**_DRAIN, **SAID}),
    (WaitReason.TOPOLOGY, {**_DRAIN, "nodes_drained": 3, **SAID}),
    (WaitReason.TOPOLOGY, _DRAIN),
    (WaitReason.PAUSED, {"queue": "team-nlp", **SAID}),
    (WaitReason.PAUSED, {"queue": "team-nlp"}),
)
HELD = (
    Held(Hand.PAUSE, "shared-multi"),
    Held(Hand.QUOTA, "team-nlp", "h100", "nvidia.com/gpu"),
    Held(Hand.DRAIN, "h100-0042"),
    Held(Hand.BOOST, "R-1001"),
)
BOOSTS = (
    Boost(priority="critical", by="Dora <b>", until=END),
    Boost(priority="high", by=""),
)


def _waits(reason: WaitReason, figures: Mapping[str, Figure]) -> CardView:
    verdict = Verdict(reason=reason, figures=figures)
    why = dataclasses.replace(saying.EXPLANATION, verdict=verdict, reservation=None)
    return dataclasses.replace(saying.WAITING, explanation=why)


def _whens() -> Iterable[WhenView]:
    for held in HELD:
        told = dataclasses.replace(a_forecast(), hinge=Ending(END, held))
        card = dataclasses.replace(saying.WAITING, prospect=Prospect(forecast=told, at=saying.NOW))
        yield WhenView(card=card, first=None)


def messages(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    """What is said of it, by name."""
    yield "waits-by-hand", lambda: [requests.card(voice, _waits(*one)) for one in WAITS]
    yield "when-by-hand", lambda: [prospects.when(voice, one) for one in _whens()]
    boosted = [dataclasses.replace(saying.WAITING, boost=boost) for boost in BOOSTS]
    yield "card-boosted", lambda: [requests.card(voice, one) for one in boosted]
    row = dataclasses.replace(saying.queue_row(1), boost=BOOSTS[0])
    section = dataclasses.replace(saying.queue_view(1).sections[0], rows=(row,))
    queue = dataclasses.replace(saying.queue_view(1), sections=(section,))
    yield "queue-boosted", lambda: [lists.queue(voice, queue)]
