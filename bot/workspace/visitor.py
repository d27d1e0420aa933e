"""A person at the page, driven from Python: for tests, rehearsals and load.

Goes through the very endpoints that the page uses, so what works here works there.
"""

from __future__ import annotations

import http.client
import json
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from bot.workspace.wire import Json

TIMEOUT = 30.0
"""Seconds until a request to the local server counts as failed."""


class VisitorError(Exception):
    """The server refused what the person did; `answer` says why."""

    def __init__(self, answer: Json) -> None:
        super().__init__(str(answer.get("error")))
        self.answer = answer


class Visitor:
    """One person. Every method is one thing a person can do or see."""

    def __init__(self, base_url: str, person: str) -> None:
        self.person = person
        self._address = urlsplit(base_url).netloc

    def _ask(self, method: str, path: str, body: Json | None = None) -> Json:
        connection = http.client.HTTPConnection(self._address, timeout=TIMEOUT)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"content-type": "application/json"})
            response = connection.getresponse()
            answer: Json = json.loads(response.read() or b"{}")
            if response.status >= 400:
                raise VisitorError(answer)
            return answer
        finally:
            connection.close()

    def _do(self, verb: str, **body: Any) -> Json:
        return self._ask("POST", f"/page/{verb}", {"person": self.person, **body})

    def _see(self, what: str, **query: str) -> Json:
        return self._ask(
            "GET", f"/page/{quote(what)}?{urlencode({'person': self.person, **query})}"
        )

    def boot(self) -> Json:
        """All that a page gets at first: rooms, people, open modals, Home."""
        return self._see("boot")

    def say(self, channel: str, text: str, *, thread_ts: str | None = None) -> Json:
        """Post a message or run a command; `error` in the answer if it was not taken."""
        return self._do("say", channel=channel, text=text, thread_ts=thread_ts)

    def messages(self, channel: str) -> list[Json]:
        """What this person sees in a room, oldest first, private answers included."""
        found: list[Json] = self._see("history", channel=channel)["messages"]
        return found

    def thread(self, channel: str, ts: str) -> list[Json]:
        """A message and its replies."""
        found: list[Json] = self._see("history", channel=channel, ts=ts)["messages"]
        return found

    def private(self, channel: str) -> list[Json]:
        """What only this person sees in a room."""
        return [m for m in self.messages(channel) if m.get("is_ephemeral")]

    def direct(self) -> str:
        """The id of this person's direct message with the bot."""
        return next(str(room["id"]) for room in self.boot()["rooms"] if room["is_im"])

    def press(
        self,
        channel: str,
        ts: str,
        action_id: str,
        *,
        values: Mapping[str, Any] | None = None,
        **chosen: Any,
    ) -> Json:
        """Use the element with this action id; `chosen` e.g. `selected_option={…}`."""
        seen = [*self.messages(channel), *self.thread(channel, ts)]
        message = next((m for m in seen if m["ts"] == ts), {})
        action = {**_seen_in(message.get("blocks") or [], action_id), **chosen}
        return self._do("press", channel=channel, ts=ts, action=action, values=dict(values or {}))

    def press_in_view(self, view: Json, action_id: str, **chosen: Any) -> Json:
        """Use an element of a modal or of the Home tab."""
        action = {**_seen_in(view["blocks"], action_id), **chosen}
        return self._do("press", view_id=view["id"], action=action, values={})

    def modal(self) -> Json | None:
        """The modal on top, if one is open."""
        stack: list[Json] = self.boot()["views"]
        return stack[-1] if stack else None

    def submit(self, view: Json, values: Mapping[str, Any]) -> Json:
        """Submit a modal, with values by block and action id as Slack has them."""
        return self._do("submit", view_id=view["id"], values=dict(values))

    def close(self, view: Json, *, clear: bool = False) -> Json:
        """Close a modal."""
        return self._do("close", view_id=view["id"], clear=clear)

    def open_home(self) -> Json:
        """Look at the Home tab; it is in `boot()["home"]` once the app has published it."""
        return self._do("home", tab="home")

    def shortcut(self, callback_id: str) -> Json:
        """Use a global shortcut."""
        return self._do("shortcut", callback_id=callback_id)

    def shortcut_on(self, channel: str, ts: str, callback_id: str) -> Json:
        """Use a shortcut from the menu of a message."""
        return self._do("shortcut-on", channel=channel, ts=ts, callback_id=callback_id)

    def suggest(self, view: Json, action_id: str, typed: str) -> list[Json]:
        """What an external select offers for what was typed."""
        block_id = _block_of(view["blocks"], action_id)
        place = {"view_id": view["id"], "block_id": block_id, "action_id": action_id}
        found: list[Json] = self._do("suggest", **place, value=typed)["options"]
        return found

    def earlier(self, channel: str, before: str) -> list[Json]:
        """The messages of a room that came before a moment, oldest first."""
        found: list[Json] = self._see("history", channel=channel, before=before)["messages"]
        return found

    def edit(self, channel: str, ts: str, text: str) -> Json:
        """Change an own message."""
        return self._do("edit", channel=channel, ts=ts, text=text)

    def unsay(self, channel: str, ts: str) -> Json:
        """Take an own message back."""
        return self._do("unsay", channel=channel, ts=ts)

    def read(self, channel: str) -> Json:
        """Have seen everything in a room."""
        return self._do("read", channel=channel)


def _block_of(blocks: list[Json], action_id: str) -> str:
    return str(_seen_in(blocks, action_id)["block_id"])


def _seen_in(blocks: list[Json], action_id: str) -> Json:
    """What is told of an element that is used: where it is, which, and what a button carries.

    By that it is found also where it was drawn anew in between.
    """
    for block in blocks:
        parts = [block.get("accessory"), block.get("element"), *(block.get("elements") or ())]
        for part in parts:
            if isinstance(part, dict) and part.get("action_id") == action_id:
                value = {"value": part["value"]} if "value" in part else {}
                return {"block_id": str(block["block_id"]), "action_id": action_id, **value}
    return {"block_id": "", "action_id": action_id}
