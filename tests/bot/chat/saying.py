"""Values to render: one of each kind, with hostile twins."""

from __future__ import annotations

import dataclasses

from bot import notices, views
from bot.answers import Changed, ChangeKind
from bot.chat.people import People
from bot.chat.voice import Voice
from bot.chat.words import words_for
from bot.fields import FieldChange, FieldName
from bot.overview import ClusterView, GangView, LevelView, PoolView
from scheduler.doubts import Doubt, NodeDoubt
from scheduler.layout import AfterLease
from scheduler.model import (
    Basis,
    Explanation,
    FlavorName,
    Holder,
    NodeName,
    PreemptionRule,
    QueueName,
    Reservation,
    TeamName,
    Verdict,
    WaitReason,
    WorkloadId,
)
from storage.records import Person, Role
from storage.states import RequestState

NOW, HOUR = 1_767_614_400.0, 3600.0  # 2026-01-05 12:00 UTC
ANN, BOB, CAT = "U0ANN", "U0BOB", "U0CAT"
NAMES = {ANN: "Ann Meyer", BOB: "Bob Okoye", CAT: "Cat Lindqvist"}

HOSTILE = (
    "<!channel>",
    "<!here> & <@U0BOB>",
    "```x``` `y` *z*",
    "\u202egnp.exe\u202c",
    "a\u200bb\u2060c",
    "line\nbreak\r\ttab\x00\x1b[31m",
    "x" * 10_000,
    "{name} {0} %s",
    "&lt;!channel&gt;",
)


def person(person_id: str) -> Person | None:
    name = NAMES.get(person_id)
    return Person(id=person_id, name=name, teams=("nlp",), role=Role.RESEARCHER) if name else None


_SAID = words_for("en-US")
VOICE = Voice(words=_SAID, people=People(person), oncall_group="S0ONCALL", channel="C0GPU")

QUOTA = Verdict(
    reason=WaitReason.QUOTA,
    figures={"asked": 16, "available": 4, "where": "shared-multi", "limit": 4096},
)
EXPLANATION = Explanation(
    workload=WorkloadId("R-1042"),
    queue=QueueName("shared-multi"),
    verdict=QUOTA,
    position=3,
    ahead=(WorkloadId("R-1030"), WorkloadId("R-1037")),
    since=NOW - 2 * HOUR,
    holders=(
        Holder(
            workload=WorkloadId("R-1003"),
            team=TeamName("vision"),
            queue=QueueName("shared-multi"),
            gpus=512,
            ends=NOW + 5 * HOUR,
        ),
        Holder(
            workload=WorkloadId("R-1011"),
            team=TeamName("rl"),
            queue=QueueName("shared-multi"),
            gpus=64,
            ends=None,
        ),
    ),
)
RESERVATION = Reservation(
    workload=WorkloadId("R-1042"),
    queue=QueueName("shared-multi"),
    at=NOW + 5 * HOUR,
    nodes=(NodeName("gpu-0007"), NodeName("gpu-0012")),
    domain="gpubot.dev/rack=h100-rack-003",
    gpus=16,
    since=NOW - HOUR,
    basis=Basis.UNKNOWN,
)
NODES = (("gpu-0007", 8), ("gpu-0012", 8))

