"""Live updates for the pages that are open, one WebSocket each."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import Callable
from dataclasses import dataclass, field

from starlette.websockets import WebSocket, WebSocketDisconnect

from bot.workspace.wire import Json


@dataclass(slots=True, eq=False)
class Page:
    """One open page, looked at by one person."""

    person: str
    queue: asyncio.Queue[Json] = field(default_factory=asyncio.Queue)


class Hub:
    """Who is looking, and what to tell them."""

    def __init__(self) -> None:
        self._pages: list[Page] = []

    def tell(self, event: Json, *, person: str | None = None) -> None:
        """Tell all open pages, or only those of one person."""
        for page in self._pages:
            if person is None or page.person == person:
                page.queue.put_nowait(event)

    def tell_each(self, make: Callable[[str], Json | None]) -> None:
        """Tell each page what `make` gives for its person, if anything."""
        for page in self._pages:
            event = make(page.person)
            if event is not None:
                page.queue.put_nowait(event)

    async def serve(self, socket: WebSocket, person: str, boot: Callable[[], Json]) -> None:
        """Send `boot()` and then every update, in order, until the page is closed."""
        await socket.accept()
        page = Page(person)
        self._pages.append(page)
        page.queue.put_nowait(boot())
        sender = asyncio.create_task(self._send_all(socket, page))
        try:
            while True:
                await socket.receive_text()
        except (WebSocketDisconnect, KeyError):
            pass  # closed by the page
        finally:
            self._pages.remove(page)
            sender.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await sender

    async def _send_all(self, socket: WebSocket, page: Page) -> None:
        with contextlib.suppress(WebSocketDisconnect, RuntimeError):
            while True:
                await socket.send_text(json.dumps(await page.queue.get(), ensure_ascii=False))
