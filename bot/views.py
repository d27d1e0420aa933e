"""What the desk answers: codes and figures of one moment, ready to be put into words.

`at` in every view is the moment it was true, in epoch seconds of the bot's clock.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from bot.asks import Ask
from bot.maps import OutsidePod
from bot.overview import ClusterView
from bot.prospects import Prospect
from scheduler.budgets import Budget
from scheduler.doubts import NodeDoubt
from scheduler.model import Explanation, Figure, LimitKind
from storage.audit import Intervention
from storage.records import Recipe, Role
from storage.states import RequestState


class NotReady(Exception):
    """The engine has not been built yet: the cluster or storage was never reached."""


CLUSTER = "cluster"
"""Who ends the request of an object that is no more, or waits for us no longer: no person."""

OUTSIDE = "outside"
"""Who ends the request of what runs on without the label by which it was in our care."""


class RefusalCode(enum.StrEnum):
    """Why the desk did not do what was asked."""

    NO_SUCH_PERSON = "no-such-person"
    NO_TEAM = "no-team"
    UNKNOWN_TEAM = "unknown-team"
    NOT_YOUR_TEAM = "not-your-team"
    UNKNOWN_MODEL = "unknown-model"
    UNKNOWN_LEVEL = "unknown-level"
    NOT_A_SIZE = "not-a-size"
    NOT_DIVISIBLE = "not-divisible"
    NEVER_FITS = "never-fits"
    LEASE_TOO_LONG = "lease-too-long"
    LEASE_TOO_SHORT = "lease-too-short"
    PRIORITY_NOT_ALLOWED = "priority-not-allowed"
    NO_SUCH_REQUEST = "no-such-request"
    AMBIGUOUS_NAME = "ambiguous-name"
    NOT_YOURS = "not-yours"
    ALREADY_ENDED = "already-ended"
    NOT_RUNNING = "not-running"
    NOT_WAITING = "not-waiting"
    UNKNOWN_TARGET = "unknown-target"
    NAME_TOO_LONG = "name-too-long"
    TOO_MANY_WAITING = "too-many-waiting"
    SOMEBODY_WAITS = "somebody-waits"
    EXTENDED_TOO_LONG = "extended-too-long"
    NO_LEASE = "no-lease"
    LEASE_OVER = "lease-over"
    LEASE_MOVED = "lease-moved"
    CHANGED_MEANWHILE = "changed-meanwhile"
    NOT_ASKED = "not-asked"
    NOT_AN_IMAGE = "not-an-image"
    COMMAND_TOO_LONG = "command-too-long"
    NOTHING_NEW = "nothing-new"
    RUNS = "runs"
    NOT_LOWER = "not-lower"
    LEASE_PAST = "lease-past"
    IN_TRANSIT = "in-transit"
    SAME_OWNER = "same-owner"
    NOT_IN_TEAM = "not-in-team"
    ON_TEAM_QUOTA = "on-team-quota"
    RECEIVER_FULL = "receiver-full"
    UNKNOWN_PREFERENCE = "unknown-preference"
    NOT_A_PREFERENCE = "not-a-preference"
    NOT_ON_CALL = "not-on-call"
    NO_PROVISION = "no-provision"
    NO_SMALLER_START = "no-smaller-start"
    BAD_MARK = "bad-mark"
    RAISED_IN_CHAT = "raised-in-chat"
    NOT_HELD = "not-held"
    MANAGED_ELSEWHERE = "managed-elsewhere"
    LINGERS = "lingers"
    HOLDS_NOTHING = "holds-nothing"
    HOLDS_LESS = "holds-less"
    NOT_A_CHECKPOINT = "not-a-checkpoint"
    OUTGROWN = "outgrown"
    NOT_PLACED = "not-placed"
    NODE_NAMED = "node-named"
    GROUP_SHORT = "group-short"
    GROUP_MIXED = "group-mixed"
    GROUP_UNLIKE = "group-unlike"
    REPLICA = "replica"
    OF_OBJECT = "of-object"
    NOTHING_TO_ADOPT = "nothing-to-adopt"
    NO_SUCH_POD = "no-such-pod"
    POD_TAKEN = "pod-taken"
    POD_WITHOUT_GPUS = "pod-without-gpus"
    POD_NOT_RUNNING = "pod-not-running"
    POD_KEPT = "pod-kept"
    POD_NOT_YOURS = "pod-not-yours"
    POD_WITHOUT_QUOTA = "pod-without-quota"
    RUNS_ALREADY = "runs-already"
    OFFER_STALE = "offer-stale"
    OFFER_GONE = "offer-gone"
    LOOKING = "looking"


@dataclass(frozen=True, slots=True, kw_only=True)
class Refused:
    """Nothing was done. `args` hold the numbers and names; `near` the closest valid words.

    `instead` is the nearest request that would have been taken, where one is known, and `line`
    how to say it where more was said than a request: `try …`, `run …`.
    """

    code: RefusalCode
    args: Mapping[str, Figure] = field(default_factory=dict)
    near: tuple[str, ...] = ()
    limit: LimitKind | None = None
    instead: Ask | None = None
    line: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Boost:
    """A priority that somebody gave by hand: which, whose name, and until when if it ends."""

    priority: str
    by: str
    until: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CardView:
    """Everything the card of one request shows. Times are epoch seconds.

    `nodes` are (node, GPUs) while it holds GPUs; `explanation` is there while it waits.
    `topology` is what was asked for in words (`same rack`); `domain` the (level, value) pairs
    that all its nodes share, coarse to fine. `longer` is by how many seconds one press extends
    its lease, None where it cannot be. `prospect` is what was last foreseen while it waits.
    `buttons` that fit the state are the renderer's choice from `state`. `may_end` is false when
    it was drawn for one person who may not end it; a card for all to see leaves it true.

    `gpus` are those it holds, `given_back` those it was granted besides, whose pods are done;
    `asked` all that it wants, which is more after a smaller start; `least` are those of the
    smallest start that would do, 0 where only the whole does. `provision` is there where one was
    asked for. `to_back` says that it is being stopped by hand for nobody, and will wait at the back
    of its queue. `boost` is there while it counts with another priority than its own. `family` is
    what it is a replica of.
    """

    request: str
    name: str
    owner: str
    team: str
    pool: str
    queue: str
    priority: str
    preemptible: bool
    spend: str
    model: str
    pods: int
    gpus_per_pod: int
    gpus: int
    state: RequestState
    at: float
    created: float
    queued: float | None = None
    started: float | None = None
    lease: float | None = None
    lease_ends: float | None = None
    ended: float | None = None
    nodes: tuple[tuple[str, int], ...] = ()
    flavor: str | None = None
    explanation: Explanation | None = None
    ended_by: str | None = None
    may_end: bool = True
    asked_priority: str | None = None
    """The class that it asked for, where its team's budget left it a lower one."""
    attempt: int = 0
    text: str = ""
    topology: str = ""
    domain: tuple[tuple[str, str], ...] = ()
    longer: float | None = None
    asked: int = 0
    given_back: int = 0
    least: int = 0
    provision: str = ""
    prospect: Prospect | None = None
    recipe: Recipe | None = None
    to_back: bool = False
    boost: Boost | None = None
    parts: tuple[tuple[int, int], ...] = ()
    """Pods and the GPUs of each, where not all pods are alike."""
    family: FamilyView | None = None

    @property
    def opens(self) -> FamilyView | None:
        """The family that its id stands for; None where it stands for itself alone."""
        return self.family if self.family and self.family.head == self.request else None

    @property
    def whole(self) -> str:
        """The shape, e.g. `4×8`, or `4×8 + 1×2`."""
        return write_shape(self.parts or ((self.pods, self.gpus_per_pod),))


