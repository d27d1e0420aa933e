"""What the page asks for: who is who, what was said, and what its person does.

Only pages of this very server may ask: requests change things only as JSON, which another
site cannot send without asking first, and sockets name their origin.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Awaitable, Callable
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import JSONResponse, RedirectResponse, Response
from starlette.websockets import WebSocket

from bot.workspace.interactions import Interactions
from bot.workspace.rooms import Room
from bot.workspace.wire import Json, SlackError
from bot.workspace.workspace import Workspace

RECENT = 200
"""How many messages of a room the page gets at first."""


class PageApi:
    """The endpoints the page calls."""

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace
        self._acts = Interactions(workspace)
        self._verbs: dict[str, Callable[[str, Json], Awaitable[Json]]] = {
            "say": self._say,
            "press": self._press,
            "submit": self._submit,
            "close": self._close,
            "shortcut": self._shortcut,
            "shortcut-on": self._shortcut_on,
            "suggest": self._suggest,
            "home": self._home,
            "read": self._read,
            "edit": self._edit,
            "unsay": self._unsay,
        }

    async def socket(self, socket: WebSocket) -> None:
        """Live updates for one page."""
        person = socket.query_params.get("person", "")
        origin = socket.headers.get("origin")
        foreign = origin is not None and origin != f"http://{socket.headers.get('host')}"
        if foreign or person not in self._space.directory.people:
            await socket.close(code=4403)
            return
        await self._space.hub.serve(socket, person, lambda: self.boot(person))

    def boot(self, person: str) -> Json:
        """Everything a page needs to start, or to start again after a lost connection."""
        space, directory = self._space, self._space.directory
        options = space.options
        locale = directory.people[person].locale
        return {
            "type": "boot",
            "me": person,
            "team": {"name": directory.team.name},
            "app": {
                "id": directory.app.id,
                "user_id": directory.app.user_id,
                "name": directory.app.name,
                "about": directory.app.about,
            },
            "people": self._people(),
            "groups": [
                {"id": group.id, "handle": group.handle, "people": list(group.people)}
                for group in directory.groups.values()
            ],
            "rooms": [self._room(r, person) for r in space.rooms.all() if r.seen_by(person)],
            "connections": space.sockets.count,
            "views": space.views.stack(person),
            "home": space.views.home(person),
            "commands": [
                {"name": c.name, "about": c.about, "hint": c.hint, "examples": list(c.examples)}
                for c in options.commands
            ],
            "shortcuts": [
                {"callback_id": s.callback_id, "label": s.label, "on_message": s.on_message}
                for s in options.shortcuts
            ],
            "suggestions": [
                {"label": s.label, "about": s.about, "command": s.command, "fallback": s.fallback}
                for s in (one.read_in(locale) for one in options.suggestions)
            ],
            "clock": self._clock(),
        }

    def _clock(self) -> Json | None:
        clock = self._space.options.clock
        return dataclasses.asdict(clock()) if clock else None

    def _people(self) -> list[Json]:
        """The bot, then people in the order of the people file, each with a tint."""
        directory = self._space.directory
        users = [directory.user(key) for key in (directory.app.user_id, *directory.people)]
        return [_shown_person(user, tint) for tint, user in enumerate(users) if user]

    def _room(self, room: Room, person: str) -> Json:
        return {
            "id": room.id,
            "name": self._space.directory.app.name if room.is_im else room.name,
            "topic": room.topic,
            "is_im": room.is_im,
            "archived": room.archived,
            "unread": self._space.rooms.unread(room, person),
            "read": room.read.get(person, "0.000000"),
        }

    async def people(self, _: Request) -> Response:
        """GET /page/people: whom one can be."""
        people = self._space.directory.people.values()
        return JSONResponse({"people": [{"id": p.id, "name": p.real_name} for p in people]})

    async def begin(self, request: Request) -> Response:
        """GET /page/boot: what a page gets first, for who has no live link."""
        person = request.query_params.get("person", "")
        if person not in self._space.directory.people:
            return JSONResponse({"ok": False, "error": "user_not_found"}, status_code=404)
        return JSONResponse(self.boot(person))

    async def history(self, request: Request) -> Response:
        """GET /page/history: a room, or with `ts` a thread, with what only this person sees.

        Of a room the latest messages, or with `before` those that came before that moment.
        """
        query = request.query_params
        person, ts, before = query.get("person", ""), query.get("ts"), query.get("before")
        try:
            room = self._space.room(query.get("channel", ""))
        except SlackError as error:
            return JSONResponse(error.body(), status_code=404)
        if not room.seen_by(person):
            return JSONResponse({"ok": False, "error": "channel_not_found"}, status_code=404)
        private = self._space.ephemerals.all(person, room.id)
        if before:
            earlier = [m for m in room.top() if m["ts"] < before]
            more = len(earlier) > RECENT
            return JSONResponse({"messages": earlier[-RECENT:], "more": more})
        if ts:
            messages = [*room.thread(ts), *(m for m in private if m.get("thread_ts") == ts)]
        else:
            messages = [*room.top()[-RECENT:], *(m for m in private if not m.get("thread_ts"))]
        ordered = sorted(messages, key=lambda message: message["ts"])
        return JSONResponse({"messages": ordered, "more": not ts and len(room.top()) > RECENT})

    async def last(self, request: Request) -> Response:
        """GET /page/last: the request that a person made last, for suggestions."""
        look = self._space.options.last_request
        person = request.query_params.get("person", "")
        last = await run_in_threadpool(look, person) if look else None
        return JSONResponse({"last": last})

    async def clock(self, _: Request) -> Response:
        """GET /page/clock: what time it is in the bot's world."""
        return JSONResponse({"clock": self._clock()})

    async def act(self, request: Request) -> Response:
        """POST /page/{verb}: a person does something."""
        verb = self._verbs.get(str(request.path_params["verb"]))
        if verb is None:
            return JSONResponse({"ok": False, "error": "unknown_verb"}, status_code=404)
        if not request.headers.get("content-type", "").startswith("application/json"):
            return JSONResponse({"ok": False, "error": "json_expected"}, status_code=415)
        try:
            args = _object(await request.json())
            return JSONResponse({"ok": True, **await verb(str(args.get("person", "")), args)})
        except SlackError as error:
            return JSONResponse(error.body(), status_code=400)
        except ValueError:
            return JSONResponse({"ok": False, "error": "invalid_json"}, status_code=400)

    async def _say(self, person: str, args: Json) -> Json:
        thread = args.get("thread_ts") or None
        channel, text = str(args.get("channel", "")), str(args.get("text", ""))
        return await self._acts.say(person, channel, text, thread_ts=thread)

    async def _press(self, person: str, args: Json) -> Json:
        action, values = args.get("action") or {}, args.get("values") or {}
        if args.get("view_id"):
            return await self._acts.press_in_view(person, str(args["view_id"]), action, values)
        channel, ts = str(args.get("channel", "")), str(args.get("ts", ""))
        return await self._acts.press(person, channel, ts, action, values)

    async def _submit(self, person: str, args: Json) -> Json:
        return await self._acts.submit(
            person, str(args.get("view_id", "")), args.get("values") or {}
        )

    async def _close(self, person: str, args: Json) -> Json:
        clear = bool(args.get("clear"))
        return await self._acts.close(person, str(args.get("view_id", "")), clear=clear)

    async def _shortcut(self, person: str, args: Json) -> Json:
        return await self._acts.shortcut(person, str(args.get("callback_id", "")))

    async def _shortcut_on(self, person: str, args: Json) -> Json:
        place = (str(args.get("channel", "")), str(args.get("ts", "")))
        return await self._acts.shortcut_on(person, *place, str(args.get("callback_id", "")))

    async def _suggest(self, person: str, args: Json) -> Json:
        where = [str(args.get(name, "")) for name in ("view_id", "block_id", "action_id")]
        return await self._acts.suggest(
            person, where[0], where[1], where[2], str(args.get("value", ""))
        )

    async def _home(self, person: str, args: Json) -> Json:
        return self._acts.open_home(person, str(args.get("tab", "home")))

    async def _read(self, person: str, args: Json) -> Json:
        room = self._space.room(str(args.get("channel", "")))
        self._space.rooms.mark_read(room, person)
        self._space.hub.tell({"type": "read", "channel": room.id}, person=person)
        return {}

    async def _edit(self, person: str, args: Json) -> Json:
        channel, ts = str(args.get("channel", "")), str(args.get("ts", ""))
        return self._acts.edit(person, channel, ts, str(args.get("text", "")))

    async def _unsay(self, person: str, args: Json) -> Json:
        return self._acts.unsay(person, str(args.get("channel", "")), str(args.get("ts", "")))

    async def permalink(self, request: Request) -> Response:
        """GET /archives/{channel}/p{ts}: a link to a message, shown in the page."""
        channel, digits = request.path_params["channel"], request.path_params["stamp"]
        return RedirectResponse(f"/#{channel}/{digits[1:-6]}.{digits[-6:]}")


def _object(body: Any) -> Json:
    if not isinstance(body, dict):
        raise SlackError("json_not_object")
    return body


def _shown_person(user: Json, tint: int) -> Json:
    profile = user["profile"]
    return {
        "id": user["id"],
        "name": user["name"],
        "real_name": user["real_name"],
        "title": profile["title"],
        "is_bot": user["is_bot"],
        "deleted": user["deleted"],
        "locale": user["locale"],
        "tint": tint,
    }
