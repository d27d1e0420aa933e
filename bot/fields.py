"""What of a request people can name and change, and how one field of it differs from before."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FieldName(enum.StrEnum):
    """The parts of a request, as people know them."""

    SIZE = "size"
    MINIMUM = "minimum"
    MODEL = "model"
    LEASE = "lease"
    PREEMPTIBLE = "preemptible"
    PRIORITY = "priority"
    SPEND = "spend"
    PROVISION = "provision"
    TOPOLOGY = "topology"
    TEAM = "team"
    NAME = "name"
    OWNER = "owner"


Value = bool | float | str | None
"""A lease in seconds, `preemptible` as a bool, an owner as a Slack id, the rest in words."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldChange:
    """One field, before and after."""

    field: FieldName
    before: Value
    after: Value
