"""Keeps secrets out of logs: tokens, trigger ids, response URLs and socket addresses.

A logging filter that rewrites the record before any handler sees it, exceptions included.
"""

from __future__ import annotations

import logging
import re

HIDDEN = "[hidden]"

_SECRETS = re.compile(
    r"""
    (?P<token> x(?:ox[a-z]|app|wfp)-[\w.-]+ )
  | (?P<key> ["']?(?:token|bot_token|user_token|trigger_id|response_url|response_urls
        |authorization|verification_token)["']?\s*[:=]\s*)
    (?: "[^"]*" | '[^']*' | [^\s,}&]+ )
  | (?P<hook> https?://hooks\.slack\.com/\S+ | https?://[^\s"'/]+/respond/[^\s"']+ )
  | (?P<socket> wss?://[^\s"']+ )
    """,
    re.VERBOSE | re.IGNORECASE,
)


LIBRARY_LOGGERS = ("slack_sdk.web.base_client", "slack_sdk.webhook.client")
"""Loggers of slack_sdk that write down what is sent, when they may."""


def redact(text: str) -> str:
    """`text` with everything that looks like a secret hidden."""
    return _SECRETS.sub(lambda found: f"{found['key'] or ''}{HIDDEN}", text)


class Discreet(logging.Filter):
    """Rewrites a record's message and trace; never drops a record."""

    def filter(self, record: logging.LogRecord) -> bool:
        """Always true, after hiding what must not be seen."""
        record.msg, record.args = redact(record.getMessage()), None
        if record.exc_info and not record.exc_text:
            record.exc_text = logging.Formatter().formatException(record.exc_info)
        if record.exc_text:
            record.exc_text = redact(record.exc_text)
            record.exc_info = None
        return True


def discreet_logger(name: str) -> logging.Logger:
    """The logger of that name, with the filter on it once."""
    logger = logging.getLogger(name)
    if not any(isinstance(each, Discreet) for each in logger.filters):
        logger.addFilter(Discreet())
    return logger
