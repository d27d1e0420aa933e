"""Inbox: what was already handled, by key, with the first answer.

Slack delivers the same event again when an answer is slow, and a retry may be the only
delivery that arrives: the key decides, never the mark "retry".
"""

from __future__ import annotations

import datetime as dt

from sqlmodel import Session, col, delete, select, update

from storage.records import Json
from storage.tables import InboxRow


class Inbox:
    """The inbox, inside one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def first(self, key: str, at: dt.datetime) -> bool:
        """Return True the first time a key is seen, and remember it with this transaction."""
        if self._session.exec(select(InboxRow.key).where(col(InboxRow.key) == key)).first():
            return False
        self._session.add(InboxRow(key=key, at=at))
        self._session.flush()
        return True

    def remember(self, key: str, answer: Json) -> None:
        """Keep the answer that a second delivery gets; KeyError if the key was never seen."""
        changed = self._session.exec(
            update(InboxRow).where(col(InboxRow.key) == key).values(answer=answer)
        )
        if not changed.rowcount:
            raise KeyError(key)

    def answer(self, key: str) -> Json | None:
        """Return the remembered answer, or None if there is none (yet)."""
        return self._session.exec(select(InboxRow.answer).where(col(InboxRow.key) == key)).first()

    def prune(self, before: dt.datetime) -> int:
        """Forget keys first seen before a moment; return how many."""
        return self._session.exec(delete(InboxRow).where(col(InboxRow.at) < before)).rowcount