def write_shape(parts: Iterable[tuple[int, int]]) -> str:
    """Pods and the GPUs of each as text, those that are alike together."""
    pods: dict[int, int] = {}
    for count, each in parts:
        pods[each] = pods.get(each, 0) + count
    return " + ".join(f"{count}×{each}" for each, count in pods.items())


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyView:
    """All replicas of a Deployment, or another object of a `kind` that keeps such, in one.

    Counts are of open replicas; `guaranteed` those that are not preemptible; `gpus` what they
    hold. `runs_since` and `waits_since` are those of the longest. `latest` is the replica that
    came last: its terms are the family's. `first` is the waiting one that is next in line, with
    the reason why it waits. `replicas` are the first of them, running ones before waiting ones,
    `more` the number of others.
    """

    head: str
    kind: str
    namespace: str
    name: str
    latest: CardView
    running: int = 0
    starting: int = 0
    stopping: int = 0
    waiting: int = 0
    guaranteed: int = 0
    gpus: int = 0
    runs_since: float | None = None
    waits_since: float | None = None
    first: CardView | None = None
    replicas: tuple[CardView, ...] = ()
    more: int = 0

    @property
    def total(self) -> int:
        """All open replicas."""
        return self.running + self.starting + self.stopping + self.waiting


@dataclass(frozen=True, slots=True, kw_only=True)
class Submitted:
    """A request was stored. `decided` is false when the engine has not looked at it yet."""

    card: CardView
    decided: bool
    again: bool = False


