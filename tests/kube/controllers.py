"""The cluster's own loops, each one pass at a time."""

from __future__ import annotations

from collections.abc import Callable

from tests.kube.budgets import step_budgets
from tests.kube.cluster import Cluster
from tests.kube.definitions import step_definitions
from tests.kube.garbage import step_garbage
from tests.kube.jobs import step_jobs
from tests.kube.jobsets import step_job_sets
from tests.kube.node_life import step_nodes
from tests.kube.policies import step_policies
from tests.kube.scheduling import step_scheduler
from tests.kube.workloads import step_workloads

_PATIENCE = 50


class Controllers:
    """Steps that a test calls; each gives back how many objects it wrote."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster

    def _run(self, step: Callable[[Cluster], int]) -> int:
        with self._cluster.store.lock:
            return step(self._cluster)

    def jobs(self) -> int:
        return self._run(step_jobs)

    def workloads(self) -> int:
        return self._run(step_workloads)

    def garbage(self) -> int:
        return self._run(step_garbage)

    def nodes(self) -> int:
        return self._run(step_nodes)

    def definitions(self) -> int:
        return self._run(step_definitions)

    def job_sets(self) -> int:
        return self._run(step_job_sets)

    def policies(self) -> int:
        return self._run(step_policies)

    def budgets(self) -> int:
        return self._run(step_budgets)

    def schedule(self) -> int:
        return self._run(step_scheduler)

    def settle(self) -> int:
        """All loops until none has anything to do at this moment; how many objects they wrote.

        Raises:
            RuntimeError: they never come to rest, which is a fault of the emulator.

        """
        total = 0
        for _ in range(_PATIENCE):
            steps = (
                self.nodes,
                self.workloads,
                self.job_sets,
                self.jobs,
                self.garbage,
                self.schedule,
                self.budgets,
                self.policies,
                self.definitions,
            )
            written = sum(step() for step in steps)
            if not written:
                return total
            total += written
        raise RuntimeError("the controllers do not come to rest")
