"""`gpubot doctor` and what comes with the bot: each failure says what to do about it."""

from __future__ import annotations

from pathlib import Path

import pytest
import yaml
from typer.testing import CliRunner

from bot.chat.actions import FORM, WHY_OF_MESSAGE
from bot.cli.doctor import examine, wanted_scopes
from bot.cli.finding import Finding
from bot.cli.main import app
from bot.shipped import MANIFEST, read_policy, shipped
from bot.workspace.server import WorkspaceServer
from scheduler.policy import compile_policy, load_policy
from tests.bot.house import POLICY, House
from tests.bot.kubeconfig import write_kubeconfig
from tests.fixtures_workspace import open_workspace, workspace
from tests.kube.server import ApiServer

__all__ = ["open_workspace", "workspace"]  # fixtures


@pytest.fixture
def _well(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, workspace: WorkspaceServer) -> None:
    people = tmp_path / "people.yaml"
    people.write_text("U0ADA: {name: Ada, teams: [nlp]}")
    for name, value in {
        "GPUBOT_SLACK_API_URL": workspace.api_url,
        "SLACK_BOT_TOKEN": workspace.options.bot_token,
        "SLACK_APP_TOKEN": workspace.options.app_token,
        "GPUBOT_DATABASE_URL": f"sqlite:///{tmp_path / 'gpubot.db'}",
        "GPUBOT_PEOPLE": str(people),
    }.items():
        monkeypatch.setenv(name, value)


def _failed() -> list[Finding]:
    return [finding for finding in examine() if not finding.well]


@pytest.mark.usefixtures("_well")
def test_a_sound_installation_has_no_complaint() -> None:
    assert _failed() == []
    assert CliRunner().invoke(app, ["doctor"]).exit_code == 0


@pytest.mark.usefixtures("_well")
def test_over_http_no_app_token_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACK_APP_TOKEN")
    monkeypatch.setenv("GPUBOT_HTTP_PORT", "3000")
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "not-a-secret")
    assert _failed() == []
    assert any(finding.seen == "over HTTP, port 3000" for finding in examine())


@pytest.mark.usefixtures("_well")
@pytest.mark.parametrize(
    ("variable", "value", "what"),
    [
        ("SLACK_BOT_TOKEN", "xoxb-wrong", "bot token"),
        ("SLACK_APP_TOKEN", "xapp-wrong", "app token"),
        ("GPUBOT_SLACK_API_URL", "http://127.0.0.1:9/api/", "bot token"),
        ("GPUBOT_DATABASE_URL", "sqlite:////proc/no/x.db", "database"),
        ("GPUBOT_CLUSTER", "abacus", "settings"),
    ],
)
def test_each_failure_is_named_with_a_cure(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str, what: str
) -> None:
    monkeypatch.setenv(variable, value)
    (found,) = _failed()
    assert found.what == what
    assert found.cure
    result = CliRunner().invoke(app, ["doctor"])
    assert result.exit_code == 1
    assert "wrong" not in result.output.replace("wrong with", "")


@pytest.mark.usefixtures("_well")
def test_without_an_app_in_slack_all_the_rest_is_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("SLACK_BOT_TOKEN", "SLACK_APP_TOKEN"):
        monkeypatch.delenv(variable)
    found = list(examine())
    assert [one.seen.partition(" ")[0] for one in found if not one.well] == [
        "SLACK_BOT_TOKEN",
        "SLACK_APP_TOKEN",
    ]
    assert {"database", "policy", "people"} <= {one.what for one in found}


@pytest.mark.usefixtures("_well")
def test_a_cluster_is_examined_too(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("GPUBOT_CLUSTER", "kubernetes")
    monkeypatch.setenv("KUBECONFIG", str(tmp_path / "missing"))
    (found,) = _failed()
    assert found.what == "api server"
    assert "KUBECONFIG" in found.cure
    with ApiServer(wall_clock=True) as api:
        path = str(write_kubeconfig(tmp_path, api.url, "bot-token"))
        monkeypatch.setenv("KUBECONFIG", path)
        api.grant_shipped_rights()
        (found,) = _failed()
        assert found.what == "gpu nodes"
        api.add_node("n1")
        assert _failed() == []
        result = CliRunner().invoke(app, ["doctor"])
        assert "ok    rights: " in result.output
        assert "warn  gpu nodes: 1 of no flavor" in result.output


@pytest.mark.usefixtures("_well")
def test_a_broken_policy_is_told_in_words(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    policy = tmp_path / "policy.yaml"
    policy.write_text("version: 1\nteams: {nlp: {gpus: many}}\n")
    monkeypatch.setenv("GPUBOT_POLICY", str(policy))
    assert [finding.what for finding in _failed()] == ["policy"]
    result = CliRunner().invoke(app, ["policy", "check", str(policy)])
    assert result.exit_code == 1
    assert f"{policy}:" in result.output
    assert "Traceback" not in result.output


def test_the_default_policy_is_sound() -> None:
    assert read_policy().version == 1
    assert CliRunner().invoke(app, ["policy", "check"]).exit_code == 0


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "cannot be read: No such file or directory; name a policy file, such as"),
        (b"\x89PNG\xff\xfe", "is not text (UTF-8); name a policy file, such as"),
        ("folder", "cannot be read: Is a directory; name a policy file, such as"),
    ],
)
def test_what_is_no_policy_file_is_one_line_with_its_name(
    tmp_path: Path, content: bytes | str | None, told: str
) -> None:
    path = tmp_path / "nope"
    if content == "folder":
        path.mkdir()
    elif isinstance(content, bytes):
        path.write_bytes(content)
    result = CliRunner().invoke(app, ["policy", "check", str(path)])
    assert result.exit_code == 1
    (line,) = result.output.splitlines()
    assert f"{path} {told}" in line


