"""What an admin was shown before an order: kept here, and named by a token that the button carries.

A token that is forged, of somebody else or too old to be known stands for nothing: then the order
is shown anew, and nothing is done.
"""

from __future__ import annotations

import datetime as dt
import hashlib
from dataclasses import dataclass

from bot.byhand import Preview
from storage.audit import Intervention
from storage.records import Json
from storage.work import Work

HITS = "hits"
"""Where the grants that an order was confirmed to hit are kept with it."""

_KEY = "preview:"


def hits_of(order: Intervention) -> frozenset[str]:
    """The grants that an order was confirmed to hit."""
    hits = order.wish.get(HITS)
    return frozenset(map(str, hits)) if isinstance(hits, list) else frozenset()


@dataclass(frozen=True, slots=True)
class Shown:
    """Who was shown what: the order in figures, the grants that it stops, the quota it changes."""

    person: str
    order: str
    before: int
    hits: frozenset[str]

    @classmethod
    def of(cls, preview: Preview, person_id: str) -> Shown:
        """What this preview shows."""
        wish = preview.wish
        stops = wish.move is not False  # who may finish is not stopped
        return cls(
            person=person_id,
            order=f"{wish.kind.value}:{preview.where}:{wish.beneficiary or ''}",
            before=preview.before,
            hits=frozenset(hit.grant for hit in preview.hits) if stops else frozenset(),
        )

    @classmethod
    def recall(cls, work: Work, token: str | None) -> Shown | None:
        """What a token stands for; None if it is not known."""
        found = work.inbox.answer(f"{_KEY}{token}") if token else None
        if not found:
            return None
        hits = found.get(HITS)
        return cls(
            person=str(found.get("person")),
            order=str(found.get("order")),
            before=int(str(found.get("before"))),
            hits=frozenset(map(str, hits)) if isinstance(hits, list) else frozenset(),
        )

    def is_within(self, before: Shown | None) -> bool:
        """Whether this is what was shown before, or hits fewer of the same."""
        if before is None:
            return False
        same = (self.person, self.order, self.before) == (
            before.person,
            before.order,
            before.before,
        )
        return same and self.hits <= before.hits

    def keep(self, work: Work, key: str, at: dt.datetime) -> str:
        """Remember it under the delivery that asked for it; the token."""
        token = hashlib.sha256(f"{self.person}:{key}".encode()).hexdigest()[:16]
        says: Json = {
            "person": self.person,
            "order": self.order,
            "before": self.before,
            HITS: sorted(self.hits),
        }
        work.inbox.first(f"{_KEY}{token}", at)
        work.inbox.remember(f"{_KEY}{token}", says)
        return token
