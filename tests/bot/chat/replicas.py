"""Messages about the replicas of a Deployment or StatefulSet."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable

from bot import notices, views
from bot.chat.cards import alerts, families, lists, requests
from bot.chat.message import Message
from bot.chat.voice import Voice
from scheduler.model import QueueName
from storage.records import Audience
from storage.states import RequestState
from tests.bot.chat.saying import ANN, CLUSTER, EXPLANATION, HOUR, NOW, RUNNING, WAITING

_EACH = {"pods": 1, "gpus": 8, "may_end": False, "pool": "team", "queue": "team-nlp"}


def _replica(card: views.CardView, number: int, **more: object) -> views.CardView:
    values = {"request": f"R-{number}", "name": f"chat-7d4b9-{number}", **_EACH, **more}
    return dataclasses.replace(card, **values)  # type: ignore[arg-type]


_ONE = _replica(RUNNING, 1042, nodes=(("gpu-0007", 8),))
_TWO = _replica(RUNNING, 1043, nodes=(("gpu-0012", 8),), started=NOW - HOUR / 2)
_THIRD = _replica(RUNNING, 1044, state=RequestState.ADMITTED, started=None, preemptible=True)
_LAST = _replica(
    WAITING,
    1051,
    preemptible=True,
    explanation=dataclasses.replace(EXPLANATION, queue=QueueName("spare")),
)
MIXED = views.FamilyView(
    head="R-1042",
    kind="Deployment",
    namespace="nlp",
    name="chat",
    latest=_LAST,
    running=2,
    starting=1,
    waiting=2,
    guaranteed=2,
    gpus=24,
    runs_since=NOW - HOUR,
    waits_since=NOW - 2 * HOUR,
    first=_LAST,
    replicas=(_ONE, _TWO, _THIRD, _LAST),
    more=1,
)
WHOLE = dataclasses.replace(
    MIXED, latest=_TWO, starting=0, waiting=0, waits_since=None, first=None, more=0
)
WHOLE = dataclasses.replace(WHOLE, replicas=(_ONE, _TWO))
ALL_WAIT = dataclasses.replace(
    MIXED, running=0, starting=0, waiting=1, guaranteed=0, runs_since=None, replicas=(_LAST,)
)
NONE = views.FamilyView(
    head="R-1042", kind="StatefulSet", namespace="nlp", name="index", latest=_ONE
)
STOPPING = dataclasses.replace(WHOLE, running=1, stopping=1, kind="StatefulSet")
HOSTILE = dataclasses.replace(WHOLE, name="<!channel>", namespace="`a` *b*")
FAMILIES = (MIXED, WHOLE, ALL_WAIT, STOPPING, NONE, HOSTILE)


def opened(family: views.FamilyView) -> views.CardView:
    """The card that stands for a family: that of its first replica, whatever became of it."""
    ended = dataclasses.replace(_ONE, state=RequestState.RELEASED, ended=NOW, nodes=())
    return dataclasses.replace(ended, family=family)


CHANGED = notices.ReplicasArgs(
    request="R-1042",
    what="Deployment",
    namespace="nlp",
    name="chat",
    owner=ANN,
    team="nlp",
    pool="team",
    started=(
        notices.ReplicaArgs(request="R-1042", name="chat-7d4b9-a", gpus=8, nodes=("gpu-0007",)),
        notices.ReplicaArgs(request="R-1043", name="chat-7d4b9-b", gpus=8, nodes=("gpu-0012",)),
    ),
    ended=(
        notices.ReplicaArgs(request="R-1030", name="chat-5c1f2-x", gpus=8, ran=3 * HOUR),
        notices.ReplicaArgs(request="R-1031", name="chat-5c1f2-y", gpus=8, ran=60.0, failed=True),
        notices.ReplicaArgs(request="R-1032", name="chat-5c1f2-z", gpus=8),
    ),
)
MANY = CHANGED.model_copy(update={"started": CHANGED.started * 8, "ended": ()})


def messages(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    """Every message of this kind, by name."""
    member = dataclasses.replace(_TWO, family=MIXED)
    yield "replicas-card", lambda: [requests.card(voice, opened(one)) for one in FAMILIES]
    yield "replicas-one", lambda: [requests.card(voice, member)]
    yield (
        "replicas-why",
        lambda: [
            requests.why(voice, views.WhyView(card=card, story=(), owners={"R-1030": ANN}))
            for card in (opened(MIXED), opened(NONE), member)
        ],
    )
    mine = views.MineView(person=ANN, open=tuple(map(opened, FAMILIES[:2])), ended=(), at=NOW)
    yield "replicas-mine", lambda: [lists.mine(voice, mine)]
    status = views.StatusView(
        person=ANN, mine=mine.open, cluster=CLUSTER, about="nlp", rows=(opened(MIXED), _THIRD)
    )
    yield "replicas-status", lambda: [lists.status(voice, status)]
    yield (
        "replicas-thread",
        lambda: [families.told(voice, one, Audience.THREAD) for one in (CHANGED, MANY)],
    )
    yield "replicas-channel", lambda: [alerts.notice(voice, CHANGED, Audience.CHANNEL)]
