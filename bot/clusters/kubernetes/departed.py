"""What had ended and was removed before anybody looked: how it ended would be lost with it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import PodFacts
from bot.clusters.kubernetes.works import WorkFacts


@dataclass(slots=True)
class Departed:
    """What went since somebody looked: Jobs and JobSets by uid, pods by uid and by their unit.

    Only of what we had let go.

    `cut` are pods, by uid, that have ended because their deletion was asked for while they ran:
    how their containers took that says nothing about the work.
    """

    works: dict[str, WorkFacts] = field(default_factory=dict)
    pods: dict[str, list[PodFacts]] = field(default_factory=dict)
    cut: set[str] = field(default_factory=set)

    def take_work(self, last: WorkFacts) -> None:
        """A Job or JobSet is gone."""
        if last.verdict is not None and last.decision is not None:
            self.works[last.uid] = replace(last, end=last.verdict)

    def take_pod(self, before: PodFacts, after: PodFacts | None) -> None:
        """A pod has changed, or is gone: `after` is None."""
        if after is not None:
            if after.finished and before.terminating and not before.finished:
                self.cut.add(after.uid)
            return
        ours = names.DECISION in before.annotations
        if ours and before.finished and before.uid not in self.cut:
            for key in {before.uid, before.unit or before.uid}:
                self.pods.setdefault(key, []).append(before)
        self.cut.discard(before.uid)
