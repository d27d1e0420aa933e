"""Preferences: what a person wants to hear, where and when; shown and set by themselves."""

from __future__ import annotations

from collections.abc import Iterable

from bot.desk.office import Office
from bot.plans import near, refuse
from bot.preferences import FIELDS, Preferences, changed, read_preferences
from bot.refusals import read_refusal, write_refusal
from bot.views import PreferencesView, RefusalCode, Refused


class Preferring(Office):
    """The counter for preferences."""

    def preferences(self, person_id: str) -> Preferences:
        """What a person wants; the defaults where they never said."""
        with self._store.read() as view:
            return read_preferences(view.preferences.get(person_id))

    def prefs(
        self, person_id: str, changes: Iterable[tuple[str, str]] = (), *, key: str
    ) -> PreferencesView | Refused:
        """Set fields, all or none of them, and show all; without changes, only show."""
        wanted = [(name.strip().lower(), value) for name, value in changes]
        if not wanted:
            return _view(person_id, self.preferences(person_id))
        with self._store.write() as work:
            first = work.inbox.first(key, self._wall())
            before = read_preferences(work.preferences.get(person_id))
            if not first:
                answer = work.inbox.answer(key) or {}
                return read_refusal(answer) if "refused" in answer else _view(person_id, before)
            after = _apply(before, wanted)
            if isinstance(after, Refused):
                work.inbox.remember(key, write_refusal(after))
                return after
            work.preferences.put(person_id, after.model_dump_json())
        return _view(person_id, after, tuple(dict.fromkeys(name for name, _ in wanted)))


def _apply(before: Preferences, wanted: list[tuple[str, str]]) -> Preferences | Refused:
    after = before
    for name, value in wanted:
        if name not in FIELDS:
            fields = ", ".join(FIELDS)
            return refuse(
                RefusalCode.UNKNOWN_PREFERENCE, near(name, FIELDS), field=name, fields=fields
            )
        try:
            after = changed(after, name, value)
        except ValueError:
            return refuse(RefusalCode.NOT_A_PREFERENCE, FIELDS[name], field=name, value=value)
    return after


def _view(
    person_id: str, preferences: Preferences, changed_fields: tuple[str, ...] = ()
) -> PreferencesView:
    return PreferencesView(person=person_id, fields=preferences.shown(), changed=changed_fields)
