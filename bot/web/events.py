"""Slack's requests over HTTP instead of Socket Mode: checked, written down, dispatched.

A request whose signature is wrong or old is refused before anything is read from it. What
is right is put into the spool before Bolt sees it, as a delivery over the socket is.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable

from slack_bolt import App, BoltRequest, BoltResponse
from slack_bolt.adapter.starlette.handler import to_starlette_response
from slack_sdk.signature import SignatureVerifier
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route

from bot.chat.spool import Delivery, Spool

PATH = "/slack/events"
LONGEST_BODY = 1 << 20
"""Bytes: Slack's own requests are far smaller."""


class EventsDoor:
    """The one address for events, commands and clicks. `heard` is told of each genuine one."""

    def __init__(
        self,
        app: App,
        *,
        signing_secret: str,
        spool: Spool | None = None,
        heard: Callable[[], None] = lambda: None,
    ) -> None:
        self._app, self._spool, self._heard = app, spool, heard
        self._verifier = SignatureVerifier(signing_secret)

    def routes(self) -> list[Route]:
        """Where Slack posts to."""
        return [Route(PATH, self.receive, methods=["POST"])]

    async def receive(self, request: Request) -> Response:
        """One request of Slack's; answered as soon as it is acknowledged."""
        raw = await request.body()
        headers = {name.lower(): value for name, value in request.headers.items()}
        if len(raw) > LONGEST_BODY or not self._verifier.is_valid_request(raw, headers):
            return PlainTextResponse("the signature does not fit", status_code=401)
        asked = BoltRequest(
            body=raw.decode("utf-8", "replace"),
            query=request.url.query,
            headers={name: [value] for name, value in headers.items()},
        )
        self._heard()
        return to_starlette_response(await run_in_threadpool(self._take, asked))

    def _take(self, asked: BoltRequest) -> BoltResponse:
        if self._spool is None:
            return self._app.dispatch(asked)
        name = f"http-{uuid.uuid4()}"
        with self._spool.keeping(Delivery(envelope_id=name, payload=asked.body, headers={})):
            return self._app.dispatch(asked)
