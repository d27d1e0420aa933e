"""What Slack tells us of our own messages: the proof of a post whose answer was lost."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from slack_bolt import App

from bot.chat.webslack import keys_of

Note = Callable[[Sequence[str], str, str], None]
"""Keys, channel and time stamp of a message of ours."""


def listen_to_ourselves(app: App, note: Note) -> None:
    """Have `note` told of each message with keys of ours, once Slack says it is posted."""

    def on_posted(event: Mapping[str, Any]) -> None:
        keys = keys_of(event)
        if keys and event.get("message_ts"):
            note(keys, str(event["channel_id"]), str(event["message_ts"]))

    app.event("message_metadata_posted")(on_posted)
