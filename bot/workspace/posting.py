"""HTTP mode, Slack's side: envelopes are posted to the app's address, signed with its secret."""

from __future__ import annotations

import asyncio
import hashlib
import hmac
import http.client
import json
import time
from urllib.parse import urlencode, urlsplit

from bot.workspace.wire import Json

EVENTS = "events_api"


class PostError(Exception):
    """The app did not take it; `code` is what Slack makes of that."""

    def __init__(self, code: str) -> None:
        super().__init__(code)
        self.code = code


def signature(secret: str, stamp: str, body: str) -> str:
    """Slack's `v0` signature of a request."""
    base = f"v0:{stamp}:{body}".encode()
    return "v0=" + hmac.new(secret.encode(), base, hashlib.sha256).hexdigest()


class Poster:
    """Posts to one address; what comes back is the acknowledgement."""

    def __init__(self, url: str, secret: str, timeout: float) -> None:
        self._url, self._secret, self._timeout = url, secret, timeout

    async def post(self, kind: str, envelope: Json) -> Json:
        """Deliver one envelope. Raises PostError."""
        return await asyncio.to_thread(self._post, kind, envelope)

    def _post(self, kind: str, envelope: Json) -> Json:
        body, content_type = _body(kind, envelope["payload"])
        stamp = str(int(time.time()))
        headers = {
            "content-type": content_type,
            "x-slack-request-timestamp": stamp,
            "x-slack-signature": signature(self._secret, stamp, body),
        }
        if envelope.get("retry_attempt"):
            headers["x-slack-retry-num"] = str(envelope["retry_attempt"])
            headers["x-slack-retry-reason"] = str(envelope.get("retry_reason") or "")
        place = urlsplit(self._url)
        connection = http.client.HTTPConnection(place.netloc, timeout=self._timeout)
        try:
            connection.request("POST", place.path or "/", body.encode(), headers)
            response = connection.getresponse()
            answer = response.read()
        except TimeoutError as error:
            raise PostError("operation_timeout") from error
        except (OSError, http.client.HTTPException) as error:
            raise PostError("dispatch_failed") from error
        finally:
            connection.close()
        if response.status != 200:
            raise PostError("http_error")
        return _object(answer)


def _body(kind: str, payload: Json) -> tuple[str, str]:
    """Events are JSON, commands a form, clicks a form with JSON in it."""
    if kind == EVENTS:
        return json.dumps(payload), "application/json"
    fields = payload if kind == "slash_commands" else {"payload": json.dumps(payload)}
    return urlencode(fields), "application/x-www-form-urlencoded"


def _object(answer: bytes) -> Json:
    try:
        found = json.loads(answer or b"{}")
    except ValueError:
        return {"text": answer.decode("utf-8", "replace")}
    return found if isinstance(found, dict) else {}
