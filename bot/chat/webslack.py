"""Slack's Web API as the announcer needs it. No retry handler: the announcer decides itself."""

from __future__ import annotations

import http.client
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import SlackResponse

from bot.chat.markup import is_user_id
from bot.chat.message import Message
from bot.chat.ports import Posted, SlackRefused, SlackUnreachable
from bot.chat.replies import Picture, code_of

EVENT_TYPE = "gpubot"
MOST_PAGES = 5
_NO_ANSWER = (OSError, http.client.HTTPException, SlackClientError)


class WebSlack:
    """The announcer's Slack. Every message carries its keys as metadata."""

    def __init__(self, client: WebClient) -> None:
        self._client = client

    def post(
        self,
        channel: str,
        message: Message,
        *,
        keys: Sequence[str],
        thread_ts: str | None = None,
    ) -> Posted:
        """Post a message; a user id as `channel` makes it a direct message."""
        answer = self._call(
            "chat.postMessage",
            channel=channel,
            thread_ts=thread_ts,
            unfurl_links=False,
            unfurl_media=False,
            **_content(message, keys),
        )
        return Posted(str(answer["channel"]), str(answer["ts"]))

    def update(self, channel: str, ts: str, message: Message, *, keys: Sequence[str]) -> Posted:
        """Replace a message in place."""
        answer = self._call("chat.update", channel=channel, ts=ts, **_content(message, keys))
        return Posted(str(answer.get("channel") or channel), str(answer.get("ts") or ts))

    def show(self, channel: str, picture: Picture, *, thread_ts: str) -> Posted:
        """Upload a picture into a thread."""
        try:
            self._client.files_upload_v2(
                channel=channel,
                thread_ts=thread_ts,
                filename=picture.name,
                title=picture.title,
                alt_txt=picture.alt,
                content=picture.content,
            )
        except SlackApiError as error:
            raise _as_refused("files.upload", error) from error
        except _NO_ANSWER as error:
            raise SlackUnreachable(f"files.upload: {type(error).__name__}") from error
        return Posted(channel, thread_ts)

    def find(
        self, channel: str, keys: Sequence[str], *, since: float, thread_ts: str | None = None
    ) -> dict[str, Posted]:
        """The messages with these keys among the latest; the oldest wins where two carry one."""
        if is_user_id(channel):
            channel = str(self._call("conversations.open", users=channel)["channel"]["id"])
        found: dict[str, Posted] = {}
        for message in self._history(channel, since, thread_ts):
            posted = Posted(channel, str(message["ts"]))
            for key in set(keys).intersection(keys_of(message)):
                before = found.get(key)
                if before is None or float(posted.ts) < float(before.ts):
                    found[key] = posted
        return found

    def _history(
        self, channel: str, since: float, thread_ts: str | None
    ) -> Iterator[Mapping[str, Any]]:
        method = "conversations.replies" if thread_ts else "conversations.history"
        cursor = None
        for _page in range(MOST_PAGES):
            answer = self._call(
                method,
                channel=channel,
                ts=thread_ts,
                oldest=f"{since:.6f}",
                limit=200,
                include_all_metadata=True,
                cursor=cursor,
            )
            yield from answer.get("messages") or []
            cursor = (answer.get("response_metadata") or {}).get("next_cursor")
            if not cursor:
                return

    def _call(self, method: str, **arguments: Any) -> SlackResponse:
        given = {key: value for key, value in arguments.items() if value is not None}
        try:
            if method.startswith("chat."):
                return self._client.api_call(method, json=given)
            return self._client.api_call(method, params=given)
        except SlackApiError as error:
            raise _as_refused(method, error) from error
        except _NO_ANSWER as error:
            raise SlackUnreachable(f"{method}: {type(error).__name__}") from error


class SlackThreads:
    """Which request a thread is about: the key that its first message carries."""

    def __init__(self, client: WebClient) -> None:
        self._client = client

    def request_at(self, channel: str, thread_ts: str) -> str | None:
        """The request whose card heads the thread; None if there is none or it is not readable."""
        try:
            answer = self._client.api_call(
                "conversations.replies",
                params={
                    "channel": channel,
                    "ts": thread_ts,
                    "limit": 1,
                    "include_all_metadata": True,
                },
            )
        except (SlackApiError, *_NO_ANSWER):
            return None
        first: Mapping[str, Any] = next(iter(answer.get("messages") or []), {})
        cards = [key.removeprefix("card:") for key in keys_of(first) if key.startswith("card:")]
        return cards[0] if cards else None


def resolve_channel(client: WebClient, channel: str) -> str:
    """The id of a channel given by name or id. Raises KeyError if it is not to be seen."""
    bare = channel.removeprefix("#")
    cursor = None
    while True:
        answer = client.conversations_list(
            exclude_archived=True, limit=500, types="public_channel,private_channel", cursor=cursor
        )
        for each in answer.get("channels") or []:
            if bare in {each["id"], each.get("name")}:
                return str(each["id"])
        cursor = (answer.get("response_metadata") or {}).get("next_cursor")
        if not cursor:
            raise KeyError(channel)


def keys_of(message: Mapping[str, Any]) -> tuple[str, ...]:
    """The keys a message of ours carries; a file is known by its name."""
    files = tuple(f"file:{file.get('name')}" for file in message.get("files") or ())
    return (*_said_keys(message), *files)


def _said_keys(message: Mapping[str, Any]) -> tuple[str, ...]:
    metadata = message.get("metadata")
    if not isinstance(metadata, Mapping) or metadata.get("event_type") != EVENT_TYPE:
        return ()
    payload = metadata.get("event_payload") or {}
    keys = payload.get("keys")
    return tuple(str(key) for key in keys) if isinstance(keys, list) else ()


def _as_refused(method: str, error: SlackApiError) -> SlackRefused | SlackUnreachable:
    """What Slack's error means: a no, or no answer at all."""
    status = getattr(error.response, "status_code", 200)
    if status >= 500:
        return SlackUnreachable(f"{method}: {status}")
    return SlackRefused(code_of(error) or "unknown", wait=wait_of(error))


def _content(message: Message, keys: Sequence[str]) -> dict[str, Any]:
    return {
        "text": message.text,
        "blocks": list(message.blocks),
        "metadata": {"event_type": EVENT_TYPE, "event_payload": {"keys": list(keys)}},
    }


def wait_of(error: SlackApiError) -> float | None:
    """Retry-After in seconds, from the headers of a refusal."""
    headers: Mapping[str, Any] = getattr(error.response, "headers", None) or {}
    for name, value in headers.items():
        if name.lower() == "retry-after":
            try:
                return max(1.0, float(value[0] if isinstance(value, list) else value))
            except ValueError:
                return None
    return None
