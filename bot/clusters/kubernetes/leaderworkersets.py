"""What a LeaderWorkerSet says that its pods do not: how many replicas, and what comes later.

Where workers are made only when their leader is ready, what they will ask for is known from here
alone. It is read, and never written.
"""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.facts import PodShape, shape_of
from bot.clusters.kubernetes.replicas import replica_key

MOST_REPLICAS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class SetFacts:
    """A LeaderWorkerSet. `ordered`: workers come after their leader, by the set's own will.

    `size` is how many pods a replica has; `worker` one of its workers as the template has it;
    `alike`: its leaders ask for the same.
    """

    namespace: str
    name: str
    replicas: int
    size: int
    ordered: bool
    worker: PodShape
    alike: bool
    deleting: bool

    @property
    def key(self) -> str:
        """Its namespace and name: what pods know of it."""
        return f"{self.namespace}/{self.name}"

    @property
    def replica_keys(self) -> frozenset[str]:
        """Those of the replicas that it is to have; more come for a while when it is updated.

        Nobody has room for as many as somebody may write there.
        """
        count = 0 if self.deleting else min(self.replicas, MOST_REPLICAS)
        return frozenset(replica_key(self.namespace, f"{self.name}-{i}") for i in range(count))


def set_of(obj: Json) -> SetFacts:
    """The facts of a LeaderWorkerSet; what is not said is as its defaults are."""
    meta, spec = obj["metadata"], obj.get("spec") or {}
    groups = spec.get("leaderWorkerTemplate") or {}
    whose = f"LeaderWorkerSet {meta['namespace']}/{meta['name']}"
    worker, leader = (
        shape_of((groups.get(template) or {}).get("spec") or {}, whose)
        for template in ("workerTemplate", "leaderTemplate")
    )
    exclusive = names.LWS_EXCLUSIVE in (meta.get("annotations") or {})
    return SetFacts(
        namespace=meta["namespace"],
        name=meta["name"],
        replicas=spec.get("replicas", 1),
        size=groups.get("size", 1),
        ordered=spec.get("startupPolicy") == "LeaderReady" or exclusive,
        worker=worker,
        alike=not groups.get("leaderTemplate") or _asked(leader) == _asked(worker),
        deleting=bool(meta.get("deletionTimestamp")),
    )


def _asked(shape: PodShape) -> PodShape:
    """What of a shape the engine looks at."""
    return dataclasses.replace(shape, written=(), gates=())
