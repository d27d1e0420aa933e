"""The cluster's own loops, each one pass at a time."""

from __future__ import annotations

from collections.abc import Callable

from tests.kube.budgets import step_budgets
from tests.kube.claims import step_claims
from tests.kube.cluster import Cluster
from tests.kube.definitions import step_definitions
from tests.kube.garbage import step_garbage
from tests.kube.jobs import step_jobs
from tests.kube.jobsets import JOB_SET, step_job_sets
from tests.kube.kinds import (
    BUDGET,
    CLAIM,
    DEPLOYMENT,
    JOB,
    NODE,
    POD,
    REPLICA_SET,
    STATEFUL_SET,
    VALIDATING_POLICY,
    Kind,
)
from tests.kube.leaderworkersets import LEADER_WORKER_SET, step_leader_worker_sets
from tests.kube.node_life import step_nodes
from tests.kube.policies import step_policies
from tests.kube.scheduling import step_scheduler
from tests.kube.workloads import step_workloads

_PATIENCE = 50
Step = Callable[[Cluster], int]
# In the order of `settle`, each with the kinds it looks at.
_LOOPS: tuple[tuple[Step, tuple[Kind, ...]], ...] = (
    (step_nodes, (NODE,)),
    (step_workloads, (DEPLOYMENT, REPLICA_SET, STATEFUL_SET, POD)),
    (step_leader_worker_sets, (LEADER_WORKER_SET, STATEFUL_SET, POD)),
    (step_job_sets, (JOB_SET, JOB)),
    (step_jobs, (JOB, POD)),
    (step_garbage, ()),
    (step_scheduler, (POD, NODE)),
    (step_budgets, (BUDGET, POD)),
    (step_claims, (CLAIM,)),
    (step_policies, (VALIDATING_POLICY,)),
    (step_definitions, ()),
)


class Controllers:
    """Steps that a test calls; each gives back how many objects it wrote."""

    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._seen: dict[Step, tuple[object, ...]] = {}

    def _run(self, step: Step) -> int:
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

    def leader_worker_sets(self) -> int:
        return self._run(step_leader_worker_sets)

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
            written = sum(self._run_if_due(step, kinds) for step, kinds in _LOOPS)
            if not written:
                return total
            total += written
        raise RuntimeError("the controllers do not come to rest")

    def _run_if_due(self, step: Step, kinds: tuple[Kind, ...]) -> int:
        """Run a loop unless nothing it looks at changed since before its last look."""
        with self._cluster.store.lock:
            now = self._state(kinds)
            if self._seen.get(step) == now:
                return 0
            self._seen[step] = now
            return step(self._cluster)

    def _state(self, kinds: tuple[Kind, ...]) -> tuple[object, ...]:
        """What a loop's next look depends on; no kinds means all of them."""
        cluster = self._cluster
        store = cluster.store
        versions = tuple(map(store.changed, kinds)) if kinds else (store.version,)
        silent = tuple(cluster.silent_nodes.items())
        return (store.epoch, cluster.now(), cluster.node_grace, silent, *versions)
