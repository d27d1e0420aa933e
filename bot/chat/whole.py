"""A click that says nothing of what was clicked: answered before Bolt looks into it.

Bolt takes the first action of a click for granted, also while it calls middleware and its own
error handler, so such a delivery would never be acknowledged.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from concurrent.futures import Executor
from typing import Any

from slack_bolt import BoltRequest, BoltResponse
from slack_bolt.middleware import Middleware

log = logging.getLogger(__name__)


class WholePresses(Middleware):
    """Lets through what can be read, and has `reject` answer a click that lacks its action."""

    def __init__(self, reject: Callable[[Mapping[str, Any]], None], workers: Executor) -> None:
        self._reject, self._workers = reject, workers

    def process(
        self,
        *,
        req: BoltRequest,
        resp: BoltResponse,
        next: Callable[[], BoltResponse],  # noqa: A002 - Bolt's
    ) -> BoltResponse | None:
        """Acknowledge an empty click at once; the answer follows."""
        del resp
        if _readable(req.body):
            return next()
        log.warning("a click without an action was turned down")
        if isinstance(req.body.get("user"), Mapping) and req.body["user"].get("id"):
            self._workers.submit(self._reject, req.body)
        return BoltResponse(status=200, body="")


def _readable(body: Mapping[str, Any]) -> bool:
    if body.get("type") != "block_actions":
        return True
    actions = body.get("actions")
    first = actions[0] if isinstance(actions, list) and actions else None
    return isinstance(first, Mapping) and isinstance(first.get("action_id"), str)
