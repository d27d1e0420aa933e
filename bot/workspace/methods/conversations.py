"""conversations.*: channels, direct messages and what was said in them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.workspace.methods.arguments import flag, need, page, stamp
from bot.workspace.rooms import Room, page_of
from bot.workspace.wire import Json, SlackError
from bot.workspace.workspace import Workspace


def describe(room: Room) -> Json:
    """A room as `conversations.info` shows it."""
    shown: Json = {
        "id": room.id,
        "created": room.created,
        "is_im": room.is_im,
        "is_channel": not room.is_im,
        "is_archived": room.archived,
        "is_member": room.bot_inside,
        "is_private": room.is_im,
    }
    if room.is_im:
        return {**shown, "user": room.person}
    topic = {"value": room.topic, "creator": "", "last_set": 0}
    return {**shown, "name": room.name, "name_normalized": room.name, "topic": topic}


def open_direct(space: Workspace, args: Json) -> Json:
    """conversations.open with one person."""
    if args.get("channel"):
        room = space.room(str(args["channel"]))
    else:
        users = args.get("users") or ""
        names = users if isinstance(users, list) else str(users).split(",")
        if len(names) != 1 or not names[0]:
            raise SlackError("users_list_not_supplied" if not names[0] else "too_many_users")
        if space.user(names[0])["deleted"]:
            raise SlackError("user_disabled")
        room = space.rooms.direct(names[0])
    return {"no_op": True, "already_open": True, "channel": describe(room)}


def listing(space: Workspace, args: Json) -> Json:
    """conversations.list."""
    types = str(args.get("types") or "public_channel").split(",")
    rooms = [
        room
        for room in space.rooms.all()
        if ("im" if room.is_im else "public_channel") in types
        and not (room.archived and flag(args, "exclude_archived"))
    ]
    some, cursor = page(args, [describe(room) for room in rooms])
    return {"channels": some, "response_metadata": cursor}


def info(space: Workspace, args: Json) -> Json:
    """conversations.info."""
    return {"channel": describe(space.room(need(args, "channel", "channel_not_found")))}


def _shown(messages: list[Json], args: Json) -> list[Json]:
    if flag(args, "include_all_metadata"):
        return messages
    return [{k: v for k, v in message.items() if k != "metadata"} for message in messages]


def _between(args: Json, messages: list[Json]) -> list[Json]:
    return page_of(
        messages,
        oldest=stamp(args, "oldest", "invalid_ts_oldest"),
        latest=stamp(args, "latest", "invalid_ts_latest"),
        inclusive=flag(args, "inclusive"),
    )


def _readable(space: Workspace, args: Json) -> Room:
    room = space.room(need(args, "channel", "channel_not_found"))
    if not room.bot_inside:
        raise SlackError("not_in_channel")
    return room


def history(space: Workspace, args: Json) -> Json:
    """conversations.history: newest first."""
    messages = _between(args, _readable(space, args).top())[::-1]
    some, cursor = page(args, messages, most=999)
    more = bool(cursor["next_cursor"])
    answer = {"messages": _shown(some, args), "has_more": more, "pin_count": 0}
    return {**answer, "response_metadata": cursor} if more else answer


def replies(space: Workspace, args: Json) -> Json:
    """conversations.replies: oldest first, the parent at the head."""
    room = _readable(space, args)
    thread = room.thread(need(args, "ts", "thread_not_found"))
    if not thread:
        raise SlackError("thread_not_found")
    head, rest = thread[0], _between(args, thread[1:])
    some, cursor = page(args, [head, *rest], default=1000)
    more = bool(cursor["next_cursor"])
    return {"messages": _shown(some, args), "has_more": more, "response_metadata": cursor}


def members(space: Workspace, args: Json) -> Json:
    """conversations.members: everybody in channels, two in direct messages."""
    room = space.room(need(args, "channel", "channel_not_found"))
    bot = [space.bot_user] if room.bot_inside else []
    people = [room.person] if room.is_im else sorted(space.directory.people)
    some, cursor = page(args, [*bot, *people])
    return {"members": some, "response_metadata": cursor}


METHODS: Mapping[str, Callable[[Workspace, Json], Json]] = {
    "conversations.history": history,
    "conversations.info": info,
    "conversations.list": listing,
    "conversations.members": members,
    "conversations.open": open_direct,
    "conversations.replies": replies,
}
