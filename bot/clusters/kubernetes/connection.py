"""The wire: paths in, plain JSON out, over one client that reads its token again when it must.

Objects stay dictionaries: of a cluster with tens of thousands of pods only a few fields are
kept, and making models of the rest would cost most of the time and memory.
"""

from __future__ import annotations

import json
import logging
import threading
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from typing import Any

import urllib3
from kubernetes import client as kube

from bot.clusters.base import ClusterUnreachable

log = logging.getLogger(__name__)

Json = dict[str, Any]
Body = Mapping[str, Any] | Sequence[Json]
CONNECT, READ = 5.0, 30.0  # seconds for a connection, and for the next bytes of an answer
SILENCE = 90.0  # seconds without anything on a watch, whose bookmarks come every minute
MERGE = "application/merge-patch+json"
STRATEGIC = "application/strategic-merge-patch+json"
STEPS = "application/json-patch+json"  # a list of steps, where MERGE is one body
_WEBHOOK = "failed calling webhook"  # how the server begins to say that one did not answer
_BUDGET = "DisruptionBudget"  # the cause of an eviction that has to wait
_INTERNAL, _STORE = 500, "etcdserver"  # an error of the server, and whose it is if it is of all
_WORTH_A_RETRY = frozenset({408, 429, 500, 502, 503, 504})


class Unanswered(ClusterUnreachable):
    """No answer, or one that says to come back later: whether a write was done is not known.

    `after` is when to come back, in seconds; `apart` that the server is well, and only something
    about this object is not: a budget, a webhook, an error that it has with it alone.
    """

    def __init__(self, message: str, after: float | None = None, *, apart: bool = False) -> None:
        super().__init__(message)
        self.after, self.apart = after, apart


class Refused(Exception):
    """The API server said no. `status` is the HTTP code, `reason` Kubernetes' word for it."""

    def __init__(self, status: int, reason: str, message: str) -> None:
        super().__init__(f"{status} {reason}: {message}")
        self.status, self.reason = status, reason