WAITING = views.CardView(
    request="R-1042",
    name="llama-sft",
    owner=ANN,
    team="nlp",
    pool="shared-multi",
    queue="shared-multi",
    priority="high",
    preemptible=False,
    spend="low",
    model="h100",
    pods=2,
    gpus_per_pod=8,
    gpus=16,
    state=RequestState.WAITING,
    at=NOW,
    created=NOW - 2 * HOUR,
    lease=8 * HOUR,
    explanation=EXPLANATION,
    text="2 nodes h100 8h",
)
RUNNING = dataclasses.replace(
    WAITING,
    state=RequestState.RUNNING,
    explanation=None,
    started=NOW - HOUR,
    lease_ends=NOW + 7 * HOUR,
    nodes=NODES,
    flavor="h100-reserved",
    attempt=1,
    longer=8 * HOUR,
)
_ENDED = dataclasses.replace(RUNNING, ended=NOW, nodes=(), lease_ends=None)
CARDS = {
    "waiting": WAITING,
    "waiting-new": dataclasses.replace(WAITING, explanation=None),
    "waiting-at-least": dataclasses.replace(WAITING, asked=16, least=8),
    "smaller": dataclasses.replace(
        RUNNING, pods=1, gpus=8, asked=16, least=8, nodes=NODES[:1], provision="spot"
    ),
    "in-a-rack": dataclasses.replace(
        RUNNING,
        topology="same rack",
        domain=(("block", "h100-block-001"), ("rack", "h100-rack-003")),
        nodes=(("h100-0051", 8), ("h100-0052", 8)),
    ),
    "given-back": dataclasses.replace(RUNNING, pods=1, gpus=8, given_back=8, nodes=NODES[:1]),
    "starting": dataclasses.replace(RUNNING, state=RequestState.ADMITTED),
    "running": RUNNING,
    "overdue": dataclasses.replace(RUNNING, lease_ends=NOW - HOUR),
    "preempting": dataclasses.replace(RUNNING, state=RequestState.PREEMPTING),
    "evicting": dataclasses.replace(RUNNING, state=RequestState.EVICTING),
    "stopping": dataclasses.replace(RUNNING, state=RequestState.STOPPING),
    "finished": dataclasses.replace(_ENDED, state=RequestState.FINISHED, attempt=2),
    "failed": dataclasses.replace(_ENDED, state=RequestState.FAILED),
    "cancelled": dataclasses.replace(
        _ENDED, state=RequestState.CANCELLED, started=None, attempt=0, ended_by=BOB
    ),
    "gone": dataclasses.replace(_ENDED, state=RequestState.RELEASED, ended_by=views.CLUSTER),
    "released": dataclasses.replace(_ENDED, state=RequestState.RELEASED, ended_by=ANN),
    "expired": dataclasses.replace(_ENDED, state=RequestState.EXPIRED),
    "preempted-by-hand": dataclasses.replace(RUNNING, state=RequestState.PREEMPTING, to_back=True),
}

CLUSTER = ClusterView(
    gpus=10_000,
    used=9_120,
    free=880,
    stranded=24,
    nodes=1_250,
    whole_free_nodes=107,
    unready_nodes=2,
    running=4_210,
    pending=1_377,
    gangs=(
        GangView(model="h100", provision="reserved", gpus=600),
        GangView(model="a100", provision="spot", gpus=256),
    ),
    pools=(
        PoolView(
            pool="team",
            nominal=4000,
            used=3800,
            borrowed=0,
            running=2100,
            pending=40,
            pending_gpus=160,
        ),
        PoolView(
            pool="opportunistic",
            nominal=0,
            used=1320,
            borrowed=1320,
            running=900,
            pending=1300,
            pending_gpus=2600,
        ),
    ),
    at=NOW,
    levels=(
        LevelView(kind="reserved-h100", level="block", domains=5, whole_free=0, largest=480),
        LevelView(kind="reserved-h100", level="rack", domains=50, whole_free=3, largest=200),
    ),
)


def queue_row(position: int, *, mine: bool = False) -> views.QueueRow:
    return views.QueueRow(
        position=position,
        request=f"R-{1000 + position}",
        name="sweep",
        owner=ANN if mine else BOB,
        team="nlp",
        gpus=16,
        shape="2×8",
        priority="medium",
        waited=position * 600.0,
        reason="quota",
        figures={},
        mine=mine,
    )


def queue_view(total: int, *, page: int = 1, pages: int = 1) -> views.QueueView:
    section = views.QueueSection(
        queue="shared-multi",
        pool="shared-multi",
        nominal=4096,
        used=4092,
        total=total,
        rows=tuple(queue_row(n + 1) for n in range(min(total, 10))),
    )
    mine = (queue_row(400, mine=True),) if total else ()
    return views.QueueView(
        mine=mine,
        mine_total=12 * len(mine),
        sections=(section,),
        about="shared-multi",
        page=page,
        pages=pages,
        at=NOW,
    )


