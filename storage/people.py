"""People: which Slack user belongs to which teams, in which role."""

from __future__ import annotations

from collections.abc import Collection

from sqlmodel import Session, col, delete, select

from storage.records import Person, Role
from storage.tables import PersonRow


class People:
    """The people, inside one transaction. Every order is by id."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, *people: Person) -> None:
        """Store people, each in place of what was known of them."""
        for person in people:
            self._session.merge(
                PersonRow(id=person.id, name=person.name, teams=person.teams, role=person.role)
            )

    def forget(self, ids: Collection[str]) -> None:
        """Remove people."""
        if ids:
            self._session.flush()
            self._session.exec(delete(PersonRow).where(col(PersonRow.id).in_(sorted(ids))))

    def get(self, person_id: str) -> Person | None:
        """Return one person, or None."""
        row = self._session.get(PersonRow, person_id)
        return None if row is None else _record(row)

    def all(self) -> tuple[Person, ...]:
        """Return everybody."""
        rows = self._session.exec(select(PersonRow).order_by(col(PersonRow.id)))
        return tuple(_record(row) for row in rows)

    def find(self, *, team: str | None = None, role: Role | None = None) -> tuple[Person, ...]:
        """Return the people of a team, in a role, or both."""
        return tuple(
            person
            for person in self.all()
            if (team is None or team in person.teams) and (role is None or person.role == role)
        )


def _record(row: PersonRow) -> Person:
    return Person(id=row.id, name=row.name, teams=row.teams, role=row.role)
