"""Where an answer goes: back to the place it was asked from, privately or for all to see."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse
from slack_sdk.webhook import WebhookClient

from bot.chat.message import Message

Body = Mapping[str, Any]

BAD_BLOCKS = frozenset({"invalid_blocks", "invalid_blocks_format", "msg_blocks_too_long"})
_NOT_THERE = frozenset(
    {"not_in_channel", "channel_not_found", "user_not_in_channel", "is_archived"}
)
_NO_THREAD = frozenset({"thread_not_found", "message_not_found"})
_NO_FILES = frozenset({"missing_scope", "not_allowed_token_type", "file_uploads_disabled"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Who asked, where. `response_url` is Slack's own way back, if it gave one."""

    user: str
    channel: str | None = None
    thread_ts: str | None = None
    response_url: str | None = None
    direct: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Picture:
    """A PNG to be shown; `alt` says what it shows to those who cannot see it."""

    name: str
    title: str
    alt: str
    content: bytes


def place_of(body: Body) -> Place:
    """The place that any kind of payload came from. Raises KeyError if nobody sent it."""
    event = body.get("event")
    if isinstance(event, Mapping):
        return _place_of_event(event)
    user = body.get("user_id") or body["user"]["id"]
    channel = body.get("channel_id") or (body.get("channel") or {}).get("id")
    container = body.get("container") or {}
    return Place(
        user=str(user),
        channel=channel,
        thread_ts=container.get("thread_ts"),
        response_url=body.get("response_url"),
        direct=str(channel or "").startswith("D"),
    )


def _place_of_event(event: Body) -> Place:
    direct = event.get("channel_type") == "im" or str(event.get("channel", "")).startswith("D")
    here = None if direct else event.get("ts")
    return Place(
        user=str(event["user"]),
        channel=event.get("channel"),
        thread_ts=event.get("thread_ts") or here,
        direct=direct,
    )


class Replier:
    """Sends answers. Uses no retry: a person is waiting, and may ask again."""

    def __init__(self, client: WebClient) -> None:
        self._client = client

    def privately(self, place: Place, message: Message, *, replace: bool = False) -> None:
        """So that only the asker sees it; by direct message where nothing nearer works."""
        if place.response_url:
            self._respond(place.response_url, message, replace=replace)
        elif place.direct or place.channel is None:
            self._post(place.channel or place.user, message, place.thread_ts)
        else:
            self._ephemeral(place, message)

    def openly(self, place: Place, message: Message) -> None:
        """Where it was asked, for all to see; a slash command's answer is always private."""
        if place.response_url or place.channel is None:
            self.privately(place, message)
        else:
            self._in_thread(place, place.channel, message)

    def _in_thread(self, place: Place, channel: str, message: Message) -> None:
        """An answer to what was said; to the asker alone if they have deleted it meanwhile."""
        try:
            self._post(channel, message, place.thread_ts)
        except SlackApiError as error:
            if code_of(error) not in _NO_THREAD:
                raise
            self._post(place.user, message, None)

    def show(self, place: Place, picture: Picture, message: Message) -> None:
        """A picture where it was asked for, for all to see: Slack knows no private files.

        Where the bot may not post, it goes to the asker; without the right to upload, the
        message goes alone.
        """
        try:
            try:
                self._upload(place.channel, place.thread_ts, picture, message, place.user)
            except SlackApiError as error:
                if place.direct or code_of(error) not in _NOT_THERE:
                    raise
                self._upload(None, None, picture, message, place.user)
        except SlackApiError as error:
            if code_of(error) not in _NO_FILES:
                raise
            self.privately(place, message)

    def _upload(
        self,
        channel: str | None,
        thread_ts: str | None,
        picture: Picture,
        message: Message,
        user: str,
    ) -> None:
        if channel is None:
            channel = str(self._client.conversations_open(users=user)["channel"]["id"])
        self._client.files_upload_v2(
            channel=channel,
            thread_ts=thread_ts,
            filename=picture.name,
            title=picture.title,
            alt_txt=picture.alt,
            content=picture.content,
            initial_comment=message.text,
        )

    def _respond(self, url: str, message: Message, *, replace: bool) -> None:
        body = {
            "text": message.text,
            "blocks": list(message.blocks),
            "response_type": "ephemeral",
            "replace_original": replace,
            "unfurl_links": False,
        }
        response = WebhookClient(url).send_dict(body)
        if response.status_code == 400 and message.blocks:
            self._respond(url, message.bare(), replace=replace)

    def _ephemeral(self, place: Place, message: Message) -> None:
        try:
            self._client.chat_postEphemeral(
                channel=place.channel or "",
                user=place.user,
                text=message.text,
                blocks=list(message.blocks) or None,
                thread_ts=place.thread_ts,
            )
        except SlackApiError as error:
            if code_of(error) in BAD_BLOCKS and message.blocks:
                self._ephemeral(place, message.bare())
            elif code_of(error) in _NOT_THERE:
                self._post(place.user, message, None)
            else:
                raise

    def _post(self, channel: str, message: Message, thread_ts: str | None) -> None:
        try:
            self._client.chat_postMessage(
                channel=channel,
                text=message.text,
                blocks=list(message.blocks) or None,
                thread_ts=thread_ts,
                unfurl_links=False,
                unfurl_media=False,
            )
        except SlackApiError as error:
            if code_of(error) not in BAD_BLOCKS or not message.blocks:
                raise
            self._post(channel, message.bare(), thread_ts)


def code_of(error: SlackApiError) -> str:
    """Slack's error code."""
    answer = error.response
    return str(answer.get("error") or "") if isinstance(answer, SlackResponse | dict) else ""
