"""Every sentence that a language has to say: what `English` and `Chinese` must both have.

A sentence that is missing in one of them, or takes other arguments there, is a type error.
"""

from __future__ import annotations

from typing import Protocol

from bot.chat.words.sentences.alerts import Alerts
from bot.chat.words.sentences.answers import Answers
from bot.chat.words.sentences.changes import Changes
from bot.chat.words.sentences.families import Families
from bot.chat.words.sentences.forms import Forms
from bot.chat.words.sentences.identity import Identity
from bot.chat.words.sentences.idle import Idle
from bot.chat.words.sentences.interventions import Interventions
from bot.chat.words.sentences.maps import Maps
from bot.chat.words.sentences.mistakes import Mistakes
from bot.chat.words.sentences.notifying import Notifying
from bot.chat.words.sentences.outside import Outside
from bot.chat.words.sentences.prospects import Prospects
from bot.chat.words.sentences.reasons import Reasons
from bot.chat.words.sentences.reports import Reports
from bot.chat.words.sentences.standing import Standing


class Words(
    Alerts,
    Answers,
    Changes,
    Families,
    Forms,
    Identity,
    Idle,
    Interventions,
    Maps,
    Mistakes,
    Notifying,
    Outside,
    Prospects,
    Reasons,
    Reports,
    Standing,
    Protocol,
):
    """A language."""

    language: str
