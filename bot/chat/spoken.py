"""What of Slack's deliveries somebody said to the bot, and how its text is taken in."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping
from typing import Any

_SAID = frozenset({"file_share", "thread_broadcast", "me_message"})
"""Subtypes of what a person says: with a file, also to the channel, or as `/me`."""
_ADDRESSED = re.compile(r"\s*[,:;，：；、]?(?=\s|\w|$)")
_NUL = re.compile("\x00")
_HALF = re.compile("[\ud800-\udfff]")


def is_said(event: Mapping[str, Any]) -> bool:
    """Whether a person says this, now: no bot's message, and no edit, deletion or joining.

    Slack sends the mention in an edited message again, as a new event that is marked `edited`.
    """
    subtype = event.get("subtype")
    if event.get("bot_id") or not event.get("user") or event.get("edited"):
        return False
    return not subtype or subtype in _SAID


def after_mention(text: str, bot: str) -> str:
    """What stands after the bot's name, or before it where nothing does: `mine @gpubot`.

    People address somebody with a comma or a colon, which is none of what they say.
    """
    before, _, after = text.partition(f"<@{bot}>")
    said = _ADDRESSED.sub("", after, count=1)
    return said.strip() or before.strip()


def as_delivered(line: str) -> str:
    """A line of ours as Slack would hand it over, so that nothing in it is read as markup."""
    return html.escape(line, quote=False)


def make_storable(body: dict[str, Any], next: Callable[[], None]) -> None:  # noqa: A002 - Bolt's
    """Middleware: take what no database keeps (NUL, halves of a character) out of a delivery."""
    body.update({key: _storable(value) for key, value in body.items()})
    next()


def storable(text: str) -> str:
    """The text with a space for each NUL and a mark for each half of a character."""
    return _HALF.sub("\ufffd", _NUL.sub(" ", text))


def _storable(value: Any) -> Any:
    if isinstance(value, str):
        return storable(value)
    if isinstance(value, list):
        return [_storable(each) for each in value]
    if isinstance(value, dict):
        return {key: _storable(each) for key, each in value.items()}
    return value
