"""Plain values that cross the storage boundary; rows never leave a session."""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from dataclasses import dataclass, field

from scheduler.model import Admission, Workload
from storage.states import RequestState

Json = Mapping[str, object]


class Source(enum.StrEnum):
    """Through which door a request came. TRACE requests are background load and get no card."""

    CHAT = "chat"
    TRACE = "trace"
    CLUSTER = "cluster"


class RecipeKind(enum.StrEnum):
    """What the bot makes for a request: a pod to work in, or a job of an image."""

    DEBUG = "debug"
    RUN = "run"


@dataclass(frozen=True, slots=True, kw_only=True)
class Recipe:
    """What the bot makes, from an admin's template. An empty `image` is the template's own.

    `command` is a shell line as it was written; empty for what the image does by itself.
    """

    kind: RecipeKind
    image: str = ""
    command: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class FamilyRef:
    """What keeps replicas, such as a Deployment or StatefulSet, in the replicas' namespace.

    `revision` is another with each template that replicas are made after.
    """

    kind: str
    name: str
    revision: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ObjectRef:
    """An object of the cluster; `uid` tells it from a later one of the same name.

    `form` is another whenever it asks for something else. `family` is what it is a replica of.
    `adopted` says that it ran before we knew of it. `members` is of a group of pods, which has
    no uid: another whenever other pods make it up.
    """

    kind: str
    namespace: str
    name: str
    uid: str
    form: str = ""
    family: FamilyRef | None = None
    adopted: bool = False
    members: str = ""

    @property
    def family_key(self) -> str | None:
        """The same for all replicas of one family, whatever their template."""
        if self.family is None:
            return None
        return f"{self.family.kind}/{self.namespace}/{self.family.name}"

    @property
    def template_key(self) -> str | None:
        """The same for all replicas that are made from one template."""
        return None if self.family is None else f"{self.family_key}:{self.family.revision}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A stored request. `attempt` counts admissions; `decision` is `<id>/<attempt>`.

    `ending` is the final state that a STOPPING request is on its way to; `ended_by` the
    person who asked for it. `lease_ends` is set while it holds GPUs, if it has a lease.
    `run_for` is how long a simulated gang will really run (trace load), in seconds. Without a
    `recipe` it is a hold: its owner makes the pods. `kept` is what it has not given back of its
    admission while it goes on, None where that is all. `ref` is the object of the cluster that it
    stands for (Source.CLUSTER). `head` is the replica whose id and card stand for its whole
    family: the first one, which may be this one or have ended.
    """

    id: str
    workload: Workload
    state: RequestState
    source: Source
    text: str
    created: dt.datetime
    changed: dt.datetime
    attempt: int = 0
    admission: Admission | None = None
    kept: Admission | None = None
    started: dt.datetime | None = None
    lease_ends: dt.datetime | None = None
    ending: RequestState | None = None
    ended_by: str | None = None
    run_for: float | None = None
    starving_since: dt.datetime | None = None
    channel: str | None = None
    thread_ts: str | None = None
    recipe: Recipe | None = None
    ref: ObjectRef | None = None
    head: str | None = None

    @property
    def card(self) -> str:
        """The id of the request whose card and thread tell of this one."""
        return self.head or self.id

    @property
    def decision(self) -> str:
        """The id of the admission it holds or held last."""
        return f"{self.id}/{self.attempt}"

    @property
    def held(self) -> Admission | None:
        """What it was granted last, less what it has given back."""
        return self.admission if self.kept is None else self.kept

    @property
    def gpus(self) -> int:
        """GPUs that it holds or held last; those it asks for if it never held any."""
        return self.workload.gpus if self.held is None else self.held.gpus(self.workload)

    @property
    def granted(self) -> int:
        """The same, with those that it has given back."""
        asked = self.workload.gpus
        return asked if self.admission is None else self.admission.gpus(self.workload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Transition:
    """One line of a request's story: append-only."""

    request: str
    before: RequestState | None
    after: RequestState
    at: dt.datetime
    actor: str
    reason: str
    decision: str | None = None
    details: Json = field(default_factory=dict)


