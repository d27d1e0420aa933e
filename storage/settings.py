"""Settings: stored pauses, boosts and overrides, each with its author and end."""

from __future__ import annotations

import datetime as dt

from sqlalchemy import or_
from sqlmodel import Session, col, delete, select

from storage.records import Setting
from storage.tables import SettingRow


class Settings:
    """The settings, inside one transaction. Every order is by name."""

    def __init__(self, session: Session) -> None:
        self._session = session

    def put(self, setting: Setting) -> None:
        """Store a setting in place of the one of that name."""
        self._session.merge(
            SettingRow(
                name=setting.name,
                value=setting.value,
                author=setting.author,
                reason=setting.reason,
                until=setting.until,
            )
        )

    def get(self, name: str) -> Setting | None:
        """Return one setting, also when its end has passed; None if there is none."""
        row = self._session.get(SettingRow, name)
        return None if row is None else _record(row)

    def all(self, *, now: dt.datetime | None = None) -> tuple[Setting, ...]:
        """Return all settings, or those that still hold at `now`."""
        wanted = select(SettingRow).order_by(col(SettingRow.name))
        if now is not None:
            until = col(SettingRow.until)
            wanted = wanted.where(or_(until.is_(None), until > now))
        return tuple(_record(row) for row in self._session.exec(wanted))

    def under(self, *prefixes: str) -> tuple[Setting, ...]:
        """Return the settings whose names begin with one of these, also those that are over."""
        name = col(SettingRow.name)
        begins = or_(*(name.startswith(prefix, autoescape=True) for prefix in prefixes))
        wanted = select(SettingRow).where(begins).order_by(name)
        return tuple(_record(row) for row in self._session.exec(wanted))

    def delete(self, name: str) -> bool:
        """Remove a setting; return whether there was one."""
        self._session.flush()
        gone = self._session.exec(delete(SettingRow).where(col(SettingRow.name) == name))
        return bool(gone.rowcount)


def _record(row: SettingRow) -> Setting:
    return Setting(
        name=row.name, value=row.value, author=row.author, reason=row.reason, until=row.until
    )
