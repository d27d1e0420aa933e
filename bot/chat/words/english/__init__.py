"""English, in five parts by what is being said."""

from bot.chat.words.english.alerts import Alerts
from bot.chat.words.english.answers import Answers
from bot.chat.words.english.forms import Forms


class English(Alerts, Answers, Forms):
    """The bot's English."""

    language = "en"
