"""When a Job fails or is done: backoff limits, failure and success policies, deadline."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta

from tests.kube.clock import from_wire
from tests.kube.cluster import Cluster
from tests.kube.documents import Json, annotations_of, dig
from tests.kube.store import Stored

INDEX = "batch.kubernetes.io/job-completion-index"


@dataclass(frozen=True)
class Verdict:
    """The condition that comes first, and why."""

    first: str
    reason: str
    message: str


def index_of(body: Json) -> int:
    """The completion index of a pod, -1 where it has none."""
    return int(annotations_of(body).get(INDEX, -1))


def indexes_of(text: str) -> list[int]:
    """The indexes that '0-2,5' lists."""
    found: list[int] = []
    for part in filter(None, text.split(",")):
        first, _, last = part.partition("-")
        found += range(int(first), int(last or first) + 1)
    return found


def compress(indexes: list[int]) -> str:
    """'0,1', '0-2,5': how completedIndexes are written."""
    parts: list[str] = []
    start = last = None
    for each in [*indexes, None]:
        if start is not None and last is not None and each != last + 1:
            span = last - start
            parts.append(str(start) if span == 0 else f"{start}{',' if span == 1 else '-'}{last}")
            start = None
        if start is None:
            start = each
        last = each
    return ",".join(parts)


def counts_as_failed(spec: Json, pod: Json) -> bool:
    """A pod that failed, or that is taken away, unless its end has to be waited for."""
    if dig(pod, "status.phase") == "Failed":
        return True
    ending = "deletionTimestamp" in pod["metadata"]
    return (
        ending
        and dig(pod, "status.phase") != "Succeeded"
        and spec.get("podReplacementPolicy") != "Failed"
    )


def _matching_rule(spec: Json, pod: Json) -> Json | None:
    rules: list[Json] = dig(spec, "podFailurePolicy.rules", [])
    conditions: list[Json] = dig(pod, "status.conditions", [])
    for rule in rules:
        for pattern in rule.get("onPodConditions") or []:
            if any(
                each["type"] == pattern["type"] and each["status"] == pattern["status"]
                for each in conditions
            ):
                return rule
        codes = rule.get("onExitCodes")
        if codes is not None and _exit_matches(codes, pod):
            return rule
    return None


def _exit_matches(codes: Json, pod: Json) -> bool:
    for each in dig(pod, "status.containerStatuses", []):
        code = dig(each, "state.terminated.exitCode", 0)
        if not code:
            continue
        if (code in codes["values"]) == (codes["operator"] == "In"):
            return True
    return False


def is_ignored(spec: Json, pod: Json) -> bool:
    """Whether a podFailurePolicy says that this end does not count."""
    rule = _matching_rule(spec, pod)
    return rule is not None and rule["action"] == "Ignore"


def _failing_rule(spec: Json, pods: list[Stored]) -> tuple[Stored, Json, int] | None:
    for pod in pods:
        if dig(pod.body, "status.phase") != "Failed":
            continue
        rule = _matching_rule(spec, pod.body)
        if rule is not None and rule["action"] == "FailJob":
            return pod, rule, spec["podFailurePolicy"]["rules"].index(rule)
    return None


def _policy_message(pod: Stored, rule: Json, place: int) -> str:
    name = f"{pod.key[0]}/{pod.key[1]}"
    if "onExitCodes" in rule:
        for each in dig(pod.body, "status.containerStatuses", []):
            code = dig(each, "state.terminated.exitCode", 0)
            if code:
                return (
                    f"Container {each['name']} for pod {name} failed with exit code {code} "
                    f"matching FailJob rule at index {place}"
                )
    kind = rule["onPodConditions"][0]["type"]
    return f"Pod {name} has condition {kind} matching FailJob rule at index {place}"


def verdict(cluster: Cluster, spec: Json, status: Json, pods: list[Stored]) -> Verdict | None:
    """Whether the Job is to end now."""
    for first in ("FailureTarget", "SuccessCriteriaMet"):
        for each in status.get("conditions", []):
            if each["type"] == first:
                return Verdict(first, each["reason"], each["message"])
    failing = _failing_rule(spec, pods)
    if failing is not None:
        return Verdict("FailureTarget", "PodFailurePolicy", _policy_message(*failing))
    if status.get("failed", 0) > spec["backoffLimit"]:
        return Verdict(
            "FailureTarget",
            "BackoffLimitExceeded",
            "Job has reached the specified backoff limit",
        )
    if _deadline_passed(cluster, spec, status):
        return Verdict(
            "FailureTarget",
            "DeadlineExceeded",
            "Job was active longer than specified deadline",
        )
    lost = indexes_of(status.get("failedIndexes", ""))
    if lost and len(lost) + status.get("succeeded", 0) == spec["completions"]:
        return Verdict("FailureTarget", "FailedIndexes", "Job has failed indexes")
    return _success(spec, status, pods)


def _deadline_passed(cluster: Cluster, spec: Json, status: Json) -> bool:
    seconds, started = spec.get("activeDeadlineSeconds"), status.get("startTime")
    if seconds is None or started is None:
        return False
    return cluster.clock.now() >= from_wire(started) + timedelta(seconds=seconds)


def _success(spec: Json, status: Json, pods: list[Stored]) -> Verdict | None:
    done = status.get("succeeded", 0)
    for place, rule in enumerate(dig(spec, "successPolicy.rules", [])):
        wanted = rule.get("succeededIndexes")
        ranks = {index_of(pod.body) for pod in pods if dig(pod.body, "status.phase") == "Succeeded"}
        if wanted is not None:
            ranks &= set(indexes_of(wanted))
        needed = rule.get("succeededCount") or (len(indexes_of(wanted)) if wanted else 1)
        if len(ranks) >= needed:
            return Verdict("SuccessCriteriaMet", "SuccessPolicy", f"Matched rules at index {place}")
    total = spec.get("completions")
    active = [pod for pod in pods if dig(pod.body, "status.phase") in {"Pending", "Running"}]
    over = done >= total if total is not None else bool(done) and not active
    if over:
        return Verdict(
            "SuccessCriteriaMet",
            "CompletionsReached",
            "Reached expected number of succeeded pods",
        )
    return None
