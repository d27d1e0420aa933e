"""English, in parts by what is being said."""

from bot.chat.words.english.alerts import Alerts
from bot.chat.words.english.answers import Answers
from bot.chat.words.english.forms import Forms
from bot.chat.words.english.identity import Identity
from bot.chat.words.english.idle import Idle
from bot.chat.words.english.interventions import Interventions
from bot.chat.words.english.maps import Maps
from bot.chat.words.english.notifying import Notifying
from bot.chat.words.english.prospects import Prospects
from bot.chat.words.english.reports import Reports


class English(
    Alerts,
    Answers,
    Forms,
    Identity,
    Idle,
    Interventions,
    Maps,
    Notifying,
    Prospects,
    Reports,
):
    """The bot's English."""

    language = "en"
