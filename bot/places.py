"""Where in the topology a grant lies, in the words people have for its levels."""

from __future__ import annotations

from collections.abc import Iterable

from bot.terms import Terms, level_word
from scheduler.engine import Engine
from scheduler.layout import HOSTNAME
from scheduler.model import Admission
from storage.records import Request

Domain = tuple[tuple[str, str], ...]
"""(level, value) pairs, coarse to fine."""


def domain_of(engine: Engine, terms: Terms, grant: Admission) -> Domain:
    """The narrowest domain above single nodes that holds all nodes of a grant."""
    flavors = dict.fromkeys(f for a in grant.assignments for f in a.flavors.values())
    levels = dict.fromkeys(
        label for flavor in flavors for label in terms.layout.flavor(flavor).levels
    )
    names = sorted({name for a in grant.assignments for name, _ in a.nodes})
    labels = [node.labels for name in names if (node := engine.node(name))]
    path = []
    for level in levels:
        values = {one.get(level, "") for one in labels}
        if len(values) != 1 or "" in values or level == HOSTNAME:
            break
        path.append((level_word(level), values.pop()))
    return tuple(path)


def domains_of(engine: Engine, terms: Terms, requests: Iterable[Request]) -> dict[str, Domain]:
    """The same for each request that holds a grant, by its id."""
    return {r.id: domain_of(engine, terms, r.held) for r in requests if r.held}
