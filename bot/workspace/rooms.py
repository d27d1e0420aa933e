"""What is said where: channels, direct messages, messages, threads and what was read.

All calls come from the server's event loop. Each change is written to the archive and
told to the listeners (the page, and the events that go to the app).
"""

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from bot.workspace.archive import Archive
from bot.workspace.people import Directory
from bot.workspace.wire import Ids, Json, SlackError, Stamps, stamp_micros


class ChangeKind(enum.StrEnum):
    """What happened to a message."""

    POSTED = "posted"
    CHANGED = "changed"
    DELETED = "deleted"
    TOUCHED = "touched"
    """Only what others did to it changed: replies were counted, a reaction was added."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """A message that is new, different or gone."""

    kind: ChangeKind
    room: Room
    message: Json
    previous: Json | None = None


@dataclass(slots=True, kw_only=True)
class Room:
    """A channel, or a direct message between the bot and one person."""

    id: str
    name: str
    topic: str = ""
    is_im: bool = False
    person: str | None = None
    archived: bool = False
    bot_inside: bool = True
    created: int = 1_700_000_000
    messages: dict[str, Json] = field(default_factory=dict)
    read: dict[str, str] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """Slack's `channel_type`."""
        return "im" if self.is_im else "channel"

    def seen_by(self, person: str) -> bool:
        """Whether a person sees this room: channels by all, direct messages by one."""
        return not self.is_im or self.person == person

    def top(self) -> list[Json]:
        """Messages of the channel itself, oldest first; replies only if broadcast."""
        return [
            message
            for message in self.messages.values()
            if message.get("thread_ts", message["ts"]) == message["ts"]
            or message.get("subtype") == "thread_broadcast"
        ]

    def thread(self, ts: str) -> list[Json]:
        """A message and its replies, oldest first; empty if there is no such message."""
        if ts not in self.messages:
            return []
        return [m for m in self.messages.values() if m["ts"] == ts or m.get("thread_ts") == ts]

    def record(self) -> Json:
        """What the archive keeps of the room itself."""
        return {
            "id": self.id,
            "name": self.name,
            "topic": self.topic,
            "is_im": self.is_im,
            "person": self.person,
            "archived": self.archived,
            "bot_inside": self.bot_inside,
            "created": self.created,
            "read": self.read,
        }


Listener = Callable[[Change], None]


