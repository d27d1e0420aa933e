"""What every rendering needs: words of a language, names of people, and a few settings."""

from __future__ import annotations

from dataclasses import dataclass, replace

from bot.chat.markup import Markup, is_user_id, mention, mention_group
from bot.chat.people import People
from bot.chat.words import Words, words_for


@dataclass(frozen=True, slots=True, kw_only=True)
class Voice:
    """`command` is what stands before a verb in examples; `label` the one that pods carry.

    `oncall_group` is the id of the Slack user group (or person) to mention for on-call, if
    there is one; `channel` the id of the channel that the cards are posted in.
    """

    words: Words
    people: People
    command: str = "/gpu "
    label: str | None = "gpubot.dev/request"
    oncall_group: str | None = None
    channel: str | None = None

    def within(self, locale: str | None) -> Voice:
        """The same voice in the language of a locale."""
        return replace(self, words=words_for(locale))

    @property
    def oncall(self) -> Markup | None:
        """The mention of whoever is on call."""
        if not self.oncall_group:
            return None
        who = self.oncall_group
        return mention(who) if is_user_id(who) else mention_group(who)
