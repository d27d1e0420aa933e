"""Everything that is set from outside, read once and checked before anything starts.

A wrong setting is one `SettingsError` that lists every problem: which variable, what is
wrong with it, and a value that would be right. Tokens are `SecretStr` and never printed.
"""

from __future__ import annotations

import enum
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, ValidationError, ValidationInfo, field_validator
from pydantic_settings import BaseSettings, SettingsConfigDict
from sqlalchemy.engine import make_url
from sqlalchemy.exc import ArgumentError

from bot.preferences import Digest

SLACK_API_URL = "https://slack.com/api/"


class SettingsError(Exception):
    """One or more settings cannot be used; the message has a line for each."""


class ClusterKind(enum.StrEnum):
    """Which cluster the control loop drives."""

    SIMULATED = "simulated"
    KUBERNETES = "kubernetes"


class Settings(BaseSettings):
    """The bot's environment. Field aliases are the variable names people set."""

    model_config = SettingsConfigDict(extra="ignore", populate_by_name=True, frozen=True)

    slack_api_url: str = Field(SLACK_API_URL, alias="GPUBOT_SLACK_API_URL")
    bot_token: SecretStr = Field(alias="SLACK_BOT_TOKEN")
    http_port: int | None = Field(None, alias="GPUBOT_HTTP_PORT", ge=0, le=65535)
    app_token: SecretStr | None = Field(None, alias="SLACK_APP_TOKEN", validate_default=True)
    signing_secret: SecretStr | None = Field(
        None, alias="SLACK_SIGNING_SECRET", validate_default=True
    )
    health_port: int | None = Field(None, alias="GPUBOT_HEALTH_PORT", ge=0, le=65535)
    listen: str = Field("127.0.0.1", alias="GPUBOT_LISTEN")
    database_url: str = Field("sqlite:///gpubot.db", alias="GPUBOT_DATABASE_URL")
    policy: Path | None = Field(None, alias="GPUBOT_POLICY")
    people: Path | None = Field(None, alias="GPUBOT_PEOPLE")
    groups: Path | None = Field(None, alias="GPUBOT_GROUPS")
    cluster: ClusterKind = Field(ClusterKind.SIMULATED, alias="GPUBOT_CLUSTER")
    journal: Path = Field(Path("gpubot-cluster.journal"), alias="GPUBOT_CLUSTER_JOURNAL")
    templates: Path | None = Field(None, alias="GPUBOT_TEMPLATES")
    spool: Path | None = Field(None, alias="GPUBOT_SPOOL")
    channel: str = Field("gpu-resources", alias="GPUBOT_CHANNEL")
    oncall_channel: str = Field("gpu-oncall", alias="GPUBOT_ONCALL_CHANNEL")
    oncall_group: str | None = Field(None, alias="GPUBOT_ONCALL_GROUP")
    language: Literal["en", "zh"] = Field("en", alias="GPUBOT_LANGUAGE")
    oncall_fallback: str | None = Field(None, alias="GPUBOT_ONCALL_FALLBACK")
    oncall_shift: float | None = Field(None, alias="GPUBOT_ONCALL_SHIFT", gt=0)
    oncall_patience: float = Field(600.0, alias="GPUBOT_ONCALL_PATIENCE", gt=0)
    prometheus_url: str | None = Field(None, alias="GPUBOT_PROMETHEUS_URL")
    prometheus_token: SecretStr | None = Field(None, alias="GPUBOT_PROMETHEUS_TOKEN")
    digest: Digest = Field(Digest.OFF, alias="GPUBOT_DIGEST")
    log_level: str = Field("INFO", alias="GPUBOT_LOG_LEVEL")

    @field_validator("slack_api_url")
    @classmethod
    def _api_url(cls, value: str) -> str:
        parts = urlsplit(value)
        if parts.scheme not in {"http", "https"} or not parts.netloc:
            raise ValueError("is not an http(s) address")
        return value if value.endswith("/") else value + "/"

    @field_validator("bot_token")
    @classmethod
    def _bot_token(cls, value: SecretStr) -> SecretStr:
        if not value.get_secret_value().startswith("xoxb-"):
            raise ValueError("is not a bot token: those begin with xoxb-")
        return value

    @field_validator("app_token")
    @classmethod
    def _app_token(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is None and info.data.get("http_port", 0) is None:  # the port comes before it
            raise ValueError("is not set")
        if value is not None and not value.get_secret_value().startswith("xapp-"):
            raise ValueError("is not an app-level token: those begin with xapp-")
        return value

    @field_validator("signing_secret")
    @classmethod
    def _signing_secret(cls, value: SecretStr | None, info: ValidationInfo) -> SecretStr | None:
        if value is None and info.data.get("http_port") is not None:
            raise ValueError("is not set, which requests over HTTP need")
        return value

    @field_validator("database_url")
    @classmethod
    def _database_url(cls, value: str) -> str:
        try:
            backend = make_url(value).get_backend_name()
        except ArgumentError:
            raise ValueError("is not a database address") from None
        if backend not in {"sqlite", "postgresql"}:
            raise ValueError(f"names a {backend} database; SQLite and PostgreSQL are supported")
        return value

    @field_validator("policy", "people", "groups", "templates")
    @classmethod
    def _readable(cls, value: Path | None) -> Path | None:
        if value is not None and not value.is_file():
            raise ValueError(f"names {value}, which is not a file")
        return value

    @field_validator("channel", "oncall_channel")
    @classmethod
    def _channel(cls, value: str) -> str:
        bare = value.removeprefix("#")
        if not bare or any(letter.isspace() for letter in bare):
            raise ValueError("is not a channel name or id")
        return bare

    @field_validator("log_level")
    @classmethod
    def _level(cls, value: str) -> str:
        if value.upper() not in {"DEBUG", "INFO", "WARNING", "ERROR"}:
            raise ValueError("is not a log level")
        return value.upper()


def spool_path(settings: Settings) -> Path:
    """Where deliveries are kept until they are carried out: as set, or beside the database."""
    if settings.spool is not None:
        return settings.spool
    url = make_url(settings.database_url)
    file = url.database if url.get_backend_name() == "sqlite" else None
    if not file or file == ":memory:":
        return Path("gpubot.spool")
    path = Path(file)
    return path.with_name(path.stem + ".spool")


_EXAMPLES = {
    "GPUBOT_SLACK_API_URL": SLACK_API_URL,
    "SLACK_BOT_TOKEN": "xoxb-… (OAuth & Permissions page of the app)",
    "SLACK_APP_TOKEN": "xapp-… (Basic Information page, scope connections:write)",
    "SLACK_SIGNING_SECRET": "… (Basic Information page of the app)",
    "GPUBOT_HTTP_PORT": "3000",
    "GPUBOT_HEALTH_PORT": "8080",
    "GPUBOT_LISTEN": "127.0.0.1",
    "GPUBOT_DATABASE_URL": "sqlite:////var/lib/gpubot/gpubot.db",
    "GPUBOT_POLICY": "deploy/policy.yaml",
    "GPUBOT_PEOPLE": "people.yaml",
    "GPUBOT_GROUPS": "groups.yaml",
    "GPUBOT_ONCALL_SHIFT": "604800",
    "GPUBOT_CLUSTER": "simulated or kubernetes",
    "GPUBOT_CLUSTER_JOURNAL": "/var/lib/gpubot/cluster.journal",
    "GPUBOT_TEMPLATES": "templates.yaml",
    "GPUBOT_SPOOL": "/var/lib/gpubot/gpubot.spool",
    "GPUBOT_CHANNEL": "gpu-resources",
    "GPUBOT_ONCALL_CHANNEL": "gpu-oncall",
    "GPUBOT_ONCALL_GROUP": "S0123ABCD",
    "GPUBOT_LANGUAGE": "zh",
    "GPUBOT_ONCALL_FALLBACK": "S0123ABCD or U0123ABCD",
    "GPUBOT_ONCALL_PATIENCE": "600",
    "GPUBOT_PROMETHEUS_URL": "http://prometheus.monitoring.svc:9090",
    "GPUBOT_DIGEST": "weekly",
    "GPUBOT_LOG_LEVEL": "INFO",
}


def read_settings(**given: Any) -> Settings:
    """The settings of this process's environment, or those `given`. Raises SettingsError."""
    try:
        return Settings(**given)
    except ValidationError as error:
        lines = [
            _problem(_variable(str(item["loc"][0])), item["type"], item["msg"])
            for item in error.errors()
        ]
        raise SettingsError("\n".join(lines)) from None


def _variable(place: str) -> str:
    """The variable of a problem: a default that will not do is reported by its field."""
    field = Settings.model_fields.get(place)
    return field.alias if field is not None and field.alias else place


def _problem(variable: str, kind: str, message: str) -> str:
    what = "is not set" if kind == "missing" else message.removeprefix("Value error, ")
    example = _EXAMPLES.get(variable)
    return f"{variable} {what}" + (f"; for example {variable}={example}" if example else "")
