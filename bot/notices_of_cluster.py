"""What the cluster itself makes the bot say, as kinds and arguments."""

from __future__ import annotations

from typing import Any, Literal

from bot.notice_parts import Args, NoticeKind


class NotTakenArgs(Args):
    """An object of the cluster cannot become a request; to its owner, else to on-call.

    `refusal` is as `bot.refusals` writes it.
    """

    kind: Literal[NoticeKind.NOT_TAKEN] = NoticeKind.NOT_TAKEN
    what: str
    namespace: str
    name: str
    refusal: dict[str, Any]
