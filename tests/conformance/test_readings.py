"""Cases of our own where two readings of the rules would differ, reasoned out from the rules.

Each says which reading is right, by the rules of the conformance cases ("what at rest means",
"one cycle", "flavors", "preemption", "usage-based admission", "partial admission"), and what
the other reading would have given.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from scheduler.simulation.cases import Answer, play_case, read_case

Document = dict[str, Any]
GPU = "nvidia.com/gpu"


def play(*documents: Document, **head: Any) -> Answer:
    """Play documents over one flavor `h100` (and `a100`); `head` is the rest of the Case."""
    first = {"kind": "Case", "metadata": {"name": "own"}, "now": "2026-03-02T12:00:00Z", **head}
    flavors = [_object("ResourceFlavor", name, {"nodeLabels": {"p": name}}) for name in FLAVORS]
    return play_case(read_case([("own", [first, *flavors, *documents])], "own", "own", 0.0))


FLAVORS = ("h100", "a100")


def _object(kind: str, name: str, spec: Document, **metadata: Any) -> Document:
    return {"kind": kind, "metadata": {"name": name, "namespace": "ml", **metadata}, "spec": spec}


def a_queue(name: str, *quotas: Document, **spec: Any) -> Sequence[Document]:
    """A ClusterQueue with a quota for each flavor in turn, and a LocalQueue of the same name."""
    flavors = [
        {"name": flavor, "resources": [{"name": GPU, **quota}]}
        for flavor, quota in zip(FLAVORS, quotas, strict=False)
    ]
    group = {"coveredResources": [GPU], "flavors": flavors}
    spec = {"namespaceSelector": {}, "resourceGroups": [group], **spec}
    return (
        _object("ClusterQueue", name, spec),
        _object("LocalQueue", name, {"clusterQueue": name}),
    )


def a_job(
    name: str, queue: str, gpus: int, created: int, *, runs: bool = False, **spec: Any
) -> Document:
    """A job created so many minutes after ten; it runs since then where it `runs`."""
    count = spec.pop("count", 1)
    least = {"minCount": spec.pop("least")} if "least" in spec else {}
    container = {"name": "c", "resources": {"requests": {GPU: str(gpus)}}}
    pods = {"name": "main", "count": count, "template": {"spec": {"containers": [container]}}}
    moment = f"2026-03-02T10:{created:02d}:00Z"
    job = _object(
        "Workload",
        name,
        {"queueName": queue, "priority": 0, "podSets": [pods | least], **spec},
        uid=f"uid-{name}",
        creationTimestamp=moment,
    )
    if runs:
        granted = {"name": "main", "flavors": {GPU: "h100"}, "count": count}
        reserved = {"type": "QuotaReserved", "status": "True", "lastTransitionTime": moment}
        admission = {"clusterQueue": queue, "podSetAssignments": [granted]}
        job["status"] = {"conditions": [reserved], "admission": admission}
    return job


def gpus(nominal: int, **limits: int) -> Document:
    return {"nominalQuota": nominal, **limits}


def cycles(answer: Answer) -> list[tuple[list[str], list[str]]]:
    """(admitted, preempted) of every cycle in which something happened."""
    return [(cycle["admitted"], cycle["preempted"]) for cycle in answer["cycles"]]


def test_an_admission_elsewhere_wakes_nobody_but_an_end_does() -> None:
    """Parked work returns when something was evicted or finished, not when something started.

    Reading "when something changes" would try `big` again after the admissions of `other`.
    """
    answer = play(
        *a_queue("a", gpus(4), cohortName="org"),
        *a_queue("b", gpus(4), cohortName="org"),
        a_job("runs", "b", 4, 0, runs=True),
        a_job("big", "a", 8, 1),
        a_job("small", "a", 4, 2),
        events=[{"at": 10, "finish": "runs"}, {"at": 20, "finish": "small"}],
    )
    assert cycles(answer) == [(["small"], []), (["big"], [])]
    assert answer["cycles"][1]["at"] == 20


def test_a_preempted_job_keeps_its_place_before_newer_equals() -> None:
    """The victim waits with its creation time of old: it comes before the newer `next`.

    Reading "preempted work goes to the back" would admit `next` when `high` ends.
    """
    answer = play(
        *a_queue("a", gpus(4), preemption={"withinClusterQueue": "LowerPriority"}),
        a_job("old", "a", 4, 0, runs=True),
        a_job("next", "a", 4, 1),
        a_job("high", "a", 4, 2, priority=9),
        events=[{"at": 10, "finish": "high"}],
    )
    assert cycles(answer) == [([], ["old"]), (["high"], []), (["old"], [])]
    assert answer["workloads"]["next"]["state"] == "pending"


def test_a_preemptor_may_lose_the_room_to_a_head_that_does_not_borrow() -> None:
    """After the preemption heads are ordered anew, by borrowing level first.

    `taker` borrows and stops `low` while borrowing; in the next cycle `owner`, who arrived with
    it but stays inside its own quota, goes first. Reading "the room is the preemptor's" would
    start `taker`.
    """
    while_borrowing = {
        "reclaimWithinCohort": "LowerPriority",
        "borrowWithinCohort": {"policy": "LowerPriority"},
    }
    answer = play(
        *a_queue("a", gpus(0), cohortName="org", preemption=while_borrowing),
        *a_queue("b", gpus(4), cohortName="org"),
        *a_queue("c", gpus(0), cohortName="org"),
        a_job("low", "c", 4, 0, runs=True),
        a_job("taker", "a", 4, 1, priority=9),
        a_job("owner", "b", 4, 2),
    )
    assert cycles(answer) == [([], ["low"]), (["owner"], [])]
    assert [one["reason"] for one in answer["preemptions"]] == ["InCohortReclaimWhileBorrowing"]


def test_a_threshold_is_met_by_equal_priority_of_the_target_only_from_below_the_preemptor() -> None:
    """Targets while borrowing are lower than the preemptor *and* at most the threshold.

    `at` (5) may be stopped with the threshold 5, `above` (6) may not; reading "below the
    threshold" would stop neither, reading "lower priority suffices" the later `above`.
    """
    rules = {
        "reclaimWithinCohort": "LowerPriority",
        "borrowWithinCohort": {"policy": "LowerPriority", "maxPriorityThreshold": 5},
    }
    answer = play(
        *a_queue("a", gpus(0), cohortName="org", preemption=rules),
        *a_queue("b", gpus(0), cohortName="org"),
        *a_queue("c", gpus(8), cohortName="org"),
        a_job("at", "b", 4, 0, runs=True, priority=5),
        a_job("above", "b", 4, 1, runs=True, priority=6),
        a_job("taker", "a", 4, 2, priority=9),
    )
    assert cycles(answer) == [([], ["at"]), (["taker"], [])]


def test_a_strict_head_without_targets_keeps_the_quota_it_might_reclaim() -> None:
    """A head that needs preemption but finds no victims reserves its unused nominal quota.

    Queue `a` has 4 of its own, 1 of it used; its head of 4 finds nobody to stop (reclaim is
    Never), and `b`, who would borrow the 3, is held back in every cycle. With reclaim Any
    nothing is reserved, because `a` could take it back at once: `b` starts.
    """

    def states(reclaim: str) -> dict[str, str]:
        answer = play(
            *a_queue(
                "a",
                gpus(4),
                cohortName="org",
                queueingStrategy="StrictFIFO",
                preemption={"reclaimWithinCohort": reclaim},
            ),
            *a_queue("b", gpus(0), cohortName="org"),
            a_job("runs", "a", 1, 0, runs=True),
            a_job("head", "a", 4, 1, priority=5),
            a_job("borrower", "b", 3, 2),
        )
        return {name: one["state"] for name, one in answer["workloads"].items()}

    assert states("Never") == {"runs": "admitted", "head": "pending", "borrower": "pending"}
    assert states("Any")["borrower"] == "admitted"


def test_usage_comes_before_priority_in_a_usage_ordered_queue() -> None:
    """Reading "priority first, usage among equals" would start the heavy user's job first."""
    scope = {"admissionMode": "UsageBasedAdmissionFairSharing"}
    queue, heavy = a_queue("heavy", gpus(4), admissionScope=scope)
    light = _object("LocalQueue", "light", {"clusterQueue": "heavy"})
    used = {"consumedResources": {GPU: "9"}, "lastUpdate": "2026-03-02T12:00:00Z"}
    heavy["status"] = {"fairSharing": {"admissionFairSharingStatus": used}}
    answer = play(
        queue,
        heavy,
        light,
        a_job("urgent", "heavy", 4, 0, priority=9),
        a_job("modest", "light", 4, 1),
        settings={
            "admissionFairSharing": {"usageHalfLifeTime": "1h", "usageSamplingInterval": "5m"}
        },
    )
    assert cycles(answer) == [(["modest"], [])]


