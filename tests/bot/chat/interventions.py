"""Orders of admins and what is said of them, one of each, for tests of rendering."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Iterable
from dataclasses import replace

from bot import notices
from bot.asks import End
from bot.byhand import DeclineCode, Declined, HeldBack, Hit, Intervened, Preview, Wish
from bot.chat.cards import alerts
from bot.chat.cards import interventions as cards
from bot.chat.cards.lists import status
from bot.chat.message import Message
from bot.chat.voice import Voice
from bot.views import StatusView
from scheduler.model import PreemptionRule, Priority
from storage.audit import Intervention, InterventionKind
from storage.records import Audience
from tests.bot.chat.saying import ANN, BOB, CLUSTER, NOW, preempted

K = InterventionKind
_HIT = notices.HitArgs(request="R-1001", name="llama-sft", owner=ANN, team="nlp", gpus=32)
_OTHER = notices.HitArgs(request="R-1050", name="hero", owner=BOB, team="vision", gpus=32)
_HITS = tuple(
    Hit(
        request=f"R-{1001 + number}",
        name="llama-sft" if number == 0 else "",
        owner=ANN,
        team="nlp",
        gpus=8,
        ran=3600.0 * (number + 1),
    )
    for number in range(12)
)
_ARGS: dict[DeclineCode, tuple[dict[str, str | int], tuple[str, ...]]] = {
    DeclineCode.ADMINS_ONLY: ({}, (BOB,)),
    DeclineCode.UNKNOWN_PLACE: ({"where": "shard-multi"}, ("shared-multi",)),
    DeclineCode.UNKNOWN_NODE: ({"node": "h100-00042"}, ("h100-0042",)),
    DeclineCode.NO_SUCH_REQUEST: ({"request": "R-9"}, ()),
    DeclineCode.NOT_PAUSED: ({"where": "team-nlp"}, ("shared-multi",)),
    DeclineCode.NOT_DRAINED: ({"node": "h100-0001"}, ()),
    DeclineCode.NOT_WAITING: ({"request": "R-1001"}, ()),
    DeclineCode.NOT_RUNNING: ({"request": "R-1001", "state": "waiting"}, ()),
    DeclineCode.NOT_HIGHER: ({"request": "R-1001", "priority": "high"}, ()),
    DeclineCode.WOULD_NOT_START: ({"request": "R-1050", "target": "R-1001"}, ()),
    DeclineCode.NEEDS_QUEUE: ({"where": "team"}, ("team-nlp", "team-vision")),
    DeclineCode.NEEDS_FLAVOR: ({"where": "shared"}, ("reserved-h100", "spot-h100")),
    DeclineCode.NO_SUCH_FLAVOR: (
        {"where": "team-nlp", "flavor": "spot"},
        ("reserved-h100",),
    ),
    DeclineCode.SAME_QUOTA: ({"where": "team-nlp", "gpus": 16}, ()),
}


def declined() -> Iterable[Declined]:
    """One of each; that only admins may, for every order."""
    for kind in K:
        yield Declined(code=DeclineCode.ADMINS_ONLY, kind=kind, near=(BOB,))
    for code in DeclineCode:
        if code is not DeclineCode.ADMINS_ONLY:
            args, near = _ARGS.get(code, ({}, ()))
            yield Declined(code=code, kind=K.PAUSE, args=args, near=near)
    for code in (DeclineCode.UNKNOWN_PLACE, DeclineCode.UNKNOWN_NODE):
        yield Declined(code=code, kind=K.PAUSE, args=_ARGS[code][0])


def _wish(kind: InterventionKind, **more: object) -> Wish:
    wanted = {"target": "R-1001", "reason": "paper deadline", **more}
    return Wish(kind=kind, **wanted)  # type: ignore[arg-type]  # names are checked when built


def previews() -> Iterable[Preview]:
    """What orders would do."""
    yield Preview(wish=_wish(K.PREEMPT), where="R-1001", hits=_HITS[:1])
    winner = _wish(K.PREEMPT, beneficiary="R-1050")
    yield Preview(wish=winner, where="R-1001", hits=_HITS[:1], starts=8)
    yield Preview(wish=winner, where="R-1001", hits=_HITS[1:2], starts=8, anew=True)
    boost = _wish(K.BOOST, priority=Priority.CRITICAL, end=End(after=21600.0))
    yield Preview(wish=boost, where="R-1001", hits=_HITS[:2], until=NOW + 21600.0)
    drain = _wish(K.DRAIN, target="h100-0042", end=End(after=7200.0))
    yield Preview(wish=drain, where="h100-0042", hits=_HITS[:2], until=NOW + 7200.0)
    yield Preview(wish=drain, where="h100-0042", hits=_HITS[:1], until=NOW + 7200.0)
    lower = _wish(K.QUOTA, target="nlp", gpus=8, flavor="reserved-h100")
    yield Preview(wish=lower, where="team-nlp", over=8, before=16)
    higher = _wish(K.QUOTA, target="nlp", gpus=96, end=End(after=86400.0))
    yield Preview(
        wish=higher,
        where="team-nlp",
        hits=_HITS,
        starts=80,
        before=16,
        until=NOW + 86400.0,
        at_once=20,
        an_hour=200,
    )


def pauses() -> Iterable[Preview]:
    """Whom a pause would keep waiting."""
    first = HeldBack(
        request="R-1050", name="llama <sft>", owner=ANN, team="nlp", gpus=32, start=NOW + 600.0
    )
    second = HeldBack(request="R-1051", name="", owner=BOB, team="vision", gpus=8)
    wish = _wish(K.PAUSE, target="team", end=End(after=7200.0))
    yield Preview(
        wish=wish,
        where="team",
        queues=("team-nlp", "team-vision"),
        waiting=9,
        waiting_gpus=120,
        held=(first, second),
        until=NOW + 7200.0,
        token="0123456789abcdef",  # noqa: S106 - names a preview, opens nothing
    )
    yield Preview(
        wish=_wish(K.PAUSE, target="shared-multi"),
        where="shared-multi",
        queues=("shared-multi",),
        waiting=1,
        waiting_gpus=32,
        held=(first,),
    )


def answers() -> Iterable[Intervened]:
    """To who ordered it: done, and stored."""
    done = Intervention(
        id=7,
        kind=K.PAUSE,
        target="shared-multi",
        actor=BOB,
        reason="switch upgrade",
        at=dt.datetime.fromtimestamp(NOW, dt.UTC),
    )
    yield Intervened(done=done)
    yield Intervened(done=done, pending=True)


def posts() -> Iterable[notices.InterventionArgs]:
    """What everybody reads of each kind."""

    def post(what: InterventionKind, target: str, **more: object) -> notices.InterventionArgs:
        given = {"reason": "switch upgrade <!channel>", "until": NOW + 7200.0, **more}
        return notices.InterventionArgs(
            intervention=7,
            what=what,
            target=target,
            actor=BOB,
            **given,  # type: ignore[arg-type]  # checked when it is built
        )

    yield post(K.PAUSE, "shared-multi", queues=("shared-multi",), waiting=3, gpus=96)
    yield post(K.PAUSE, "team", queues=("team-nlp", "team-vision"), until=None)
    yield post(K.RESUME, "team", queues=("team-nlp", "team-vision"), until=None)
    yield post(K.BOOST, "R-1001", request=_HIT, priority=Priority.CRITICAL.value)
    yield post(K.PREEMPT, "R-1001", request=_HIT, hit=(_HIT,), until=None)
    yield post(K.PREEMPT, "R-1001", request=_HIT, hit=(_HIT,), winner=_OTHER, until=None)
    yield post(K.DRAIN, "h100-0042")
    yield post(K.DRAIN, "h100-0042", hit=(_HIT, _OTHER), moved=False, until=None)
    yield post(K.DRAIN, "h100-0042", hit=(_HIT,) * 12, more=3, moved=True)
    yield post(K.UNDRAIN, "h100-0042", until=None)
    flavor = "reserved-h100"
    yield post(K.QUOTA, "team-nlp", flavor=flavor, before=16, gpus=8, over=8, team="nlp")
    yield post(K.QUOTA, "team-nlp", flavor=flavor, before=16, gpus=32, team="nlp", until=None)


def overs() -> Iterable[notices.InterventionOverArgs]:
    """What ends by itself."""
    for what, target in (
        (K.PAUSE, "shared-multi"),
        (K.BOOST, "R-1001"),
        (K.DRAIN, "h100-0042"),
        (K.QUOTA, "team-nlp"),
    ):
        yield notices.InterventionOverArgs(
            intervention=7, what=what, target=target, actor=BOB, began=NOW
        )


FAILED = notices.InterventionFailedArgs(intervention=7, what=K.PREEMPT, target="R-1001")


def displaced() -> Iterable[notices.DisplacedArgs]:
    """To the owner: for somebody, for nobody, for a drained node."""
    parties = preempted("R-1001", ANN, "nlp", PreemptionRule.INTERVENTION)
    for what, node, preemptor in (
        (K.PREEMPT, None, parties.preemptor),
        (K.PREEMPT, None, None),
        (K.DRAIN, "h100-0042", None),
    ):
        yield notices.DisplacedArgs(
            what=what,
            node=node,
            actor=BOB,
            reason="paper deadline",
            target=parties.target,
            preemptor=preemptor,
            rule=PreemptionRule.INTERVENTION,
            ran=5400.0,
            grace=300.0,
            at=NOW,
        )


STUCK = notices.StuckArgs(
    request="R-1001",
    name="night-sweep",
    owner=ANN,
    team="nlp",
    gpus=16,
    nodes=(("h100-0001", 8), ("h100-0002", 8)),
    told=NOW,
    grace=300.0,
)


NOT_TAKEN = notices.NotTakenArgs(
    what="Job",
    namespace="nlp",
    name="llama-sft",
    refusal={
        "refused": "bad-mark",
        "args": {"label": "gpubot.dev/lease", "value": "soon"},
        "near": ["90m", "8h", "2d"],
        "limit": None,
        "instead": None,
    },
)
HELD = NOT_TAKEN.model_copy(
    update={
        "what": "PodGroup",
        "request": "R-1042",
        "refusal": {
            "refused": "group-short",
            "args": {"there": 3, "size": 4},
            "near": [],
            "limit": None,
            "instead": None,
        },
    }
)
LINGERS = HELD.model_copy(
    update={
        "what": "Job",
        "refusal": {
            "refused": "lingers",
            "args": {"pod": "train-1-x7k2p", "node": "h100-0042"},
            "near": [],
            "limit": None,
            "instead": None,
        },
    }
)


def messages(voice: Voice) -> Iterable[tuple[str, Callable[[], Iterable[Message]]]]:
    """Every message of this kind, by name."""

    def told(args: notices.NoticeArgs, audience: Audience) -> Message:
        return alerts.notice(voice, args, audience)

    yield "order-declined", lambda: [cards.declined(voice, each) for each in declined()]
    yield "order-preview", lambda: [cards.preview(voice, each) for each in previews()]
    yield "order-preview-pause", lambda: [cards.preview(voice, each) for each in pauses()]
    yield "order-taken", lambda: [cards.intervened(voice, each) for each in answers()]
    yield "intervention-channel", lambda: [told(each, Audience.CHANNEL) for each in posts()]
    yield "intervention-oncall", lambda: [told(next(iter(posts())), Audience.ONCALL)]
    yield "intervention-over", lambda: [told(each, Audience.CHANNEL) for each in overs()]
    yield "intervention-failed", lambda: [told(FAILED, Audience.PERSON)]
    quota = replace(
        next(iter(answers())).done,
        kind=K.QUOTA,
        target="team-nlp",
        after={"gpus": 640},
        until=None,
        reason="paper deadline <!here>",
    )
    pause = next(iter(answers())).done
    ends = dt.datetime.fromtimestamp(NOW + 7200.0, dt.UTC)
    lasting = (replace(pause, until=ends), quota)
    view = StatusView(person=ANN, mine=(), cluster=CLUSTER, by_hand=lasting)
    yield "status-by-hand", lambda: [status(voice, view)]
    yield "stuck", lambda: [told(STUCK, Audience.ONCALL)]
    yield "not-taken", lambda: [told(NOT_TAKEN, Audience.PERSON)]
    yield "held", lambda: [told(HELD, Audience.THREAD)]
    yield "held-lingers", lambda: [told(LINGERS, Audience.THREAD)]
    yield "displaced-owner", lambda: [told(each, Audience.PERSON) for each in displaced()]
