"""What is written about single pods: each let go, deleted or evicted by its uid."""

from __future__ import annotations

from collections.abc import Callable

from bot.clusters.kubernetes import patches
from bot.clusters.kubernetes.connection import STRATEGIC, Connection
from bot.clusters.kubernetes.facts import PodFacts
from bot.clusters.kubernetes.fleet import Fleet
from bot.clusters.kubernetes.gangs import Gang
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.writing import Write, Writer
from scheduler.model import NodeName


class PodSender:
    """Puts writes about pods; what is meant for a pod that is no more is not sent again."""

    def __init__(
        self, connection: Connection, mirror: Mirror, writer: Writer, fleet: Fleet
    ) -> None:
        self._connection, self._mirror = connection, mirror
        self._writer, self._fleet = writer, fleet

    def let_go(
        self,
        gang: Gang,
        pod: PodFacts,
        node: NodeName | None,
        *,
        hold: str | None = None,
        still: Callable[[], bool] = lambda: True,
    ) -> None:
        """Take our gate off a pod and send it to a node, or, without one, to any.

        A write may wait for long: nothing is sent once its gang is stopped, or if it is not
        `still` meant. A pod that redeems a `hold` is of that from now on.
        """
        host = None if node is None else self._fleet.host(node)
        more = () if node is None else self._fleet.tolerations(gang.admission.assignments)
        body = patches.let_go(pod, gang, host, more, hold)

        def send() -> None:
            if not gang.stopping and still():
                self._connection.patch(pod.path, body, STRATEGIC)

        self._put(pod, f"let a pod of {gang.decision} go", send)

    def remove(self, pod: PodFacts) -> None:
        """Delete a pod, with its own grace."""
        options = {"preconditions": {"uid": pod.uid}}
        self._put(pod, f"delete {pod.name}", lambda: self._connection.delete(pod.path, options))

    def evict(self, pod: PodFacts) -> None:
        """Have a pod evicted, within its disruption budgets."""
        body = {
            "apiVersion": "policy/v1",
            "kind": "Eviction",
            "metadata": {"name": pod.name, "namespace": pod.namespace},
            "deleteOptions": {"preconditions": {"uid": pod.uid}},
        }
        path = f"{pod.path}/eviction"
        self._put(pod, f"evict {pod.name}", lambda: self._connection.post(path, body))

    def _put(self, pod: PodFacts, what: str, send: Callable[[], object]) -> None:
        gone = self._mirror.is_without(pod.uid)
        self._writer.put(Write(about=pod.uid, what=what, send=send, moot=gone))
