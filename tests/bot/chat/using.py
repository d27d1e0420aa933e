"""Notices about how GPUs are used."""

from __future__ import annotations

from bot import notices
from tests.bot.chat.saying import ANN, HOUR, NOW

IDLE = notices.IdleArgs(
    request="R-1042",
    name="llama-sft",
    owner=ANN,
    team="nlp",
    gpus=16,
    idle=16,
    below=0.05,
    after=HOUR,
    until=NOW + HOUR / 2,
    keep=4 * HOUR,
    releases=True,
)
MONTHLY = notices.MonthlyArgs(
    team="nlp",
    month="2026-01",
    percent=80,
    used=41_234.5,
    planned=50_000,
    ends=1_769_904_000.0,
)
