"""Slack's mrkdwn as a type: text that is safe to send, and the only ways to make it.

`say` fills a template and escapes every value that is not already `Markup`, so a name such
as `<!channel>` cannot reach Slack as a mention unless somebody builds `Markup` by hand.
"""

from __future__ import annotations

import datetime as dt
import html
import re
import unicodedata
from collections.abc import Iterable

LONGEST_VALUE = 120
_ENTITIES = {"&": "&amp;", "<": "&lt;", ">": "&gt;", "`": "'"}


class Markup(str):
    """Text in Slack's mrkdwn in which everything a person typed is escaped."""

    __slots__ = ()


def plain(text: str, limit: int = LONGEST_VALUE) -> str:
    """One line of what a person typed: no control, bidi or zero-width characters, cut at `limit`.

    For places Slack shows literally (plain_text, option labels) and as a first step of `escape`.
    """
    kept = []
    for char in text[: limit * 4]:
        category = unicodedata.category(char)
        if category in {"Cc", "Zl", "Zp", "Zs"}:
            kept.append(" ")
        elif category not in {"Cf", "Cs", "Co", "Cn"}:
            kept.append(char)
    line = re.sub(" +", " ", "".join(kept))
    return line if len(line) <= limit and len(text) <= limit * 4 else line[: limit - 1] + "…"


def escape(text: str, limit: int = LONGEST_VALUE) -> Markup:
    """What a person typed, to be shown literally: the one place where escaping happens."""
    return Markup("".join(_ENTITIES.get(char, char) for char in plain(text, limit)))


def escape_line(text: str) -> Markup:
    """Like `escape`, but one column stays one column, so that a caret can point into it."""
    shown = (
        " " if unicodedata.category(char) in {"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"} else char
        for char in text
    )
    return Markup("".join(_ENTITIES.get(char, char) for char in shown))


def say(template: str, /, **values: object) -> Markup:
    """`template.format(**values)` with every value escaped that is not Markup or a number."""
    return Markup(template.format_map({key: _safe(value) for key, value in values.items()}))


def join(separator: str, parts: Iterable[Markup]) -> Markup:
    """The parts that are not empty, joined by a separator the bot chose."""
    return Markup(separator.join(part for part in parts if part))


def _safe(value: object) -> object:
    if isinstance(value, Markup | int | float):
        return value
    return escape(str(value))


def date(at: float, form: str = "{date_short_pretty} {time}") -> Markup:
    """A moment (epoch seconds) in the reader's own time zone, with UTC for other readers."""
    moment = dt.datetime.fromtimestamp(int(at), dt.UTC)
    return Markup(f"<!date^{int(at)}^{form}|{moment:%Y-%m-%d %H:%M} UTC>")


def mention(user: str) -> Markup:
    """A mention of a person by Slack id. Raises ValueError on anything that is not an id."""
    if not is_user_id(user):
        raise ValueError(f"not a Slack user id: {user[:40]!r}")
    return Markup(f"<@{user}>")


def mention_group(group: str) -> Markup:
    """A mention of a user group by id. Raises ValueError on anything that is not an id."""
    if not re.fullmatch(r"S[A-Z0-9]{2,20}", group):
        raise ValueError(f"not a Slack user group id: {group[:40]!r}")
    return Markup(f"<!subteam^{group}>")


def mention_channel(channel: str) -> Markup:
    """A link to a channel by id. Raises ValueError on anything that is not an id."""
    if not re.fullmatch(r"[CG][A-Z0-9]{2,20}", channel):
        raise ValueError(f"not a Slack channel id: {channel[:40]!r}")
    return Markup(f"<#{channel}>")


def is_user_id(text: str) -> bool:
    """Whether `text` has the form of a Slack user id."""
    return re.fullmatch(r"[UW][A-Z0-9]{2,20}", text) is not None


def literal(text: Markup) -> str:
    """What a reader sees of it, for places that know no markup: Slack's entities decoded."""
    return html.unescape(text)


def _whole_tokens(head: str) -> str:
    """`head` without the token or entity that its end cuts in two."""
    if head.rfind("<") > head.rfind(">"):
        head = head[: head.rfind("<")]
    if head.rfind("&") > head.rfind(";"):
        head = head[: head.rfind("&")]
    return head


def shorten(text: Markup, limit: int) -> Markup:
    """`text` cut to `limit` characters at a line or word, never inside a token or an entity."""
    if len(text) <= limit:
        return text
    head = _whole_tokens(text[: limit - 2])
    cut = max(head.rfind("\n"), head.rfind(" "))
    if cut > limit // 2:
        head = _whole_tokens(head[:cut])  # the space may have been inside a token
    if head.count("```") % 2:
        head = head[: limit - 6] + "\n```"
    return Markup(head + " …")