class Connection:
    """Safe to use from any thread. `open_client` makes a client with the token as it is now."""

    def __init__(
        self,
        open_client: Callable[[], kube.ApiClient],
        *,
        connect: float = CONNECT,
        read: float = READ,
        silence: float = SILENCE,
    ) -> None:
        self._open_client = open_client
        self.silence = silence
        self._timeout = (connect, read)
        self._lock = threading.Lock()
        self._client = open_client()
        self._built = 1

    def get(self, path: str, **query: str | int) -> Json:
        """Read an object or a list. Raises Unanswered or Refused."""
        return self._ask("GET", path, query)

    def post(self, path: str, body: Mapping[str, Any], **query: str | int) -> Json:
        """Create an object, or a subresource such as an eviction. Raises Unanswered or Refused."""
        return self._ask("POST", path, query, body)

    def put(self, path: str, body: Mapping[str, Any]) -> Json:
        """Replace an object. Raises Unanswered or Refused."""
        return self._ask("PUT", path, {}, body)

    def patch(self, path: str, body: Body, kind: str = MERGE) -> Json:
        """Change an object. Raises Unanswered or Refused."""
        return self._ask("PATCH", path, {"fieldManager": "gpubot"}, body, kind)

    def delete(self, path: str, body: Mapping[str, Any]) -> Json:
        """Delete an object; `body` are the options. Raises Unanswered or Refused."""
        return self._ask("DELETE", path, {}, body)

    def stream(self, path: str, seconds: int, **query: str | int) -> Generator[Json]:
        """The events of a watch, as they come, until the server ends it.

        Returns once the server has begun to answer. Raises Unanswered when the connection
        breaks or is silent for `SILENCE` seconds, Refused when the server says no at once.
        """
        asked = {**query, "watch": "true", "timeoutSeconds": seconds}
        timeout = (self._timeout[0], min(seconds + self._timeout[1], self.silence))
        return _events(path, self._send("GET", path, asked, None, None, timeout).response)

    def _ask(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int],
        body: Body | None = None,
        kind: str | None = None,
    ) -> Json:
        answer = self._send(method, path, query, body, kind, self._timeout)
        try:
            return _as_json(answer.read())
        except (urllib3.exceptions.HTTPError, OSError) as error:
            raise Unanswered(f"{method} {path}: {error}") from error

    def _send(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int],
        body: Body | None,
        kind: str | None,
        timeout: tuple[float, float],
    ) -> Any:
        """The raw answer. A token that is not taken is read again once."""
        built = self._built
        answer = self._try(method, path, query, body, kind, timeout)
        if answer.status == 401:
            answer.read()
            self._rebuild(built)
            answer = self._try(method, path, query, body, kind, timeout)
        if not 200 <= answer.status < 300:
            raise _refusal(method, path, answer)
        return answer

    def _try(
        self,
        method: str,
        path: str,
        query: Mapping[str, str | int],
        body: Body | None,
        kind: str | None,
        timeout: tuple[float, float],
    ) -> Any:
        client = self._client
        headers = {"Accept": "application/json"}
        if body is not None:
            headers["Content-Type"] = kind or "application/json"
        parts = client.param_serialize(
            method,
            path,
            query_params=list(query.items()),
            header_params=headers,
            body=body,
            auth_settings=["BearerToken"],
        )
        try:
            return client.call_api(*parts, _request_timeout=timeout)
        except (urllib3.exceptions.HTTPError, OSError, kube.ApiException) as error:
            raise Unanswered(f"{method} {path}: {error}") from error

    def _rebuild(self, built: int) -> None:
        """Read the token again, unless another thread has since. Raises Unanswered."""
        with self._lock:
            if built == self._built:
                log.info("the API server does not take the token: reading it again")
                try:
                    self._client = self._open_client()
                except Exception as error:  # its file is being replaced, or was taken away
                    raise Unanswered(f"the token cannot be read again: {error}") from error
                self._built += 1


def _events(path: str, raw: Any) -> Generator[Json]:
    try:
        for line in _lines(raw):
            yield json.loads(line)
    except (urllib3.exceptions.HTTPError, OSError, json.JSONDecodeError) as error:
        raise Unanswered(f"the watch of {path} broke: {error}") from error
    finally:
        raw.close()
        raw.release_conn()


def _lines(raw: Any) -> Iterator[bytes]:
    rest = b""
    for part in raw.stream(amt=None, decode_content=True):
        rest += part
        *whole, rest = rest.split(b"\n")
        yield from (line for line in whole if line.strip())
    if rest.strip():
        yield rest


def _as_json(text: bytes) -> Json:
    found = json.loads(text) if text else {}
    return found if isinstance(found, dict) else {}


def _refusal(method: str, path: str, answer: Any) -> Exception:
    """What a status that is no success means: come back later, or no."""
    text = answer.read()
    try:
        body = _as_json(text)
    except json.JSONDecodeError:  # the server sheds load in plain text
        body = {}
    message = str(body.get("message") or text[:200].decode("utf-8", "replace"))
    causes = [one for one in (body.get("details") or {}).get("causes") or () if one]
    more = "; ".join(str(one.get("message") or "") for one in causes)
    said = f"{method} {path}: {answer.status} {message} {more}".rstrip()
    if answer.status in _WORTH_A_RETRY:
        after = answer.getheader("Retry-After")
        wait = float(after) if after and after.isdigit() else None
        budget = any(one.get("reason") == _BUDGET for one in causes)
        # One that takes no writes at all lets our Lease run out, and then nothing is decided.
        own = answer.status == _INTERNAL and body.get("kind") == "Status" and _STORE not in message
        return Unanswered(said, wait, apart=budget or own or _WEBHOOK in message)
    return Refused(answer.status, str(body.get("reason") or ""), message)