@pytest.mark.usefixtures("_well")
def test_quota_that_the_nodes_cannot_hold_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    text = shipped("policy.yaml").read_text()
    assert "{nominal: 5200, borrowing: 0}" in text
    policy = tmp_path / "policy.yaml"
    policy.write_text(text.replace("{nominal: 5200, borrowing: 0}", "{nominal: 52000}"))
    told = (
        "quota for 56,800 GPUs of reserved-h100 is promised, but its 1,250 usable nodes have "
        "10,000: 46,800 of them are not there"
    )
    checked = CliRunner().invoke(app, ["policy", "check", str(policy)])
    assert checked.exit_code == 0
    assert f"warning: {told}" in checked.output
    monkeypatch.setenv("GPUBOT_POLICY", str(policy))
    examined = CliRunner().invoke(app, ["doctor"])
    assert examined.exit_code == 0
    assert f"warn  quota: {told}" in examined.output


def test_quota_that_the_nodes_hold_is_no_warning() -> None:
    assert "warning" not in CliRunner().invoke(app, ["policy", "check"]).output


@pytest.mark.usefixtures("_well")
def test_nodes_that_lack_the_label_of_a_level_are_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    policy = tmp_path / "policy.yaml"
    levels = "    levels: [gpubot.dev/rack, kubernetes.io/hostname]\n  "
    text = POLICY.replace(
        "    provision: reserved\n", f"    provision: reserved\n{levels}  "[:-4], 1
    )
    policy.write_text(text)
    monkeypatch.setenv("GPUBOT_POLICY", str(policy))
    examined = CliRunner().invoke(app, ["doctor"])
    told = "node h100-0001 of reserved-h100 lacks the label gpubot.dev/rack"
    assert f"warn  nodes: {told}" in examined.output
    assert examined.exit_code == 0
    house = House(tmp_path, compile_policy(load_policy(text, "odd.yaml")))
    house.step()
    house.close()
    assert told in caplog.text


@pytest.mark.usefixtures("_well")
def test_a_file_that_is_no_database_is_named_with_the_variable(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    garbage = tmp_path / "notes.db"
    garbage.write_bytes(b"these are my notes" * 500)
    monkeypatch.setenv("GPUBOT_DATABASE_URL", f"sqlite:///{garbage}")
    result = CliRunner().invoke(app, ["serve"])
    assert result.exit_code != 0
    assert f"GPUBOT_DATABASE_URL: {garbage}: file is not a database" in result.output
    (found,) = _failed()
    assert str(garbage) in found.seen
    assert "GPUBOT_DATABASE_URL" in found.cure


def test_the_manifest_asks_for_what_the_app_uses() -> None:
    manifest = yaml.safe_load(shipped(MANIFEST).read_text())
    assert manifest["settings"]["socket_mode_enabled"] is True
    assert [c["command"] for c in manifest["features"]["slash_commands"]] == ["/gpu"]
    shortcuts = {s["callback_id"]: s["type"] for s in manifest["features"]["shortcuts"]}
    assert shortcuts == {FORM: "global", WHY_OF_MESSAGE: "message"}
    assert {"commands", "chat:write", "app_mentions:read"} <= wanted_scopes()


@pytest.mark.usefixtures("_well")
@pytest.mark.parametrize(
    ("text", "well", "seen"),
    [
        ("team-nlp: {team: nlp}\ngpu-admins: {role: admin}", True, "2 user groups"),
        ("team-npl: {team: nlp}", False, "Slack has no user group team-npl"),
        ("team-nlp: {role: boss}", False, "team-nlp: role"),
    ],
)
def test_the_groups_file_is_compared_with_slack(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, *, well: bool, seen: str
) -> None:
    groups = tmp_path / "groups.yaml"
    groups.write_text(text)
    monkeypatch.setenv("GPUBOT_GROUPS", str(groups))
    monkeypatch.delenv("GPUBOT_PEOPLE")
    (found,) = [finding for finding in examine() if finding.what == "groups"]
    assert found.well is well
    assert seen in found.seen
    assert all(finding.well for finding in examine() if finding.what == "people")
