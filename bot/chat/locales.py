"""Locale and time zone of people's Slack, asked for seldom: `users.info` is rate limited."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.chat.discreet import discreet_logger

FRESH = 12 * 3600.0
"""Seconds for which an answer is good: few people change the language of their Slack."""
RETRY = 300.0
"""Seconds until Slack is asked again after it did not answer, or did not know the person."""


@dataclass(frozen=True, slots=True)
class Place:
    """What Slack says of where a person is."""

    locale: str | None = None
    zone: str | None = None


class Locales:
    """A cache of what Slack says. Safe to call from any thread; never raises.

    What is old stays in use while Slack cannot be asked. Two threads that ask about one
    person at the same time may both ask Slack, which does no harm.
    """

    def __init__(self, client: WebClient, *, now: Callable[[], float] = time.monotonic) -> None:
        self._client, self._now = client, now
        self._known: dict[str, tuple[Place, float]] = {}
        self._lock = threading.Lock()
        self._log: logging.Logger = discreet_logger("gpubot.chat.locales")

    def of(self, person: str) -> str | None:
        """The locale, such as `zh-CN`; None while it is not known."""
        return self._ask(person).locale

    def zone(self, person: str) -> str | None:
        """The time zone, such as `Europe/Paris`; None while it is not known."""
        return self._ask(person).zone

    def _ask(self, person: str) -> Place:
        with self._lock:
            place, good_until = self._known.get(person, (Place(), 0.0))
        if self._now() < good_until:
            return place
        try:
            answer = self._client.users_info(user=person, include_locale=True)
            user = answer.get("user") or {}
            fresh = Place(str(user.get("locale") or "") or None, str(user.get("tz") or "") or None)
            entry = (fresh, self._now() + FRESH)
        except (SlackApiError, SlackClientError, OSError) as error:
            self._log.info("the locale of a person is not known: %s", error)
            entry = (place, self._now() + RETRY)
        with self._lock:
            self._known[person] = entry
        return entry[0]
