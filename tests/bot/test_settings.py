"""Settings: every problem names its variable, what is wrong, and a right example."""

from __future__ import annotations

from pathlib import Path

import pytest

from bot.settings import SettingsError, read_settings, spool_path

RIGHT = {"SLACK_BOT_TOKEN": "xoxb-1-secret", "SLACK_APP_TOKEN": "xapp-1-secret"}


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("GPUBOT_POLICY", "GPUBOT_PEOPLE", "GPUBOT_DATABASE_URL", "GPUBOT_SLACK_API_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in RIGHT.items():
        monkeypatch.setenv(name, value)


def test_tokens_are_enough() -> None:
    settings = read_settings()
    assert settings.slack_api_url == "https://slack.com/api/"
    assert settings.channel == "gpu-resources"


def test_secrets_are_not_shown() -> None:
    assert "-secret" not in repr(read_settings())


@pytest.mark.parametrize(
    ("given", "path"),
    [
        ({}, "gpubot.spool"),
        ({"database_url": "sqlite:////var/lib/gpubot/state.db"}, "/var/lib/gpubot/state.spool"),
        ({"database_url": "postgresql://host/db"}, "gpubot.spool"),
        ({"spool": Path("/var/spool/bot")}, "/var/spool/bot"),
    ],
)
def test_the_spool_lies_beside_the_database_unless_set(given: dict[str, object], path: str) -> None:
    assert spool_path(read_settings(**given)) == Path(path)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("SLACK_BOT_TOKEN", "xapp-wrong-way-round"),
        ("GPUBOT_LANGUAGE", "klingon"),
        ("SLACK_APP_TOKEN", "xoxb-wrong-way-round"),
        ("GPUBOT_SLACK_API_URL", "slack.com"),
        ("GPUBOT_DATABASE_URL", "mysql://host/db"),
        ("GPUBOT_DATABASE_URL", "nonsense"),
        ("GPUBOT_POLICY", "no-such-file.yaml"),
        ("GPUBOT_PEOPLE", "no-such-file.yaml"),
        ("GPUBOT_GROUPS", "no-such-file.yaml"),
        ("GPUBOT_TEMPLATES", "no-such-file.yaml"),
        ("GPUBOT_TEMPLATES", "/"),
        ("GPUBOT_CLUSTER", "abacus"),
        ("GPUBOT_CHANNEL", "two words"),
        ("GPUBOT_LOG_LEVEL", "loud"),
    ],
)
def test_what_is_wrong_is_named_with_an_example(
    monkeypatch: pytest.MonkeyPatch, variable: str, value: str
) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(SettingsError) as caught:
        read_settings()
    (line,) = str(caught.value).splitlines()
    assert line.startswith(variable)
    assert f"for example {variable}=" in line
    assert "wrong-way-round" not in line


def test_over_http_the_signing_secret_takes_the_place_of_the_app_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("SLACK_APP_TOKEN")
    with pytest.raises(SettingsError, match="SLACK_APP_TOKEN is not set; for example"):
        read_settings()
    monkeypatch.setenv("GPUBOT_HTTP_PORT", "3000")
    with pytest.raises(SettingsError, match="SLACK_SIGNING_SECRET is not set"):
        read_settings()
    monkeypatch.setenv("SLACK_SIGNING_SECRET", "8f742231b10e8888abcd99yyyzzz85a5")
    settings = read_settings()
    assert (settings.http_port, settings.app_token) == (3000, None)
    assert "8f742231" not in repr(settings)


def test_all_problems_are_told_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SLACK_BOT_TOKEN")
    monkeypatch.setenv("GPUBOT_CLUSTER", "abacus")
    with pytest.raises(SettingsError) as caught:
        read_settings()
    assert "SLACK_BOT_TOKEN is not set" in str(caught.value)
    assert "GPUBOT_CLUSTER" in str(caught.value)
    monkeypatch.delenv("SLACK_APP_TOKEN")
    with pytest.raises(SettingsError) as caught:
        read_settings()
    assert len(str(caught.value).splitlines()) == 3
