"""Every sentence the bot says to people, and nothing else: one class a language.

`English` is the reference. Another language is a subclass that says the same things: what
it does not say yet comes out in English, and the type checker holds the arguments.
Sentences are `Markup`: what people typed is escaped on its way in.
"""

from bot.chat.words.english import English

Words = English

_LANGUAGES: dict[str, Words] = {"en": English()}


def words_for(locale: str | None) -> Words:
    """The words for a Slack locale such as `en-US`; English where there is nothing nearer."""
    language = (locale or "en").split("-")[0].lower()
    return _LANGUAGES.get(language, _LANGUAGES["en"])


__all__ = ["English", "Words", "words_for"]
