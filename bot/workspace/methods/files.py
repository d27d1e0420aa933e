"""files.*: upload in three steps, as Slack has it since files.upload was retired."""

from __future__ import annotations

import secrets
from collections.abc import Callable, Mapping

from bot.workspace.methods.arguments import need, stamp
from bot.workspace.wire import Json, SlackError
from bot.workspace.workspace import Workspace

IMAGES = {"png": "image/png", "jpg": "image/jpeg", "jpeg": "image/jpeg", "gif": "image/gif"}
"""What the page shows in place; everything else is offered for download."""


def upload_url(space: Workspace, args: Json) -> Json:
    """files.getUploadURLExternal."""
    name = need(args, "filename")
    try:
        length = int(need(args, "length"))
    except ValueError as error:
        raise SlackError("invalid_arguments") from error
    file_id = space.ids.next("F")
    key = secrets.token_urlsafe(18)
    ending = name.rpartition(".")[2].lower()
    space.files[file_id] = {
        "id": file_id,
        "name": name,
        "title": name,
        "size": length,
        "filetype": ending,
        "mimetype": IMAGES.get(ending, "application/octet-stream"),
        "alt_txt": str(args.get("alt_txt") or name),
        "user": space.bot_user,
        "url_private": f"/files/{file_id}/{secrets.token_urlsafe(9)}",
        "upload_key": key,
    }
    return {"upload_url": f"{space.base_url}/upload/{file_id}/{key}", "file_id": file_id}


def store(space: Workspace, file_id: str, key: str, content: bytes) -> None:
    """Take the bytes sent to an upload address. Raises SlackError if that is no such address."""
    file = space.files.get(file_id)
    if file is None or not secrets.compare_digest(file.get("upload_key", ""), key):
        raise SlackError("file_not_found")
    if len(content) != file["size"]:
        raise SlackError("file_size_mismatch")
    space.archive.put_file(file_id, content)
    file["uploaded"] = True


def complete_upload(space: Workspace, args: Json) -> Json:
    """files.completeUploadExternal: the files appear in a message, if a channel is named."""
    done: list[Json] = []
    for item in args.get("files") or ():
        file = space.files.get(str(item.get("id")))
        if file is None or not file.pop("uploaded", False):
            raise SlackError("file_not_found")
        file.pop("upload_key", None)
        file["title"] = item.get("title") or file["name"]
        space.archive.put("file", file["id"], file)
        done.append(dict(file))
    if not done:
        raise SlackError("invalid_arguments")
    if args.get("channel_id"):
        room = space.room_for_bot(str(args["channel_id"]))
        body = {**space.author(), "text": str(args.get("initial_comment") or ""), "files": done}
        thread = stamp(args, "thread_ts", "invalid_thread_ts")
        space.rooms.post(room, {**body, "thread_ts": thread} if thread else body)
    return {"files": done}


METHODS: Mapping[str, Callable[[Workspace, Json], Json]] = {
    "files.completeUploadExternal": complete_upload,
    "files.getUploadURLExternal": upload_url,
}
