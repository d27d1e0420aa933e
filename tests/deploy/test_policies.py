"""The admission policies, evaluated: their CEL on pods and Jobs as the API server shows them."""

from __future__ import annotations

import copy
from typing import Any

import celpy
import pytest
from celpy.adapter import json_to_cel

from tests.deploy.manifests import Document, read

GATE, PLACED = "gpubot.dev/admission", "gpubot.dev/placed"
BOT = "system:serviceaccount:gpubot-system:gpubot"
ALICE = "alice"
ENVIRONMENT = celpy.Environment()


def spec(name: str) -> dict[str, Any]:
    """The spec of the policy in a file; its binding binds it."""
    policy, binding = read(f"policies/{name}.yaml")
    assert binding["spec"]["policyName"] == policy["metadata"]["name"]
    found: dict[str, Any] = policy["spec"]
    return found


def evaluate(expression: str, **values: Any) -> Any:
    program = ENVIRONMENT.program(ENVIRONMENT.compile(expression))
    return program.evaluate({name: json_to_cel(value) for name, value in values.items()})


def matches(policy: dict[str, Any], **values: Any) -> bool:
    return all(bool(evaluate(one["expression"], **values)) for one in policy["matchConditions"])


def denied(name: str, old: Document | None, new: Document, user: str) -> list[str]:
    """The messages of the validations that fail, in order; what is shown to the person."""
    policy = spec(name)
    request = {"userInfo": {"username": user}, "operation": "CREATE" if old is None else "UPDATE"}
    values = {"object": new, "oldObject": old, "request": request}
    if not matches(policy, **values):
        return []
    variables: dict[str, bool] = {}
    for one in policy.get("variables", ()):
        variables[one["name"]] = bool(evaluate(one["expression"], **values, variables=variables))
    failed = []
    for rule in policy["validations"]:
        if not evaluate(rule["expression"], **values, variables=variables):
            said = rule.get("messageExpression")
            failed.append(str(evaluate(said, **values)) if said else rule["message"])
    return failed


def pod(*gates: str, gpus: int = 1, init: int = 0) -> Document:
    container = {"name": "main", "resources": {"limits": {"nvidia.com/gpu": gpus}} if gpus else {}}
    body: Document = {"metadata": {"name": "train-0"}, "spec": {"containers": [container]}}
    if init:
        first = {"name": "first", "resources": {"limits": {"nvidia.com/gpu": init}}}
        body["spec"]["initContainers"] = [first]
    if gates:
        body["spec"]["schedulingGates"] = [{"name": gate} for gate in gates]
    return body


def job(
    *,
    suspend: bool | None,
    team: str | None = "nlp",
    kind: str = "Job",
    owner: Document | None = None,
) -> Document:
    body: Document = {"kind": kind, "metadata": {"name": "llama"}, "spec": {}}
    if owner is not None:
        body["metadata"]["ownerReferences"] = [owner]
    if team is not None:
        body["metadata"]["labels"] = {"gpubot.dev/team": team}
    if suspend is not None:
        body["spec"]["suspend"] = suspend
    return body


@pytest.mark.parametrize(
    ("made", "gated"),
    [
        (pod(), True),
        (pod("other.example/gate"), True),
        (pod(gpus=0, init=1), True),
        (pod(GATE), False),
        (pod(gpus=0), False),
    ],
    ids=["asks", "gate-of-another", "only-at-first", "gated-already", "no-gpus"],
)
def test_what_asks_for_gpus_gets_the_gate_once(made: Document, gated: bool) -> None:
    policy = spec("gate-pods")
    assert matches(policy, object=made, request={"userInfo": {"username": ALICE}}) == gated
    (mutation,) = policy["mutations"]
    assert GATE in mutation["applyConfiguration"]["expression"]


CONTROLLERS = ("system:serviceaccount:kube-system:job-controller", "system:kube-controller-manager")
JOB, REPLICA_SET = ("Job", "batch/v1"), ("ReplicaSet", "apps/v1")


@pytest.mark.parametrize(
    ("user", "owner", "placed", "host", "gated"),
    [
        (CONTROLLERS[0], JOB, True, True, False),
        (CONTROLLERS[1], JOB, True, True, False),
        (CONTROLLERS[0], JOB, False, True, True),
        (CONTROLLERS[0], JOB, True, False, True),
        (CONTROLLERS[1], REPLICA_SET, True, True, True),
        (CONTROLLERS[0], ("Job", "other.example/v1"), True, True, True),
        (CONTROLLERS[0], None, True, True, True),
        (ALICE, JOB, True, True, True),
        ("system:serviceaccount:team:job-controller", JOB, True, True, True),
    ],
)
def test_only_pods_of_a_job_that_the_bot_has_placed_pass_the_gate(
    user: str, owner: tuple[str, str] | None, placed: bool, host: bool, gated: bool
) -> None:
    made = pod()
    if owner is not None:
        made["metadata"]["ownerReferences"] = [owned_by(*owner)]
    if placed:
        made["metadata"]["annotations"] = {PLACED: "R-1042"}
    if host:
        made["spec"]["nodeSelector"] = {"kubernetes.io/hostname": "n1"}
    request = {"userInfo": {"username": user}}
    assert matches(spec("gate-pods"), object=made, request=request) == gated


