"""Logging: one line an event, and never a secret in it."""

from __future__ import annotations

import logging
import re
import sys

_SECRETS = re.compile(
    r"xox[a-z]-[\w-]+|xapp-[\w-]+|xwfp-[\w-]+"  # tokens
    r"|https?://hooks\.slack\.com/\S+|https?://\S*/(?:commands|response|actions)/\S+"
    r"|wss?://\S+"  # socket addresses carry a ticket
    r"|(?<=://)[^/\s:@]*:[^/\s@]*(?=@)"  # user:password of a database address
    r"|(?<=trigger_id=)\S+"
)


class Discreet(logging.Formatter):
    """Formats a record and blots out whatever looks like a secret, in traces as well."""

    def format(self, record: logging.LogRecord) -> str:
        """The line, or lines, of one record."""
        return _SECRETS.sub("[secret]", super().format(record))


def set_up(level: str = "INFO", *, quiet: tuple[str, ...] = ()) -> None:
    """Send log lines to stderr at `level`; loggers named in `quiet` only warn."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Discreet("%(asctime)s %(levelname)s %(name)s: %(message)s"))
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    for name in ("uvicorn", "slack_bolt", "slack_sdk", "apscheduler", "alembic", *quiet):
        logging.getLogger(name).setLevel(max(logging.WARNING, root.level))
