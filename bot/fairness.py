"""How the teams stand against each other: what they hold, what is theirs, what they used."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from bot.glance import team_shares, used_by_queue
from bot.terms import Terms
from bot.views import TeamShare
from scheduler.engine import Engine
from scheduler.model import Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Borrower:
    """A queue that uses more than its own quota.

    `share` is its weighted dominant share, in thousandths of what could be lent to it;
    infinite for a queue of weight 0.
    """

    queue: str
    pool: str
    used: int
    nominal: int
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class FairView:
    """`/gpu fair`: teams by decayed chip-hours, who used least first; then who borrows.

    `half_life` and `weights` say how use is counted; `waiting` are GPUs asked for by team.
    """

    teams: tuple[TeamShare, ...]
    waiting: tuple[tuple[str, int], ...]
    weights: tuple[tuple[str, float], ...]
    borrowers: tuple[Borrower, ...]
    half_life: float | None
    mine: tuple[str, ...]
    at: float


def fair_view(
    engine: Engine, terms: Terms, mine: tuple[str, ...], team: str | None, now: Seconds
) -> FairView:
    """All teams, or one; `mine` are the asker's."""
    layout = terms.layout
    names = [team] if team is not None else [str(name) for name in terms.teams]
    shares = sorted(team_shares(engine, terms, names, now), key=lambda one: one.rank)
    waiting: Counter[str] = Counter()
    for workload in engine.pending():
        waiting[workload.team] += workload.gpus
    used = used_by_queue(engine)
    borrowers = tuple(
        Borrower(
            queue=str(queue),
            pool=terms.pool(queue),
            used=used[queue],
            nominal=terms.nominal(queue),
            share=share.value,
        )
        for queue, share in engine.shares()
        if share.borrowed
    )
    return FairView(
        teams=tuple(shares),
        waiting=tuple((name, waiting[name]) for name in names if waiting[name]),
        weights=tuple((str(t.name), t.weight) for t in layout.teams if t.weight != 1.0),
        borrowers=tuple(sorted(borrowers, key=lambda one: (-one.share, one.queue))),
        half_life=layout.usage.half_life if layout.usage is not None else None,
        mine=mine,
        at=now,
    )