def placed_job(request: str | None, *, pods: int = 2, suspend: bool = False) -> Document:
    body = job(suspend=suspend)
    meta = {} if request is None else {"annotations": {PLACED: request}}
    body["spec"] |= {"parallelism": pods, "template": {"metadata": meta}}
    return body


def test_only_the_bot_says_that_a_job_is_placed() -> None:
    plain, placed, other = placed_job(None), placed_job("R-1"), placed_job("R-2")
    for old in (None, plain, other):
        (said,) = denied("guard-places", old, placed, ALICE)
        assert said == (
            "Job llama: only gpubot may write gpubot.dev/placed; leave that annotation out of the "
            "template"
        )
        assert denied("guard-places", old, placed, BOT) == []
    assert denied("guard-places", placed, placed, CONTROLLERS[0]) == []
    assert denied("guard-places", placed, plain, ALICE) == []  # its pods wait at the gate again
    assert denied("guard-places", None, plain, ALICE) == []


def test_a_placed_job_that_runs_does_not_grow() -> None:
    two, one, three = (placed_job("R-1", pods=pods) for pods in (2, 1, 3))
    (said,) = denied("guard-places", two, three, ALICE)
    assert said.startswith("Job llama runs on the GPUs that it was granted")
    assert denied("guard-places", two, one, ALICE) == []
    waits = placed_job("R-1", suspend=True)
    assert denied("guard-places", waits, placed_job("R-1", pods=3, suspend=True), ALICE) == []
    assert denied("guard-places", placed_job(None), placed_job(None, pods=3), ALICE) == []


def test_only_the_bot_takes_the_gate_off() -> None:
    gated, free = pod(GATE), pod()
    (said,) = denied("guard-gates", gated, free, ALICE)
    assert said == "pod train-0 waits for GPUs: only gpubot may admit it, not alice"
    assert denied("guard-gates", pod(GATE, "other"), pod("other"), "kubernetes-admin")
    assert denied("guard-gates", gated, free, BOT) == []


def test_whatever_else_is_done_to_a_gated_pod_is_free() -> None:
    gated = pod(GATE)
    labelled = copy.deepcopy(gated)
    labelled["metadata"]["labels"] = {"a": "b"}
    assert denied("guard-gates", gated, labelled, ALICE) == []
    assert denied("guard-gates", pod(GATE, "other"), pod(GATE), ALICE) == []
    assert denied("guard-gates", pod(), pod(), ALICE) == []


def test_only_the_bot_starts_a_job_that_waits() -> None:
    waits, runs = job(suspend=True), job(suspend=False)
    (said,) = denied("guard-jobs", waits, runs, ALICE)
    assert said == "Job llama waits for GPUs of team nlp: only gpubot may start it"
    sets = job(suspend=True, kind="JobSet"), job(suspend=False, kind="JobSet")
    (said,) = denied("guard-jobs", *sets, ALICE)
    assert said == "JobSet llama waits for GPUs of team nlp: only gpubot may start it"
    assert denied("guard-jobs", waits, job(suspend=None), ALICE)
    assert denied("guard-jobs", waits, runs, BOT) == []
    assert denied("guard-jobs", runs, waits, ALICE) == []  # its owner may stop it


def test_the_label_is_neither_taken_off_nor_put_on_what_runs() -> None:
    waits, bare = job(suspend=True), job(suspend=True, team=None)
    assert denied("guard-jobs", waits, bare, ALICE) == [
        "the label gpubot.dev/team may not be taken off"
    ]
    assert denied("guard-jobs", job(suspend=False, team=None), job(suspend=False), ALICE)
    assert denied("guard-jobs", bare, waits, ALICE) == []
    assert (
        denied("guard-jobs", job(suspend=False, team=None), job(suspend=True, team=None), ALICE)
        == []
    )


def test_a_job_of_the_bot_itself_is_not_suspended() -> None:
    policy = spec("suspend-jobs")
    for user, held in ((ALICE, True), (BOT, False)):
        made = job(suspend=False)
        assert matches(policy, object=made, request={"userInfo": {"username": user}}) == held


def owned_by(kind: str, version: str, *, controller: bool = True) -> Document:
    return {"kind": kind, "apiVersion": version, "name": "llama", "controller": controller}


@pytest.mark.parametrize(
    ("owner", "free"),
    [
        (owned_by("JobSet", "jobset.x-k8s.io/v1alpha2"), True),
        (owned_by("JobSet", "jobset.x-k8s.io/v1alpha2", controller=False), False),
        (owned_by("JobSet", "other.example/v1"), False),
        (owned_by("CronJob", "batch/v1"), False),
        (None, False),
    ],
)
def test_the_jobs_of_a_job_set_follow_it(owner: Document | None, free: bool) -> None:
    request = {"userInfo": {"username": "system:serviceaccount:jobset-system:jobset"}}
    waits, runs = (job(suspend=suspend, owner=owner) for suspend in (True, False))
    assert matches(spec("suspend-jobs"), object=runs, request=request) != free
    assert (denied("guard-jobs", waits, runs, ALICE) == []) == free


@pytest.mark.parametrize("name", ["suspend-jobs", "guard-jobs"])
def test_job_sets_are_held_like_jobs(name: str) -> None:
    rules = spec(name)["matchConstraints"]["resourceRules"]
    assert [rule["resources"] for rule in rules] == [["jobs"], ["jobsets"]]
    assert rules[1]["apiGroups"] == ["jobset.x-k8s.io"]
