"""Who is on call: a substitute if one is set, else the user group, asked when it matters."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.chat.rollcall import NO_ANSWER, read_groups_of
from bot.duty import DutyDoubt, OnCall
from bot.groups import SlackGroup

FRESH = 60.0
"""Seconds for which the members of the group are not asked for again."""


class GroupDuty:
    """On-call as a Slack user group, with a substitute that is set for a while.

    Args:
        group: id or handle of the user group; None if there is none.
        fallback: whom to name where the group cannot be asked or has nobody in it.
        substitute: the id of who stands in now, or None.
        shift: seconds after which a group that did not change is doubted; None never.
        wall: the time of the world Slack lives in.

    """

    def __init__(
        self,
        client: WebClient,
        group: str | None,
        *,
        substitute: Callable[[], str | None],
        fallback: str | None = None,
        shift: float | None = None,
        now: Callable[[], float] = time.monotonic,
        wall: Callable[[], float] = time.time,
    ) -> None:
        self._client, self._group, self._fallback = client, group, fallback
        self._substitute, self._shift = substitute, shift
        self._now, self._wall = now, wall
        self._lock = threading.Lock()
        self._known: SlackGroup | None = None
        self._good_until = 0.0
        self._doubt: DutyDoubt | None = None

    def oncall(self) -> OnCall:
        """Whom to name now. Never raises: what cannot be found out is a doubt."""
        substitute = self._substitute()
        if substitute is not None:
            return OnCall(called=substitute, people=frozenset({substitute}))
        if self._group is None:
            return OnCall(called=self._fallback)
        with self._lock:
            if self._now() >= self._good_until:
                self._ask()
            known, doubt = self._known, self._doubt
        people = frozenset(known.members) if known is not None else frozenset()
        trusted = doubt is None or doubt is DutyDoubt.STALE
        group = self._group if known is None else known.id
        called = group if trusted else self._fallback or group
        return OnCall(called=called, doubt=doubt, people=people)

    def _ask(self) -> None:
        self._good_until = self._now() + FRESH
        try:
            groups = read_groups_of(self._client)
        except (SlackApiError, *NO_ANSWER):
            self._doubt = DutyDoubt.NO_ANSWER
            return
        found = next((one for one in groups if self._group in {one.id, one.handle}), None)
        self._known = found or self._known
        if found is None:
            self._doubt = DutyDoubt.NO_GROUP
        elif not found.members:
            self._doubt = DutyDoubt.NOBODY
        elif self._is_stale(found):
            self._doubt = DutyDoubt.STALE
        else:
            self._doubt = None

    def _is_stale(self, group: SlackGroup) -> bool:
        if self._shift is None or group.changed is None:
            return False
        return self._wall() - group.changed > self._shift
