"""The values the grammar gives: one frozen class a verb."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bot.asks import Ask, Change, End, Period, Preference
from bot.chat.grammar.errors import GrammarError
from bot.maps import Grouping
from scheduler.model import Priority, Seconds


class Verb(enum.StrEnum):
    """The first word of a command. `REQUEST` may be left out."""

    REQUEST = "request"
    TRY = "try"
    DEBUG = "debug"
    RUN = "run"
    HOLD = "hold"
    STATUS = "status"
    QUEUE = "queue"
    WHY = "why"
    WHEN = "when"
    MINE = "mine"
    MAP = "map"
    CANCEL = "cancel"
    RELEASE = "release"
    EXTEND = "extend"
    EDIT = "edit"
    GIVE = "give"
    ADOPT = "adopt"
    FAIR = "fair"
    REPORT = "report"
    PREFS = "prefs"
    LINK = "link"
    ONCALL = "oncall"
    HELP = "help"
    PAUSE = "pause"
    RESUME = "resume"
    BOOST = "boost"
    PREEMPT = "preempt"
    DRAIN = "drain"
    UNDRAIN = "undrain"
    QUOTA = "quota"


ADMIN_VERBS = frozenset(
    {
        Verb.PAUSE,
        Verb.RESUME,
        Verb.BOOST,
        Verb.PREEMPT,
        Verb.DRAIN,
        Verb.UNDRAIN,
        Verb.QUOTA,
    }
)
"""What only admins may do: always public, with a reason."""


@dataclass(frozen=True, slots=True)
class Request:
    """A request for GPUs."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class Try:
    """What would become of a request; nothing is created."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class Debug:
    """A pod to work in by hand; one GPU if nothing else is said."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class Run:
    """A job of an image. `command` is what stands after `--`, as it was written, if anything."""

    image: str
    ask: Ask
    command: str = ""


@dataclass(frozen=True, slots=True)
class Hold:
    """GPUs for pods that the person makes themselves and labels with the request."""

    ask: Ask


@dataclass(frozen=True, slots=True)
class Status:
    """The cluster, or a request, person (Slack id) or team."""

    what: str | None = None


@dataclass(frozen=True, slots=True)
class Queue:
    """What waits, of everything or of one pool, team or GPU model; `page` counts from 1."""

    what: str | None = None
    page: int = 1


@dataclass(frozen=True, slots=True)
class Why:
    """Why a request waits; by its id or its name."""

    request: str


@dataclass(frozen=True, slots=True)
class When:
    """When a request is expected to start; by its id or its name."""

    request: str


@dataclass(frozen=True, slots=True)
class Mine:
    """The asker's own requests."""


@dataclass(frozen=True, slots=True)
class Map:
    """A picture of the cluster, coloured by pool or by team."""

    by: Grouping = Grouping.POOL


@dataclass(frozen=True, slots=True)
class Cancel:
    """Stop a request, waiting or running; what runs is stopped once a dialog has confirmed it."""

    request: str


@dataclass(frozen=True, slots=True)
class Release:
    """Give the GPUs of a running request back, once a dialog has confirmed it."""

    request: str


@dataclass(frozen=True, slots=True)
class Extend:
    """Let a lease end later by so many seconds."""

    request: str
    by: Seconds


@dataclass(frozen=True, slots=True)
class Edit:
    """Change a request in some of what was asked for."""

    request: str
    change: Change


@dataclass(frozen=True, slots=True)
class Give:
    """Hand a request over to a colleague: a Slack id, or `@name` where Slack made none of it."""

    request: str
    to: str


@dataclass(frozen=True, slots=True)
class Adopt:
    """Make a request of a pod that runs already, `namespace/name`, from now on for so long."""

    pod: str
    lease: Seconds | None = None
    team: str | None = None
    preemptible: bool = False


@dataclass(frozen=True, slots=True)
class Fair:
    """Shares and decayed chip-hours, of all teams or of one."""

    team: str | None = None


@dataclass(frozen=True, slots=True)
class Report:
    """What was used, and how long people waited."""

    period: Period = Period.WEEK
    team: str | None = None


@dataclass(frozen=True, slots=True)
class Prefs:
    """The asker's preferences: what is set anew, each once; nothing to see them.

    Values are those that `Preference` names.
    """

    changes: tuple[tuple[Preference, str], ...] = ()


@dataclass(frozen=True, slots=True)
class Link:
    """Ask to be of a team, oneself or somebody else (like `Give.to`); no team to see it."""

    team: str | None = None
    person: str | None = None


@dataclass(frozen=True, slots=True)
class OnCall:
    """Who is on call, or (like `Give.to`) who stands in for a while; with `off` nobody does."""

    person: str | None = None
    end: End = End()  # noqa: RUF009 - frozen, so one for all is as good as one each
    off: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    """How to talk to the bot, in all or about one verb."""

    verb: Verb | None = None


@dataclass(frozen=True, slots=True)
class Pause:
    """Let nothing start from a queue or pool."""

    where: str
    end: End
    reason: str


@dataclass(frozen=True, slots=True)
class Resume:
    """End a pause before its time."""

    where: str
    reason: str


@dataclass(frozen=True, slots=True)
class Boost:
    """Give a request another priority than it may ask for."""

    request: str
    priority: Priority
    end: End
    reason: str


@dataclass(frozen=True, slots=True)
class Preempt:
    """Stop a request for what the engine does not know of; `winner` starts in its place."""

    request: str
    reason: str
    winner: str | None = None


@dataclass(frozen=True, slots=True)
class Drain:
    """Place nothing new on a node."""

    node: str
    end: End
    reason: str


@dataclass(frozen=True, slots=True)
class Undrain:
    """Place on a node again."""

    node: str
    reason: str


@dataclass(frozen=True, slots=True)
class Quota:
    """Give a queue or team another quota in GPUs, of one flavor or of the only one it has."""

    where: str
    gpus: int
    flavor: str | None
    end: End
    reason: str


@dataclass(frozen=True, slots=True)
class Form:
    """Too little was said for a request: open the form where that can be done.

    `draft` is what was understood (its size is missing), for filling the form in;
    `missing` is the error to answer with where no form can be opened.
    """

    draft: Ask | None = None
    missing: GrammarError | None = None


Asking = Request | Try | Debug | Run | Hold
Looking = Status | Queue | Why | When | Mine | Map | Fair | Report | Help
Changing = Cancel | Release | Extend | Edit | Give | Adopt | Prefs | Link | OnCall
Order = Pause | Resume | Boost | Preempt | Drain | Undrain | Quota
Command = Form | Asking | Looking | Changing | Order
