"""views.*: modals and the Home tab."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.workspace.methods.arguments import need
from bot.workspace.wire import Json
from bot.workspace.workspace import Workspace


def open_view(space: Workspace, args: Json) -> Json:
    """views.open, with the trigger of what a person has just done."""
    trigger = space.triggers.use(need(args, "trigger_id", "invalid_trigger_id"))
    return {"view": space.views.open(trigger, args.get("view"))}


def push_view(space: Workspace, args: Json) -> Json:
    """views.push, with the trigger of something done in an open modal."""
    trigger = space.triggers.use(need(args, "trigger_id", "invalid_trigger_id"))
    return {"view": space.views.push(trigger.person, args.get("view"))}


def update_view(space: Workspace, args: Json) -> Json:
    """views.update, by view id or external id."""
    external = str(args.get("external_id") or "")
    view_id = "" if external else need(args, "view_id")
    person, before = space.views.owner(view_id, external)
    seen = str(args["hash"]) if args.get("hash") else None
    return {"view": space.views.update(person, before, args.get("view"), seen=seen)}


def publish_view(space: Workspace, args: Json) -> Json:
    """views.publish: a person's Home tab."""
    person = need(args, "user_id")
    space.user(person)
    seen = str(args["hash"]) if args.get("hash") else None
    return {"view": space.views.publish(person, args.get("view"), seen=seen)}


METHODS: Mapping[str, Callable[[Workspace, Json], Json]] = {
    "views.open": open_view,
    "views.publish": publish_view,
    "views.push": push_view,
    "views.update": update_view,
}
