"""The parts of a request, as people call them."""

from __future__ import annotations

from collections.abc import Mapping

from bot.fields import FieldName

FIELDS: Mapping[FieldName, str] = {
    FieldName.SIZE: "size",
    FieldName.MINIMUM: "smallest start",
    FieldName.MODEL: "GPU model",
    FieldName.LEASE: "lease",
    FieldName.PREEMPTIBLE: "preemptible",
    FieldName.PRIORITY: "priority",
    FieldName.SPEND: "spend",
    FieldName.PROVISION: "kind of nodes",
    FieldName.TOPOLOGY: "nearness",
    FieldName.TEAM: "team",
    FieldName.NAME: "name",
    FieldName.OWNER: "owner",
}
