"""The local workspace put together: who, where, what is open, and how the app is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from bot.workspace.archive import Archive
from bot.workspace.blocks import BlockCheck
from bot.workspace.ephemerals import Ephemerals
from bot.workspace.faults import FaultKind, Faults
from bot.workspace.hub import Hub
from bot.workspace.modals import Views
from bot.workspace.options import Options
from bot.workspace.people import Directory, load_people
from bot.workspace.rooms import Change, ChangeKind, Room, Rooms
from bot.workspace.sockets import Sockets
from bot.workspace.tickets import ResponseRights, Triggers
from bot.workspace.wire import Ids, Json, SlackError

TEXT_MAX = 40_000
METADATA_MAX = 16_000


class Workspace:
    """All state of a local workspace. Used from one event loop only, except `faults`."""

    def __init__(
        self,
        state_path: Path | None = None,
        *,
        options: Options | None = None,
        directory: Directory | None = None,
    ) -> None:
        self.options = options or Options()
        self.directory = directory or load_people()
        self.faults = Faults()
        self.hub = Hub()
        self.ids = Ids()
        self.archive = Archive(state_path)
        self.rooms = Rooms(self.directory, self.archive)
        self.ephemerals = Ephemerals(self.rooms.stamps, self.hub)
        self.views = Views(self.directory, self.hub)
        self.triggers = Triggers(self.options.trigger_life)
        self.rights = ResponseRights(self.options.response_life, self.options.response_uses)
        self.sockets = Sockets(self.options, self.faults, self.directory.app.id)
        self.files: dict[str, Json] = dict(self.archive.all("file"))
        self.base_url = ""
        for person in sorted(self.directory.people):
            self.rooms.direct(person)
        self.rooms.listen(self._tell_pages)
        self.rooms.listen(self._tell_app)
        self.sockets.watch(self._tell_presence)

    @property
    def bot_user(self) -> str:
        """The user id of the bot."""
        return self.directory.app.user_id

    def room(self, room_id: str) -> Room:
        """A room by id, `#name`, or the id of a person (their direct message).

        Raises:
            SlackError: `channel_not_found`.

        """
        if room_id in self.directory.people:
            self.user(room_id, missing="channel_not_found")
            return self.rooms.direct(room_id)
        room = self.rooms.find(room_id)
        if room is None:
            raise SlackError("channel_not_found")
        return room

    def room_for_bot(self, room_id: str) -> Room:
        """A room the bot may post to. Raises SlackError `is_archived`, `not_in_channel` too."""
        room = self.room(room_id)
        if room.archived or self.faults.take(FaultKind.ARCHIVED, room.id):
            raise SlackError("is_archived")
        if not room.bot_inside:
            raise SlackError("not_in_channel")
        return room

    def user(self, user_id: str, *, missing: str = "user_not_found") -> Json:
        """A person as `users.info` shows them. Raises SlackError with the code `missing`."""
        user = self.directory.user(user_id)
        if user is None or self.faults.take(FaultKind.MISSING_USER, user_id):
            raise SlackError(missing)
        return user

    def author(self) -> Json:
        """The part of a message that says the bot wrote it."""
        app = self.directory.app
        return {
            "user": app.user_id,
            "bot_id": app.bot_id,
            "app_id": app.id,
            "bot_profile": {
                "id": app.bot_id,
                "app_id": app.id,
                "user_id": app.user_id,
                "name": app.name,
                "team_id": self.directory.team.id,
                "deleted": False,
            },
        }

    def contents(self, args: Json) -> Json:
        """Check what a message says: text, blocks, metadata; as they are stored.

        Raises:
            SlackError: `no_text`, `msg_too_long`, `invalid_blocks_format`, `invalid_blocks`,
                `invalid_metadata_format`, `metadata_too_large`.

        """
        body: Json = {"text": str(args.get("text") or "")}
        if len(body["text"]) > TEXT_MAX:
            raise SlackError("msg_too_long")
        if args.get("blocks"):
            body["blocks"] = self._blocks(args["blocks"])
        if not body["text"].strip() and not body.get("blocks") and not args.get("files"):
            raise SlackError("no_text")
        if args.get("metadata"):
            body["metadata"] = _metadata(args["metadata"])
        return body

    def _blocks(self, raw: Any) -> list[Json]:
        if not isinstance(raw, list):
            raise SlackError("invalid_blocks_format")
        check = BlockCheck(self.ids)
        blocks = check.blocks(raw, "message")
        if check.problems:
            raise SlackError("invalid_blocks", messages=check.problems)
        return blocks

    def _tell_pages(self, change: Change) -> None:
        room = change.room
        event: Json = {"channel": room.id}
        if change.kind is ChangeKind.DELETED:
            event |= {"type": "message_deleted", "ts": change.message["ts"]}
        else:
            posted = change.kind is ChangeKind.POSTED
            event |= {"type": "message" if posted else "message_changed"}
            event |= {"message": change.message}
        self.hub.tell_each(lambda person: event if room.seen_by(person) else None)

    def _tell_app(self, change: Change) -> None:
        room, message = change.room, change.message
        if not room.bot_inside or change.kind is ChangeKind.TOUCHED:
            return
        place = {"channel": room.id, "channel_type": room.kind}
        if change.kind is ChangeKind.POSTED:
            self.event({**message, **place, "event_ts": message["ts"]})
            if "metadata" in message:
                self.event(self._metadata_posted(room, message))
            self._tell_of_mention(room, message)
            return
        now = self.rooms.stamps.next()
        event: Json = {"type": "message", **place, "hidden": True, "ts": now, "event_ts": now}
        if change.kind is ChangeKind.CHANGED:
            event |= {"subtype": "message_changed", "message": message}
            event["previous_message"] = change.previous
            if "edited" in message:
                self._tell_of_mention(room, message)
        else:
            event |= {"subtype": "message_deleted", "deleted_ts": message["ts"]}
            event["previous_message"] = message
        self.event(event)

    def _tell_of_mention(self, room: Room, message: Json) -> None:
        """A mention of the app, which is told again when a person edits the message."""
        if not room.is_im and f"<@{self.bot_user}>" in message["text"]:
            mention = {**message, "channel": room.id, "event_ts": message["ts"]}
            self.event({**mention, "type": "app_mention"})

    def _metadata_posted(self, room: Room, message: Json) -> Json:
        return {
            "type": "message_metadata_posted",
            "app_id": message.get("app_id"),
            "bot_id": message.get("bot_id"),
            "user_id": message.get("user"),
            "team_id": self.directory.team.id,
            "channel_id": room.id,
            "metadata": message["metadata"],
            "message_ts": message["ts"],
            "event_ts": message["ts"],
        }

    def _tell_presence(self) -> None:
        self.hub.tell({"type": "presence", "connections": self.sockets.count})

    def event(self, event: Json) -> None:
        """Send an event to the app."""
        self.sockets.event(event, self.directory.team.id, self.bot_user)


def _metadata(raw: Any) -> Json:
    if not isinstance(raw, dict) or not isinstance(raw.get("event_payload"), dict):
        raise SlackError("invalid_metadata_format")
    if not isinstance(raw.get("event_type"), str) or not raw["event_type"]:
        raise SlackError("invalid_metadata_format")
    if len(str(raw)) > METADATA_MAX:
        raise SlackError("metadata_too_large")
    return {"event_type": raw["event_type"], "event_payload": raw["event_payload"]}
