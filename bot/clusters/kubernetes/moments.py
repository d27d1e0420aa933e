"""Times as they stand in annotations, for people and programs: RFC 3339, in UTC."""

from __future__ import annotations

import datetime as dt
import math

from scheduler.model import Seconds


def write_moment(at: Seconds) -> str:
    """A time in whole seconds, never an earlier one."""
    return dt.datetime.fromtimestamp(math.ceil(at), dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def read_moment(text: str) -> Seconds | None:
    """A time in seconds since the epoch; None for anything else."""
    try:
        found = dt.datetime.fromisoformat(text)
    except ValueError:
        return None
    return found.replace(tzinfo=found.tzinfo or dt.UTC).timestamp()
