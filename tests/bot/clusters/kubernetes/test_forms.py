"""The words by which it is known whether an object asks for what it asked for.

They are stored. The pinned ones are those that 6fb6344 gave: by another, all that waits would be
planned anew from its labels at an upgrade, and lose what was changed in chat, and its place.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.facts import MAIN, pod_of
from bot.clusters.kubernetes.forms import shorten
from bot.clusters.kubernetes.gangs import form_of
from bot.clusters.kubernetes.groups import Later, Roster, ref_of
from bot.clusters.kubernetes.leaderworkersets import set_of
from bot.clusters.kubernetes.works import job_of, job_set_of
from scheduler.model import ResourceName
from tests.kube.documents import Json

CPU = ResourceName("cpu")
TERM = [
    {"key": "rack", "operator": "In", "values": ["r1", "r2"]},
    {"key": "gpu", "operator": "Exists"},
]
MUST = "requiredDuringSchedulingIgnoredDuringExecution"
PLACED = {
    "nodeSelector": {"zone": "a"},
    "tolerations": [
        {"key": "spot", "operator": "Exists", "effect": "NoSchedule"},
        {"key": "x", "value": "y"},
    ],
    "affinity": {"nodeAffinity": {MUST: {"nodeSelectorTerms": [{"matchExpressions": TERM}]}}},
}
GROUP = {"gpubot.dev/group": "g", "gpubot.dev/group-size": "2"}


def spec(gpus: int, **more: object) -> Json:
    limits = {"nvidia.com/gpu": str(gpus), "cpu": "4"}
    return {"containers": [{"name": "main", "image": "i", "resources": {"limits": limits}}], **more}


def meta(name: str, labels: dict[str, str], **more: object) -> Json:
    labels = {"gpubot.dev/team": "nlp", **labels}
    who = {"uid": f"u-{name}", "namespace": "nlp", "name": name, "resourceVersion": "1"}
    return {**who, "labels": labels, **more}


def job(
    template: Json, pods: int = 1, *, marks: dict[str, str] | None = None, **labels: str
) -> Json:
    size = {"parallelism": pods, "completions": pods}
    more = {} if marks is None else {"annotations": marks}
    return {
        "metadata": meta("a", {f"gpubot.dev/{k}": v for k, v in labels.items()}, **more),
        "spec": {"suspend": True, **size, "template": {"spec": template}},
    }


def job_set(**annotations: str) -> Json:
    def part(name: str, template: Json, replicas: int, pods: int) -> Json:
        size = {"parallelism": pods, "completions": pods}
        template = {"spec": {**size, "template": {"spec": template}}}
        return {"name": name, "replicas": replicas, "template": template}

    parts = [part("driver", spec(0), 1, 1), part("workers", spec(8, **PLACED), 2, 4)]
    return {
        "metadata": meta("s", {}, annotations=annotations),
        "spec": {"suspend": True, "replicatedJobs": parts},
        "status": {"replicatedJobsStatus": [{"name": "workers", "succeeded": 1}]},
    }


def pod(name: str, template: Json, *, owner: tuple[str, str] | None = None, **more: Any) -> Json:
    found = meta(name, more.pop("labels", {}), **more)
    if owner is not None:
        kind, keeper = owner
        found["ownerReferences"] = [
            {"kind": kind, "name": keeper, "uid": "r", "controller": True, "apiVersion": "apps/v1"}
        ]
    return {
        "metadata": found,
        "spec": {**template, "schedulingGates": [{"name": names.GATE}]},
        "status": {},
    }


def member(index: int) -> Json:
    """A pod of the first replica of a LeaderWorkerSet."""
    number = {names.LWS_GROUP: "0", names.LWS_WORKER: str(index)}
    labels = {names.LWS_NAME: "llama", names.LWS_REVISION: "abc", **number}
    keeper = ("StatefulSet", "llama")
    size = {names.LWS_SIZE: "2"}
    return pod(f"llama-0-{index}", spec(8), owner=keeper, labels=labels, annotations=size)


def later() -> Later:
    template = {"size": 2, "workerTemplate": {"spec": spec(8, **PLACED)}}
    one = set_of(
        {
            "metadata": meta("llama", {}),
            "spec": {"startupPolicy": "LeaderReady", "leaderWorkerTemplate": template},
        }
    )
    return Later(one.worker, one.size - 1, one.alike)


def test_those_of_jobs_are_as_in_the_releases_before() -> None:
    assert form_of(job_of(job(spec(8)))) == "03b8d7422404"
    marks = {"gpubot.dev/owner": "U0ADA", "gpubot.dev/lease": "8h"}
    placed = job(spec(4, **PLACED), 3, marks=marks, priority="high")
    assert form_of(job_of(placed)) == "ce41c940dca8"


def test_those_of_job_sets_are_as_in_the_releases_before() -> None:
    assert form_of(job_set_of(job_set())) == "3b6a97444d30"


@pytest.mark.parametrize(
    ("pods", "after", "form", "members"),
    [
        ([pod("p", spec(2, **PLACED))], None, "e5c7cdd68981", ""),
        (
            [
                pod("p1", spec(2), labels={**GROUP, "gpubot.dev/role": "actor"}),
                pod("p2", spec(4), labels={**GROUP, "gpubot.dev/role": "learner"}),
            ],
            None,
            "6a3d29944b98",
            "03940a0d2cc3",
        ),
        (
            [
                pod(
                    "web-7c9-x",
                    spec(2),
                    owner=("ReplicaSet", "web-7c9"),
                    labels={names.TEMPLATE_HASH: "7c9"},
                )
            ],
            None,
            "38542e124803",
            "",
        ),
        ([member(0), member(1)], None, "0316f709e587", "75c1040e23f6"),
        ([member(0)], later(), "dbffb0206aa8", "d4cc4fbdc464"),
    ],
    ids=["pod", "group", "replica of a Deployment", "replica", "replica whose workers come later"],
)
def test_those_of_pods_are_as_in_the_releases_before(
    pods: list[Json], after: Later | None, form: str, members: str
) -> None:
    roster = Roster(tuple(map(pod_of, pods)), len(pods), after)
    found = ref_of("key", roster)
    assert (found.form, found.members) == (form, members)


def test_a_field_that_a_record_gets_later_counts_only_where_it_says_something() -> None:
    bare = dataclasses.make_dataclass("Record", [("size", int)])
    more: list[Any] = [("marks", dict[str, str], dataclasses.field(default_factory=dict))]
    grown = dataclasses.make_dataclass("Record", [("size", int), *more])
    assert shorten(grown(4)) == shorten(bare(4))
    assert shorten((grown(4),)) == shorten((bare(4),))
    assert shorten(grown(4, {"a": "b"})) != shorten(bare(4))
    assert shorten(grown(5)) != shorten(bare(4))


def test_what_a_template_says_in_a_later_field_counts() -> None:
    assert form_of(job_of(job(spec(8, nodeName="n1")))) != form_of(job_of(job(spec(8))))
    apart = job_set(**{names.JOB_SET_EXCLUSIVE: "rack"})
    assert form_of(job_set_of(apart)) != form_of(job_set_of(job_set()))


def test_what_pods_were_seen_to_ask_for_is_planned_with_and_is_no_other_form() -> None:
    found = job_of(job(spec(8)))
    seen = found.with_seen({MAIN: {CPU: 9_000}})
    assert (found.pod_sets[0].requests[CPU], seen.pod_sets[0].requests[CPU]) == (4_000, 9_000)
    assert form_of(seen) == form_of(found)
    parts = job_set_of(job_set())
    grown = parts.with_seen({"workers": {CPU: 9_000}})
    assert (parts.pod_sets[0].requests[CPU], grown.pod_sets[0].requests[CPU]) == (4_000, 9_000)
    assert form_of(grown) == form_of(parts)