ADMITTED = notices.AdmittedArgs(
    request="R-1042",
    name="llama-sft",
    owner=ANN,
    team="nlp",
    pool="shared-multi",
    flavor="h100-reserved",
    gpus=16,
    nodes=NODES,
    domain=(("block", "h100-block-001"), ("rack", "h100-rack-001")),
    until=NOW + 8 * HOUR,
    waited=2 * HOUR + 600,
)


def party(request: str, owner: str, team: str, *, gpus: int, name: str = "") -> notices.Party:
    return notices.Party(
        request=request,
        name=name,
        owner=owner,
        team=team,
        pool="opportunistic" if team != "nlp" else "team",
        queue=f"{team}-queue",
        path=("company", "research", f"{team}-queue"),
        gpus=gpus,
    )


def preempted(
    request: str, owner: str, team: str, rule: PreemptionRule = PreemptionRule.RECLAIM
) -> notices.PreemptedArgs:
    return notices.PreemptedArgs(
        target=party(request, owner, team, gpus=8, name="night-sweep"),
        preemptor=party("R-1042", ANN, "nlp", gpus=16, name="llama-sft"),
        rule=rule,
        level="research",
        ran=3 * HOUR + 1200,
        grace=60.0,
        at=NOW,
    )


GROUP = notices.PreemptedGroupArgs(
    preemptor=party("R-1042", ANN, "nlp", gpus=16, name="llama-sft"),
    targets=(
        preempted("R-1001", BOB, "vision"),
        preempted("R-1002", CAT, "rl"),
        preempted("R-1005", BOB, "vision"),
    ),
    at=NOW,
)
STARVING = notices.StarvingArgs(
    request="R-1042",
    name="hero",
    owner=ANN,
    team="nlp",
    pool="shared-multi",
    gpus=512,
    priority="high",
    waited=5 * HOUR,
    target_wait=2 * HOUR,
    reason=WaitReason.TOPOLOGY,
    figures={"pods": 64, "per_pod": 8, "free": 640, "largest": 8, "nodes": 120, "room": 50},
    position=1,
    holders=(
        notices.HolderArgs(request="R-1003", team="vision", gpus=512, ends=NOW + 5 * HOUR),
        notices.HolderArgs(request="R-1011", team="rl", gpus=64, ends=None),
    ),
)
PLAN = notices.PlanArgs(
    at=NOW + 5 * HOUR, nodes=64, domain="gpubot.dev/block=h100-block-001", basis=Basis.DECLARED
)
ENDED = notices.EndedArgs(
    request="R-1042",
    name="llama-sft",
    owner=ANN,
    state="released",
    gpus=16,
    ran=3 * HOUR,
    gpu_hours=48.0,
    by=BOB,
)
REQUEUED = notices.RequeuedArgs(
    request="R-1001", name="night-sweep", owner=BOB, cause="preempted", position=2
)
FLIPPED = notices.FlippedArgs(one="R-1001", other="R-1042", times=2)
REPAIRED = notices.RepairedArgs(
    request="R-1042",
    name="llama-sft",
    owner=ANN,
    gpus=16,
    lost=("h100-0042",),
    to=("h100-0101",),
)
NODE_FAILED = notices.NodeFailedArgs(
    node="h100-0042",
    hit=(
        notices.HitArgs(
            request="R-1042", name="llama-sft", owner=ANN, team="nlp", gpus=16, to=("h100-0101",)
        ),
        notices.HitArgs(request="R-1030", name="", owner=BOB, team="vision", gpus=64),
        notices.HitArgs(request="R-1031", name="", owner=BOB, team="vision", gpus=8, pinned=True),
        *(
            notices.HitArgs(
                request=f"R-11{n:02}", name="", owner="rl", team="rl", gpus=1, to=("x",)
            )
            for n in range(10)
        ),
    ),
)
DOUBTS = (
    NodeDoubt(
        node=NodeName("h100-0007"),
        doubt=Doubt.MISSING_LABEL,
        what="gpubot.dev/rack",
        flavor=FlavorName("reserved-h100"),
    ),
    NodeDoubt(node=NodeName("h100-0042"), doubt=Doubt.OVERFULL, what="nvidia.com/gpu", excess=2),
    NodeDoubt(
        node=NodeName("h100-0101"),
        doubt=Doubt.SAME_PLACE,
        what="h100-0100",
        flavor=FlavorName("reserved-h100"),
    ),
)
NODE_AVOIDED = notices.NodeAvoidedArgs(
    node="h100-0042", held_up=("R-1001", "R-1042", "R-1043"), until=NOW + HOUR
)
OVERFULL = notices.OverfullArgs(node="h100-0042", resource="nvidia.com/gpu", excess=2)
LEASE_ENDING = notices.LeaseEndingArgs(
    request="R-1042", name="llama-sft", owner=ANN, gpus=16, ends=NOW + 1800, step=8 * HOUR
)
LEASES_ENDING = (
    LEASE_ENDING,
    LEASE_ENDING.model_copy(update={"step": None}),
    LEASE_ENDING.model_copy(update={"after": AfterLease.UNPROTECT}),
    LEASE_ENDING.model_copy(
        update={"waits": notices.WaiterArgs(request="R-1050", owner=BOB, team="vision", gpus=64)}
    ),
)
UNPROTECTED = notices.UnprotectedArgs(request="R-1042", name="llama-sft", owner=ANN, gpus=16)


