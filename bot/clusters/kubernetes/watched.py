"""What of the cluster is watched, each kind by a watcher of its own."""

from __future__ import annotations

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Connection
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.watching import Pace, Watcher

NODES, PODS, JOBS = "/api/v1/nodes", "/api/v1/pods", "/apis/batch/v1/jobs"
JOB_SETS = "/apis/jobset.x-k8s.io/v1alpha2/jobsets"
LEADER_WORKER_SETS = "/apis/leaderworkerset.x-k8s.io/v1/leaderworkersets"


def watchers_of(connection: Connection, mirror: Mirror, pace: Pace | None) -> tuple[Watcher, ...]:
    """Those that keep a mirror up to date; none of them is started yet.

    A LeaderWorkerSet has the team's label on its templates, so that all of them are looked at.
    """
    return (
        Watcher(connection, NODES, mirror.nodes, pace=pace),
        Watcher(connection, PODS, mirror.pods, pace=pace),
        Watcher(connection, JOBS, mirror.jobs, selector=names.TEAM, pace=pace),
        Watcher(
            connection, JOB_SETS, mirror.job_sets, selector=names.TEAM, pace=pace, optional=True
        ),
        Watcher(connection, LEADER_WORKER_SETS, mirror.sets, pace=pace, optional=True),
    )
