"""How the bot joins a Slack workspace: who it is, where it speaks, and in which words.

Everything here is asked of Slack once, at the start; what cannot be had keeps the bot from
starting, with a word on what to do.
"""

from __future__ import annotations

from concurrent.futures import Executor
from dataclasses import dataclass

from slack_bolt import App
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.chat.app import build_app, identify
from bot.chat.locales import Locales
from bot.chat.memory import StoredOnce
from bot.chat.people import People
from bot.chat.routing import Places, Preferred
from bot.chat.voice import Voice
from bot.chat.voices import Voices
from bot.chat.webslack import SlackThreads, resolve_channel
from bot.chat.words import words_for
from bot.clock import Clock, moment
from bot.desk import Desk
from bot.preferences import Preferences
from bot.settings import Settings
from storage.store import Store

SLACK_TIMEOUT = 20  # seconds for each call of the announcer and the handlers


class CannotStart(Exception):
    """Something outside keeps the bot from starting; the message says what and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Joined:
    """The bot's place in a workspace: its client and app, its channels and its words."""

    client: WebClient
    app: App
    places: Places
    voices: Voices
    preferred: Preferred


def join(desk: Desk, store: Store, wall: Clock, settings: Settings, workers: Executor) -> Joined:
    """Find the channels and build the app; nothing is connected yet. Raises CannotStart."""
    client = WebClient(
        token=settings.bot_token.get_secret_value(),
        base_url=settings.slack_api_url,
        timeout=SLACK_TIMEOUT,
    )
    locales = Locales(hasty(client))

    def preferred(person: str) -> Preferences:
        wanted = desk.preferences(person)
        return wanted if wanted.quiet is None else wanted.within(locales.zone(person))

    try:
        places = Places(
            channel=_channel(client, settings.channel, "GPUBOT_CHANNEL"),
            oncall=_channel(client, settings.oncall_channel, "GPUBOT_ONCALL_CHANNEL"),
        )
        voice = Voice(
            words=words_for(settings.language),
            people=People(desk.person),
            oncall_group=settings.oncall_group,
            channel=places.channel,
        )
        voices = Voices(voice, chosen=lambda who: preferred(who).chosen_language, locale=locales.of)
        app = build_app(
            desk,
            client=client,
            identity=identify(client),
            voices=voices,
            once=StoredOnce(store, lambda: moment(wall.now())),
            threads=SlackThreads(client),
            workers=workers,
        )
    except SlackApiError as error:
        raise CannotStart(f"Slack says {error.response['error']}; run `gpubot doctor`") from error
    except (SlackClientError, OSError) as error:
        raise CannotStart(f"Slack does not answer ({error}); run `gpubot doctor`") from error
    return Joined(client=client, app=app, places=places, voices=voices, preferred=preferred)


def hasty(client: WebClient) -> WebClient:
    """A client for what can be done without: somebody waits for the answer."""
    return WebClient(token=client.token, base_url=client.base_url, timeout=1)


def _channel(client: WebClient, name: str, variable: str) -> str:
    try:
        return resolve_channel(client, name)
    except KeyError:
        raise CannotStart(
            f"{variable}: the bot sees no channel #{name}; create it or invite the bot"
        ) from None
