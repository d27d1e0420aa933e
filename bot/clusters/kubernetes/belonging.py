"""To which gang a pod belongs, and what of it nobody counts yet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from bot.clusters.kubernetes.facts import MAIN, Amounts, PodFacts
from bot.clusters.kubernetes.gangs import Gang, decision_of, is_granted, is_over, part_of
from bot.clusters.kubernetes.mirror import Mirror, hold_key
from scheduler.model import GPU, NodeName


class Belonging:
    """Looks pods up among the gangs, `by_object`, under the lock of whoever calls."""

    def __init__(self, mirror: Mirror, by_object: Mapping[str, Gang]) -> None:
        self._mirror, self._by_object = mirror, by_object

    def whose(self, pod: PodFacts) -> str | None:
        """The request that a pod belongs to; None if it is not where one has its pods."""
        for gang in (self._gang_with(pod), self._hold_with(pod)):
            if gang is not None and pod.node in gang.nodes:
                return gang.workload
        return None

    def strangers(self, nodes: Iterable[NodeName]) -> list[PodFacts]:
        """The GPU pods on some nodes that no request stands for."""
        pods = [pod for node in sorted(set(nodes)) for pod in self._mirror.pods_on(node)]
        return [pod for pod in pods if pod.requests.get(GPU, 0) and self.whose(pod) is None]

    def uncounted(self, pod: PodFacts) -> Amounts:
        """What the engine does not count by itself: all of a pod that is not on its grant.

        Of one that is, what it has beyond what was granted: others add to pods when they are made.
        """
        gang = self._gang_with(pod)
        if gang is not None and pod.node in gang.nodes and is_granted(gang, pod):
            there = self._mirror.pods_on(pod.node)
            mates = [one for one in there if self._gang_with(one) is gang]
            return pod.holds if is_over(gang, pod, mates) else self._beyond(gang, pod)
        hold = self._hold_with(pod)
        if hold is not None and pod.node in hold.nodes and self._redeems(hold, pod):
            return {name: amount for name, amount in pod.holds.items() if name != GPU}
        return pod.holds  # a hold was granted GPUs and nothing else

    def _redeems(self, hold: Gang, pod: PodFacts) -> bool:
        """Whether a pod is among those that a hold has room for on the pod's node.

        One that never was at the gate may carry the label, too: those that were let go come first.
        """
        room = hold.room.get(pod.node, 0) if pod.node is not None else 0
        there = self._mirror.pods_on(pod.node) if pod.node is not None else ()
        mates = [one for one in there if one.request == hold.workload]
        for one in sorted(mates, key=lambda one: decision_of(one) != hold.decision):
            gpus = one.requests.get(GPU, 0)
            if one.uid == pod.uid:
                return gpus <= room
            room -= gpus if gpus <= room else 0
        return False

    def about(self, gang: Gang) -> Iterator[str]:
        """All that writes about a gang are about."""
        yield from (gang.ref.uid, gang.decision)
        mirror, uid = self._mirror, gang.ref.uid
        for pods in (mirror.pods_of(uid), mirror.pods_of_unit(uid), mirror.pods_for(gang.workload)):
            yield from (pod.uid for pod in pods)

    def granted(self) -> Counter[NodeName]:
        """The GPUs that all gangs together still have of each node, whether pods are there or not.

        A pod that has left its gang is on one of these: it takes nothing more.
        """
        found: Counter[NodeName] = Counter()
        for gang in self._by_object.values():
            found.update(self._granted_to(gang))
        return found

    def _granted_to(self, gang: Gang) -> Counter[NodeName]:
        each = self._gpus_of_each(gang)
        found: Counter[NodeName] = Counter()
        for part in gang.admission.assignments:
            gpus = each.get(part.name, gang.gpus)
            found.update({node: gpus * n for node, n in Counter(gang.places_in(part)).items()})
        return found

    def _gpus_of_each(self, gang: Gang) -> dict[str, int]:
        """The GPUs of a pod, by pod set; nothing of a hold, which knows that itself."""
        return {name: each.get(GPU, 0) for name, each in self._each(gang).items()}

    def _each(self, gang: Gang) -> Mapping[str, Amounts]:
        """What a pod was granted, by pod set."""
        work = self._mirror.work(gang.ref.uid)
        if work is None or gang.each:
            return gang.each
        return {pods.name: pods.requests for pods in work.pod_sets}

    def _beyond(self, gang: Gang, pod: PodFacts) -> Amounts:
        granted = self._each(gang).get(part_of(gang, pod) or MAIN)
        if granted is None:
            return {}
        beyond = {name: amount - granted.get(name, 0) for name, amount in pod.requests.items()}
        return {name: more for name, more in beyond.items() if more > 0}

    def _gang_with(self, pod: PodFacts) -> Gang | None:
        keys = (None if pod.owner is None else pod.owner.uid, pod.unit, pod.uid)
        gangs = (self._by_object.get(key) for key in keys if key is not None)
        return next((gang for gang in gangs if gang is not None), None)

    def _hold_with(self, pod: PodFacts) -> Gang | None:
        return None if pod.request is None else self._by_object.get(hold_key(pod.request))
