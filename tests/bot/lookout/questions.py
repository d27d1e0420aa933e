"""What is asked of lookouts; a process that looks ahead has to import no more than this."""

from __future__ import annotations

from bot.terms import Terms
from scheduler.engine import Engine
from scheduler.model import Seconds, WorkloadId


def who_is_there(engine: Engine, terms: Terms, now: Seconds) -> tuple[list[str], list[str], int]:
    waiting = [str(one.id) for one in engine.pending()]
    running = [str(workload.id) for workload, _ in engine.running()]
    return waiting, running, len(terms.teams) + int(now)


def stumble(engine: Engine, _terms: Terms, now: Seconds) -> None:
    engine.forecast(WorkloadId("R-0"), now)
