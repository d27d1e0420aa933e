"""Arguments of a Web API call: required ones, numbers, flags, pages."""

from __future__ import annotations

import base64
import binascii
from typing import Any

from bot.workspace.wire import Json, SlackError, stamp_micros


def need(args: Json, name: str, error: str | None = None) -> str:
    """A text that must be there; else SlackError `invalid_arguments` or the given code."""
    value = args.get(name)
    if not value:
        missing = f"missing required field: {name}"
        raise SlackError(error or "invalid_arguments", messages=() if error else (missing,))
    return str(value)


def flag(args: Json, name: str) -> bool:
    """A truth value, however it was encoded."""
    return str(args.get(name, "")).lower() in ("true", "1")


def stamp(args: Json, name: str, error: str) -> str:
    """A time stamp or ""; SlackError with the given code if it is something else."""
    value = str(args.get(name) or "")
    if value:
        try:
            stamp_micros(value)
        except ValueError as bad:
            raise SlackError(error) from bad
    return value


def page(args: Json, items: list[Any], *, most: int = 1000, default: int = 100) -> tuple[Any, Json]:
    """One page of a list, and the `response_metadata` with the cursor to the next.

    Raises:
        SlackError: `invalid_limit`, `invalid_cursor`.

    """
    try:
        limit = int(args.get("limit") or default)
    except ValueError as error:
        raise SlackError("invalid_limit") from error
    if not 1 <= limit <= most:
        raise SlackError("invalid_limit")
    try:
        start = int(base64.b64decode(str(args.get("cursor") or ""), validate=True) or b"0")
    except (ValueError, binascii.Error) as error:
        raise SlackError("invalid_cursor") from error
    after = start + limit
    more = base64.b64encode(str(after).encode()).decode() if after < len(items) else ""
    return items[start:after], {"next_cursor": more}
