"""`gpubot simulate` as a person meets it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner, Result

from bot.cli.main import app

CASES = Path(__file__).parents[2] / "conformance"
CASE = CASES / "quota" / "h-groups-2.yaml"


def run(*arguments: str | Path, stdin: str | None = None) -> Result:
    return CliRunner().invoke(app, ["simulate", *map(str, arguments)], input=stdin)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two cases of one family with their answers."""
    for name in ("h-groups-2", "h-undeclared"):
        for ending in (".yaml", ".expect.json"):
            shutil.copy(CASES / "quota" / f"{name}{ending}", tmp_path)
    return tmp_path


def test_a_case_is_told_in_words() -> None:
    result = run(CASE)
    assert result.exit_code == 0
    assert "two                      admitted  atlas" in result.stdout
    assert "workers 2 pods on cpu-new, h100" in result.stdout
    assert "job-1                    pending   atlas                quota" in result.stdout


def test_json_is_one_answer_a_line_in_the_order_of_the_files(folder: Path) -> None:
    result = run(folder, "--json")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [answer["case"] for answer in answers] == ["h-groups-2", "h-undeclared"]
    expected = json.loads((folder / "h-groups-2.expect.json").read_text(encoding="utf-8"))
    assert answers[0] == expected


def test_a_case_that_cannot_be_read_gives_a_line_and_the_rest_go_on(folder: Path) -> None:
    (folder / "a-broken.yaml").write_text("kind: [unclosed", encoding="utf-8")
    (folder / "b-bytes.yaml").write_bytes(b"\xff\xfe\x00")
    (folder / "c-endless.yaml").write_text(
        "kind: Case\nevents: [{submit: x}]\n---\nkind: Namespace\nmetadata: {name: x}\n", "utf-8"
    )
    result = run(folder, "--json")
    answers = [json.loads(line) for line in result.stdout.splitlines()]
    assert [sorted(answer)[:2] for answer in answers[:3]] == [["case", "error"]] * 3
    assert [answer["case"] for answer in answers] == [
        "a-broken", "b-bytes", "c-endless", "h-groups-2", "h-undeclared",
    ]  # fmt: skip
    assert result.exit_code == 1


def test_agreement_is_counted_by_family(folder: Path) -> None:
    result = run(folder, "--expect")
    assert result.stdout == "quota: 2 cases, 2 agree\n"
    assert result.exit_code == 0


def test_a_difference_is_named_and_fails(folder: Path) -> None:
    file = folder / "h-groups-2.expect.json"
    expected = json.loads(file.read_text(encoding="utf-8"))
    expected["workloads"]["job-4"]["state"] = "pending"
    file.write_text(json.dumps(expected), encoding="utf-8")
    result = run(folder, "--expect")
    assert "job-4: state is admitted, expected pending" in result.stdout
    assert "quota: 2 cases, 1 agree" in result.stdout
    assert result.exit_code == 1


def test_a_missing_answer_fails(folder: Path) -> None:
    (folder / "h-undeclared.expect.json").unlink()
    result = run(folder, "--expect")
    assert "has no expected answer that can be read" in result.stdout
    assert result.exit_code == 1


def test_manifests_of_a_cluster_come_through_a_pipe() -> None:
    documents = [d for d in yaml.safe_load_all(CASE.read_text("utf-8")) if d["kind"] != "Case"]
    listed = yaml.safe_dump({"apiVersion": "v1", "kind": "List", "items": documents})
    result = run("-", "--json", stdin=listed)
    answer = json.loads(result.stdout)
    expected = json.loads(CASE.with_name("h-groups-2.expect.json").read_text(encoding="utf-8"))
    assert answer["workloads"] == expected["workloads"]


def test_manifests_in_several_files_are_one_case(tmp_path: Path) -> None:
    for number, document in enumerate(yaml.safe_load_all(CASE.read_text(encoding="utf-8"))):
        if document["kind"] != "Case":
            text = yaml.safe_dump(document)
            (tmp_path / f"{number:02d}.yaml").write_text(text, encoding="utf-8")
    result = run(tmp_path, "--json")
    assert len(result.stdout.splitlines()) == 1
    assert json.loads(result.stdout)["workloads"]["two"]["state"] == "admitted"


def test_what_is_refused_is_named_on_stderr(tmp_path: Path) -> None:
    text = CASE.read_text(encoding="utf-8") + (
        "\n---\nkind: ClusterQueue\nmetadata: {name: odd}\n"
        "spec: {resourceGroups: [], fairSharing: {weight: -1}}\n"
    )
    file = tmp_path / "case.yaml"
    file.write_text(text, encoding="utf-8")
    result = run(file)
    assert f"refused: {file}: ClusterQueue odd: spec.fairSharing.weight" in result.stderr
    assert "two                      admitted" in result.stdout


def promising(gpus: int) -> str:
    """A case whose quota promises more than its one node has."""
    return (
        "kind: Case\n---\n"
        "apiVersion: v1\nkind: Node\nmetadata: {name: n1}\nstatus:\n"
        "  allocatable: {nvidia.com/gpu: 8, pods: 100}\n"
        "  conditions: [{type: Ready, status: 'True'}]\n---\n"
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ResourceFlavor\nmetadata: {name: h100}\n---\n"
        "apiVersion: kueue.x-k8s.io/v1beta2\nkind: ClusterQueue\nmetadata: {name: atlas}\nspec:\n"
        "  resourceGroups: [{coveredResources: [nvidia.com/gpu], flavors: [{name: h100, resources:"
        f" [{{name: nvidia.com/gpu, nominalQuota: {gpus}}}]}}]}}]\n"
    )


def test_what_is_odd_in_many_files_is_said_once_and_names_them(tmp_path: Path) -> None:
    for number in range(6):
        (tmp_path / f"case-{number}.yaml").write_text(promising(16 + number), encoding="utf-8")
    result = run(tmp_path)
    first, second, third, fourth = (tmp_path / f"case-{number}.yaml" for number in range(4))
    assert result.stderr == (
        f"note: {first}: ResourceFlavor h100: nvidia.com/gpu has 16 of quota on nodes with 8: "
        f"8 too many (and the like in {second}, {third}, {fourth} and 2 more)\n"
    )


def test_what_is_odd_in_several_files_of_one_case_is_said_of_all(tmp_path: Path) -> None:
    for number, document in enumerate(yaml.safe_load_all(promising(9))):
        if document["kind"] != "Case":
            text = yaml.safe_dump(document)
            (tmp_path / f"{number}.yaml").write_text(text, encoding="utf-8")
    result = run(tmp_path)
    assert result.stderr == (
        "note: 3 files: ResourceFlavor h100: nvidia.com/gpu has 9 of quota on nodes with 8: "
        "1 too many\n"
    )


@pytest.mark.parametrize("path", ["nowhere.yaml", "."])
def test_no_manifests_is_an_error_with_an_example(tmp_path: Path, path: str) -> None:
    result = run(tmp_path / path)
    assert result.exit_code == 2
    assert "gpubot: " in result.stderr


def test_the_bots_own_policy_can_be_simulated() -> None:
    manifests = CliRunner().invoke(app, ["policy", "kueue"])
    assert manifests.exit_code == 0
    job = {
        "apiVersion": "kueue.x-k8s.io/v1beta2",
        "kind": "LocalQueue",
        "metadata": {"name": "shared", "namespace": "ml"},
        "spec": {"clusterQueue": "shared-multi"},
    }
    result = run("-", stdin=manifests.stdout + "---\n" + yaml.safe_dump(job))
    assert (result.exit_code, result.stderr) == (0, "")
