"""chat.*, reactions.* and the addresses to respond to."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.workspace.methods.arguments import flag, need, stamp
from bot.workspace.rooms import Room
from bot.workspace.wire import Json, SlackError
from bot.workspace.workspace import Workspace


def post_message(space: Workspace, args: Json) -> Json:
    """chat.postMessage."""
    room = space.room_for_bot(need(args, "channel", "channel_not_found"))
    body = {**space.author(), **space.contents(args)}
    thread = stamp(args, "thread_ts", "invalid_thread_ts")
    if thread:
        body["thread_ts"] = thread
    message = space.rooms.post(room, body, broadcast=flag(args, "reply_broadcast"))
    return {"channel": room.id, "ts": message["ts"], "message": message}


def _own_message(space: Workspace, room: Room, ts: str, forbidden: str) -> None:
    message = room.messages.get(ts)
    if message is None:
        raise SlackError("message_not_found")
    if message.get("bot_id") != space.directory.app.bot_id:
        raise SlackError(forbidden)


def update(space: Workspace, args: Json) -> Json:
    """chat.update: what is not given stays, but blocks go when only text is given."""
    room = space.room_for_bot(need(args, "channel", "channel_not_found"))
    ts = need(args, "ts", "message_not_found")
    _own_message(space, room, ts, "cant_update_message")
    contents = space.contents(args)
    contents.setdefault("blocks", [])
    message = space.rooms.change(room, ts, contents, editor=space.bot_user)
    return {"channel": room.id, "ts": ts, "text": message["text"], "message": message}


def delete(space: Workspace, args: Json) -> Json:
    """chat.delete."""
    room = space.room_for_bot(need(args, "channel", "channel_not_found"))
    ts = need(args, "ts", "message_not_found")
    _own_message(space, room, ts, "cant_delete_message")
    space.rooms.delete(room, ts)
    return {"channel": room.id, "ts": ts}


def post_ephemeral(space: Workspace, args: Json) -> Json:
    """chat.postEphemeral."""
    room = space.room_for_bot(need(args, "channel", "channel_not_found"))
    person = need(args, "user", "user_not_in_channel")
    space.user(person, missing="user_not_in_channel")
    if not room.seen_by(person):
        raise SlackError("user_not_in_channel")
    body = {**space.author(), **space.contents(args)}
    thread = stamp(args, "thread_ts", "invalid_thread_ts")
    if thread:
        body["thread_ts"] = thread
    return {"message_ts": space.ephemerals.post(person, room.id, body)["ts"]}


def permalink(space: Workspace, args: Json) -> Json:
    """chat.getPermalink."""
    room = space.room(need(args, "channel", "channel_not_found"))
    ts = need(args, "message_ts", "message_not_found")
    if ts not in room.messages:
        raise SlackError("message_not_found")
    link = f"{space.base_url}/archives/{room.id}/p{ts.replace('.', '')}"
    return {"channel": room.id, "permalink": link}


def react(space: Workspace, args: Json) -> Json:
    """reactions.add by the bot."""
    room = space.room_for_bot(need(args, "channel", "channel_not_found"))
    ts = need(args, "timestamp", "no_item_specified")
    name = need(args, "name", "invalid_name").strip(":")
    message = room.messages.get(ts)
    if message is None:
        raise SlackError("message_not_found")
    reactions = [dict(reaction) for reaction in message.get("reactions", ())]
    same = next((r for r in reactions if r["name"] == name), None)
    if same is None:
        reactions.append({"name": name, "users": [space.bot_user], "count": 1})
    elif space.bot_user in same["users"]:
        raise SlackError("already_reacted")
    else:
        same["users"], same["count"] = [*same["users"], space.bot_user], same["count"] + 1
    space.rooms.touch(room, ts, {"reactions": reactions})
    return {}


def respond(space: Workspace, key: str, args: Json) -> None:
    """A response to a command or a click, sent to its response address.

    Raises:
        SlackError: the address is unknown, too old or used up, or the response is invalid.

    """
    right = space.rights.use(key)
    room = space.room(right.room)
    if flag(args, "delete_original"):
        if right.message is None or not (
            space.ephemerals.delete(right.person, right.message)
            or _deleted(space, room, right.message)
        ):
            raise SlackError("message_not_found")
        return
    contents = space.contents(args)
    if flag(args, "replace_original") and right.message is not None:
        contents.setdefault("blocks", [])
        if not space.ephemerals.replace(right.person, right.message, contents):
            space.rooms.change(room, right.message, contents, editor=space.bot_user)
        return
    body = {**space.author(), **contents}
    thread = stamp(args, "thread_ts", "invalid_thread_ts") or right.thread
    if thread:
        body["thread_ts"] = thread
    if args.get("response_type") == "in_channel":
        space.rooms.post(room, body)
    else:
        space.ephemerals.post(right.person, room.id, body)


def _deleted(space: Workspace, room: Room, ts: str) -> bool:
    if ts not in room.messages:
        return False
    space.rooms.delete(room, ts)
    return True


METHODS: Mapping[str, Callable[[Workspace, Json], Json]] = {
    "chat.delete": delete,
    "chat.getPermalink": permalink,
    "chat.postEphemeral": post_ephemeral,
    "chat.postMessage": post_message,
    "chat.update": update,
    "reactions.add": react,
}