def longer(by: float = 2 * HOUR) -> FieldChange:
    """A lease of eight hours that was extended."""
    return FieldChange(field=FieldName.LEASE, before=8 * HOUR, after=8 * HOUR + by)


EXTENDED = Changed(
    kind=ChangeKind.EXTENDED,
    card=dataclasses.replace(RUNNING, lease_ends=NOW + 9 * HOUR),
    changes=(longer(),),
)
EDITED = Changed(
    kind=ChangeKind.EDITED,
    card=WAITING,
    changes=(
        FieldChange(field=FieldName.SIZE, before="4×8", after="2×8"),
        FieldChange(field=FieldName.PREEMPTIBLE, before=False, after=True),
        FieldChange(field=FieldName.NAME, before=None, after="llama-sft"),
    ),
)
GIVEN = Changed(
    kind=ChangeKind.GIVEN,
    card=dataclasses.replace(RUNNING, owner=BOB),
    changes=(FieldChange(field=FieldName.OWNER, before=ANN, after=BOB),),
)
CHANGES = (
    EXTENDED,
    EDITED,
    dataclasses.replace(EDITED, back=True),
    dataclasses.replace(EDITED, decided=False),
    GIVEN,
    dataclasses.replace(GIVEN, card=WAITING, back=True),
)
HANDED = notices.ChangedArgs(
    request="R-1042",
    name="llama-sft",
    owner=BOB,
    actor=ANN,
    given=True,
    changes=GIVEN.changes,
    ends=NOW + 9 * HOUR,
    yours=True,
)
CHANGED = notices.ChangedArgs(
    request="R-1042",
    name="llama-sft",
    owner=ANN,
    actor=BOB,
    given=False,
    changes=(longer(),),
    ends=NOW + 9 * HOUR,
)
CHOICES = views.Choices(
    teams=("nlp", "vision"),
    models=("h100", "a100"),
    priorities=("low", "medium", "high"),
    default_lease=4 * HOUR,
    most_lease=72 * HOUR,
    node_gpus=8,
    levels=("block", "rack"),
    provisions=("reserved", "spot"),
)
HOME = views.HomeView(
    person=ANN,
    name="Ann Meyer",
    role=Role.RESEARCHER,
    mine=views.MineView(person=ANN, open=(RUNNING, WAITING), ended=(CARDS["finished"],), at=NOW),
    shares=(
        views.TeamShare(team="nlp", used=320, nominal=400, chip_hours=18_222.0, rank=4, teams=11),
    ),
    cluster=CLUSTER,
)
ESCALATED = notices.EscalatedArgs(
    calls=(
        notices.CallArgs(
            notice=notices.NoticeKind.STARVING, request="R-1042", channel="C0ONCALL", ts="1.1"
        ),
    ),
    since=NOW,
    level=1,
    called=CAT,
)
