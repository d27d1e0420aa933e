"""The Job controller: one pass over all Jobs at a time, when a test says so.

It follows the order in which the real one writes, as far as the recordings show it: pods first,
then the status; failures are counted in two steps (uncountedTerminatedPods, then the number).
"""

from __future__ import annotations

from datetime import timedelta

from tests.kube.children import (
    back_off,
    by_controller,
    create_child,
    delete_child,
    drop_finalizer,
    is_active,
    is_backed_off,
    is_finished,
    is_terminating,
    pod_from_template,
    write_status,
)
from tests.kube.clock import from_wire
from tests.kube.cluster import Cluster, Target
from tests.kube.documents import Json, condition_of, copy_of, dig, set_condition
from tests.kube.job_verdicts import (
    INDEX,
    Verdict,
    compress,
    counts_as_failed,
    index_of,
    indexes_of,
    is_ignored,
    verdict,
)
from tests.kube.kinds import JOB, POD
from tests.kube.recorder import record
from tests.kube.removal import DeleteOptions, delete
from tests.kube.statuses import Refusal
from tests.kube.store import Stored

TRACKING = "batch.kubernetes.io/job-tracking"
_FIRST_DELAY = 10.0


def step_jobs(cluster: Cluster) -> int:
    """One pass over all Jobs; how many objects were written."""
    started = cluster.store.version
    pods = by_controller(cluster, POD)
    for job in cluster.store.all(JOB):
        _Sync(cluster, job, pods.get(job.body["metadata"]["uid"], [])).run()
    _release_orphans(cluster, pods)
    return cluster.store.version - started


def _release_orphans(cluster: Cluster, pods: dict[str, list[Stored]]) -> None:
    """Pods whose Job has gone lose their tracking finalizer."""
    uids = {job.body["metadata"]["uid"] for job in cluster.store.all(JOB)}
    for uid in sorted(pods.keys() - uids):
        for pod in pods[uid]:
            live = cluster.store.get(POD, pod.key)
            if live is not None:
                drop_finalizer(cluster, live, TRACKING)


def _is_tracked(pod: Json) -> bool:
    return TRACKING in pod["metadata"].get("finalizers", ())


