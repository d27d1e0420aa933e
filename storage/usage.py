"""Usage: the last sample of decayed chip-hours of each team."""

from __future__ import annotations

from sqlmodel import Session, col, select

from storage.records import UsageSample
from storage.tables import UsageRow


class UsageSamples:
    """The samples, inside one transaction."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, *samples: UsageSample) -> None:
        """Store samples, each in place of its team's last."""
        for sample in samples:
            self._session.merge(
                UsageRow(team=sample.team, chip_hours=sample.chip_hours, at=sample.at)
            )

    def all(self) -> tuple[UsageSample, ...]:
        """Return the last sample of each team, by name."""
        rows = self._session.exec(select(UsageRow).order_by(col(UsageRow.team)))
        return tuple(
            UsageSample(team=row.team, chip_hours=row.chip_hours, at=row.at) for row in rows
        )
