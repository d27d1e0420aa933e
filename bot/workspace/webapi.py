"""The Web API over HTTP: arguments in three encodings, tokens, limits, faults, answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any
from urllib.parse import parse_qsl

from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from bot.workspace.faults import FaultKind
from bot.workspace.methods import METHODS
from bot.workspace.methods.chat import respond
from bot.workspace.methods.files import IMAGES, store
from bot.workspace.wire import Json, RateLimitedError, SlackError
from bot.workspace.workspace import Workspace

_JSON_ARGUMENTS = ("blocks", "view", "metadata", "files", "attachments")
_APP_TOKEN_METHODS = ("apps.connections.open",)
_NO_TOKEN_METHODS = ("api.test",)


class WebApi:
    """The endpoints the app calls."""

    def __init__(self, workspace: Workspace) -> None:
        self._space = workspace

    async def call(self, request: Request) -> Response:
        """POST or GET /api/{method}."""
        method = str(request.path_params["method"])
        slow = self._space.faults.take(FaultKind.SLOW, method)
        if slow is not None:
            await asyncio.sleep(slow.seconds)
        if self._space.faults.take(FaultKind.SERVER_ERROR, method):
            return PlainTextResponse("upstream connect error", status_code=503)
        try:
            args = await _arguments(request)
            answer: Json = {"ok": True, **self._run(method, args, request)}
        except RateLimitedError as error:
            headers = {"Retry-After": str(error.retry_after)}
            return JSONResponse(error.body(), status_code=429, headers=headers)
        except SlackError as error:
            answer = error.body()
        if self._space.faults.take(FaultKind.LOST_ANSWER, method):
            return PlainTextResponse("upstream connect error", status_code=503)
        scopes = ",".join(self._space.options.scopes)
        return JSONResponse(answer, headers={"x-oauth-scopes": scopes})

    def _run(self, method: str, args: Json, request: Request) -> Json:
        run = METHODS.get(method)
        if run is None:
            raise SlackError("unknown_method", extra={"req_method": method})
        self._check_token(method, args, request)
        storm = self._space.faults.take(FaultKind.RATE_LIMITED, method)
        if storm is not None:
            raise RateLimitedError(max(1, int(storm.seconds)))
        if args.get("blocks") and self._space.faults.take(FaultKind.INVALID_BLOCKS, method):
            raise SlackError(
                "invalid_blocks", messages=("unsupported type [json-pointer:/blocks]",)
            )
        self._space.options.limits.check(method, str(args.get("channel", "")))
        return run(self._space, args)

    def _check_token(self, method: str, args: Json, request: Request) -> None:
        scheme, _, token = request.headers.get("authorization", "").partition(" ")
        token = token if scheme.lower() == "bearer" else str(args.get("token") or "")
        if method in _NO_TOKEN_METHODS:
            return
        if not token:
            raise SlackError("not_authed")
        options = self._space.options
        wanted, other = options.bot_token, options.app_token
        if method in _APP_TOKEN_METHODS:
            wanted, other = other, wanted
        if token == other:
            raise SlackError("not_allowed_token_type")
        if token != wanted:
            raise SlackError("invalid_auth")

    async def respond(self, request: Request) -> Response:
        """POST /respond/{key}: a response to a command or a click."""
        try:
            respond(self._space, str(request.path_params["key"]), await _arguments(request))
        except SlackError as error:
            gone = error.code in ("invalid_url", "expired_url", "used_url")
            return JSONResponse(error.body(), status_code=404 if gone else 400)
        return PlainTextResponse("ok")

    async def upload(self, request: Request) -> Response:
        """POST /upload/{file}/{key}: the bytes of a file."""
        path = request.path_params
        try:
            store(self._space, str(path["file"]), str(path["key"]), await request.body())
        except SlackError as error:
            return PlainTextResponse(error.code, status_code=400)
        return PlainTextResponse("OK")

    async def file(self, request: Request) -> Response:
        """GET /files/{file}/{key}: the bytes of a file, for the page."""
        file = self._space.files.get(str(request.path_params["file"]))
        content = None
        if file is not None and file["url_private"] == request.url.path:
            content = self._space.archive.file(file["id"])
        if file is None or content is None:
            return PlainTextResponse("not found", status_code=404)
        headers = {"X-Content-Type-Options": "nosniff"}
        if file["mimetype"] not in IMAGES.values():
            headers["Content-Disposition"] = "attachment"
        return Response(content, media_type=file["mimetype"], headers=headers)


async def _arguments(request: Request) -> Json:
    """Arguments from the address and from a form or JSON body, the body winning.

    Raises:
        SlackError: `invalid_json`, `invalid_blocks_format` and the like.

    """
    args: Json = dict(request.query_params)
    body = await request.body()
    if request.headers.get("content-type", "").startswith("application/json"):
        try:
            given = json.loads(body or b"{}")
        except ValueError as error:
            raise SlackError("invalid_json") from error
        if not isinstance(given, dict):
            raise SlackError("json_not_object")
        args |= given
    else:
        args |= dict(parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))
    for name in _JSON_ARGUMENTS:
        if isinstance(args.get(name), str):
            args[name] = _decoded(name, args[name])
    return args


def _decoded(name: str, text: str) -> Any:
    if not text:
        return None
    try:
        return json.loads(text)
    except ValueError as error:
        code = "invalid_blocks_format" if name == "blocks" else "invalid_arguments"
        raise SlackError(code) from error