class EventKind(enum.StrEnum):
    """What the desk asks the control loop to do."""

    SUBMIT = "submit"
    CANCEL = "cancel"
    RELEASE = "release"
    EXTEND = "extend"
    EDIT = "edit"
    GIVE = "give"
    ADOPT = "adopt"


@dataclass(frozen=True, slots=True, kw_only=True)
class DeskEvent:
    """A stored wish of a person, handled once, in order of `id`, by the control loop.

    `args` say what exactly is wished, where the kind alone does not.
    """

    id: int
    kind: EventKind
    request: str
    actor: str
    at: dt.datetime
    args: Json = field(default_factory=dict)


class Audience(enum.StrEnum):
    """Who is to hear a message. CARD is the request's own message, updated in place."""

    CARD = "card"
    THREAD = "thread"
    CHANNEL = "channel"
    ONCALL = "oncall"
    PERSON = "person"


class OutboxState(enum.StrEnum):
    """Whether a message still has to go out."""

    PENDING = "pending"
    CLAIMED = "claimed"
    SENT = "sent"
    DEAD = "dead"


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """A message to be sent: `key` is unique, so that the same thing is never said twice.

    `kind` names the sentence, `args` its numbers and names; words are made when it is
    sent. For Audience.PERSON `target` is a Slack user id. A CARD is one row a request: a
    newer notice with the same key replaces the older and makes it pending again.
    """

    key: str
    kind: str
    audience: Audience
    request: str | None
    target: str | None = None
    args: Json = field(default_factory=dict)
    urgent: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxItem:
    """A notice with its delivery: `revision` counts replacements, `ts` is Slack's message id."""

    id: int
    notice: Notice
    state: OutboxState
    revision: int
    attempts: int
    created: dt.datetime
    due: dt.datetime
    channel: str | None = None
    ts: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class OutboxFigures:
    """Messages by state; `lag` is for how many seconds the oldest unsent one has been due."""

    pending: int
    claimed: int
    sent: int
    dead: int
    lag: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A notice that somebody of on-call has to acknowledge, and whether somebody did.

    `key` is the notice's; `level` counts how often others were called since; `due` is when
    the next are, None when nobody is any more.
    """

    key: str
    kind: str
    request: str | None
    channel: str
    ts: str
    raised: dt.datetime
    level: int = 0
    due: dt.datetime | None = None
    acknowledged_by: str | None = None
    acknowledged_at: dt.datetime | None = None


class Role(enum.StrEnum):
    """What a person may do, least first."""

    RESEARCHER = "researcher"
    LEAD = "lead"
    ONCALL = "oncall"
    ADMIN = "admin"


@dataclass(frozen=True, slots=True, kw_only=True)
class Person:
    """A Slack user: `teams` in the order of preference (the first is the default)."""

    id: str
    name: str
    teams: tuple[str, ...] = ()
    role: Role = Role.RESEARCHER


@dataclass(frozen=True, slots=True, kw_only=True)
class UsageSample:
    """Decayed chip-hours of a team at a moment."""

    team: str
    chip_hours: float
    at: dt.datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class Setting:
    """A stored override with its author, reason and end."""

    name: str
    value: str
    author: str
    reason: str = ""
    until: dt.datetime | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """When a request was expected to start, as told at `at`, and when it did.

    `low`, `likely` and `high` are None where no time could be told; `basis` is a code.
    `started` is None until its first start.
    """

    request: str
    pool: str
    at: dt.datetime
    low: dt.datetime | None
    likely: dt.datetime | None
    high: dt.datetime | None
    basis: str
    started: dt.datetime | None = None

    @property
    def error(self) -> float | None:
        """Seconds that it started later than was likely (negative: earlier), once known."""
        if self.likely is None or self.started is None:
            return None
        return (self.started - self.likely).total_seconds()

    @property
    def waited(self) -> float | None:
        """Seconds from the estimate to the start."""
        return None if self.started is None else (self.started - self.at).total_seconds()
