"""How people are named in messages: mentioned by an id the desk knows, otherwise by name.

A message never fails because of a person: who is unknown is shown as they were written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from bot.chat.markup import Markup, escape, is_user_id, mention
from storage.records import Person

Names = Callable[[str], Markup]
"""How a person is named, by Slack id."""


class People:
    """Turns Slack ids into people, names and mentions, asking the desk each time."""

    def __init__(self, person: Callable[[str], Person | None], hushed: Iterable[str] = ()) -> None:
        self._person = person
        self._hushed = frozenset(hushed)

    def hushed(self, people: Iterable[str]) -> People:
        """The same, but these people are only named: a mention would disturb them."""
        return People(self._person, people)

    def name(self, person_id: str) -> Markup:
        """Their name, which notifies nobody."""
        person = self._person(person_id)
        return escape(person.name if person and person.name else person_id, 60)

    def mention(self, person_id: str) -> Markup:
        """A mention, which notifies them; a name where there is no Slack user behind the id."""
        if is_user_id(person_id) and person_id not in self._hushed:
            return mention(person_id)
        return self.name(person_id)
