"""The contract's rig for a Kubernetes cluster: people, controllers and kubelets played by hand.

The contract starts gangs out of nothing; here the Job is created first, as its owner would, and
the Start is about that. Pods are ready `START_DELAY` after they are bound, and succeed after
the time that the gang is to run.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

from bot.clusters.base import Action, ClusterEvent, Observation, Start
from bot.clusters.kubernetes.gangs import ref_of
from scheduler.model import Seconds
from storage.records import ObjectRef
from tests.bot.clusters.kubernetes.world import World, wait_until
from tests.kube.server import ApiServer

START_DELAY = 5.0
TICK = 5.0


class AsJobs:
    """The cluster under test, behind a hand that keeps the world moving before each look."""

    def __init__(self, world: World, settle: Callable[[], None]) -> None:
        self._world, self._settle = world, settle
        self.run_for: dict[str, Seconds] = {}
        self._refs: dict[str, ObjectRef] = {}

    def hear(self, on_news: Callable[[], None]) -> None:
        self._world.cluster.hear(on_news)

    def close(self) -> None:
        self._world.close()

    def observe(self, now: Seconds) -> Observation:
        self._settle()
        return self._world.cluster.observe(now)

    def poll(self, now: Seconds) -> tuple[ClusterEvent, ...]:
        self._settle()
        first = self._world.cluster.poll(now)
        self._settle()
        return tuple(
            event
            for event in (*first, *self._world.cluster.poll(now))
            if type(event).__name__ not in {"Wanted", "Unwanted"}
        )

    def apply(self, action: Action, now: Seconds) -> None:
        self.apply_all([action], now)

    def apply_all(self, actions: Sequence[Action], now: Seconds) -> None:
        self._settle()
        self._world.cluster.apply_all([self._about_a_job(one) for one in actions], now)
        self._settle()

    def _about_a_job(self, action: Action) -> Action:
        if not isinstance(action, Start):
            return action
        name = action.workload.id.lower()
        if name not in self._refs:
            (pods,) = action.workload.pod_sets
            most = max(count for part in action.admission.assignments for _, count in part.nodes)
            uid = self._world.create_job(name, pods=pods.count, gpus=8 // most)
            self._settle()
            self._refs[name] = ref_of(self._world.cluster.mirror.jobs.items[uid])
        if action.run_for is not None:
            self.run_for[name] = action.run_for
        return dataclasses.replace(action, ref=self._refs[name])


class KubernetesRig:
    """Four nodes of 8 GPUs on the emulated API server."""

    def __init__(self, api: ApiServer) -> None:
        self.world = World(api)
        self.now: Seconds = 1000.0
        self._cut = False
        self._down: set[str] = set()
        self._bound: dict[str, Seconds] = {}
        self._ready: dict[str, Seconds] = {}
        self.cluster = AsJobs(self.world, self._settle)
        self.cluster.observe(self.now)

    def wait(self, seconds: Seconds) -> None:
        end = self.now + seconds
        while self.now < end:
            self.now = min(end, self.now + TICK)
            self.world.api.advance(TICK)
            if not self._cut:
                self.world.cluster.carry_on(self.now)
            self._settle()

    def lose_node(self, name: str) -> None:
        """The machine is off: its pods are gone for good, and its kubelet says nothing."""
        self._down.add(name)
        self.world.api.kubelet.silence(name)
        self.world.api.change_node(name, ready=False)
        self._settle()

    def cut_off(self, *, unreachable: bool) -> None:
        self._cut = unreachable
        if unreachable:
            self.world.api.down()
            wait_until(lambda: bool(self._troubles()), "the cut to be noticed")
        else:
            self.world.api.up()
            wait_until(lambda: not self._troubles(), "the cluster to be heard again")

    def close(self) -> None:
        if self._cut:
            self.world.api.up()
        self.world.close()

    def _troubles(self) -> list[str]:
        return [one.trouble for one in self.world.cluster.watchers if one.trouble is not None]

    def _settle(self) -> None:
        for _ in range(4):
            self._remove_lost_pods()
            self._play_kubelets()
            if self._cut:
                self.world.api.controllers.settle()
            else:
                self.world.settle()

    def _remove_lost_pods(self) -> None:
        """What a cloud's node controller does with the pods of a machine that is no more."""
        for node in sorted(self._down):
            self.world.api.kubelet.vanish(node)

    def _play_kubelets(self) -> None:
        for pod in self.world.pods():
            meta, node = pod["metadata"], pod["spec"].get("nodeName")
            where = f"{meta['namespace']}/{meta['name']}"
            phase = pod["status"].get("phase")
            if not node or meta.get("deletionTimestamp"):
                continue
            since = self._bound.setdefault(meta["uid"], self.now)
            if phase == "Pending" and self.now - since >= START_DELAY:
                self.world.api.kubelet.start(where)
                self._ready[meta["uid"]] = self.now
            elif phase == "Running" and self._is_over(meta):
                self.world.api.kubelet.finish(where)

    def _is_over(self, meta: dict[str, object]) -> bool:
        """Whether the whole gang has been ready for as long as it was to run."""
        labels = meta["labels"]
        assert isinstance(labels, dict)
        name = labels["job-name"]
        mine = [p for p in self.world.pods() if p["metadata"]["labels"].get("job-name") == name]
        since = [self._ready.get(p["metadata"]["uid"]) for p in mine]
        if any(one is None for one in since):
            return False
        run_for = self.cluster.run_for.get(name)
        latest = max(one for one in since if one is not None)
        return run_for is not None and self.now - latest >= run_for
