"""Views: the stack of modals a person has open, and everybody's Home tab."""

from __future__ import annotations

import uuid

from bot.workspace.blocks import check_view
from bot.workspace.hub import Hub
from bot.workspace.people import Directory
from bot.workspace.tickets import Trigger
from bot.workspace.wire import Ids, Json, SlackError

STACK = 3
"""How many modals may lie on each other."""


class Views:
    """Open modals and published Home tabs, by person."""

    def __init__(self, directory: Directory, hub: Hub) -> None:
        self._directory = directory
        self._hub = hub
        self._ids = Ids()
        self._stacks: dict[str, list[Json]] = {}
        self._homes: dict[str, Json] = {}

    def _complete(self, raw: object, kind: str) -> Json:
        view, problems = check_view(raw, self._ids)
        if not problems and view["type"] != kind:
            problems = [f"must be {kind} [json-pointer:/view/type]"]
        if problems:
            raise SlackError("invalid_arguments", messages=problems)
        return {
            "team_id": self._directory.team.id,
            "private_metadata": "",
            "callback_id": "",
            "external_id": "",
            "clear_on_close": False,
            "notify_on_close": False,
            "close": None,
            "submit": None,
            "title": {"type": "plain_text", "text": ""},
            "previous_view_id": None,
            "app_id": self._directory.app.id,
            "bot_id": self._directory.app.bot_id,
            "app_installed_team_id": self._directory.team.id,
            **view,
            "hash": uuid.uuid4().hex,
            "state": {"values": {}},
        }

    def stack(self, person: str) -> list[Json]:
        """The modals a person has open, the topmost last."""
        return list(self._stacks.get(person, ()))

    def home(self, person: str) -> Json | None:
        """The Home tab published for a person."""
        return self._homes.get(person)

    def find(self, person: str, view_id: str) -> Json | None:
        """An open modal or the Home tab by id."""
        home = self._homes.get(person)
        views = [*self._stacks.get(person, ()), *([home] if home else [])]
        return next((view for view in views if view["id"] == view_id), None)

    def owner(self, view_id: str, external_id: str = "") -> tuple[str, Json]:
        """Who has a modal open. Raises SlackError `not_found`."""
        for person, stack in self._stacks.items():
            for view in stack:
                if view["id"] == view_id or (external_id and view["external_id"] == external_id):
                    return person, view
        for person, home in self._homes.items():
            if home["id"] == view_id:
                return person, home
        raise SlackError("not_found")

    def _show(self, person: str) -> None:
        event = {"type": "views", "stack": self.stack(person)}
        self._hub.tell(event, person=person)

    def open(self, trigger: Trigger, raw: object) -> Json:
        """Open a modal in place of whatever the person had open."""
        view = self._complete(raw, "modal")
        view |= {"id": self._ids.next("V")}
        view["root_view_id"] = view["id"]
        self._stacks[trigger.person] = [view]
        self._show(trigger.person)
        return view

    def push(self, person: str, raw: object) -> Json:
        """Lay a modal on top. Raises SlackError `push_limit_reached`."""
        stack = self._stacks.setdefault(person, [])
        if len(stack) >= STACK:
            raise SlackError("push_limit_reached")
        view = self._complete(raw, "modal")
        view |= {"id": self._ids.next("V")}
        view["root_view_id"] = stack[0]["id"] if stack else view["id"]
        view["previous_view_id"] = stack[-1]["id"] if stack else None
        stack.append(view)
        self._show(person)
        return view

    def update(self, person: str, before: Json, raw: object, *, seen: str | None = None) -> Json:
        """Change a modal in place. Raises SlackError `hash_conflict`."""
        if seen is not None and seen != before["hash"]:
            raise SlackError("hash_conflict")
        after = self._complete(raw, before["type"])
        for name in ("id", "root_view_id", "previous_view_id"):
            after[name] = before[name]
        if before["type"] == "home":
            return self._set_home(person, after)
        stack = self._stacks.get(person, [])
        self._stacks[person] = [after if view["id"] == before["id"] else view for view in stack]
        self._show(person)
        return after

    def publish(self, person: str, raw: object, *, seen: str | None = None) -> Json:
        """Set a person's Home tab. Raises SlackError `hash_conflict`."""
        before = self._homes.get(person)
        if seen is not None and before is not None and seen != before["hash"]:
            raise SlackError("hash_conflict")
        view = self._complete(raw, "home")
        view["id"] = before["id"] if before else self._ids.next("V")
        view["root_view_id"] = view["id"]
        return self._set_home(person, view)

    def _set_home(self, person: str, view: Json) -> Json:
        self._homes[person] = view
        self._hub.tell({"type": "home", "view": view}, person=person)
        return view

    def close(self, person: str, view_id: str, *, all_of_them: bool = False) -> list[Json]:
        """Close a modal and what lies on it; returns what was closed, topmost first."""
        stack = self._stacks.get(person, [])
        at = next((n for n, view in enumerate(stack) if view["id"] == view_id), None)
        if at is None:
            return []
        keep = 0 if all_of_them else at
        closed = stack[keep:]
        self._stacks[person] = stack[:keep]
        self._show(person)
        return closed[::-1]
