"""Put the emulated cluster back to where it was; bodies are never changed, so this is cheap."""

from __future__ import annotations

from collections.abc import Callable
from copy import copy

from tests.kube.cluster import Cluster


def snapshot(cluster: Cluster) -> Callable[[], None]:
    """What restores the cluster to this moment."""
    fields = {name: copy(value) for name, value in vars(cluster).items() if name not in _SHARED}
    random = cluster.random_state()
    store = cluster.store.snapshot()
    now = cluster.clock.now()

    def put_back() -> None:
        for name, value in fields.items():
            setattr(cluster, name, copy(value))
        cluster.set_random_state(random)
        cluster.store.put_back(store)
        cluster.clock.set(now)

    return put_back


_SHARED = frozenset({"clock", "store", "gate", "_random"})


def restore(cluster: Cluster, put_back: Callable[[], None]) -> None:
    with cluster.store.lock:
        put_back()
