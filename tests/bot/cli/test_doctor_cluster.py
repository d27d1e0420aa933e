"""`gpubot doctor` on a cluster in which things are missing, one by one."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from kubernetes import client as kube

from bot.cli.doctor_cluster import POLICIES, examine_cluster
from bot.cli.finding import Finding
from bot.clusters.kubernetes.connection import Connection
from bot.clusters.kubernetes.rights import rights
from scheduler.layout import Layout
from scheduler.policy import compile_policy, load_policy
from tests.kube.jobsets import JOB_SET
from tests.kube.kinds import MUTATING_POLICY
from tests.kube.rights import shipped
from tests.kube.server import ApiServer

DEPLOY = Path(__file__).parents[3] / "deploy" / "kubernetes"
HOME = "gpubot-system"
BLOCK, RACK = "topology.gpubot.dev/block", "topology.gpubot.dev/rack"
MODEL = {"nvidia.com/gpu.product": "NVIDIA-H100-80GB-HBM3"}


@pytest.fixture
def api() -> Iterator[ApiServer]:
    """A cluster as the overlay 'production' leaves it, with three nodes and one namespace."""
    with ApiServer(wall_clock=True) as server:
        server.grant_shipped_rights()
        server.policies.install_shipped()
        server.serve_job_sets()
        server.serve_leader_worker_sets()
        for number in range(1, 4):
            server.add_node(f"n{number}", labels={**MODEL, BLOCK: "b1", RACK: "r1"})
        server.add_node("cpu", gpus=0)
        server.add_namespace("nlp", **{"gpubot.dev/managed": "true"})
        yield server


def layout() -> Layout:
    path = DEPLOY / "site" / "policy.yaml"
    return compile_policy(load_policy(path.read_text(), str(path)))


def examine(api: ApiServer, who: str = "bot") -> list[Finding]:
    connection = Connection(lambda: api.client(who), connect=2.0, read=2.0)
    return list(examine_cluster(connection, layout(), HOME))


def odd(api: ApiServer, who: str = "bot") -> list[Finding]:
    """What is wrong or warned of; each says what to do."""
    found = [one for one in examine(api, who) if one.cure or not one.well]
    assert all(one.cure for one in found)
    return found


def test_a_sound_cluster_has_no_complaint(api: ApiServer) -> None:
    assert odd(api) == []
    seen = {one.what: one.seen for one in examine(api)}
    assert seen["api server"] == "answers, v1.36.2"
    assert seen["token"].endswith(":gpubot-system:gpubot")
    assert seen["gpu nodes"] == "3 with 24 GPUs"
    assert seen["namespaces"] == "managed: nlp"
    assert seen["admission policies"] == "6 installed and bound"
    assert seen["flavor reserved-h100"] == "covers 3 nodes"


def test_nobody_answers(api: ApiServer) -> None:
    api.down()
    (found,) = odd(api)
    assert (found.what, found.well) == ("api server", False)
    assert "NetworkPolicy" in found.cure


def test_a_token_that_is_not_taken(api: ApiServer) -> None:
    api.expire_token("bot")
    found = odd(api)[-1]
    assert (found.what, found.well) == ("token", False)
    assert "KUBECONFIG" in found.cure


@pytest.mark.parametrize("right", list(rights(HOME)), ids=str)
def test_each_right_that_is_missing_is_named(api: ApiServer, right: object) -> None:
    verb, resource = str(right).split()[:2]
    plural = resource.partition(".")[0].partition("/")[0]
    sub = "pods/eviction" if resource.endswith("/eviction") else plural
    less = [
        dataclasses.replace(rule, verbs=tuple(each for each in rule.verbs if each != verb))
        if sub in rule.resources
        else rule
        for rule in shipped()
    ]
    api.cluster.gate.grant("bot-token", *less)
    (missing,) = [one for one in odd(api) if one.what == "rights"]
    assert str(right) in missing.seen
    assert not missing.well


def test_rights_for_job_sets_matter_only_where_those_are_installed(api: ApiServer) -> None:
    less = [rule for rule in shipped() if "jobsets" not in rule.resources]
    api.cluster.gate.grant("bot-token", *less)
    api.withdraw_job_sets()
    assert odd(api) == []
    assert {one.what: one.seen for one in examine(api)}["jobsets"].startswith("not installed")
    api.serve_job_sets()
    (missing,) = odd(api)
    assert (missing.what, missing.well) == ("rights", False)
    assert "watch jobsets.jobset.x-k8s.io" in missing.seen


def test_a_job_set_of_another_version_is_told(api: ApiServer) -> None:
    api.withdraw_job_sets()
    api.cluster.kinds.add(dataclasses.replace(JOB_SET, version="v1beta1"))
    (found,) = odd(api)
    assert (found.what, found.well) == ("jobsets", False)
    assert found.seen == "jobset.x-k8s.io/v1alpha2 is not served"


def test_the_rights_asked_for_are_those_that_are_shipped() -> None:
    granted = set()
    for role in yaml.safe_load_all((DEPLOY / "base" / "rights.yaml").read_text()):
        for rule in role.get("rules", ()):
            for group in rule["apiGroups"]:
                for resource in rule["resources"]:
                    for verb in rule["verbs"]:
                        for name in rule.get("resourceNames", [""]):
                            home = HOME if role["kind"] == "Role" else ""
                            granted.add((verb, group, resource, name, home))
    assert {dataclasses.astuple(right) for right in rights(HOME)} == granted


def test_the_policies_looked_for_are_those_that_are_shipped() -> None:
    installed = set()
    for path in sorted((DEPLOY / "policies").glob("*.yaml")):
        for one in yaml.safe_load_all(path.read_text()):
            if one["kind"].endswith("Policy"):
                plural = one["kind"].lower().removesuffix("policy") + "policies"
                installed.add((plural, one["metadata"]["name"]))
    assert set(POLICIES) == installed


@pytest.mark.parametrize(("plural", "name"), POLICIES)
@pytest.mark.parametrize("part", ["policy", "binding"])
def test_a_policy_or_binding_that_is_missing_is_named(
    api: ApiServer, plural: str, name: str, part: str
) -> None:
    kind = plural if part == "policy" else plural.removesuffix("ies") + "ybindings"
    admin = Connection(lambda: api.client("admin"))
    admin.delete(f"/apis/admissionregistration.k8s.io/v1/{kind}/{name}", {})
    (found,) = odd(api)
    assert (found.what, found.well) == ("admission policies", False)
    assert found.seen == f"missing: {kind} {name}"
    assert "kubectl apply -k deploy/kubernetes/policies" in found.cure


def test_without_policies_it_is_a_trial(api: ApiServer) -> None:
    admin = Connection(lambda: api.client("admin"))
    for plural, name in POLICIES:
        for kind in (plural, plural.removesuffix("ies") + "ybindings"):
            admin.delete(f"/apis/admissionregistration.k8s.io/v1/{kind}/{name}", {})
    (found,) = odd(api)
    assert (found.what, found.well) == ("admission policies", True)


def test_an_older_api_server_has_no_mutating_policies(api: ApiServer) -> None:
    api.faults.fail(404, "GET", path="admissionregistration.k8s.io/v1$", reason="NotFound")
    (found,) = odd(api)
    assert found.what == "policy kinds"
    assert MUTATING_POLICY.plural in found.seen


def test_no_namespace_is_managed(api: ApiServer) -> None:
    admin = kube.CoreV1Api(api.client("admin"))
    admin.patch_namespace("nlp", {"metadata": {"labels": {"gpubot.dev/managed": None}}})
    (found,) = odd(api)
    assert found.what == "namespaces"
    assert "kubectl label namespace" in found.cure


def test_nodes_that_no_flavor_covers_are_named(api: ApiServer) -> None:
    for number in range(7):
        api.add_node(f"odd{number}", labels={"nvidia.com/gpu.product": "NVIDIA-L4"})
    (found,) = odd(api)
    assert found.seen.endswith("nothing starts: odd0, odd1, odd2, odd3, odd4 and 2 more")


def test_a_flavor_without_nodes_and_a_level_without_label_are_told(api: ApiServer) -> None:
    api.add_node("n9", labels={**MODEL, BLOCK: "b1"})
    (found,) = odd(api)
    assert found.what == "flavor reserved-h100"
    assert found.seen.startswith(f"1 nodes lack the label {RACK}")
    assert f"kubectl label node n9 {RACK}=" in found.cure
    for name in ("n1", "n2", "n3", "n9"):
        api.change_node(name, labels={"nvidia.com/gpu.product": "NVIDIA-A100"})
    told = {one.what: one.seen for one in odd(api)}
    assert told["flavor reserved-h100"] == "covers no node now"


def test_without_gpus_the_device_plugin_is_named(api: ApiServer) -> None:
    for number in range(1, 4):
        api.change_node(f"n{number}", gpus=0)
    (found,) = odd(api)
    assert (found.what, found.well) == ("gpu nodes", False)
    assert "device plugin" in found.cure


def test_a_clock_that_is_off_is_told(api: ApiServer) -> None:
    api.advance(300.0)
    (found,) = odd(api)
    assert (found.what, found.well) == ("cluster clock", False)
    assert "NTP" in found.cure


def test_many_nodes_are_read_page_by_page(api: ApiServer) -> None:
    for number in range(600):
        api.add_node(f"m{number}", labels={**MODEL, BLOCK: "b1", RACK: "r1"})
    seen = {one.what: one.seen for one in examine(api)}
    assert seen["gpu nodes"] == "603 with 4,824 GPUs"
    pages = [one for one in api.requests if one.path == "/api/v1/nodes"]
    assert len(pages) == 2


def test_the_lease_is_free_or_held(api: ApiServer) -> None:
    assert {one.what: one.seen for one in examine(api)}["lease"].startswith("free")
    folder = f"/apis/coordination.k8s.io/v1/namespaces/{HOME}/leases"
    lease = {"metadata": {"name": "gpubot"}, "spec": {"holderIdentity": "gpubot-7"}}
    Connection(lambda: api.client("admin")).post(folder, lease)
    assert {one.what: one.seen for one in examine(api)}["lease"] == "held by gpubot-7"


def test_who_may_nothing_still_hears_what_is_wrong(api: ApiServer) -> None:
    api.cluster.gate.grant("viewer-token", *shipped()[-2:])  # what everybody may ask
    found = {one.what: one for one in odd(api, "viewer")}
    assert found.keys() == {"rights", "gpu nodes", "namespaces", "admission policies", "lease"}
    assert not any(one.well for one in found.values())
