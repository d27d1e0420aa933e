"""What is shipped for Kubernetes renders, fits the API's schema, and keeps its promises."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import kubernetes_validate
import pytest
import yaml

from bot.people import read_people
from scheduler.policy import compile_policy, load_policy
from tests.deploy.manifests import (
    CLUSTER_WIDE,
    FOLDER,
    OVERLAYS,
    VERSION,
    Document,
    find,
    read,
    render,
)

EXAMPLES = sorted(path.name for path in (FOLDER / "examples").glob("*.yaml"))
DOCKERFILE = FOLDER.parent / "Dockerfile"


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_an_overlay_renders_to_what_the_api_takes(overlay: str) -> None:
    documents = render(overlay)
    for document in documents:
        kubernetes_validate.validate(document, VERSION, strict=True)
        wide = document["kind"] in CLUSTER_WIDE
        assert ("namespace" not in document["metadata"]) == wide, document["metadata"]["name"]
    names = [(one["kind"], one["metadata"]["name"]) for one in documents]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_is_what_the_api_takes(name: str) -> None:
    for document in read(f"examples/{name}"):
        made = _MADE.get(document["kind"])
        for one in [document] if made is None else made(document):
            kubernetes_validate.validate(one, VERSION, strict=True)


def jobs_of(job_set: Document) -> list[Document]:
    """What the API knows of a JobSet: the Jobs that will be made of it."""
    assert job_set["apiVersion"] == "jobset.x-k8s.io/v1alpha2"
    return [
        {
            "apiVersion": "batch/v1",
            "kind": "Job",
            "metadata": {"name": part["name"], **part["template"].get("metadata", {})},
            "spec": part["template"]["spec"],
        }
        for part in job_set["spec"]["replicatedJobs"]
    ]


def stateful_sets_of(groups: Document) -> list[Document]:
    """What the API knows of a LeaderWorkerSet: what its controller makes for each template."""
    assert groups["apiVersion"] == "leaderworkerset.x-k8s.io/v1"
    templates = groups["spec"]["leaderWorkerTemplate"]
    names = [name for name in ("leaderTemplate", "workerTemplate") if name in templates]
    assert "workerTemplate" in names
    return [
        {
            "apiVersion": "apps/v1",
            "kind": "StatefulSet",
            "metadata": {"name": groups["metadata"]["name"]},
            "spec": {
                "serviceName": groups["metadata"]["name"],
                "selector": {"matchLabels": {}},
                "template": templates[name],
            },
        }
        for name in names
    ]


_MADE = {"JobSet": jobs_of, "LeaderWorkerSet": stateful_sets_of}


def test_a_wrong_manifest_would_be_noticed() -> None:
    (wrong,) = read("examples/namespace.yaml")
    wrong["metadata"]["labls"] = {}
    with pytest.raises(kubernetes_validate.ValidationError):
        kubernetes_validate.validate(wrong, VERSION, strict=True)


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_the_bot_runs_with_nothing_it_does_not_need(overlay: str) -> None:
    spec = find(render(overlay), "Deployment")["spec"]["template"]["spec"]
    (container,) = spec["containers"]
    assert spec["securityContext"]["runAsNonRoot"]
    assert container["securityContext"] == {
        "allowPrivilegeEscalation": False,
        "readOnlyRootFilesystem": True,
        "capabilities": {"drop": ["ALL"]},
    }
    written = {
        mount["mountPath"] for mount in container["volumeMounts"] if not mount.get("readOnly")
    }
    assert written == {"/tmp", "/var/lib/gpubot"}  # noqa: S108 - the container's own
    assert {"startupProbe", "livenessProbe", "readinessProbe"} <= container.keys()


def test_no_right_is_given_by_a_star_and_nodes_are_only_read() -> None:
    (role,) = [one for one in read("base/rights.yaml") if one["kind"] == "ClusterRole"]
    for rule in role["rules"]:
        assert "*" not in {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
        assert "secrets" not in rule["resources"]
        if "nodes" in rule["resources"]:
            assert set(rule["verbs"]) == {"list", "watch"}


def test_what_is_a_companys_own_stands_in_one_place() -> None:
    """Whoever fills it in for the trial has filled it in for production."""
    own = FOLDER / "site"
    assert {one.name for one in own.iterdir()} == {
        "kustomization.yaml",
        "policy.yaml",
        "people.yaml",
    }
    for overlay in OVERLAYS:
        written = yaml.safe_load((FOLDER / "overlays" / overlay / "kustomization.yaml").read_text())
        assert not {"images", "configMapGenerator"} & written.keys()
        assert written["components"] == ["../../site"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_rendering_changes_no_right(overlay: str) -> None:
    """Kustomize takes a name in a rule for that of what it generates, if there is one so called."""
    kinds = {"ClusterRole", "Role"}
    as_rendered = {
        one["metadata"]["name"]: one["rules"] for one in render(overlay) if one["kind"] in kinds
    }
    written = read("base/rights.yaml")
    assert as_rendered == {
        one["metadata"]["name"]: one["rules"] for one in written if one["kind"] in kinds
    }


def test_each_right_has_its_reason() -> None:
    lines = (FOLDER / "base" / "rights.yaml").read_text().splitlines()
    text = "\n".join(lines)
    (cluster, *_) = text.split("---")
    rules = [n for n, line in enumerate(cluster.splitlines()) if line.startswith("  - apiGroups")]
    assert rules
    for number in rules:
        assert cluster.splitlines()[number - 1].strip().startswith("#"), lines[number]


def test_two_bots_never_open_one_sqlite_file() -> None:
    documents = render("trial")
    spec = find(documents, "Deployment")["spec"]
    assert (spec["replicas"], spec["strategy"]["type"]) == (1, "Recreate")
    (claim,) = [one for one in documents if one["kind"] == "PersistentVolumeClaim"]
    assert claim["spec"]["accessModes"] == ["ReadWriteOncePod"]


@pytest.mark.parametrize("overlay", OVERLAYS)
def test_policy_and_people_of_an_overlay_can_be_used(overlay: str) -> None:
    data = next(one for one in render(overlay) if one["kind"] == "ConfigMap")["data"]
    layout = compile_policy(load_policy(data["policy.yaml"], f"{overlay}/policy.yaml"))
    teams = {str(team.name) for team in layout.teams}
    for person in read_people(data["people.yaml"], f"{overlay}/people.yaml"):
        assert set(person.teams) <= teams


def test_the_image_copies_what_there_is_and_runs_as_nobody() -> None:
    lines = DOCKERFILE.read_text().splitlines()
    root = Path(__file__).parents[2]
    copied = [line.split()[1:-1] for line in lines if re.match("COPY (?!--from)", line)]
    assert copied
    sources = {one for group in copied for one in group}
    for source in sources:
        assert (root / source).exists(), source
    project = tomllib.loads((root / "pyproject.toml").read_text())
    wheel = project["tool"]["hatch"]["build"]["targets"]["wheel"]
    assert {*wheel["packages"], *wheel["force-include"]} <= sources  # else it cannot be built
    (user,) = [line.split()[1] for line in lines if line.startswith("USER ")]
    assert user.split(":")[0] not in {"0", "root"}
