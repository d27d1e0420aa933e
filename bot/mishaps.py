"""The one way an unexpected error goes: its trace into the log, under an id to be quoted.

Handlers, their workers and ticks all come here. Whoever has a person waiting tells them the id.
"""

from __future__ import annotations

import logging
import secrets


def note(logger: logging.Logger, where: str, error: BaseException) -> str:
    """Log an error with its trace; the id that joins the log and what people are told."""
    mishap = secrets.token_hex(4)
    logger.error("fault %s while %s", mishap, where, exc_info=error)
    return mishap
