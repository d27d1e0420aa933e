"""The repositories of one transaction, together."""

from __future__ import annotations

from sqlmodel import Session, select

from storage.calls import Calls
from storage.counters import Counters
from storage.estimates import Estimates
from storage.events import Events
from storage.grants import Gauges, Grants
from storage.inbox import Inbox
from storage.interventions import Interventions
from storage.outbox import Outbox
from storage.people import People
from storage.preferences import StoredPreferences
from storage.requests import Requests
from storage.settings import Settings
from storage.tables import IdentityRow
from storage.transitions import Transitions
from storage.usage import UsageSamples


class Work:
    """One transaction's view of the store: records in, records out.

    It ends with the `with` block that gave it; used later, it raises. Records may be kept
    and handed to other threads, a Work may not.
    """

    def __init__(self, session: Session) -> None:
        self._session = session
        self.counters = Counters(session)
        self.transitions = Transitions(session)
        self.requests = Requests(session, self.counters, self.transitions)
        self.events = Events(session)
        self.outbox = Outbox(session)
        self.inbox = Inbox(session)
        self.usage = UsageSamples(session)
        self.grants = Grants(session)
        self.gauges = Gauges(session)
        self.people = People(session)
        self.settings = Settings(session)
        self.estimates = Estimates(session)
        self.interventions = Interventions(session)
        self.calls = Calls(session)
        self.preferences = StoredPreferences(self.settings)

    def identity(self) -> str:
        """Return what tells this store from all others."""
        return self._session.exec(select(IdentityRow.id)).one()

    def flush(self) -> None:
        """Send all that was collected to the database; the transaction stays open."""
        self._session.flush()
        self.transitions.flush()
        self.outbox.flush()

    def end(self) -> None:
        """Let go of what was read; whatever is asked from now on raises."""
        self.requests.forget()
