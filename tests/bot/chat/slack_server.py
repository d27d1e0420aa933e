"""A Slack that listens on loopback and remembers what it was told, for tests of the handlers."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass(frozen=True, slots=True)
class Call:
    """One call: the method (or `respond`) and its arguments."""

    method: str
    arguments: dict[str, Any]


@dataclass
class SlackServer:
    """Answers everything with ok, or with what `errors` says for a method, once each."""

    url: str = ""
    calls: list[Call] = field(default_factory=list)
    errors: dict[str, list[str]] = field(default_factory=dict)
    parents: dict[str, dict[str, Any]] = field(default_factory=dict)
    locales: dict[str, str] = field(default_factory=dict)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def of(self, *methods: str) -> list[dict[str, Any]]:
        """The arguments of all calls of these methods, in order."""
        with self.lock:
            return [call.arguments for call in self.calls if call.method in methods]

    def answer(self, path: str, query: str, body: bytes, kind: str) -> dict[str, Any]:
        """Remember a call and decide what to say."""
        if "json" in kind:
            arguments = json.loads(body or b"{}")
        else:
            pairs = parse_qs(body.decode() or query)
            arguments = {key: values[0] for key, values in pairs.items()}
        for key in ("blocks", "view", "metadata"):
            if isinstance(arguments.get(key), str):
                arguments[key] = json.loads(arguments[key])
        method = "respond" if path.startswith("/respond/") else path.removeprefix("/api/")
        with self.lock:
            self.calls.append(Call(method, arguments))
            queue = self.errors.get(method, [])
            error = queue.pop(0) if queue else None
            if error:
                return {"ok": False, "error": error}
            stamp = f"{len(self.calls)}.000100"
            if method == "conversations.replies":
                parent = self.parents.get(str(arguments.get("ts")))
                return {"ok": True, "messages": [parent] if parent else []}
            if method == "users.info":
                return {"ok": True, "user": {"locale": self.locales.get(arguments["user"], "")}}
            return {"ok": True, "channel": arguments.get("channel"), "ts": stamp}


@contextmanager
def slack_server() -> Iterator[SlackServer]:
    """Run one on a free port."""
    slack = SlackServer()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            length = int(self.headers.get("content-length") or 0)
            parts = urlsplit(self.path)
            kind = self.headers.get("content-type") or ""
            answer = slack.answer(parts.path, parts.query, self.rfile.read(length), kind)
            refused = parts.path.startswith("/respond/") and not answer["ok"]
            body = json.dumps(answer).encode()
            self.send_response(400 if refused else 200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST  # noqa: N815 the library names its hooks so

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002 its signature
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    slack.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield slack
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
