"""Messages that only one person sees. Like Slack's they are gone after a restart."""

from __future__ import annotations

from bot.workspace.hub import Hub
from bot.workspace.wire import Json, Stamps

KEPT = 200
"""How many are kept for each person."""


class Ephemerals:
    """Private messages in rooms, by person."""

    def __init__(self, stamps: Stamps, hub: Hub) -> None:
        self._stamps = stamps
        self._hub = hub
        self._by_person: dict[str, dict[str, Json]] = {}

    def post(self, person: str, room: str, body: Json) -> Json:
        """Show something to one person."""
        message: Json = {"type": "message", **body, "ts": self._stamps.next()}
        message |= {"channel": room, "is_ephemeral": True}
        kept = self._by_person.setdefault(person, {})
        kept[message["ts"]] = message
        while len(kept) > KEPT:
            kept.pop(next(iter(kept)))
        self._hub.tell({"type": "message", "channel": room, "message": message}, person=person)
        return message

    def find(self, person: str, ts: str) -> Json | None:
        """One of a person's private messages."""
        return self._by_person.get(person, {}).get(ts)

    def replace(self, person: str, ts: str, body: Json) -> bool:
        """Change what one says; False if there is none."""
        before = self.find(person, ts)
        if before is None:
            return False
        after = {**before, "blocks": None, **body}
        self._by_person[person][ts] = after
        event = {"type": "message_changed", "channel": after["channel"], "message": after}
        self._hub.tell(event, person=person)
        return True

    def delete(self, person: str, ts: str) -> bool:
        """Take one away; False if there is none."""
        message = self._by_person.get(person, {}).pop(ts, None)
        if message is None:
            return False
        event = {"type": "message_deleted", "channel": message["channel"], "ts": ts}
        self._hub.tell(event, person=person)
        return True

    def all(self, person: str, room: str | None = None) -> list[Json]:
        """A person's private messages, oldest first."""
        kept = self._by_person.get(person, {}).values()
        return [m for m in kept if room is None or m["channel"] == room]
