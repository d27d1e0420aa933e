"""What is told of work that was not ready in time, and rests or is held."""

from __future__ import annotations

from bot import notices
from scheduler.model import RestCause
from tests.bot.chat.saying import HOUR, NOW, REQUEUED

RESTS = REQUEUED.model_copy(
    update={
        "cause": "late",
        "rest": notices.RestArgs(cause=RestCause.LATE, tries=2, most=4, until=NOW + HOUR),
    }
)
HELD = REQUEUED.model_copy(
    update={
        "cause": "late",
        "rest": notices.RestArgs(cause=RestCause.LATE, tries=4, most=4, until=None),
    }
)
UNMADE = HELD.model_copy(
    update={
        "cause": "unmade",
        "rest": notices.RestArgs(cause=RestCause.UNMADE, tries=4, most=4, until=None),
    }
)
TEMPLATE_HELD = HELD.model_copy(update={"what": "Deployment", "where": "nlp/chat"})
