"""Who has waited beyond the target of his priority class."""

from __future__ import annotations

from collections.abc import Container

from scheduler.aging import since
from scheduler.explain import Survey
from scheduler.model import Seconds, Starvation, WorkloadId
from scheduler.state import State


def starving(
    state: State, now: Seconds, skip: Container[WorkloadId] = ()
) -> tuple[Starvation, ...]:
    """Longest wait first, then by id. A class without a target never starves.

    Who was stopped waits anew: the time in which he ran is no waiting. Who rests is not tried.

    Those in `skip` are left out before anything is explained: explaining takes time.
    """
    targets = state.layout.target_waits
    waiting = [w.workload for w in (*state.waiting.values(), *state.promised())]
    late = [
        (now - since(workload), workload, target)
        for workload in waiting
        if workload.id not in skip
        and workload.rest is None
        and (target := targets.get(workload.priority_class)) is not None
        and now - since(workload) > target
    ]
    late.sort(key=lambda entry: (-entry[0], entry[1].id))
    survey = Survey(state, now)
    return tuple(
        Starvation(
            workload=workload.id,
            waited=waited,
            target_wait=target,
            explanation=survey.explain(workload.id),
        )
        for waited, workload, target in late
    )
