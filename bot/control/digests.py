"""Who is due a digest: the channel, if the settings say so, and everybody who asked for one.

A digest is due at nine in the morning, weekly ones on Mondays, where its reader is. The key
of its notice names the day, so it comes once, whoever restarts when.
"""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from zoneinfo import ZoneInfo

from bot import notices
from bot.asks import Period
from bot.control.ledger import Ledger
from bot.preferences import Digest, read_preferences
from scheduler.engine import Engine
from storage.records import Audience, Notice
from storage.store import Store

HOUR_OF_DAY = 9
LATE_BY = dt.timedelta(hours=12)
"""A digest that is later than this (nobody ran the bot) is left out: the next one comes soon."""

_PERIODS = {Digest.DAILY: Period.DAY, Digest.WEEKLY: Period.WEEK}


@dataclass(slots=True)
class DigestSweep:
    """Puts the digests that are due. `channel` is how often the channel gets one."""

    store: Store
    channel: Digest

    def __call__(self, _: Engine, ledger: Ledger) -> None:
        """Look at everybody's wish as of the ledger's moment."""
        self._put(ledger, self.channel, "UTC", None)
        with self.store.read() as view:
            wishes = view.preferences.all()
        for person, text in sorted(wishes.items()):
            wish = read_preferences(text)
            self._put(ledger, wish.digest, wish.zone or "UTC", person)

    def _put(self, ledger: Ledger, often: Digest, zone: str, person: str | None) -> None:
        due = last_due(ledger.at, often, zone)
        if due is None or ledger.at - due > LATE_BY:
            return
        args = notices.DigestArgs(period=_PERIODS[often], until=due.timestamp())
        ledger.say(
            Notice(
                key=f"digest:{person or 'channel'}:{often}:{due:%Y-%m-%d}",
                kind=args.kind,
                audience=Audience.PERSON if person else Audience.CHANNEL,
                request=None,
                target=person,
                args=args.model_dump(mode="json"),
            )
        )


def last_due(at: dt.datetime, often: Digest, zone: str) -> dt.datetime | None:
    """The last moment, in UTC, at which a digest was due; None if there is to be none."""
    if often is Digest.OFF:
        return None
    local = at.astimezone(ZoneInfo(zone))
    due = local.replace(hour=HOUR_OF_DAY, minute=0, second=0, microsecond=0)
    if due > local:
        due -= dt.timedelta(days=1)
    if often is Digest.WEEKLY:
        due -= dt.timedelta(days=due.weekday())
    return due.astimezone(dt.UTC)
