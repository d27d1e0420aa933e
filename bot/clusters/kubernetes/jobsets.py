"""JobSets as gangs: several kinds of pods that start together, under one request.

What differs from a Job: its pods hang on Jobs that its controller makes, they are of several
shapes, each with slots of its own, and every one is sent to its node by itself.
"""

from __future__ import annotations

from collections.abc import Mapping

from bot.clusters.kubernetes import patches
from bot.clusters.kubernetes.additions import Additions, additions_in, write_additions
from bot.clusters.kubernetes.connection import STEPS
from bot.clusters.kubernetes.facts import PodFacts
from bot.clusters.kubernetes.gangs import Gang, is_granted, path_of, seats, slots_in
from bot.clusters.kubernetes.jobs import JobGangs
from bot.clusters.kubernetes.progress import still_needed
from bot.clusters.kubernetes.works import JobSetFacts, WorkFacts
from scheduler.model import NodeName


class JobSetGangs(JobGangs):
    """Carries out decisions about JobSets, under the lock of whoever calls."""

    def _host(self, gang: Gang) -> str | None:
        """No template of a JobSet names a host."""
        del gang
        return None

    def _write_start(self, gang: Gang, job: WorkFacts) -> None:
        if not isinstance(job, JobSetFacts):
            raise TypeError(f"not a JobSet: {job.kind}")
        shapes = {part.name: part.shape for part in job.parts}
        added = {
            part.name: patches.added_to(shapes[part.name], None, self._fleet.tolerations((part,)))
            for part in gang.admission.assignments
        }
        earlier = {name: additions_in(job.annotations, name) for name in shapes}
        gang.added = write_additions({**earlier, **added})
        steps = patches.start_job_set(gang, job, added)
        self._connection.patch(path_of(gang.ref), steps, STEPS)

    def _additions_in(self, gang: Gang, job: WorkFacts) -> Mapping[str, Additions]:
        """What was added to its templates, where somebody has taken away what told it."""
        if not isinstance(job, JobSetFacts):
            raise TypeError(f"not a JobSet: {job.kind}")
        shapes = {part.name: part.shape for part in job.parts}
        return {
            part.name: patches.found_in(
                shapes[part.name], None, self._fleet.tolerations((part,)), gang.homes
            )
            for part in gang.admission.assignments
            if part.name in shapes
        }

    def _places(self, gang: Gang, pods: tuple[PodFacts, ...]) -> dict[str, NodeName]:
        """Where gated pods go, by uid; nothing until the gang is whole.

        One whose parts start in order, or whose Jobs have domains of their own, is never whole at
        once: its pods go as they come.
        """
        job_set = self._mirror.job_sets.items.get(gang.ref.uid)
        mine = [pod for pod in pods if is_granted(gang, pod)]
        alive = [pod for pod in mine if not pod.finished and not pod.terminating]
        if job_set is None:
            return {}
        parts = gang.admission.assignments
        need = still_needed(gang, job_set, pods)
        apart = gang.ordered or job_set.waits_for_nodes
        gang.whole = gang.whole or apart or len(alive) >= need
        if not gang.whole:
            return {}
        each = {part.name: part.pods for part in job_set.parts}
        found: dict[str, NodeName] = {}
        for part in parts:
            slots, places = slots_in(part), gang.places_in(part)
            here = [pod for pod in alive if pod.part is not None and pod.part[0] == part.name]
            ranks = {pod.uid: _rank(pod, each.get(part.name, 0)) for pod in here}
            found |= seats(gang, slots, places, here, ranks, self._hosts(gang))
        return found


def _rank(pod: PodFacts, size: int) -> int | None:
    """Its place among the pods of its part, whose Jobs have `size` pods each."""
    if pod.part is None or pod.index is None or pod.index >= size:
        return None
    return pod.part[1] * size + pod.index
