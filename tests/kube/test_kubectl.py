"""The real kubectl against the emulator: what people type, and what they then see."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
import yaml

from tests.deploy.manifests import FOLDER
from tests.kube.documents import Json
from tests.kube.kinds import DEPLOYMENT, JOB, SERVICE
from tests.kube.samples import job, pod
from tests.kube.server import ApiServer
from tests.kubectl import Failed, Kubectl


@pytest.fixture
def kubectl(api_server: ApiServer, tmp_path: Path) -> Kubectl:
    return Kubectl(api_server, tmp_path)


def columns(text: str) -> list[list[str]]:
    return [line.split() for line in text.splitlines()]


def deployment(*volumes: str, recreate: bool = False) -> Json:
    """Two replicas with empty volumes of these names."""
    mounts = [{"name": name, "mountPath": f"/{name}"} for name in volumes]
    container = {"name": "main", "image": "example.com/web:1", "volumeMounts": mounts}
    strategy = {"strategy": {"type": "Recreate"}} if recreate else {}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {
            "replicas": 2,
            **strategy,
            "selector": {"matchLabels": {"app": "web"}},
            "template": {
                "metadata": {"labels": {"app": "web"}},
                "spec": {
                    "containers": [container],
                    "volumes": [{"name": name, "emptyDir": {}} for name in volumes],
                },
            },
        },
    }


def service(*ports: int) -> Json:
    listed = [{"name": f"p{port}", "port": port, "targetPort": 80} for port in ports]
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "web", "namespace": "team"},
        "spec": {"selector": {"app": "web"}, "ports": listed},
    }


def test_it_shows_pods_and_jobs_as_a_real_server_does(
    api_server: ApiServer, kubectl: Kubectl
) -> None:
    kubectl("apply", "-n", "team", "-f", "-", text=json.dumps(pod("waits")))
    api_server.advance(400)
    kubectl("apply", "-n", "team", "-f", "-", text=json.dumps(job("train", pods=1)))
    api_server.controllers.settle()
    shown = kubectl("get", "pods,jobs", "-A")
    assert columns(shown) == [
        ["NAMESPACE", "NAME", "READY", "STATUS", "RESTARTS", "AGE"],
        ["team", "pod/waits", "0/1", "SchedulingGated", "0", "6m40s"],
        [],
        ["NAMESPACE", "NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"],
        ["team", "job.batch/train", "Suspended", "0/1", "0s"],
    ]
    kubectl("-n", "team", "patch", "job", "train", "-p", '{"spec":{"suspend":false}}')
    api_server.controllers.settle()
    api_server.kubelet.start_all()
    shown = kubectl("-n", "team", "get", "pods", "-o", "wide", "-l", "job-name=train")
    assert columns(shown)[1][1:7] == ["1/1", "Running", "0", "0s", "10.0.0.5", "n1"]
    assert "SuccessfulCreate" in kubectl("-n", "team", "describe", "job", "train")
    assert "job/train" in kubectl("-n", "team", "get", "events")
    assert "Job/train" in kubectl("-n", "team", "events", "--for", "job/train")


@pytest.mark.parametrize(
    ("kind", "head", "row"),
    [
        ("deploy", "READY UP-TO-DATE AVAILABLE AGE", r"gpubot +1/1 +1 +1 +5s"),
        ("rs", "DESIRED CURRENT READY AGE", r"gpubot-\w+ +1 +1 +1 +5s"),
        (
            "svc",
            "TYPE CLUSTER-IP EXTERNAL-IP PORT(S) AGE",
            r"gpubot +ClusterIP +10\S+ +<none> +8080",
        ),
        (
            "pvc",
            "STATUS VOLUME CAPACITY ACCESS MODES STORAGECLASS AGE",
            r"gpubot +Bound +pvc-.* RWOP",
        ),
        ("pdb", "MIN AVAILABLE MAX UNAVAILABLE ALLOWED DISRUPTIONS AGE", r"gpubot +N/A +1 +1 +5s"),
        ("netpol", "POD-SELECTOR AGE", r"gpubot +app.kubernetes.io/name=gpubot +5s"),
        ("rolebinding", "ROLE AGE", r"gpubot-leader +Role/gpubot-leader +5s"),
        ("cm", "DATA AGE", r"gpubot-files-\w+ +2 +5s"),
        ("ns", "STATUS AGE", r"gpubot-system +Active +5s"),
        ("nodes", "STATUS ROLES AGE VERSION", r"n1 +Ready +<none> +5s +v1\.36"),
    ],
)
def test_each_kind_has_columns_of_its_own(
    api_server: ApiServer, kubectl: Kubectl, kind: str, head: str, row: str
) -> None:
    trial = str(FOLDER / "overlays" / "trial")
    kubectl("apply", "-f", "-", text=kubectl("kustomize", trial))
    api_server.controllers.settle()
    api_server.kubelet.start_all()
    api_server.advance(5)
    api_server.controllers.settle()
    first, *rows = kubectl("-n", "gpubot-system", "get", kind).splitlines()
    assert first.split() == ["NAME", *head.split()]
    assert any(re.match(row, each) for each in rows), rows


@pytest.mark.parametrize("more", [(), ("--server-side",)])
def test_what_is_applied_twice_is_changed_once(
    api_server: ApiServer, kubectl: Kubectl, more: tuple[str, ...]
) -> None:
    text = yaml.safe_dump(deployment("a", "b"))
    applied = [kubectl("apply", *more, "-f", "-", text=text) for _ in range(2)]
    written = ["serverside-applied"] * 2 if more else ["created", "unchanged"]
    assert applied == [f"deployment.apps/web {each}\n" for each in written]
    text = yaml.safe_dump(deployment("b", "c", recreate=True))
    kubectl("apply", *more, "-f", "-", text=text)
    live = api_server.cluster.get(DEPLOYMENT, "team", "web")
    assert live is not None
    spec = live.body["spec"]
    assert [each["name"] for each in spec["template"]["spec"]["volumes"]] == ["b", "c"]
    assert spec["strategy"]["type"] == "Recreate"
    if not more:
        assert spec["strategy"] == {"type": "Recreate"}


def test_the_ports_of_a_service_are_told_apart_by_their_own_number(
    api_server: ApiServer, kubectl: Kubectl
) -> None:
    kubectl("apply", "-f", "-", text=json.dumps(service(80, 443)))
    kubectl("apply", "-f", "-", text=json.dumps(service(443, 8080)))
    live = api_server.cluster.get(SERVICE, "team", "web")
    assert live is not None
    ports = live.body["spec"]["ports"]
    assert [(one["port"], one["targetPort"]) for one in ports] == [(443, 80), (8080, 80)]


def test_a_rollout_is_awaited_and_recreated_pods_come_after_the_old(
    api_server: ApiServer, kubectl: Kubectl
) -> None:
    def apply(body: Json) -> None:
        kubectl("apply", "-f", "-", text=json.dumps(body))
        api_server.controllers.settle()
        api_server.kubelet.start_all()
        api_server.controllers.settle()

    apply(deployment("a"))
    done = kubectl("-n", "team", "rollout", "status", "deployment/web")
    assert "successfully rolled out" in done
    apply(deployment("b", recreate=True))
    with pytest.raises(Failed, match="timed out"):
        kubectl("-n", "team", "rollout", "status", "deployment/web", "--timeout=1ms")
    pods = kubectl("-n", "team", "get", "pods", "--no-headers")
    assert [line[2] for line in columns(pods)] == ["Terminating"] * 2
    api_server.kubelet.confirm_all()
    apply(deployment("b", recreate=True))
    kubectl("-n", "team", "rollout", "status", "deployment/web", "--timeout=20s")
    pods = kubectl("-n", "team", "get", "pods", "--no-headers")
    assert [line[1:3] for line in columns(pods)] == [["1/1", "Running"]] * 2


def test_marks_are_put_on_and_taken_off(api_server: ApiServer, kubectl: Kubectl) -> None:
    kubectl("create", "namespace", "nlp")
    kubectl("label", "namespace", "nlp", "gpubot.dev/managed=true")
    kubectl("annotate", "node", "n1", "note=here")
    shown = kubectl("get", "ns", "-l", "gpubot.dev/managed=true", "-o", "name")
    assert shown == "namespace/nlp\n"
    shown = kubectl("get", "no", "n1", "-o", "jsonpath={.metadata.annotations.note}")
    assert shown == "here"
    with pytest.raises(Failed, match="already has a value"):
        kubectl("label", "namespace", "nlp", "gpubot.dev/managed=false")
    kubectl("label", "namespace", "nlp", "gpubot.dev/managed-")
    assert kubectl("get", "ns", "-l", "gpubot.dev/managed", "-o", "name") == ""


def test_what_goes_is_waited_for(api_server: ApiServer, kubectl: Kubectl) -> None:
    kubectl("create", "configmap", "a", "--from-literal=x=y")
    shown = yaml.safe_load(kubectl("get", "cm", "a", "-o", "yaml"))
    assert shown["data"] == {"x": "y"}
    assert kubectl("delete", "cm", "a") == 'configmap "a" deleted\n'
    with pytest.raises(Failed, match="NotFound"):
        kubectl("get", "cm", "a")


def test_a_watch_shows_each_change_as_a_row(api_server: ApiServer, kubectl: Kubectl) -> None:
    kubectl("-n", "team", "apply", "-f", "-", text=json.dumps(job("train", pods=1)))
    api_server.controllers.settle()
    with kubectl.following("-n", "team", "get", "job", "train", "-w") as lines:
        assert next(lines).split() == ["NAME", "STATUS", "COMPLETIONS", "DURATION", "AGE"]
        assert next(lines).split()[:3] == ["train", "Suspended", "0/1"]
        kubectl("-n", "team", "patch", "job", "train", "-p", '{"spec":{"suspend":false}}')
        api_server.controllers.settle()
        assert next(line for line in lines if "Running" in line).split()[2] == "0/1"


def test_a_misspelt_field_is_refused_before_anything_is_written(
    api_server: ApiServer, kubectl: Kubectl
) -> None:
    body = job("train")
    body["spec"]["suspended"] = body["spec"].pop("suspend")
    with pytest.raises(Failed, match=r'unknown field "spec\.suspended"'):
        kubectl("-n", "team", "apply", "-f", "-", text=json.dumps(body))
    assert api_server.cluster.get(JOB, "team", "train") is None
    assert "FIELD: suspend <boolean>" in kubectl("explain", "job.spec.suspend")


def test_what_is_written_as_a_number_is_kept_as_a_quantity(
    api_server: ApiServer, kubectl: Kubectl
) -> None:
    body = pod("a")
    body["spec"]["containers"][0]["resources"] = {"limits": {"nvidia.com/gpu": 1}}
    kubectl("-n", "team", "apply", "-f", "-", text=json.dumps(body))
    made = yaml.safe_load(kubectl("-n", "team", "get", "pod", "a", "-o", "yaml"))
    (container,) = made["spec"]["containers"]
    assert container["resources"]["requests"] == {"nvidia.com/gpu": "1"}


def test_custom_kinds_are_applied_and_listed(api_server: ApiServer, kubectl: Kubectl) -> None:
    api_server.serve_job_sets()
    api_server.serve_leader_worker_sets()
    kubectl("create", "namespace", "nlp")
    for name in ("jobset", "leaderworkerset"):
        kubectl("apply", "-f", str(FOLDER / "examples" / f"{name}.yaml"))
        again = kubectl("apply", "-f", str(FOLDER / "examples" / f"{name}.yaml"))
        assert again.endswith("unchanged\n")
    shown = kubectl("get", "jobsets,lws", "-A", "-o", "name").splitlines()
    assert [one.partition("/")[0] for one in shown] == [
        "jobset.jobset.x-k8s.io",
        "leaderworkerset.leaderworkerset.x-k8s.io",
    ]


def test_an_admin_may_act_as_somebody_who_may_less(kubectl: Kubectl) -> None:
    assert kubectl("auth", "can-i", "delete", "nodes") == "yes\n"
    with pytest.raises(Failed):
        kubectl("auth", "can-i", "delete", "nodes", "--as", "alice")
    with pytest.raises(Failed, match='User "alice" cannot delete resource "nodes"'):
        kubectl("delete", "node", "n1", "--as", "alice")


def test_nobody_else_may_act_as_another(api_server: ApiServer, tmp_path: Path) -> None:
    alice = Kubectl(api_server, tmp_path, "alice")
    with pytest.raises(Failed, match='cannot impersonate resource "users"'):
        alice("get", "--raw", "/api/v1/nodes", "--as", "lab-admin")
