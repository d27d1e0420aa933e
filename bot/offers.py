"""Changes a person could accept so that a request starts sooner, as asks to be tried.

These are only candidates, and few, for each costs a trial: what does not start sooner is not
offered (`scheduler.offers`).
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pydantic import TypeAdapter

from bot.asks import SHORTEST_LEASE, Ask, Change, Nearness, Together
from bot.fields import FieldChange
from bot.plans import named
from bot.reask import ask_of, changes_of, demands_more
from bot.replans import replan
from bot.terms import Terms
from bot.views import Refused
from scheduler.model import Reservation, Seconds, Spend, Workload
from scheduler.offers import OfferKind
from storage.records import ObjectRef, Person

QUARTER_HOUR: Seconds = 900.0
LEASES_AT_MOST = 2
_WORKLOAD = TypeAdapter(Workload)


@dataclass(frozen=True, slots=True, kw_only=True)
class Alternative:
    """A change of a request, and the workload that it would be then."""

    key: str
    kind: OfferKind
    change: Change
    changes: tuple[FieldChange, ...]
    workload: Workload
    back: bool


def alternatives(
    before: Workload,
    planner: Person,
    terms: Terms,
    reservations: Sequence[Reservation],
    now: Seconds,
    ref: ObjectRef | None = None,
) -> tuple[Alternative, ...]:
    """The changes that may be of a workload, each once, as the policy routes them.

    Of one that stands for an object (`ref`), those that leave its pods as they are.
    """
    teams = tuple(dict.fromkeys((*planner.teams, before.team)))
    planner = replace(planner, teams=teams)
    ask = ask_of(before, terms)
    found: dict[str, Alternative] = {}
    for kind, change in candidates(ask, terms, reservations, now):
        planned = replan(before, ref, change.of(ask), planner, terms, now)
        if isinstance(planned, Refused):
            continue
        back = demands_more(before, planned, terms)
        after = replace(
            named(planned, before.id),
            owner=before.owner,
            created=now if back else before.created,
            queued=None if back else before.queued,
        )
        changes = changes_of(before, after, terms)
        key = key_of(before, after)
        if changes and key not in found:
            found[key] = Alternative(
                key=key, kind=kind, change=change, changes=changes, workload=after, back=back
            )
    return tuple(found.values())


def key_of(before: Workload, after: Workload) -> str:
    """A short name of the step from one workload to the other, whenever it is taken."""
    digest = hashlib.blake2s(digest_size=8)
    for workload in (before, after):
        timeless = replace(workload, created=0.0, queued=None, raised=0)
        digest.update(_WORKLOAD.dump_json(timeless))
    return digest.hexdigest()


def candidates(
    ask: Ask, terms: Terms, reservations: Sequence[Reservation], now: Seconds
) -> Iterator[tuple[OfferKind, Change]]:
    """What could be changed of an ask in pods of so many GPUs, smaller changes first."""
    for lease in _shorter(ask, reservations, now):
        yield OfferKind.SHORTER_LEASE, Change(duration=lease)
    for topology in _looser(ask, terms):
        yield OfferKind.LOOSER_TOPOLOGY, Change(topology=topology)
    pods, each = ask.pods or 1, ask.gpus_per_pod or 1
    if each % 2 == 0:
        yield OfferKind.SPLIT, Change(pods=pods * 2, gpus_per_pod=each // 2)
    if not ask.preemptible and ask.spend is Spend.LOW:
        yield OfferKind.PREEMPTIBLE, Change(preemptible=True)
    for model in terms.models:
        if ask.model is not None and model != ask.model:
            yield OfferKind.OTHER_MODEL, Change(model=model)
    for size in _fewer(pods, each):
        yield OfferKind.FEWER_GPUS, Change(pods=size[0], gpus_per_pod=size[1])
    if ask.spend is Spend.LOW:
        yield OfferKind.FLEX_START, Change(spend=Spend.HIGH, preemptible=False)
        yield OfferKind.SPOT, Change(spend=Spend.HIGH, preemptible=True)


def _fewer(pods: int, each: int) -> Iterator[tuple[int, int]]:
    """Three quarters and a half of the pods; of a single pod, of its GPUs."""
    seen = {(pods, each)}
    for part in (0.75, 0.5):
        size = (int(pods * part), each) if pods > 1 else (1, int(each * part))
        if min(size) >= 1 and size not in seen:
            seen.add(size)
            yield size


def _shorter(ask: Ask, reservations: Sequence[Reservation], now: Seconds) -> list[Seconds]:
    """What would end before large work is to start, and a half of the lease: the longest two."""
    lease = ask.duration
    if lease is None:
        return []
    gaps = [one.at - now - QUARTER_HOUR for one in reservations]
    found = dict.fromkeys(length // QUARTER_HOUR * QUARTER_HOUR for length in (*gaps, lease / 2))
    short = sorted((one for one in found if SHORTEST_LEASE <= one < lease), reverse=True)
    return short[:LEASES_AT_MOST]


def _looser(ask: Ask, terms: Terms) -> Iterator[Together]:
    """A coarser level, then the same level as a wish only."""
    asked = ask.topology
    if asked is None or asked.level is None or asked.nearness is not Nearness.SAME:
        return
    levels = list(terms.levels())
    at = levels.index(asked.level) if asked.level in levels else 0
    for level in reversed(levels[:at]):
        yield Together(Nearness.SAME, level)
    yield Together(Nearness.PREFER, asked.level)
