"""What is wrong with a line: one error that points at a token and says what was expected."""

from __future__ import annotations

import enum
from dataclasses import dataclass


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
    OTHER_UNIT = "other-unit"
    PAST_SIZE = "past-size"


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
    MINIMUM = "minimum"
    IMAGE = "image"
    POD = "pod"
    TERMS = "terms"
    CHANGE = "change"
    PERSON = "person"
    PERIOD = "period"
    PREFERENCE = "preference"
    LANGUAGE = "language"
    QUIET = "quiet"
    NOTICES = "notices"
    DIGEST = "digest"
    WHERE = "where"
    ZONE = "zone"
    PLACE = "place"
    NODE = "node"
    GPUS = "gpus"
    END = "end"
    REASON = "reason"
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
