"""Replicas whose predecessors were not ready in time: what became of those is not forgotten.

A Deployment's replica that is stopped is a request which ends, and its successor another: what
was late would be tried without a pause, and never be held. So it is stored when replicas of a
template were late, until one of it is ready; whoever comes meanwhile rests as they would, and
whoever waits with them. A template is held when its replicas were late as often as the policy has
enough of with a request, but not all at once. While others of it run, it is only paused.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from bot.clock import moment
from bot.clusters.base import ClusterEvent, EndKind, GivenUp, Started
from bot.control.inforce import value_of
from bot.control.ledger import LOOP, Ledger
from scheduler import events
from scheduler.engine import Engine
from scheduler.model import Rest, RestCause, Seconds
from scheduler.rest import Readiness, rest_after
from storage.records import Request, Setting
from storage.states import RequestState
from storage.store import Store
from storage.work import Work

REMEMBERED: Seconds = 86400.0
LATE_OF = "late-of:"  # names when replicas of a template were late


@dataclass(frozen=True, slots=True)
class Latecomers:
    """When replicas were late, by their template, each since one was ready; oldest first."""

    times: Mapping[str, Sequence[Seconds]]

    @classmethod
    def of(cls, settings: Iterable[Setting], now: Seconds) -> Latecomers:
        """As storage has it, in settings under `LATE_OF`."""
        return cls(
            {
                one.name.removeprefix(LATE_OF): _times(one)
                for one in settings
                if one.until is not None and one.until.timestamp() > now
            }
        )

    def rest(
        self, request: Request, others: Iterable[Request], rules: Readiness, now: Seconds
    ) -> Rest | None:
        """How a replica rests for the sake of its predecessors; None if it does not."""
        key = template_of(request)
        times = self.times.get(key or "", ())
        if not times:
            return None
        rounds = _rounds(times, rules.backoff)
        if any(one.state is RequestState.RUNNING and template_of(one) == key for one in others):
            rest = rest_after(rules, RestCause.LATE, rounds, times[-1], held=False)
        else:
            many = rounds > 1 and len(times) >= rules.tries
            rest = rest_after(rules, RestCause.LATE, len(times) if many else rounds, times[-1])
        return rest if rest.until is None or rest.until > now else None


def template_of(request: Request) -> str | None:
    """What it is a replica of, with its template; None where it is none."""
    return None if request.ref is None else request.ref.template_key


def file_latecomers(
    store: Store, seen: Sequence[ClusterEvent], now: Seconds, fence: int | None
) -> None:
    """Store which templates' replicas were late, and forget those of which one is ready.

    Before the successors are taken in, which come before the ends of those are told.
    """
    news = [event for event in seen if isinstance(event, Started) or _is_late(event)]
    if not news:
        return
    with store.read() as view:
        known = Latecomers.of(view.settings.under(LATE_OF), now).times
        if not known and all(isinstance(event, Started) for event in news):
            return
        requests = view.requests.by_ids(sorted({event.workload for event in news}))
    after = {key: list(times) for key, times in known.items()}
    for event in news:
        request = requests.get(event.workload)
        key = None if request is None else template_of(request)
        if key is None or request is None or request.decision != event.decision:
            continue
        if isinstance(event, Started):
            after.pop(key, None)
        else:
            after.setdefault(key, []).append(event.at)
    with store.write(fence) as work:
        for key in known.keys() - after.keys():
            work.settings.delete(LATE_OF + key)
        for key, times in after.items():
            if times != known.get(key):
                _keep(work, key, times)


def rest_others(engine: Engine, ledger: Ledger, request: Request) -> Rest | None:
    """Have those rest that wait and are of the template of a replica which is late; how they do."""
    rest = rest_of(ledger, request, engine.layout.readiness)
    for one in () if rest is None else ledger.others(request):
        waits = one.state is RequestState.WAITING and template_of(one) == template_of(request)
        before = one.workload.rest
        held = before is not None and before.until is None
        if waits and not held and engine.workload(one.workload.id) is not None:
            after = replace(one.workload, rest=rest)
            engine.apply(events.Amended(workload=after, at=ledger.now))
            ledger.redraw(ledger.amend(one.id, workload=after))
    return rest


def rest_of(ledger: Ledger, request: Request, rules: Readiness) -> Rest | None:
    """How a replica of which some were late rests; None where it does not."""
    if template_of(request) is None:
        return None
    known = Latecomers.of(ledger.settings(LATE_OF), ledger.now)
    return known.rest(request, ledger.others(request), rules, ledger.now)


def series_of(ledger: Ledger, request: Request) -> str:
    """What names the replicas of its template that were late in a row."""
    key = template_of(request) or request.id
    times = Latecomers.of(ledger.settings(LATE_OF), ledger.now).times.get(key, ())
    return f"{key}:{min(times, default=ledger.now):.0f}"


def _is_late(event: ClusterEvent) -> TypeGuard[GivenUp]:
    return isinstance(event, GivenUp) and event.kind is EndKind.LATE


def _rounds(times: Sequence[Seconds], apart: Seconds) -> int:
    """How often somebody was late, those counted as one who were so at about the same time."""
    rounds, last = 0, float("-inf")
    for at in times:
        if at - last >= apart:
            rounds, last = rounds + 1, at
    return rounds


def _times(setting: Setting) -> list[Seconds]:
    known = value_of(setting).get("late")
    times = known if isinstance(known, list) else []
    return sorted(float(at) for at in times if isinstance(at, int | float))


def _keep(work: Work, key: str, times: Sequence[Seconds]) -> None:
    value = json.dumps({"late": list(times)})
    until = moment(times[-1] + REMEMBERED)
    work.settings.put(Setting(name=LATE_OF + key, value=value, author=LOOP, until=until))
