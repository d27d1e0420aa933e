"""What waits for us in the cluster without being known: a Job that a person made."""

from __future__ import annotations

import dataclasses

from bot.clusters.base import Wanted
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import JobFacts, marks_of_the_bot
from bot.clusters.kubernetes.gangs import ref_of
from scheduler.model import PodSet, Seconds


def wanted(job: JobFacts, now: Seconds) -> Wanted | None:
    """What a Job asks for; None unless it waits to be let in."""
    waits = job.suspended and not job.deleting and job.end is None and names.TEAM in job.labels
    waits = waits and names.MADE not in job.annotations
    if not waits:
        return None
    marks = {**job.annotations, **job.labels}
    for own in marks_of_the_bot(job.annotations):
        marks.pop(own)
    return Wanted(
        ref=ref_of(job),
        marks={name.removeprefix(names.PREFIX): text for name, text in sorted(marks.items())},
        pod_sets=(
            PodSet(
                count=job.pods,
                requests=job.shape.requests,
                node_selector=job.shape.node_selector,
                affinity=job.shape.affinity,
                tolerations=job.shape.tolerations,
            ),
        ),
        created=job.created,
        at=now,
    )


def differs(before: Wanted, after: Wanted) -> bool:
    """Whether something else is asked for now."""
    return dataclasses.replace(before, at=after.at) != after
