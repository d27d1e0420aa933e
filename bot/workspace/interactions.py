"""What a person does at the page, delivered to the app as Slack would, and what comes back."""

from __future__ import annotations

from typing import Any

from bot.workspace.blocks import BlockCheck
from bot.workspace.forms import form_errors, merge_values
from bot.workspace.options import Command
from bot.workspace.rooms import Room
from bot.workspace.sockets import DeliveryError
from bot.workspace.wire import Json, SlackError
from bot.workspace.wording import typed_to_wire
from bot.workspace.workspace import Workspace


class Interactions:
    """Everything people can do, by person id. Raises SlackError for what cannot be done."""

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace

    def _person(self, person: str) -> Json:
        found = self._space.directory.people.get(person)
        if found is None:
            raise SlackError("user_not_found")
        team = self._space.directory.team
        return {"id": found.id, "username": found.name, "name": found.name, "team_id": team.id}

    def _room(self, person: str, room_id: str) -> Room:
        room = self._space.room(room_id)
        if not room.seen_by(person):
            raise SlackError("channel_not_found")
        return room

    async def say(
        self, person: str, room_id: str, text: str, *, thread_ts: str | None = None
    ) -> Json:
        """Post a message, or run a slash command if it is one.

        Commands do not work in threads, as in Slack; the person is told.
        """
        self._person(person)
        room, text = self._room(person, room_id), text.strip()
        if not text:
            raise SlackError("no_text")
        if room.archived:
            raise SlackError("is_archived")
        if text.startswith("/") and len(text) > 1 and text[1:2].isalpha():
            return await self._command(person, room, text, thread_ts)
        wired = typed_to_wire(text, self._space.directory)
        body: Json = {"user": person, "text": wired, "client_msg_id": self._space.ids.next("m")}
        if thread_ts:
            body["thread_ts"] = thread_ts
        message = self._space.rooms.post(room, body)
        self._space.rooms.mark_read(room, person)
        return {"message": message}

    async def _command(self, person: str, room: Room, typed: str, thread_ts: str | None) -> Json:
        name, _, rest = typed.partition(" ")
        command = self._find_command(name)
        if command is None:
            self._notice(person, room, f"`{name}` is not a valid command.", thread_ts)
            return {"error": "unknown_command"}
        if thread_ts:
            hint = f"`{name}` is not supported in threads. Sorry! Try a mention instead."
            self._notice(person, room, hint, thread_ts)
            return {"error": "not_supported_in_threads"}
        return await self._run_command(person, room, command, rest.strip())

    def _find_command(self, name: str) -> Command | None:
        return next((c for c in self._space.options.commands if c.name == name.lower()), None)

    async def _run_command(self, person: str, room: Room, command: Command, rest: str) -> Json:
        space = self._space
        team = space.directory.team
        payload: Json = {
            "token": "local-workspace",
            "team_id": team.id,
            "team_domain": team.domain,
            "channel_id": room.id,
            "channel_name": "directmessage" if room.is_im else room.name,
            "user_id": person,
            "user_name": space.directory.people[person].name,
            "command": command.name,
            "text": typed_to_wire(rest, space.directory, command=True),
            "api_app_id": space.directory.app.id,
            "is_enterprise_install": "false",
            "response_url": self._response_url(person, room),
            "trigger_id": space.triggers.issue(person),
        }
        try:
            answer = await space.sockets.request("slash_commands", payload)
        except DeliveryError as error:
            text = f"`{command.name}` failed with the error `{error.code}`."
            if error.code == "operation_timeout":
                text = f"{text} gpubot timed out: it did not answer within 3 seconds."
            self._notice(person, room, text)
            return {"error": error.code}
        if answer.get("text") or answer.get("blocks"):
            self._show_answer(person, room, answer)
        return {}

    def _show_answer(self, person: str, room: Room, answer: Json) -> None:
        try:
            contents = self._space.contents(answer)
        except SlackError as error:
            self._notice(person, room, f"The app sent an invalid answer: `{error.code}`.")
            return
        body = {**self._space.author(), **contents}
        if answer.get("response_type") == "in_channel":
            self._space.rooms.post(room, body)
        else:
            self._space.ephemerals.post(person, room.id, body)

    def _notice(self, person: str, room: Room, text: str, thread_ts: str | None = None) -> None:
        body: Json = {"user": "USLACKBOT", "username": "Workspace", "text": text}
        if thread_ts:
            body["thread_ts"] = thread_ts
        self._space.ephemerals.post(person, room.id, body)

    def _response_url(
        self, person: str, room: Room, message: str | None = None, thread: str | None = None
    ) -> str:
        key = self._space.rights.issue(person, room.id, message=message, thread=thread)
        return f"{self._space.base_url}/respond/{key}"

    def _envelope(self, kind: str, person: str, *, view: str | None = None) -> Json:
        team, space = self._space.directory.team, self._space
        return {
            "type": kind,
            "user": self._person(person),
            "api_app_id": space.directory.app.id,
            "token": "local-workspace",
            "trigger_id": space.triggers.issue(person, view),
            "team": {"id": team.id, "domain": team.domain},
            "enterprise": None,
            "is_enterprise_install": False,
        }

    async def _interact(self, payload: Json) -> Json:
        """Deliver a click; `{"ack": …}` with its answer, or `{"error": …}` for the page."""
        try:
            return {"ack": await self._space.sockets.request("interactive", payload)}
        except DeliveryError as error:
            return {"error": error.code}

    async def press(
        self, person: str, room_id: str, ts: str, action: Json, values: Json | None = None
    ) -> Json:
        """Use an element of a message: a button, a menu."""
        room = self._room(person, room_id)
        private = self._space.ephemerals.find(person, ts)
        message = private or room.messages.get(ts)
        if message is None:
            raise SlackError("message_not_found")
        payload = self._envelope("block_actions", person)
        container: Json = {"type": "message", "message_ts": ts, "channel_id": room.id}
        container["is_ephemeral"] = private is not None
        thread = _thread_of(message, ts)
        if thread:
            container["thread_ts"] = thread
        payload["container"] = container
        payload["channel"] = {"id": room.id, "name": "directmessage" if room.is_im else room.name}
        if private is None:
            payload["message"] = message
        blocks = message.get("blocks") or []
        payload["state"] = {"values": merge_values(blocks, values or {})}
        payload["response_url"] = self._response_url(person, room, ts, thread)
        payload["actions"] = [self._action(blocks, action)]
        return await self._interact(payload)

    async def press_in_view(
        self, person: str, view_id: str, action: Json, values: Json | None = None
    ) -> Json:
        """Use an element of a modal or of the Home tab."""
        view = self._space.views.find(person, view_id)
        if view is None:
            raise SlackError("not_found")
        view["state"] = {"values": merge_values(view["blocks"], values or {})}
        payload = self._envelope("block_actions", person, view=view_id)
        payload["container"] = {"type": "view", "view_id": view_id}
        payload["view"] = view
        payload["actions"] = [self._action(view["blocks"], action)]
        return await self._interact(payload)

    def _action(self, blocks: list[Json], action: Json) -> Json:
        """The action as Slack sends it; text and value come from the block, not the page.

        Where the message was drawn anew while somebody was about to press, its blocks may have
        other ids, or the same ids in another order: the same button with the same value is meant.
        """
        found = [(b, e) for b in blocks for e in _elements(b) if _is_meant(e, action)]
        if not found:
            raise SlackError("action_not_found")
        same = [(b, e) for b, e in found if b["block_id"] == action.get("block_id")]
        if not same and "value" not in action:
            raise SlackError("action_not_found")
        block, element = (same or found)[0]
        sent: Json = {
            "type": element["type"],
            "block_id": block["block_id"],
            "action_id": element["action_id"],
            "action_ts": self._space.rooms.stamps.next(),
        }
        for name in ("text", "value", "style", "url"):
            if name in element and element["type"] == "button":
                sent[name] = element[name]
        for name, value in action.items():
            if name.startswith("selected_"):
                sent[name] = value
        return sent

    async def submit(self, person: str, view_id: str, values: Json) -> Json:
        """Submit a modal: `{"errors": {block_id: text}}` keeps it open, else it is done."""
        view = self._space.views.find(person, view_id)
        if view is None or view["type"] != "modal":
            raise SlackError("not_found")
        merged = merge_values(view["blocks"], values)
        errors = form_errors(view["blocks"], merged)
        if errors:
            return {"errors": errors}
        view["state"] = {"values": merged}
        payload = self._envelope("view_submission", person, view=view_id)
        payload["view"] = view
        payload["response_urls"] = []
        outcome = await self._interact(payload)
        if "error" in outcome:
            return outcome
        return self._apply_submission(person, view, outcome["ack"])

    def _apply_submission(self, person: str, view: Json, ack: Json) -> Json:
        views, action = self._space.views, ack.get("response_action")
        if action == "errors":
            known = {block["block_id"] for block in view["blocks"] if block["type"] == "input"}
            errors: dict[str, Any] = ack.get("errors") or {}
            if not errors or not set(errors) <= known:
                return {"error": "invalid_errors"}
            return {"errors": errors}
        try:
            if action == "update":
                views.update(person, view, ack.get("view"))
            elif action == "push":
                views.push(person, ack.get("view"))
            else:
                views.close(person, view["id"], all_of_them=action == "clear")
        except SlackError as error:
            return {"error": error.code, "problems": list(error.messages)}
        return {}

    async def close(self, person: str, view_id: str, *, clear: bool = False) -> Json:
        """Close a modal without submitting it."""
        for view in self._space.views.close(person, view_id, all_of_them=clear):
            if view["notify_on_close"]:
                payload = self._envelope("view_closed", person)
                payload |= {"view": view, "is_cleared": clear}
                await self._interact(payload)
        return {}

    async def shortcut(self, person: str, callback_id: str) -> Json:
        """Use a global shortcut."""
        payload = self._envelope("shortcut", person)
        payload |= {"callback_id": callback_id, "action_ts": self._space.rooms.stamps.next()}
        return await self._interact(payload)

    async def shortcut_on(self, person: str, room_id: str, ts: str, callback_id: str) -> Json:
        """Use a shortcut from the menu of a message."""
        room = self._room(person, room_id)
        message = room.messages.get(ts)
        if message is None:
            raise SlackError("message_not_found")
        known = {s.callback_id for s in self._space.options.shortcuts if s.on_message}
        if callback_id not in known:
            raise SlackError("invalid_callback_id")
        thread = _thread_of(message, ts)
        payload = self._envelope("message_action", person)
        payload |= {
            "callback_id": callback_id,
            "action_ts": self._space.rooms.stamps.next(),
            "channel": {"id": room.id, "name": "directmessage" if room.is_im else room.name},
            "message": message,
            "message_ts": ts,
            "response_url": self._response_url(person, room, None, thread),
        }
        return await self._interact(payload)

    async def suggest(
        self, person: str, view_id: str, block_id: str, action_id: str, typed: str
    ) -> Json:
        """What an external select of a modal offers for what was typed."""
        view = self._space.views.find(person, view_id)
        parts = [e for b in (view or {}).get("blocks", ()) for e in _elements(b)]
        menu = next((e for e in parts if e.get("action_id") == action_id), None)
        if view is None or menu is None or menu["type"] != "external_select":
            raise SlackError("action_not_found")
        if len(typed) < int(menu.get("min_query_length", 3)):
            return {"options": []}
        payload = self._envelope("block_suggestion", person, view=view_id)
        payload |= {
            "view": view,
            "container": {"type": "view", "view_id": view_id},
            "block_id": block_id,
            "action_id": action_id,
            "value": typed,
        }
        outcome = await self._interact(payload)
        if "error" in outcome:
            return outcome
        check = BlockCheck(self._space.ids)
        options = check.offered(outcome["ack"])
        return (
            {"error": "invalid_options", "problems": check.problems}
            if check.problems
            else {"options": options}
        )

    def open_home(self, person: str, tab: str = "home") -> Json:
        """Look at the app's Home tab (or its messages): the app is told."""
        self._person(person)
        event: Json = {
            "type": "app_home_opened",
            "user": person,
            "channel": self._space.rooms.direct(person).id,
            "tab": tab,
            "event_ts": self._space.rooms.stamps.next(),
        }
        view = self._space.views.home(person)
        if view is not None:
            event["view"] = view
        self._space.event(event)
        return {"view": view}

    def edit(self, person: str, room_id: str, ts: str, text: str) -> Json:
        """Change one's own message."""
        room = self._own(person, room_id, ts)
        wired = typed_to_wire(text, self._space.directory)
        return {"message": self._space.rooms.change(room, ts, {"text": wired}, editor=person)}

    def unsay(self, person: str, room_id: str, ts: str) -> Json:
        """Take one's own message back."""
        self._space.rooms.delete(self._own(person, room_id, ts), ts)
        return {}

    def _own(self, person: str, room_id: str, ts: str) -> Room:
        room = self._room(person, room_id)
        message = room.messages.get(ts)
        if message is None:
            raise SlackError("message_not_found")
        if message.get("user") != person:
            raise SlackError("cant_update_message")
        return room


def _thread_of(message: Json, ts: str) -> str | None:
    """The thread a message stands in. A parent is in the channel, even once it has one under it."""
    thread: str | None = message.get("thread_ts")
    return None if thread == ts else thread


def _is_meant(part: Json, action: Json) -> bool:
    """Whether this is what was pressed, by its id and, for a button, what it carries."""
    if part.get("action_id") != action.get("action_id"):
        return False
    return "value" not in action or part.get("value") == action["value"]


def _elements(block: Json) -> list[Json]:
    parts = [block.get("accessory"), block.get("element"), *(block.get("elements") or ())]
    return [part for part in parts if isinstance(part, dict)]