class Verb(enum.StrEnum):
    """What was done to a request."""

    CANCELLED = "cancelled"
    RELEASING = "releasing"


@dataclass(frozen=True, slots=True, kw_only=True)
class Done:
    """A person's order was stored and will be (or has been) carried out."""

    verb: Verb
    card: CardView
    again: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unconfirmed:
    """Nothing was done yet: it holds GPUs, and the order did not say that this is meant.

    `anew`: what was confirmed was the stop of an earlier grant.
    """

    verb: Verb
    card: CardView
    anew: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusView:
    """`/gpu status`: own rows first, then the cluster (or one team, person, request).

    `about` is the id of the request or person, or the team. `may_ask` is false for a
    person without a team, who cannot ask for anything yet.
    """

    person: str
    mine: tuple[CardView, ...]
    cluster: ClusterView
    about: str | None = None
    rows: tuple[CardView, ...] = ()
    more: int = 0
    may_ask: bool = True
    doubts: tuple[NodeDoubt, ...] = ()
    """What is odd about the nodes, for admins and on-call."""
    budgets: tuple[Budget, ...] = ()
    """The priority budgets of the team that was asked about."""
    by_hand: tuple[Intervention, ...] = ()
    """What admins have set that still lasts."""
    letters: tuple[Letter, ...] = ()
    """Messages that were given up, for admins."""
    outside: tuple[OutsidePod, ...] = ()
    """GPU pods that no request stands for, those with the most GPUs first."""


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueRow:
    """One waiting request in the engine's own order; `mine` if the asker owns it."""

    position: int
    request: str
    name: str
    owner: str
    team: str
    gpus: int
    shape: str
    priority: str
    waited: float
    reason: str
    figures: Mapping[str, Figure]
    mine: bool
    boost: Boost | None = None

    @property
    def counts_as(self) -> str:
        """The priority class by which it stands in line."""
        return self.priority if self.boost is None else self.boost.priority


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueSection:
    """The head of one queue. `rows` are this page's; `total` all that wait there."""

    queue: str
    pool: str
    nominal: int
    used: int
    total: int
    rows: tuple[QueueRow, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueView:
    """`/gpu queue`: the first own rows (`mine`, of so many in all), then the sections, paged."""

    mine: tuple[QueueRow, ...]
    mine_total: int
    sections: tuple[QueueSection, ...]
    about: str | None
    page: int
    pages: int
    at: float


@dataclass(frozen=True, slots=True, kw_only=True)
class WhyView:
    """`/gpu why`: the card, the explanation while it waits, and the story so far.

    `story` is (epoch seconds, state, reason code, actor), oldest first.
    `owners` gives the owner of each request named in the explanation.
    """

    card: CardView
    story: tuple[tuple[float, str, str, str], ...]
    owners: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class MineView:
    """`/gpu mine`: open requests first, then the last ended ones."""

    person: str
    open: tuple[CardView, ...]
    ended: tuple[CardView, ...]
    at: float
    may_ask: bool = True


@dataclass(frozen=True, slots=True, kw_only=True)
class TeamShare:
    """A team's standing: GPUs in use, guaranteed, and decayed chip-hours (lower goes first)."""

    team: str
    used: int
    nominal: int
    chip_hours: float
    rank: int
    teams: int


@dataclass(frozen=True, slots=True, kw_only=True)
class HomeView:
    """The App Home of one person."""

    person: str
    name: str
    role: Role
    mine: MineView
    shares: tuple[TeamShare, ...]
    cluster: ClusterView


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What the modal offers to one person."""

    teams: tuple[str, ...]
    models: tuple[str, ...]
    priorities: tuple[str, ...]
    default_lease: float
    most_lease: float
    node_gpus: int
    levels: tuple[str, ...] = ()
    provisions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class PreferencesView:
    """`/gpu prefs`: every field with its value, as words that could be typed to set it.

    `changed` are the fields that were just set.
    """

    person: str
    fields: Mapping[str, str]
    changed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Acknowledged:
    """On-call notices were taken, `count` of them; by whom and when.

    `before` says that it had been done already, by whoever is named.
    """

    by: str
    at: float
    count: int = 1
    before: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Letter:
    """A message that was given up: what, about which request, to where and why."""

    kind: str
    request: str | None
    where: str
    error: str
    at: float
