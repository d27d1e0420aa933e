"""What a pool gives all its queues, and a queue may say otherwise: compiled for one queue."""

from __future__ import annotations

from dataclasses import dataclass

from scheduler.layout import Aging, BackfillRules
from scheduler.model import Seconds
from scheduler.policy_schema import AgingPart, BackfillPart, PoolPart, QueuePart


@dataclass(frozen=True, slots=True, kw_only=True)
class Courtesy:
    """See `scheduler.layout.Queue`, whose fields these are."""

    min_runtime: Seconds
    min_runtime_own: Seconds
    aging: Aging | None
    fair_users: bool
    backfill: BackfillRules | None


def courtesy_of(pool: PoolPart, queue: QueuePart) -> Courtesy:
    """The queue's own word, else its pool's, else off.

    The minimum run time against the own queue is the same as against others, unless said.
    """
    least = _first(queue.min_runtime, pool.min_runtime) or 0.0
    own = _first(queue.min_runtime_own_queue, pool.min_runtime_own_queue)
    backfill = queue.backfill if queue.backfill is not None else pool.backfill
    aging = queue.aging if queue.aging is not None else pool.aging
    return Courtesy(
        min_runtime=least,
        min_runtime_own=least if own is None else own,
        aging=None if aging is None else _aging(aging),
        fair_users=bool(pool.fair_users if queue.fair_users is None else queue.fair_users),
        backfill=None if backfill is None else _backfill(backfill),
    )


def _first(mine: Seconds | None, pools: Seconds | None) -> Seconds | None:
    return pools if mine is None else mine


def _aging(part: AgingPart) -> Aging:
    return Aging(after=part.after, every=part.every, step=part.step, most=part.most, hold=part.hold)


def _backfill(part: BackfillPart) -> BackfillRules:
    return BackfillRules(
        after=part.after, least=part.least, most=part.at_once, patience=part.patience
    )