def test_stopping_others_for_all_pods_is_preferred_to_shrinking() -> None:
    """Reading "shrink first, preempt last" would start `wide` with two pods and stop nobody."""
    answer = play(
        *a_queue("a", gpus(4), preemption={"withinClusterQueue": "LowerPriority"}),
        a_job("low", "a", 2, 0, runs=True),
        a_job("wide", "a", 1, 1, priority=9, count=4, least=1),
    )
    assert cycles(answer) == [([], ["low"]), (["wide"], [])]
    assert answer["workloads"]["wide"]["podSets"][0]["count"] == 4


def test_of_two_flavors_one_that_fits_while_borrowing_is_preferred_to_stopping_somebody() -> None:
    """By default borrowing in the second flavor beats preempting in the first.

    `whenCanPreempt: MayStopSearch` stops the search at the first flavor instead.
    """

    def first(**fungibility: str) -> list[tuple[list[str], list[str]]]:
        answer = play(
            *a_queue(
                "a",
                gpus(4),
                gpus(0),
                cohortName="org",
                preemption={"withinClusterQueue": "LowerPriority"},
                flavorFungibility=fungibility,
            ),
            *a_queue("b", gpus(0), gpus(4), cohortName="org"),
            a_job("low", "a", 4, 0, runs=True),
            a_job("high", "a", 4, 1, priority=9),
        )
        return cycles(answer)

    assert first() == [(["high"], [])]
    assert first(whenCanPreempt="MayStopSearch")[0] == ([], ["low"])


def test_a_borrower_of_weight_zero_is_stopped_before_one_who_borrows_more() -> None:
    """Weight 0 with borrowing stands above every share; without borrowing it is untouched.

    Reading "weight 0 counts nothing" would stop the larger borrower `much`.
    """
    answer = play(
        *a_queue("a", gpus(6), cohortName="org", preemption={"reclaimWithinCohort": "Any"}),
        *a_queue("b", gpus(0), cohortName="org"),
        *a_queue("z", gpus(0), cohortName="org", fairSharing={"weight": "0"}),
        a_job("much", "b", 4, 0, runs=True),
        a_job("none", "z", 2, 1, runs=True),
        a_job("owner", "a", 2, 2),
        settings={"fairSharing": {"preemptionStrategies": ["LessThanOrEqualToFinalShare"]}},
    )
    assert cycles(answer) == [([], ["none"]), (["owner"], [])]
