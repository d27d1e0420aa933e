"""English, in six parts by what is being said."""

from bot.chat.words.english.alerts import Alerts
from bot.chat.words.english.answers import Answers
from bot.chat.words.english.forms import Forms
from bot.chat.words.english.maps import Maps


class English(Alerts, Answers, Forms, Maps):
    """The bot's English."""

    language = "en"
