"""What a word of an admin means: queues, flavors and nodes."""

from __future__ import annotations

from bot.plans import near
from bot.terms import Terms
from scheduler.layout import Queue
from scheduler.model import GPU

EVERYTHING = frozenset({"all", "everything", "全部", "所有"})


def queues_named(terms: Terms, word: str) -> tuple[Queue, ...]:
    """The queues of a name, a pool, a team, or all; none for a word that means nothing."""
    said = word.strip().lower()
    queues = terms.layout.queues
    if said in EVERYTHING:
        return queues
    for found in (
        tuple(queue for queue in queues if queue.name.lower() == said),
        tuple(queue for queue in queues if str(queue.pool).lower() == said),
        tuple(queue for queue in queues if queue.team is not None and queue.team.lower() == said),
    ):
        if found:
            return found
    return ()


def likely_places(terms: Terms, word: str) -> tuple[str, ...]:
    """Names of queues, pools and teams that look like a word."""
    layout = terms.layout
    names = [
        *(str(queue.name) for queue in layout.queues),
        *(str(queue.pool) for queue in layout.queues),
        *map(str, terms.teams),
    ]
    return near(word, names) or tuple(dict.fromkeys(str(pool.name) for pool in layout.pools))[:5]


def flavors_of(queue: Queue) -> tuple[str, ...]:
    """The flavors of which a queue has GPU quota, in the policy's order."""
    return tuple(str(flavor) for flavor, resource in queue.quotas if resource == GPU)
