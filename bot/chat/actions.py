"""Buttons and forms as Slack hands them back: exact ids, values checked as JSON with a version.

A value that does not fit (older, newer or forged) is a ValidationError; nothing is done.
"""

from __future__ import annotations

import datetime as dt
import enum
from collections.abc import Mapping
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator, model_validator

from bot.asks import End
from bot.byhand import LONGEST_REASON, Wish
from bot.chat.spoken import storable
from scheduler.model import Priority
from storage.audit import InterventionKind


class ActionId(enum.StrEnum):
    """Every interactive element the bot makes."""

    WHY = "gpubot.why"
    CANCEL = "gpubot.cancel"
    RELEASE = "gpubot.release"
    EDIT = "gpubot.edit"
    EXTEND = "gpubot.extend"
    OFFER = "gpubot.offer"
    OFFER_1 = "gpubot.offer.1"
    OFFER_2 = "gpubot.offer.2"
    OFFER_3 = "gpubot.offer.3"
    ASK = "gpubot.ask"
    ASK_0 = "gpubot.ask.0"
    ASK_1 = "gpubot.ask.1"
    ASK_2 = "gpubot.ask.2"
    ASK_3 = "gpubot.ask.3"
    KEEP = "gpubot.keep"
    REQUEST = "gpubot.request"
    REFRESH = "gpubot.refresh"
    PREVIOUS = "gpubot.previous"
    NEXT = "gpubot.next"
    LINK = "gpubot.link"
    LINK_NO = "gpubot.link.no"
    ORDER = "gpubot.order"
    ORDER_MOVE = "gpubot.order.move"
    ACKNOWLEDGE = "gpubot.acknowledge"


FORM = "gpubot.form"
"""The callback id of the form; also of the shortcut that opens it."""


WHY_OF_MESSAGE = "gpubot.message.why"
"""The callback id of the shortcut in the menu of each message."""


EDIT_FORM = "gpubot.edit-form"
"""The callback id of the form that changes a request."""


class Input(enum.StrEnum):
    """Blocks of the form: errors are tied to these ids."""

    SIZE = "size"
    MODEL = "model"
    LEASE = "lease"
    TEAM = "team"
    PRIORITY = "priority"
    SPEND = "spend"
    PREEMPTIBLE = "preemptible"
    NAME = "name"
    TOPOLOGY = "topology"
    MINIMUM = "minimum"
    PROVISION = "provision"


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")
    v: Literal[1] = 1

    @field_validator("*", mode="before")
    @classmethod
    def _storable(cls, value: object) -> object:
        return storable(value) if isinstance(value, str) else value


class RequestValue(_Value):
    """A button about one request. With `replace` the answer takes the place of the question."""

    request: str = Field(pattern=r"^R-[0-9]{1,12}$")
    replace: bool = False


class StopValue(RequestValue):
    """Cancel or Release. `waiting`: its dialog spoke of a request that waits, and confirms no stop.

    `grant` counts the grant that its dialog spoke of: it confirms the stop of no other.
    """

    waiting: bool = False
    grant: int | None = Field(default=None, ge=0, le=10**9)


class ExtendValue(_Value):
    """A button that extends a lease by seconds; `ends` is the end that it was drawn for."""

    request: str = Field(pattern=r"^R-[0-9]{1,12}$")
    by: float = Field(gt=0, le=366 * 86400.0, allow_inf_nan=False)
    ends: float = Field(ge=0, allow_inf_nan=False)


class OfferValue(_Value):
    """A button that takes an offer; `offer` is the name of the step it was tried for."""

    request: str = Field(pattern=r"^R-[0-9]{1,12}$")
    offer: str = Field(pattern=r"^[0-9a-f]{16}$")


class AskValue(_Value):
    """A button that asks for what a line says, as if it had been typed."""

    line: str = Field(min_length=1, max_length=400)


class PageValue(_Value):
    """A button that shows another page of the queue."""

    what: str | None = Field(default=None, max_length=80)
    page: int = Field(ge=1, le=99999)


class WishValue(_Value):
    """A button that gives an order of an admin; the desk checks the person and the order again.

    `seen` stands for the preview it was under, which the desk has kept.
    """

    kind: InterventionKind
    target: str = Field(max_length=100)
    reason: str = Field(min_length=1, max_length=LONGEST_REASON)
    after: float | None = Field(default=None, gt=0, le=366 * 86400.0, allow_inf_nan=False)
    day: dt.date | None = None
    minute: int | None = Field(default=None, ge=0, lt=1440)
    priority: Priority | None = None
    gpus: int | None = Field(default=None, ge=0, le=10**9)
    flavor: str | None = Field(default=None, max_length=100)
    beneficiary: str | None = Field(default=None, pattern=r"^R-[0-9]{1,12}$")
    move: bool | None = None
    seen: str = Field(default="", pattern=r"^([0-9a-f]{16})?$")

    @model_validator(mode="after")
    def _whole(self) -> WishValue:
        if self.kind is InterventionKind.QUOTA and self.gpus is None:
            raise ValueError("a quota without a number")
        return self

    @classmethod
    def of(cls, wish: Wish, seen: str = "") -> WishValue:
        """What the button of a wish carries."""
        return cls(
            kind=wish.kind,
            target=wish.target,
            reason=wish.reason,
            after=wish.end.after,
            day=wish.end.day,
            minute=wish.end.minute,
            priority=wish.priority,
            gpus=wish.gpus,
            flavor=wish.flavor,
            beneficiary=wish.beneficiary,
            move=wish.move,
            seen=seen,
        )

    def wish(self) -> Wish:
        """The wish that it carries."""
        return Wish(
            kind=self.kind,
            target=self.target,
            reason=self.reason,
            end=End(after=self.after, day=self.day, minute=self.minute),
            priority=self.priority,
            gpus=self.gpus,
            flavor=self.flavor,
            beneficiary=self.beneficiary,
            move=self.move,
        )


class CallValue(_Value):
    """The button under a notice for on-call: the notice's key."""

    call: str = Field(min_length=1, max_length=300)


class LinkValue(_Value):
    """A lead's answer to who wants to be in the team; the desk looks at the lead's right."""

    person: str = Field(pattern=r"^[UW][A-Z0-9]{2,20}$")
    team: str = Field(max_length=100)
    agree: bool


class EmptyValue(_Value):
    """A button that needs no value."""


class FormPlace(_Value):
    """Where a form was opened, so that the answer goes there; and which request it changes."""

    channel: str | None = Field(default=None, pattern=r"^[A-Z0-9]{2,30}$")
    request: str | None = Field(default=None, pattern=r"^R-[0-9]{1,12}$")


def place_of_form(view: Mapping[str, object]) -> FormPlace | None:
    """Where a sent form was opened; None where an older or newer version has opened it."""
    try:
        return FormPlace.model_validate_json(str(view.get("private_metadata") or "{}"))
    except ValidationError:
        return None
