"""How a local workspace is set up: tokens, time limits, commands and what the page offers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

from bot.workspace.rates import RateLimits


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """A slash command the app has registered."""

    name: str
    about: str
    hint: str = ""
    examples: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Shortcut:
    """A shortcut the app has registered: global, or one in the menu of each message."""

    callback_id: str
    label: str
    on_message: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Suggestion:
    """Something a newcomer can try with one click.

    `{last}` in the command stands for this person's own last request, as
    `Options.last_request` knows it; while there is none, `fallback` is sent instead.
    """

    label: str
    about: str
    command: str
    fallback: str = "/gpu mine"
    translated: Mapping[str, Suggestion] = field(default_factory=dict)
    """The same in other languages, by the beginning of a locale (`zh`)."""

    def read_in(self, locale: str) -> Suggestion:
        """As a person reads it whose locale this is."""
        return self.translated.get(locale[:2].lower(), self)


GPU_COMMAND = Command(
    name="/gpu",
    about="Ask for GPUs, or ask about them",
    hint="16 h100 8h | status | queue | why R-1001 | mine | cancel R-1001 | help",
    examples=(
        "/gpu 1 h100 2h",
        "/gpu 4x8 h100 for 8h",
        "/gpu status",
        "/gpu queue",
        "/gpu mine",
        "/gpu help",
    ),
)


@dataclass(frozen=True, slots=True)
class WorldTime:
    """What time it is in the world the bot lives in: epoch seconds, and its pace to ours."""

    now: float
    speed: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """Everything that can be chosen. The defaults are Slack's own, in seconds.

    With a `request_url` the app is reached over HTTP there, signed with `signing_secret`,
    instead of Socket Mode.

    `clock` is for a world whose time is not ours; `last_request` gives the id of the
    request that a person made last. Both are for the page alone.
    """

    bot_token: str = field(default="xoxb-local-gpubot", repr=False)
    app_token: str = field(default="xapp-local-gpubot", repr=False)
    signing_secret: str = field(default="local-signing-secret", repr=False)
    request_url: str | None = None
    limits: RateLimits = field(default_factory=RateLimits)
    ack_timeout: float = 3.0
    retry_delays: tuple[float, ...] = (0.0, 60.0, 300.0)
    connection_lifetime: float | None = None
    trigger_life: float = 3.0
    response_life: float = 1800.0
    response_uses: int = 5
    commands: tuple[Command, ...] = (GPU_COMMAND,)
    shortcuts: tuple[Shortcut, ...] = ()
    suggestions: tuple[Suggestion, ...] = ()
    clock: Callable[[], WorldTime] | None = None
    last_request: Callable[[str], str | None] | None = None
    scopes: tuple[str, ...] = (
        "app_mentions:read",
        "channels:history",
        "channels:read",
        "chat:write",
        "commands",
        "files:write",
        "groups:history",
        "groups:read",
        "im:history",
        "im:read",
        "im:write",
        "metadata.message:read",
        "reactions:write",
        "team:read",
        "usergroups:read",
        "users:read",
        "users:read.email",
    )
