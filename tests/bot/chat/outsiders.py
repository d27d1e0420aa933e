"""Messages about pods outside the bot that are in the way of requests."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from bot import notices, views
from bot.chat.cards import alerts, requests
from bot.chat.message import Message
from bot.chat.voice import Voice
from storage.records import Audience
from tests.bot.chat import saying

TAKEN = notices.TakenArgs(
    request="R-1042",
    name="llama-sft",
    owner=saying.ANN,
    team="nlp",
    node="gpu-0007",
    by=(("lab/notebook-0", 6), ("lab/notebook-1", 1)),
    to=("gpu-0012",),
)
_TAKEN = (
    TAKEN,
    TAKEN.model_copy(update={"to": (), "waits": True}),
    TAKEN.model_copy(update={"to": ()}),
)
FOREIGN = notices.ForeignArgs(
    bot="0e12f05df094",
    mine="1f9ef76005c5",
    objects=(("Job", "nlp", "llama-sft"), ("Pod", "vision", "probe-0")),
    count=2,
    gpus=33,
)
_ONE = FOREIGN.model_copy(update={"objects": FOREIGN.objects[:1], "count": 1, "gpus": 32})


LEFT = saying.ENDED.model_copy(update={"by": views.OUTSIDE})
_CARD = dataclasses.replace(saying.CARDS["gone"], ended_by=views.OUTSIDE)


def messages(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    """Each by its name, as the golden files have them."""
    yield (
        "taken",
        lambda: [
            *(alerts.notice(voice, each, Audience.THREAD) for each in _TAKEN),
            alerts.notice(voice, TAKEN, Audience.ONCALL),
        ],
    )
    yield (
        "foreign",
        lambda: [alerts.notice(voice, each, Audience.ONCALL) for each in (FOREIGN, _ONE)],
    )
    yield (
        "ended-left",
        lambda: [
            alerts.notice(voice, LEFT, Audience.THREAD),
            alerts.notice(voice, LEFT, Audience.ONCALL),
            requests.card(voice, _CARD),
        ],
    )
