"""Preferences: what each person wants to hear, as text under their id.

They share the table of settings, under names of their own, with the person as author.
"""

from __future__ import annotations

from storage.records import Setting
from storage.settings import Settings

PREFIX = "preferences:"


class StoredPreferences:
    """The preferences, inside one transaction. What the text means is not known here."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def get(self, person_id: str) -> str | None:
        """Return what a person set, or None."""
        found = self._settings.get(PREFIX + person_id)
        return None if found is None else found.value

    def put(self, person_id: str, text: str) -> None:
        """Store what a person set, in place of what was."""
        self._settings.put(Setting(name=PREFIX + person_id, value=text, author=person_id))

    def all(self) -> dict[str, str]:
        """Return what everybody set, by person."""
        return {
            setting.name.removeprefix(PREFIX): setting.value
            for setting in self._settings.all()
            if setting.name.startswith(PREFIX)
        }
