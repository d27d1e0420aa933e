"""Every sentence the bot says to people, and nothing else: one class a language.

`Words` is what each language must be able to say, so that the type checker finds a sentence
that one of them misses. Sentences are `Markup`: what people typed is escaped on its way in.
"""

from bot.chat.words.chinese import Chinese
from bot.chat.words.english import English
from bot.chat.words.sentences import Words

_ENGLISH: Words = English()
_CHINESE: Words = Chinese()  # each on a line of its own: then the checker names what is missing
_LANGUAGES = {"en": _ENGLISH, "zh": _CHINESE}


def words_for(locale: str | None) -> Words:
    """The words for a Slack locale such as `en-US`; English where there is nothing nearer."""
    language = (locale or "en").replace("_", "-").split("-")[0].lower()
    return _LANGUAGES.get(language, _LANGUAGES["en"])


__all__ = ["Words", "words_for"]
