"""Who looks on at every change of a pod that the API server takes, and at what is under way.

An attempt of a gang is the time from one start of its Job or JobSet to the next, told apart by the
decision that stands there.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.gangs import read_grant
from bot.clusters.kubernetes.moments import read_moment
from scheduler.model import Admission
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.playing import gpus_of, is_over, name_of
from tests.kube.jobsets import JOB_SET
from tests.kube.kinds import JOB, POD
from tests.kube.store import Entry

Attempt = tuple[str, str]
BEGUN = 3  # rounds of the loop, until the bot has seen what is so now and acted on it


class Witness:
    """Writes down in `wrong` what must not have been, at the instant of each write.

    - A pod is let go (its gate is taken off, or it is made without one) only by the decision that
      stands on its Job or JobSet, and not by a write that was sent after that was suspended.
    - The first is let go only after all that was granted have been there together, and never are
      more under way than were granted.
    - Without our gate are made only the pods of a Job that lies on one node, for that node: all of
      them come of one template, so that there none is let go without the others.
    """

    def __init__(self, house: KubeHouse) -> None:
        self.wrong: list[str] = []
        self._house, self._store = house, house.api.cluster.store
        self._whole: set[Attempt] = set()
        self._stopped: set[str] = set()  # paths of pods a write to which came too late
        self._partly: dict[Attempt, list[float]] = {}  # the times at which that was seen
        self._store.follow(self._look)
        house.on_write = self._hear

    # ---- at each write

    def _hear(self, method: str, path: str) -> None:
        """The bot is about to send something."""
        name = path.rpartition("/")[2]
        with self._store.lock:
            found = next((one.body for one in self._store.all(POD) if one.key[1] == name), None)
            work = None if found is None else work_of(self._house, found)
            late = work is not None and bool(work["spec"].get("suspend"))
        (self._stopped.add if method == "PATCH" and late else self._stopped.discard)(name)

    def _look(self, entry: Entry) -> None:
        after, before = entry.after, entry.before
        if after is None or after.kind is not POD or is_done_with(after.body):
            return
        work = work_of(self._house, after.body)
        if work is None:
            return
        attempt, granted = attempt_of(work), sum(granted_of(work).values())
        there = alive_of(self._house, work)
        if len(there) >= granted:
            self._whole.add(attempt)
        if is_gated(after.body) or (before is not None and not is_gated(before.body)):
            return
        self._check(after.body, work, born=before is None)
        if before is not None and attempt not in self._whole:
            self._tell(after.body, f"let go when {len(there)} of {granted} had been there")
        going = sum(not is_gated(pod) for pod in there)
        if going > granted:
            self._tell(after.body, f"let go as one of {going}, of {granted} granted")

    def _check(self, pod: Json, work: Json, *, born: bool) -> None:
        decision, granted = decision_on(pod), granted_of(work)
        if decision is None or decision != decision_on(work):
            self._tell(pod, f"let go by {decision}, not by {decision_on(work)}")
        if name_of(pod) in self._stopped:
            self._tell(pod, "let go by what was sent after it was stopped")
        host = (pod["spec"].get("nodeSelector") or {}).get(names.HOSTNAME)
        if born and (is_set(work) or set(granted) != {host}):
            self._tell(pod, f"made for {host} without a gate, granted {dict(granted)}")

    def _tell(self, pod: Json, what: str) -> None:
        self.wrong.append(f"{name_of(pod)}: {what}")

    # ---- at each round of the loop

    def forgive(self) -> None:
        """Something happened for which the bot counts its time anew."""
        self._partly.clear()

    def late(self, works: Iterable[Json], now: float, limit: float) -> list[Json]:
        """The gangs of which a part has been let go, or runs, without the rest for too long.

        To be called after a round. What is to be stopped at a time has until then.
        """
        partly = {attempt_of(one): one for one in works if is_partly(self._house, one)}
        self._partly = {one: [*self._partly.get(one, ()), now][:BEGUN] for one in partly}
        return [
            partly[attempt]
            for attempt, times in self._partly.items()
            if len(times) == BEGUN
            and now - times[-1] > limit
            and now > (stop_of(partly[attempt]) or 0.0)
        ]


# ---- what is read of Jobs and JobSets


def works_of(house: KubeHouse) -> list[Json]:
    """What people have made: Jobs, but for those of JobSets, and JobSets."""
    store = house.api.cluster.store
    with store.lock:
        jobs = [dict(one.body) for one in store.all(JOB)]
        sets = [dict(one.body) for one in store.all(JOB_SET)]
    return [*(job for job in jobs if not job["metadata"].get("ownerReferences")), *sets]


def work_of(house: KubeHouse, pod: Json) -> Json | None:
    """The Job or JobSet that a pod is of, if that is there."""
    return next((one for one in works_of(house) if is_of(pod, one)), None)


def is_set(work: Json) -> bool:
    return "replicatedJobs" in work["spec"]


def is_of(pod: Json, work: Json) -> bool:
    of = (pod["metadata"].get("labels") or {}).get("jobset.sigs.k8s.io/jobset-uid")
    if of is not None:
        return bool(of == work["metadata"]["uid"])
    owners = pod["metadata"].get("ownerReferences") or ()
    return any(one["uid"] == work["metadata"]["uid"] for one in owners)


def decision_on(body: Json) -> str | None:
    found = (body["metadata"].get("annotations") or {}).get(names.DECISION)
    return None if found is None else str(found)


def attempt_of(work: Json) -> Attempt:
    return work["metadata"]["uid"], decision_on(work) or ""


def stop_of(work: Json) -> float | None:
    """When it says that it will be stopped."""
    return read_moment((work["metadata"].get("annotations") or {}).get(names.STOP_AT, ""))


def has_ended(work: Json) -> bool:
    ends = {"Complete", "Completed", "Failed"}
    conditions = (work.get("status") or {}).get("conditions") or ()
    return any(one["type"] in ends and one["status"] == "True" for one in conditions)


def size_of(work: Json) -> int:
    return sum(pods for pods, _ in _parts(work).values())


def _grant(work: Json) -> Admission | None:
    return read_grant((work["metadata"].get("annotations") or {}).get(names.GRANT))


def granted_of(work: Json) -> Counter[str]:
    """Pods by node of what was granted last."""
    grant, found = _grant(work), Counter[str]()
    for part in () if grant is None else grant.assignments:
        found.update({str(node): pods for node, pods in part.nodes})
    return found


def gpus_granted(work: Json) -> Counter[str]:
    """GPUs by node of the same."""
    grant, each, found = _grant(work), _parts(work), Counter[str]()
    for part in () if grant is None else grant.assignments:
        found.update({str(node): pods * each[part.name][1] for node, pods in part.nodes})
    return found


def _parts(work: Json) -> dict[str, tuple[int, int]]:
    """Pods and the GPUs of each, by part; a Job is one."""
    parts = work["spec"].get("replicatedJobs") or [{"name": "main", "template": work}]
    return {
        one["name"]: (
            one["template"]["spec"]["parallelism"],
            gpus_of(one["template"]["spec"]["template"]),
        )
        for one in parts
    }


# ---- what is read of their pods


def alive_of(house: KubeHouse, work: Json) -> list[Json]:
    """Its pods that are not over and that nobody has deleted."""
    return [pod for pod in house.pods() if is_of(pod, work) and not is_done_with(pod)]


def is_gated(pod: Json) -> bool:
    return {"name": names.GATE} in (pod["spec"].get("schedulingGates") or ())


def is_done_with(pod: Json) -> bool:
    return is_over(pod) or bool(pod["metadata"].get("deletionTimestamp"))


def is_ready(pod: Json) -> bool:
    conditions = pod["status"].get("conditions") or ()
    return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)


def is_partly(house: KubeHouse, work: Json) -> bool:
    """Whether some of its pods were let go and others not, or some run and others do not."""
    if work["spec"].get("suspend") or has_ended(work):
        return False
    there = alive_of(house, work)
    done = sum(
        is_of(pod, work)
        and pod["status"].get("phase") == "Succeeded"
        and decision_on(pod) == decision_on(work)
        for pod in house.pods()
    )
    gates = {is_gated(pod) for pod in there}
    running = [pod for pod in there if pod["status"].get("phase") == "Running"]
    ready = sum(is_ready(pod) for pod in running)
    missing = ready + done < sum(granted_of(work).values())
    return len(gates) > 1 or (bool(running) and missing)
