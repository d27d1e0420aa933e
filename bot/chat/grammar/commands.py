"""The values the grammar gives: one frozen class a verb, or one error that points at a token."""

from __future__ import annotations

import enum
from dataclasses import dataclass

from bot.asks import Ask
from bot.views import Grouping


class Verb(enum.StrEnum):
    """The first word of a command. `REQUEST` may be left out."""

    REQUEST = "request"
    STATUS = "status"
    QUEUE = "queue"
    WHY = "why"
    MINE = "mine"
    MAP = "map"
    CANCEL = "cancel"
    RELEASE = "release"
    HELP = "help"


@dataclass(frozen=True, slots=True)
class Request:
    """A request for GPUs."""

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
    """Why a request waits."""

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
    """Stop a request, waiting or running; `confirmed` by a dialog if it runs, never by words."""

    request: str
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Release:
    """Give the GPUs of a running request back; `confirmed` by a dialog, never by words."""

    request: str
    confirmed: bool = False


@dataclass(frozen=True, slots=True)
class Help:
    """How to talk to the bot, in all or about one verb."""

    verb: Verb | None = None


class Mistake(enum.StrEnum):
    """What is wrong with the token that an error points at."""

    UNKNOWN_VERB = "unknown-verb"
    UNKNOWN_WORD = "unknown-word"
    MISSING = "missing"
    ZERO = "zero"
    NEGATIVE = "negative"
    NOT_WHOLE = "not-whole"
    TOO_BIG = "too-big"
    TOO_SHORT = "too-short"
    TOO_LONG = "too-long"
    NAME_TOO_LONG = "name-too-long"
    TWO_SIZES = "two-sizes"
    TWICE = "twice"
    NO_UNIT = "no-unit"
    NOT_A_REQUEST = "not-a-request"
    AMBIGUOUS = "ambiguous"
    LEFT_OVER = "left-over"
    UNCLOSED = "unclosed"


class Expected(enum.StrEnum):
    """What would have been right at that place."""

    VERB = "verb"
    SIZE = "size"
    DURATION = "duration"
    OPTION = "option"
    PRIORITY = "priority"
    SPEND = "spend"
    TEAM = "team"
    NAME = "name"
    LEVEL = "level"
    GROUPING = "grouping"
    REQUEST_ID = "request-id"
    PAGE = "page"
    TOPIC = "topic"
    NOTHING = "nothing"
    SHORTER = "shorter"
    QUOTE = "quote"


@dataclass(frozen=True, slots=True, kw_only=True)
class GrammarError:
    """Nothing was done. `text[start:end]` is the token; `example` is a line that would do.

    `near` are the known words closest to the token, best first; `first` is what an
    earlier token already said, for the mistakes that need two.
    """

    mistake: Mistake
    expected: Expected
    text: str
    start: int
    end: int
    example: str
    near: tuple[str, ...] = ()
    first: str = ""

    @property
    def token(self) -> str:
        """What the person wrote there; empty when something is missing."""
        return self.text[self.start : self.end]


@dataclass(frozen=True, slots=True)
class Form:
    """Too little was said for a request: open the form where that can be done.

    `draft` is what was understood (its size is missing), for filling the form in;
    `missing` is the error to answer with where no form can be opened.
    """

    draft: Ask | None = None
    missing: GrammarError | None = None


Command = Form | Request | Status | Queue | Why | Mine | Map | Cancel | Release | Help
