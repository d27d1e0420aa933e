"""What `gpubot doctor` finds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """One thing that was looked at. `cure` says what to do when it is not well.

    Something well with a cure is a warning.
    """

    what: str
    well: bool
    seen: str
    cure: str = ""
