"""Who waits, queue by queue, in the engine's own order, a page at a time."""

from __future__ import annotations

from collections.abc import Callable
from itertools import groupby

from bot.glance import used_by_queue
from bot.plans import near, refuse
from bot.rows import boost_of, queue_row
from bot.terms import Terms
from bot.views import QueueRow, QueueSection, QueueView, RefusalCode, Refused
from scheduler.engine import Engine
from scheduler.layout import MODEL_LABEL
from scheduler.model import QueueName, Seconds, Workload

PAGE = 15  # rows of one page, over all queues
MINE = 10  # own rows shown above them
Wanted = Callable[[Workload], bool]


def list_queue(
    engine: Engine,
    terms: Terms,
    person_id: str,
    what: str | None,
    page: int,
    now: Seconds,
    *,
    owner: str | None = None,
) -> QueueView | Refused:
    """One page of those who wait in a pool, a queue, for a team or a GPU model, or of all.

    `owner` is the person that `what` names, where it names one.
    """
    wanted = _wanted(terms, what, owner)
    if isinstance(wanted, Refused):
        return wanted
    waiting = [workload for workload in engine.pending() if wanted(workload)]
    totals: dict[QueueName, int] = {}
    for workload in waiting:
        totals[workload.queue] = totals.get(workload.queue, 0) + 1
    pages = max(1, -(-len(waiting) // PAGE))
    page = min(max(1, page), pages)
    shown = waiting[(page - 1) * PAGE : page * PAGE]
    mine = [workload for workload in waiting if workload.owner == person_id]

    survey = engine.survey(now)

    def row(workload: Workload) -> QueueRow:
        boost = boost_of(engine, terms, workload, lifted=True)
        return queue_row(workload, survey.explain(workload.id), now, person_id, boost)

    used = used_by_queue(engine)
    sections = tuple(
        QueueSection(
            queue=queue,
            pool=terms.pool(queue),
            nominal=terms.nominal(queue),
            used=used[queue],
            total=totals[queue],
            rows=tuple(row(workload) for workload in members),
        )
        for queue, members in groupby(shown, key=lambda workload: workload.queue)
    )
    return QueueView(
        mine=tuple(row(workload) for workload in mine[:MINE]),
        mine_total=len(mine),
        sections=sections,
        about=what,
        page=page,
        pages=pages,
        at=now,
    )


def _wanted(terms: Terms, what: str | None, owner: str | None) -> Wanted | Refused:
    """Which waiting requests a word means: a pool, a team, a model, a queue, or a person."""
    if what is None:
        return lambda _: True
    word = what.strip().lower()
    pools = {str(pool.name).lower() for pool in terms.layout.pools}
    queues = {str(queue.name).lower() for queue in terms.layout.queues}
    models = {model.lower() for model in terms.models}
    if word in pools:
        return lambda workload: terms.pool(workload.queue).lower() == word
    if word in terms.teams:
        return lambda workload: workload.team == word
    if word in models:
        return lambda workload: _model(workload, terms).lower() == word
    if word in queues:
        return lambda workload: workload.queue.lower() == word
    if owner is not None:
        return lambda workload: workload.owner == owner
    known = [*pools, *terms.teams, *models, *queues]
    return refuse(RefusalCode.UNKNOWN_TARGET, near(word, known), what=what)


def _model(workload: Workload, terms: Terms) -> str:
    asked = workload.pod_sets[0].node_selector.get(MODEL_LABEL)
    return asked or (terms.models[0] if terms.models else "")
