"""Calls for on-call: who takes them, and whom to call next when nobody does."""

from __future__ import annotations

import datetime as dt

from bot import notices
from bot.clock import moment
from bot.desk.office import Office
from bot.duty import Duty, FixedDuty
from bot.plans import refuse
from bot.views import Acknowledged, RefusalCode, Refused
from storage.records import Audience, Call, Notice, Role
from storage.work import Work

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
        if not self._may_take(person_id, call):
            return refuse(RefusalCode.NOT_ON_CALL)
        now = moment(self._control.clock.now())  # it is shown beside the world's other times
        with self._store.write() as work:
            again = not work.inbox.first(key, self._wall())
            together = _meant(work, call)
            if not together:
                return refuse(RefusalCode.UNKNOWN_TARGET, what=call)
            open_calls = [one for one in together if one.acknowledged_by is None]
            if not open_calls:
                return _taken_before(together, person_id, again=again)
            for each in open_calls:
                work.calls.acknowledge(each.key, person_id, now)
            for channel, ts in dict.fromkeys((one.channel, one.ts) for one in open_calls):
                work.outbox.redo(channel, ts)
        self._control.on_notices()
        return Acknowledged(by=person_id, at=now.timestamp(), count=len(open_calls))

    def _may_take(self, person_id: str, call: str) -> bool:
        """By role, by being on call now, or because it was them who were called."""
        if self._directory.person(person_id).role in MAY_TAKE:
            return True
        if person_id in self.duty.oncall().people:
            return True
        with self._store.read() as view:
            item = view.outbox.get(call)
        return item is not None and item.notice.target == person_id

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


def _meant(work: Work, key: str) -> tuple[Call, ...]:
    """The calls that a pressed message says: a notice's own, or those it was about."""
    found = work.calls.get(key)
    if found is not None:
        return work.calls.at(found.channel, found.ts)
    item = work.outbox.get(key)
    if item is None or item.notice.kind != notices.NoticeKind.ESCALATED:
        return ()
    args = notices.EscalatedArgs.model_validate(dict(item.notice.args))
    places = dict.fromkeys((call.channel, call.ts) for call in args.calls)
    return tuple(call for place in places for call in work.calls.at(*place))


def _taken_before(together: tuple[Call, ...], person_id: str, *, again: bool) -> Acknowledged:
    """Who has taken it already; the same press, delivered again, gets its first answer."""
    first = together[0]
    at = first.acknowledged_at.timestamp() if first.acknowledged_at else 0.0
    by = first.acknowledged_by or person_id
    mine = again and by == person_id
    return Acknowledged(by=by, at=at, count=len(together), before=not mine)


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
