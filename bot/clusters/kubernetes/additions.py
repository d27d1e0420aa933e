"""What the bot has written into a template, so that it knows what its maker wrote there.

It stands on the object itself (`names.PINNED`), by part: a host, our gate, tolerations. Only what
still stands there as we wrote it is ours: what the maker changes since is the maker's.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json

_ANY = "*"


@dataclass(frozen=True, slots=True, kw_only=True)
class Additions:
    """What is ours in the template of one part."""

    host: str | None = None
    gate: bool = False
    tolerations: tuple[Json, ...] = ()

    def selector_without(self, selector: Mapping[str, str]) -> dict[str, str]:
        """A node selector as its maker wrote it."""
        ours = self.host is not None and self.host in {_ANY, selector.get(names.HOSTNAME)}
        return {k: v for k, v in selector.items() if k != names.HOSTNAME or not ours}

    def gates_without(self, gates: Sequence[str]) -> tuple[str, ...]:
        """The gates that the maker wrote."""
        return tuple(gate for gate in gates if gate != names.GATE or not self.gate)

    def tolerations_without(self, written: Sequence[Json]) -> tuple[Json, ...]:
        """The tolerations that the maker wrote; of equal ones as many as we did not add."""
        kept = list(written)
        for one in self.tolerations:
            if one in kept:
                kept.remove(one)
        return tuple(kept)


NONE = Additions()
_AS_BEFORE = Additions(host=_ANY, gate=True)  # before it was told what was added


def write_additions(parts: Mapping[str, Additions]) -> str:
    """As it stands in an annotation."""
    return json.dumps({name: _written(one) for name, one in parts.items()}, sort_keys=True)


def additions_in(marks: Mapping[str, str], part: str) -> Additions:
    """What an object's annotations tell of one of its parts; nothing where that is garbled."""
    text = marks.get(names.PINNED)
    if text == "true":
        return _AS_BEFORE
    try:
        found = json.loads(text or "{}")
        one = found.get(part) or {}
        return Additions(
            host=one.get("host"),
            gate=one.get("gate") is True,
            tolerations=tuple(dict(each) for each in one.get("tolerations") or ()),
        )
    except (ValueError, TypeError, AttributeError):
        return NONE


def _written(one: Additions) -> Json:
    found: Json = {} if one.host is None else {"host": one.host}
    if one.gate:
        found["gate"] = True
    if one.tolerations:
        found["tolerations"] = list(one.tolerations)
    return found