class Rooms:
    """All rooms and their messages."""

    def __init__(self, directory: Directory, archive: Archive) -> None:
        self.directory = directory
        self._archive = archive
        self._ids = Ids()
        self._rooms: dict[str, Room] = {}
        self._listeners: list[Listener] = []
        self._load()
        latest = max(
            (ts for room in self._rooms.values() for ts in room.messages),
            key=stamp_micros,
            default="0.000000",
        )
        self.stamps = Stamps(last=latest)

    def _load(self) -> None:
        for info in self.directory.channels:
            self._rooms[info.id] = Room(id=info.id, name=info.name, topic=info.topic)
        for key, record in self._archive.all("room"):
            self._rooms[key] = Room(**record)
        for key, message in self._archive.all("message"):
            room = self._rooms.get(key.partition("/")[0])
            if room is not None:
                room.messages[message["ts"]] = message

    def listen(self, listener: Listener) -> None:
        """Be told of every change from now on."""
        self._listeners.append(listener)

    def _tell(self, change: Change) -> None:
        for listener in self._listeners:
            listener(change)

    def all(self) -> list[Room]:
        """Channels in the order of the people file, then direct messages by person."""
        return sorted(self._rooms.values(), key=lambda room: (room.is_im, room.person or ""))

    def find(self, room_id: str) -> Room | None:
        """A room by id; or a channel by `#name`."""
        if room_id.startswith("#"):
            named = [r for r in self._rooms.values() if not r.is_im and r.name == room_id[1:]]
            return named[0] if named else None
        return self._rooms.get(room_id)

    def direct(self, person: str) -> Room:
        """The direct message with a person, opened if need be."""
        for room in self._rooms.values():
            if room.is_im and room.person == person:
                return room
        room = Room(id=self._ids.next("D"), name=person, is_im=True, person=person)
        self._rooms[room.id] = room
        self.keep(room)
        return room

    def keep(self, room: Room) -> None:
        """Write what is known of the room itself."""
        self._archive.put("room", room.id, room.record())

    def _write(self, room: Room, message: Json) -> None:
        self._archive.put("message", f"{room.id}/{message['ts']}", message)

    def post(self, room: Room, body: Json, *, broadcast: bool = False) -> Json:
        """Add a message; `body` says who and what. Replies are counted at their parent.

        Raises:
            SlackError: `thread_not_found` for a reply to nothing.

        """
        parent = None
        if body.get("thread_ts"):
            parent = room.messages.get(body["thread_ts"])
            if parent is None:
                raise SlackError("thread_not_found")
            root = str(parent.get("thread_ts", parent["ts"]))
            parent, body = room.messages[root], {**body, "thread_ts": root}
        message: Json = {"type": "message", **body, "ts": self.stamps.next()}
        message["team"] = self.directory.team.id
        if broadcast and parent is not None:
            message["subtype"] = "thread_broadcast"
        room.messages[message["ts"]] = message
        self._write(room, message)
        self._tell(Change(kind=ChangeKind.POSTED, room=room, message=message))
        if parent is not None:
            self._count(room, parent)
        return message

    def _count(self, room: Room, parent: Json) -> None:
        replies = [m for m in room.thread(parent["ts"]) if m["ts"] != parent["ts"]]
        users = list(dict.fromkeys(m.get("user", "") for m in replies))
        counted = {**parent, "thread_ts": parent["ts"], "reply_count": len(replies)}
        counted |= {"reply_users": users[:5], "reply_users_count": len(users)}
        counted["latest_reply"] = replies[-1]["ts"] if replies else parent["ts"]
        self._replace(room, parent, counted, ChangeKind.TOUCHED)

    def _replace(self, room: Room, before: Json, after: Json, kind: ChangeKind) -> None:
        room.messages[before["ts"]] = after
        self._write(room, after)
        self._tell(Change(kind=kind, room=room, message=after, previous=before))

    def change(self, room: Room, ts: str, body: Json, *, editor: str | None) -> Json:
        """Replace what a message says; with an editor it is shown as edited.

        Raises:
            SlackError: `message_not_found`.

        """
        before = room.messages.get(ts)
        if before is None:
            raise SlackError("message_not_found")
        after = {**before, **body}
        if editor is not None:
            after["edited"] = {"user": editor, "ts": self.stamps.next()}
        self._replace(room, before, after, ChangeKind.CHANGED)
        return after

    def touch(self, room: Room, ts: str, body: Json) -> None:
        """Change what others did to a message, such as reactions."""
        before = room.messages[ts]
        self._replace(room, before, {**before, **body}, ChangeKind.TOUCHED)

    def delete(self, room: Room, ts: str) -> None:
        """Take a message away. Raises SlackError `message_not_found`."""
        message = room.messages.pop(ts, None)
        if message is None:
            raise SlackError("message_not_found")
        self._archive.delete("message", f"{room.id}/{ts}")
        self._tell(Change(kind=ChangeKind.DELETED, room=room, message=message))
        parent = room.messages.get(message.get("thread_ts", ""))
        if parent is not None:
            self._count(room, parent)

    def mark_read(self, room: Room, person: str) -> None:
        """A person has seen everything in the room so far."""
        latest = next(reversed(room.messages), "0.000000")
        if room.read.get(person) != latest:
            room.read[person] = latest
            self.keep(room)

    def unread(self, room: Room, person: str) -> int:
        """How many messages of others came to the room since the person looked."""
        after = stamp_micros(room.read.get(person, "0.000000"))
        return sum(
            1 for m in room.top() if stamp_micros(m["ts"]) > after and m.get("user") != person
        )


def page_of(
    messages: Iterable[Json], *, oldest: str = "", latest: str = "", inclusive: bool = False
) -> list[Json]:
    """The messages between two time stamps, both ends left out unless `inclusive`."""
    low = stamp_micros(oldest) if oldest else None
    high = stamp_micros(latest) if latest else None
    slack = 0 if inclusive else 1
    return [
        m
        for m in messages
        if (low is None or stamp_micros(m["ts"]) >= low + slack)
        and (high is None or stamp_micros(m["ts"]) <= high - slack)
    ]
