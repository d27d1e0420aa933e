"""Short words for what is asked for: another whenever something else is.

They are stored, and compared by later releases. So a field that a record gets later stands in them
only where it says something: of whoever does not use it, the word stays as it was.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Mapping
from typing import Any

from bot.clusters.kubernetes.facts import PodShape
from bot.clusters.kubernetes.works import ReplicatedJob
from scheduler.model import Requirement, Toleration
from storage.records import FamilyRef

# Fields that have stood there from the first release on, also where they say nothing.
_FIRST: Mapping[type, frozenset[str]] = {
    PodShape: frozenset({"node_selector", "affinity", "tolerations", "written", "gates"}),
    ReplicatedJob: frozenset({"done", "once"}),
    Requirement: frozenset({"values"}),
    Toleration: frozenset({"key", "value", "effect"}),
    FamilyRef: frozenset({"revision"}),
}


def shorten(what: object) -> str:
    """The word for what is asked for."""
    return hashlib.sha256(_write(what).encode()).hexdigest()[:12]


def _write(what: Any) -> str:
    """As Python writes it, without the later fields of records that are at their default."""
    if isinstance(what, tuple):
        return f"({', '.join(map(_write, what))}{',' if len(what) == 1 else ''})"
    if isinstance(what, list):
        return f"[{', '.join(map(_write, what))}]"
    if dataclasses.is_dataclass(what):
        first = _FIRST.get(type(what), frozenset())
        said = (
            f"{field.name}={_write(getattr(what, field.name))}"
            for field in dataclasses.fields(what)
            if field.name in first or getattr(what, field.name) != _default(field)
        )
        return f"{type(what).__qualname__}({', '.join(said)})"
    return repr(what)


def _default(field: dataclasses.Field[Any]) -> object:
    """What a field says where nobody has said anything; of one that must be given, nothing does."""
    if field.default_factory is not dataclasses.MISSING:
        return field.default_factory()
    return field.default
