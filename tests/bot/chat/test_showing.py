"""A picture reaches the person even where it cannot be posted or uploaded."""

from __future__ import annotations

from typing import Any

import pytest
from slack_sdk.errors import SlackApiError

from bot.chat.markup import Markup
from bot.chat.message import Lines, build
from bot.chat.replies import Picture, Place, Replier

PICTURE = Picture(name="map.png", title="Map", alt="8 nodes", content=b"png")
MESSAGE = build([Lines(Markup("8 nodes"))])
IN_CHANNEL = Place(user="U0ADA", channel="C0GPU", thread_ts="1.2")


class StubClient:
    """Refuses uploads to some channels; remembers what got through."""

    def __init__(self, refused: dict[str, str]) -> None:
        self.refused = refused
        self.uploads: list[dict[str, Any]] = []
        self.private: list[dict[str, Any]] = []

    def conversations_open(self, users: str) -> dict[str, Any]:
        return {"channel": {"id": f"D-{users}"}}

    def files_upload_v2(self, **arguments: Any) -> None:
        error = self.refused.get(arguments["channel"]) or self.refused.get("*")
        if error:
            answer = {"ok": False, "error": error}
            raise SlackApiError(error, answer)  # type: ignore[no-untyped-call]  # theirs is untyped
        self.uploads.append(arguments)

    def chat_postEphemeral(self, **arguments: Any) -> None:  # noqa: N802 - Slack's own name
        self.private.append(arguments)


def show(refused: dict[str, str], place: Place = IN_CHANNEL) -> StubClient:
    client = StubClient(refused)
    Replier(client).show(place, PICTURE, MESSAGE)  # type: ignore[arg-type]  # a stub of the client
    return client


def test_it_is_posted_where_it_was_asked_for_with_words_for_who_cannot_see_it() -> None:
    (upload,) = show({}).uploads
    assert (upload["channel"], upload["thread_ts"]) == ("C0GPU", "1.2")
    assert (upload["alt_txt"], upload["initial_comment"]) == ("8 nodes", MESSAGE.text)


@pytest.mark.parametrize("error", ["not_in_channel", "channel_not_found", "is_archived"])
def test_where_the_bot_may_not_post_it_goes_to_the_asker(error: str) -> None:
    (upload,) = show({"C0GPU": error}).uploads
    assert (upload["channel"], upload["thread_ts"]) == ("D-U0ADA", None)


def test_without_the_right_to_upload_the_words_go_alone() -> None:
    client = show({"*": "missing_scope"})
    assert client.uploads == []
    (told,) = client.private
    assert told["text"] == MESSAGE.text


def test_other_trouble_is_not_swallowed() -> None:
    with pytest.raises(SlackApiError):
        show({"*": "fatal_error"})
