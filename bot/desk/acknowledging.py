"""Calls for on-call: who takes them, and whom to call next when nobody does."""

from __future__ import annotations

import datetime as dt

from bot import notices
from bot.desk.office import Office
from bot.duty import Duty, FixedDuty
from bot.plans import refuse
from bot.views import Acknowledged, RefusalCode, Refused
from storage.records import Audience, Call, Notice, Role

MAY_TAKE = frozenset({Role.LEAD, Role.ONCALL, Role.ADMIN})
CALLS_AT_MOST = 2
"""How often the fallback is called; then on-call hears that nobody came."""


class Acknowledging(Office):
    """The counter for on-call. `duty` is set by whoever knows the schedule."""

    duty: Duty = FixedDuty(None)

    def acknowledge(self, person_id: str, call: str, *, key: str) -> Acknowledged | Refused:
        """Take what one message says; the first who presses keeps it.

        All calls of the same message are taken, and the message is drawn anew.
        """
        person = self._directory.person(person_id)
        if person.role not in MAY_TAKE and person_id not in self.duty.oncall().people:
            return refuse(RefusalCode.NOT_ON_CALL)
        now = self._wall()
        with self._store.write() as work:
            again = not work.inbox.first(key, now)
            found = work.calls.get(call)
            if found is None:
                return refuse(RefusalCode.UNKNOWN_TARGET, what=call)
            together = work.calls.at(found.channel, found.ts)
            if found.acknowledged_by is not None and found.acknowledged_at is not None:
                mine = again and found.acknowledged_by == person_id
                return Acknowledged(
                    by=found.acknowledged_by,
                    at=found.acknowledged_at.timestamp(),
                    count=len(together),
                    before=not mine,
                )
            for each in together:
                work.calls.acknowledge(each.key, person_id, now)
            work.outbox.redo(found.channel, found.ts)
        self._control.on_notices()
        return Acknowledged(by=person_id, at=now.timestamp(), count=len(together))

    def call_next(self, fallback: str | None, patience: float) -> int:
        """Call the fallback for what nobody has acknowledged in time; return for how many.

        The fallback is called twice, `patience` seconds apart, then on-call is told that
        nobody came. What is due soon is taken along: one message for each step, and seldom.
        """
        now = self._wall()
        with self._store.write() as work:
            soon = now + dt.timedelta(seconds=patience / 2)
            due = work.calls.due(soon) if work.calls.due(now) else ()
            for level in sorted({call.level for call in due}):
                some = [call for call in due if call.level == level]
                work.outbox.put(_escalated(some, level + 1, fallback), now)
                over = level >= CALLS_AT_MOST
                for call in some:
                    later = None if over else now + dt.timedelta(seconds=patience)
                    work.calls.raise_(call.key, later)
        if due:
            self._control.on_notices()
        return len(due)


def _escalated(calls: list[Call], level: int, fallback: str | None) -> Notice:
    over = level > CALLS_AT_MOST
    args = notices.EscalatedArgs(
        calls=tuple(
            notices.CallArgs(
                notice=notices.NoticeKind(call.kind),
                request=call.request,
                channel=call.channel,
                ts=call.ts,
            )
            for call in calls
        ),
        since=min(call.raised for call in calls).timestamp(),
        level=level,
        called=None if over else fallback,
        over=over,
    )
    person = not over and fallback is not None and not fallback.startswith("S")
    return Notice(
        key=f"escalated:{level}:{calls[0].key}",
        kind=args.kind,
        audience=Audience.PERSON if person else Audience.ONCALL,
        request=None,
        target=fallback if person else None,
        args=args.model_dump(mode="json"),
        urgent=True,
    )
