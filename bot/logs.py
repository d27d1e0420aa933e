"""Logging: one line an event on stderr, and never a secret in it."""

from __future__ import annotations

import logging
import sys

from bot.chat.discreet import Discreet

_CHATTY = ("uvicorn", "slack_bolt", "slack_sdk", "apscheduler", "alembic")


def set_up(level: str = "INFO") -> None:
    """Send log lines to stderr at `level`; libraries only warn."""
    handler = logging.StreamHandler(sys.stderr)
    handler.addFilter(Discreet())
    handler.setFormatter(logging.Formatter("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in _CHATTY:
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
