"""What waits for us in the cluster without being known: a Job or JobSet that a person made."""

from __future__ import annotations

import dataclasses

from bot.clusters.base import Wanted
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import marks_of_no_ask
from bot.clusters.kubernetes.gangs import ref_of
from bot.clusters.kubernetes.works import WorkFacts
from scheduler.model import Seconds


def wanted(work: WorkFacts, now: Seconds) -> Wanted | None:
    """What a Job or JobSet asks for; None unless it waits to be let in."""
    waits = work.suspended and not work.deleting and work.end is None and names.TEAM in work.labels
    waits = waits and names.MADE not in work.annotations and not work.child
    if not waits or not work.pod_sets:
        return None
    marks = {**work.annotations, **work.labels}
    for own in marks_of_no_ask(work.annotations):
        marks.pop(own)
    return Wanted(
        ref=ref_of(work),
        marks={name.removeprefix(names.PREFIX): text for name, text in sorted(marks.items())},
        pod_sets=work.pod_sets,
        created=work.created,
        at=now,
    )


def differs(before: Wanted, after: Wanted) -> bool:
    """Whether something else is asked for now."""
    return dataclasses.replace(before, at=after.at, leaving=after.leaving) != after
