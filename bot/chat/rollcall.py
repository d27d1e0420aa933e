"""Who is in Slack: read page by page, a call at a time, and only now and then read anew.

Directory calls are rate limited, and a page left out would leave people without their team.
So what was read counts only once all of it is there; until then, and while Slack does not
answer, what was known before stays.
"""

from __future__ import annotations

import http.client
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import SlackResponse

from bot.chat.discreet import discreet_logger
from bot.chat.replies import code_of
from bot.chat.webslack import wait_of
from bot.groups import SlackGroup, SlackUser

PAGE = 200
REST = 900.0
"""Seconds until everybody is read anew."""
AGAIN = 60.0
"""Seconds until Slack is asked again after it did not answer."""
NO_ANSWER = (OSError, http.client.HTTPException, SlackClientError)

_log = discreet_logger("gpubot.chat.rollcall")


@dataclass(frozen=True, slots=True, kw_only=True)
class Roll:
    """Everybody and every user group, whole."""

    users: tuple[SlackUser, ...]
    groups: tuple[SlackGroup, ...]


@dataclass(slots=True)
class RollCall:
    """Reads a `Roll` in as many ticks as it has pages. Used by one thread; never raises."""

    client: WebClient
    now: Callable[[], float] = time.monotonic
    page: int = PAGE
    _users: dict[str, SlackUser] = field(default_factory=dict)
    _cursor: str | None = None
    _all_users: bool = False
    _due: float = 0.0

    def tick(self) -> Roll | None:
        """Make one call if one is due; the roll if that was the last of it."""
        if self.now() < self._due:
            return None
        try:
            if not self._all_users:
                self._read_page()
                return None
            roll = Roll(users=tuple(self._users.values()), groups=read_groups_of(self.client))
        except SlackApiError as error:
            self._refused(error)
            return None
        except NO_ANSWER as error:
            _log.warning("Slack does not say who is there: %s", type(error).__name__)
            self._due = self.now() + AGAIN
            return None
        self._begin(self.now() + REST)
        return roll

    def _read_page(self) -> None:
        answer = self.client.users_list(limit=self.page, cursor=self._cursor)
        for member in answer.get("members") or []:
            if not member.get("is_bot") and member.get("id") != "USLACKBOT":
                user = user_of(member)
                self._users[user.id] = user
        self._cursor = (answer.get("response_metadata") or {}).get("next_cursor") or None
        self._all_users = self._cursor is None

    def _refused(self, error: SlackApiError) -> None:
        code, wait = code_of(error), wait_of(error)
        if code == "invalid_cursor":  # it has grown old: from the first page again
            self._begin(self.now())
        else:
            _log.warning("Slack does not say who is there: %s", code)
            self._due = self.now() + (wait or AGAIN)

    def _begin(self, due: float) -> None:
        self._users, self._cursor, self._all_users, self._due = {}, None, False, due


def read_groups_of(client: WebClient) -> tuple[SlackGroup, ...]:
    """All user groups with their members. Raises what the client raises."""
    return groups_in(client.usergroups_list(include_users=True))


def groups_in(answer: SlackResponse) -> tuple[SlackGroup, ...]:
    """The user groups of Slack's answer."""
    return tuple(
        SlackGroup(
            id=str(group["id"]),
            handle=str(group.get("handle") or ""),
            members=tuple(str(one) for one in group.get("users") or ()),
            changed=float(group["date_update"]) if group.get("date_update") else None,
        )
        for group in answer.get("usergroups") or []
        if not group.get("date_delete")
    )


def find_user(client: WebClient, user_id: str) -> SlackUser | None:
    """One person, asked for by id; None if Slack does not know them, or does not answer."""
    try:
        answer = client.users_info(user=user_id)
    except (SlackApiError, *NO_ANSWER):
        return None
    member = answer.get("user")
    return user_of(member) if isinstance(member, Mapping) else None


def user_of(member: Mapping[str, Any]) -> SlackUser:
    """A member as Slack lists them."""
    profile = member.get("profile") or {}
    name = member.get("real_name") or profile.get("real_name") or profile.get("display_name")
    return SlackUser(
        id=str(member["id"]),
        name=str(name or member.get("name") or member["id"]),
        gone=bool(member.get("deleted")),
    )