class _Sync:
    """One look of the controller at one Job."""

    def __init__(self, cluster: Cluster, job: Stored, pods: list[Stored]) -> None:
        self.cluster = cluster
        self.job = job
        self.pods = pods
        self.holds_back = False
        self.known = [pod.key for pod in pods]
        self.spec: Json = job.body["spec"]
        self.status: Json = copy_of(job.body.get("status") or {})

    def run(self) -> None:
        if self.spec.get("managedBy", "kubernetes.io/job-controller") != (
            "kubernetes.io/job-controller"
        ):
            return
        if is_terminating(self.job.body):
            self._settle_deleted()
            return
        if self._is_finished():
            for pod in self.pods:
                drop_finalizer(self.cluster, pod, TRACKING)
            self._remove_when_old()
            return
        self._sync()

    def _is_finished(self) -> bool:
        found = (condition_of(self.job.body, each) for each in ("Complete", "Failed"))
        return any(each is not None and each["status"] == "True" for each in found)

    def _settle_deleted(self) -> None:
        """A Job that is being deleted counts what still ends and starts nothing."""
        for pod in self.pods:
            drop_finalizer(self.cluster, pod, TRACKING)
        self._reload()
        if self.status:
            self._count()
            self._write()

    def _remove_when_old(self) -> None:
        ttl = self.spec.get("ttlSecondsAfterFinished")
        ended = dig(self.job.body, "status.completionTime") or self._failed_at()
        if ttl is None or ended is None:
            return
        if self.cluster.clock.now() >= from_wire(ended) + timedelta(seconds=ttl):
            target = Target(JOB, self.job.key[0], self.job.key[1])
            options = DeleteOptions(propagation="Foreground")
            delete(self.cluster, self.cluster.as_controller(target), self.job, options)

    def _failed_at(self) -> str | None:
        failed = condition_of(self.job.body, "Failed")
        return failed["lastTransitionTime"] if failed else None

    def _sync(self) -> None:
        if self.spec.get("suspend"):
            self._suspend()
        elif self._waits_for_backoff():
            return
        else:
            self._run()
        self._reload()
        self._count()
        self._write()
        self._drop_counted()
        self._finish()

    def _waits_for_backoff(self) -> bool:
        """A pod that is taken away is seen as failed 10 s later, and nothing else meanwhile."""
        tracked = [pod.body for pod in self.pods if _is_tracked(pod.body)]
        news = any(is_finished(pod) for pod in tracked)
        return not news and any(
            is_terminating(pod) and not self._is_noticed(pod) for pod in tracked
        )

    def _is_noticed(self, pod: Json) -> bool:
        metadata = pod["metadata"]
        grace = metadata.get("deletionGracePeriodSeconds", 0)
        asked = from_wire(metadata["deletionTimestamp"]) - timedelta(seconds=grace)
        return self.cluster.clock.now() >= asked + timedelta(seconds=_FIRST_DELAY)

    def _run(self) -> None:
        if not self.status.get("startTime"):
            self.status["startTime"] = self.cluster.now()
        self._resume()
        self._note_ends()
        failed = [
            pod
            for pod in self.pods
            if _is_tracked(pod.body)
            and counts_as_failed(self.spec, pod.body)
            and (is_finished(pod.body) or self._is_noticed(pod.body))
        ]
        counted = [pod for pod in failed if not is_ignored(self.spec, pod.body)]
        self._note_failed_indexes(counted)
        total = self.status.get("failed", 0) + len(counted)
        outcome = verdict(self.cluster, self.spec, {**self.status, "failed": total}, self.pods)
        if outcome is None:
            self.holds_back = bool(counted)
            self._back_off_after(failed)
            self._trim()
            self._fill()
        else:
            ended = self._end(outcome)
            if outcome.first == "FailureTarget":
                failed += ended
                counted += ended
        if failed:
            self._count_in_two_steps(failed, counted)

    def _end(self, outcome: Verdict) -> list[Stored]:
        """Set the first condition and take away what still runs."""
        if condition_of({"status": self.status}, outcome.first) is None:
            self._condition(outcome.first, "True", outcome.reason, outcome.message)
        active = [pod for pod in self.pods if is_active(pod.body)]
        for pod in active:
            delete_child(self.cluster, pod)
            self._event("SuccessfulDelete", f"Deleted pod: {pod.key[1]}")
        return active

    def _count_in_two_steps(self, failed: list[Stored], counted: list[Stored]) -> None:
        """First the uids of what failed are written, then, without their finalizers, the number."""
        if counted:
            uids = [pod.body["metadata"]["uid"] for pod in counted]
            self.status["uncountedTerminatedPods"] = {"failed": uids}
            self._reload()
            self._count()
            self._write()
        for pod in failed:
            live = self.cluster.store.get(POD, pod.key)
            if live is not None:
                drop_finalizer(self.cluster, live, TRACKING)
        if counted:
            self.status["failed"] = self.status.get("failed", 0) + len(counted)
        self.status["uncountedTerminatedPods"] = {}

    def _note_failed_indexes(self, counted: list[Stored]) -> None:
        """With backoffLimitPerIndex a rank fails for good after its own number of failures."""
        limit = self.spec.get("backoffLimitPerIndex")
        if limit is None:
            return
        uid = self.job.body["metadata"]["uid"]
        gone = set(indexes_of(self.status.get("failedIndexes", "")))
        for pod in counted:
            rank = index_of(pod.body)
            seen = self.cluster.index_failures.get((uid, rank), 0) + 1
            self.cluster.index_failures[uid, rank] = seen
            if seen > limit:
                gone.add(rank)
        if gone:
            self.status["failedIndexes"] = compress(sorted(gone))

    def _suspend(self) -> None:
        active = [pod for pod in self.pods if is_active(pod.body)]
        for pod in active:
            freed = drop_finalizer(self.cluster, pod, TRACKING)
            if freed is not None:
                delete_child(self.cluster, freed)
                message = f"Deleted pod: {pod.key[1]}"
                self._event("SuccessfulDelete", message)
        self._note_ends()
        was = condition_of(self.job.body, "Suspended")
        if was is None or was["status"] != "True":
            self._condition("Suspended", "True", "JobSuspended", "Job suspended")
            self._event("Suspended", "Job suspended")
        self.status.pop("startTime", None)

    def _resume(self) -> None:
        was = condition_of(self.job.body, "Suspended")
        if was is not None and was["status"] == "True":
            self._condition("Suspended", "False", "JobResumed", "Job resumed")
            self._event("Resumed", "Job resumed")
            self.status["startTime"] = self.cluster.now()

    def _back_off_after(self, failed: list[Stored]) -> None:
        """After a failure the next pod waits 10 s, doubled each time; not after a removal.

        With a limit for each index it is the next of that index alone.
        """
        fresh = [pod for pod in failed if is_finished(pod.body)]
        if self.spec.get("backoffLimitPerIndex") is not None:
            for rank in map(index_of, (pod.body for pod in fresh)):
                known = self.cluster.index_failures
                number = known.get((self.job.body["metadata"]["uid"], rank), 1)
                seconds = min(_FIRST_DELAY * 2 ** (number - 1), 600.0)
                back_off(self.cluster, self.job, seconds, index=rank)
        elif fresh:
            number = self.status.get("failed", 0) + len(fresh)
            back_off(self.cluster, self.job, min(_FIRST_DELAY * 2 ** (number - 1), 600.0))

    def _note_ends(self) -> None:
        done = set(indexes_of(self.status.get("completedIndexes", "")))
        for pod in self.pods:
            if dig(pod.body, "status.phase") == "Succeeded":
                done.add(index_of(pod.body))
        if self.spec.get("completionMode") == "Indexed":
            done &= set(range(self.spec.get("completions") or 0))
            if done:
                self.status["completedIndexes"] = compress(sorted(done))
                self.status["succeeded"] = len(done)
        else:
            tracked = [
                pod
                for pod in self.pods
                if dig(pod.body, "status.phase") == "Succeeded" and _is_tracked(pod.body)
            ]
            if tracked:
                self.status["succeeded"] = self.status.get("succeeded", 0) + len(tracked)

    def _trim(self) -> None:
        """Fewer ranks than before: the highest go, and count as nothing."""
        active = [pod for pod in self.pods if is_active(pod.body)]
        active.sort(key=lambda pod: (index_of(pod.body), pod.key))
        limit = self.spec.get("completions")
        if self.spec.get("completionMode") == "Indexed" and limit is not None:
            kept = [pod for pod in active if index_of(pod.body) < limit]
        else:
            kept = active
        kept = kept[: self.spec["parallelism"]]
        surplus = [pod for pod in active if pod not in kept]
        for pod in surplus:
            freed = drop_finalizer(self.cluster, pod, TRACKING)
            if freed is not None:
                delete_child(self.cluster, freed)
                self._event("SuccessfulDelete", f"Deleted pod: {pod.key[1]}")

    def _fill(self) -> None:
        held = self._reload()
        keep_old = self.spec.get("podReplacementPolicy") == "Failed"
        busy = [
            pod for pod in held if is_active(pod.body) or (keep_old and is_terminating(pod.body))
        ]
        parallelism = self.spec["parallelism"]
        if self.spec.get("completionMode") == "Indexed":
            taken = {index_of(pod.body) for pod in busy}
            for name in ("completedIndexes", "failedIndexes"):
                taken |= set(indexes_of(self.status.get(name, "")))
            ranks = (rank for rank in range(self.spec["completions"]) if rank not in taken)
            wanted: list[int | None] = [
                rank for rank in ranks if not is_backed_off(self.cluster, self.job, rank)
            ]
        else:
            total = self.spec.get("completions")
            left = parallelism if total is None else total - self.status.get("succeeded", 0)
            wanted = [None] * max(min(left, parallelism) - len(busy), 0)
        wanted = wanted[: max(parallelism - len(busy), 0)]
        if wanted and is_backed_off(self.cluster, self.job):
            self.holds_back = bool(self.status.get("failed")) or self.holds_back
            return
        for rank in wanted:
            if not self._create(rank):
                return

    def _create(self, rank: int | None) -> bool:
        name = self.job.key[1]
        body = pod_from_template(self.spec["template"], finalizers=[TRACKING])
        metadata = body["metadata"]
        metadata["generateName"] = f"{name}-" if rank is None else f"{name}-{rank}-"
        if rank is not None:
            metadata["annotations"] = {**metadata.get("annotations", {}), INDEX: str(rank)}
            metadata["labels"] = {**metadata.get("labels", {}), INDEX: str(rank)}
            body["spec"]["hostname"] = f"{name}-{rank}"
            reference = {"apiVersion": "v1", "fieldPath": f"metadata.labels['{INDEX}']"}
            variable = {"name": "JOB_COMPLETION_INDEX", "valueFrom": {"fieldRef": reference}}
            for container in body["spec"]["containers"]:
                container["env"] = [*container.get("env", []), dict(variable)]
        try:
            made = create_child(self.cluster, self.job, POD, body)
        except Refusal as refusal:
            self._event("FailedCreate", f"Error creating: {refusal.message}", warning=True)
            back_off(self.cluster, self.job)
            return False
        self.known.append(made.key)
        self._event("SuccessfulCreate", f"Created pod: {made.key[1]}")
        return True

    def _count(self) -> None:
        pods = [pod.body for pod in self.pods]
        active = sum(is_active(pod) for pod in pods)
        ready = 0
        for pod in pods:
            condition = condition_of(pod, "Ready")
            if is_active(pod) and condition is not None and condition["status"] == "True":
                ready += 1
        self.status.pop("active", None)
        if active and not self.holds_back:  # the real one says 0 while it waits to replace
            self.status["active"] = active
        self.status["ready"] = ready
        self.status["terminating"] = sum(
            is_terminating(pod) and dig(pod, "status.phase") in {"Pending", "Running"}
            for pod in pods
        )
        self.status.setdefault("uncountedTerminatedPods", {})

    def _drop_counted(self) -> None:
        """Pods that succeeded and are counted lose their finalizer."""
        for pod in self.pods:
            if dig(pod.body, "status.phase") == "Succeeded" or (
                self._ends() and not is_active(pod.body)
            ):
                drop_finalizer(self.cluster, pod, TRACKING)

    def _ends(self) -> bool:
        status = {"status": self.status}
        found = (condition_of(status, each) for each in ("SuccessCriteriaMet", "FailureTarget"))
        return any(each is not None for each in found)

    def _finish(self) -> None:
        """The final condition comes when no pod runs or ends any more."""
        if not self._ends() or self.status["terminating"] or self.status.get("active"):
            return
        status = {"status": self.status}
        failing = condition_of(status, "FailureTarget")
        if failing is not None:
            self._condition("Failed", "True", failing["reason"], failing["message"])
            self._event(failing["reason"], failing["message"], warning=True)
        else:
            met = condition_of(status, "SuccessCriteriaMet") or {}
            self._condition("Complete", "True", met["reason"], met["message"])
            self.status["completionTime"] = self.cluster.now()
            self._event("Completed", "Job completed")
        self._write()

    def _condition(self, kind: str, state: str, reason: str, message: str) -> None:
        now = self.cluster.now()
        set_condition(
            self.status,
            {
                "type": kind,
                "status": state,
                "lastProbeTime": now,
                "lastTransitionTime": now,
                "reason": reason,
                "message": message,
            },
        )

    def _reload(self) -> list[Stored]:
        """The Job's pods as they are now."""
        self.pods = [
            live for pod in self.known if (live := self.cluster.store.get(POD, pod)) is not None
        ]
        return self.pods

    def _write(self) -> None:
        self.job = write_status(self.cluster, self.job, self.status)

    def _event(self, reason: str, message: str, *, warning: bool = False) -> None:
        record(self.cluster, self.job, reason, message, by="job-controller", warning=warning)
