"""Requests: what was asked for, and where each stands."""

from __future__ import annotations

import dataclasses
import datetime as dt
from collections.abc import Collection, Iterable
from typing import Any, TypedDict, Unpack

from sqlalchemy import exists, func
from sqlmodel import Session, col, delete, insert, select

from scheduler.model import Admission, Workload
from storage.counters import Counter, Counters
from storage.errors import UnknownRequest
from storage.records import Json, ObjectRef, OutboxState, Request, Source, Transition
from storage.states import FINAL, RequestState, check_move
from storage.tables import EstimateRow, EventRow, OutboxRow, RequestRow, TransitionRow
from storage.transitions import Transitions

FIRST_NUMBER = 1001
_PREFIX = "R-"
_ASK_AT_ONCE = 500  # ids in one IN (...), well under every database's limit
_FIELDS = tuple(field.name for field in dataclasses.fields(Request))


class Changes(TypedDict, total=False):
    """What may change on a stored request besides its state."""

    workload: Workload
    attempt: int
    admission: Admission | None
    kept: Admission | None
    started: dt.datetime | None
    lease_ends: dt.datetime | None
    ending: RequestState | None
    ended_by: str | None
    run_for: float | None
    starving_since: dt.datetime | None
    channel: str | None
    thread_ts: str | None
    ref: ObjectRef | None


_CHANGEABLE = frozenset(Changes.__annotations__)


class Requests:
    """The requests, inside one transaction. Every order is by number, oldest first."""

    def __init__(self, session: Session, counters: Counters, transitions: Transitions) -> None:
        self._session = session
        self._counters = counters
        self._transitions = transitions
        # The session forgets unchanged rows that nobody holds; a second look would ask again.
        self._seen: dict[str, RequestRow] = {}

    def next_id(self) -> str:
        """Return a new id, such as R-1042; ids grow and are never given twice."""
        return self.next_ids(1)[0]

    def next_ids(self, count: int) -> tuple[str, ...]:
        """Return `count` new ids."""
        numbers = self._counters.take(Counter.REQUEST, start=FIRST_NUMBER - 1, count=count)
        return tuple(f"{_PREFIX}{number}" for number in numbers)

    def last_number(self) -> int:
        """Return the highest number that was given, or passed by."""
        return self._counters.read(Counter.REQUEST, start=FIRST_NUMBER - 1)

    def pass_by(self, number: int) -> None:
        """Never give a number up to this one: something bears it already."""
        before = self.last_number()
        if number > before:
            self._counters.take(Counter.REQUEST, start=FIRST_NUMBER - 1, count=number - before)

    def add(self, request: Request) -> None:
        """Store a new request and the first line of its story."""
        self.add_all((request,))

    def add_all(self, requests: Iterable[Request]) -> None:
        """Store many new requests at once."""
        added = tuple(requests)
        if not added:
            return
        self._session.exec(insert(RequestRow), params=[_values(request) for request in added])
        for request in added:
            self._transitions.append(
                Transition(
                    request=request.id,
                    before=None,
                    after=request.state,
                    at=request.created,
                    actor=request.workload.owner,
                    reason="submitted",
                )
            )

    def get(self, request_id: str) -> Request | None:
        """Return one request, or None."""
        row = self._row(request_id)
        return None if row is None else _record(row)

    def by_ids(self, ids: Collection[str]) -> dict[str, Request]:
        """Return those of the requests that are stored, by id, in the order asked for.

        Before many moves, this spares a query for each.
        """
        self._load(ids)
        return {i: _record(self._seen[i]) for i in ids if i in self._seen}

    def find(
        self,
        *,
        states: Collection[RequestState] | None = None,
        owner: str | None = None,
        team: str | None = None,
        queue: str | None = None,
        after: str | None = None,
        limit: int | None = None,
        newest_first: bool = False,
    ) -> tuple[Request, ...]:
        """Return the requests that match all that is given.

        `queue` is the home queue. `after` is the last id of the page before; with
        `newest_first` pages run towards older requests.
        """
        wanted = select(RequestRow)
        for column, value in (
            (col(RequestRow.owner), owner),
            (col(RequestRow.team), team),
            (col(RequestRow.queue), queue),
        ):
            if value is not None:
                wanted = wanted.where(column == value)
        if states is not None:
            wanted = wanted.where(col(RequestRow.state).in_(states))
        number = col(RequestRow.number)
        if after is not None:
            last = number_of(after)
            wanted = wanted.where(number < last if newest_first else number > last)
        wanted = wanted.order_by(number.desc() if newest_first else number).limit(limit)
        rows = self._session.exec(wanted).all()
        self._seen.update((row.id, row) for row in rows)
        return tuple(_record(row) for row in rows)

    def count_waiting(self, owner: str, source: Source) -> int:
        """Return how many requests of a person wait that came through one door."""
        wanted = select(func.count()).where(
            col(RequestRow.owner) == owner,
            col(RequestRow.source) == source,
            col(RequestRow.state) == RequestState.WAITING,
        )
        return self._session.exec(wanted).one()

    def from_source(self, source: Source, states: Collection[RequestState]) -> tuple[Request, ...]:
        """Return the requests that came through one door and stand in one of the states."""
        wanted = (
            select(RequestRow)
            .where(col(RequestRow.source) == source)
            .where(col(RequestRow.state).in_(states))
            .order_by(col(RequestRow.number))
        )
        rows = self._session.exec(wanted).all()
        self._seen.update((row.id, row) for row in rows)
        return tuple(_record(row) for row in rows)

    def for_objects(self, uids: Collection[str]) -> dict[str, Request]:
        """Return the request that stands for each object of the cluster, by the object's uid."""
        found: dict[str, Request] = {}
        asked = sorted(uids)
        for start in range(0, len(asked), _ASK_AT_ONCE):
            part = asked[start : start + _ASK_AT_ONCE]
            wanted = select(RequestRow).where(col(RequestRow.ref_uid).in_(part))
            rows = self._session.exec(wanted.order_by(col(RequestRow.number))).all()
            self._seen.update((row.id, row) for row in rows)
            found.update((row.ref_uid, _record(row)) for row in rows if row.ref_uid is not None)
        return found

    def newest_of(self, families: Collection[str]) -> dict[str, Request]:
        """Return the replica of each family (`ObjectRef.family_key`) that came last."""
        found: dict[str, Request] = {}
        for key in sorted(families):
            wanted = select(RequestRow).where(col(RequestRow.family) == key)
            row = self._session.exec(
                wanted.order_by(col(RequestRow.number).desc()).limit(1)
            ).first()
            if row is not None:
                self._seen[row.id] = row
                found[key] = _record(row)
        return found

    def replicas(
        self, heads: Collection[str], states: Collection[RequestState]
    ) -> dict[str, tuple[Request, ...]]:
        """Return the replicas of families, by their heads, that stand in one of the states."""
        found: dict[str, list[Request]] = {head: [] for head in sorted(heads)}
        asked = list(found)
        for start in range(0, len(asked), _ASK_AT_ONCE):
            wanted = (
                select(RequestRow)
                .where(col(RequestRow.head).in_(asked[start : start + _ASK_AT_ONCE]))
                .where(col(RequestRow.state).in_(states))
                .order_by(col(RequestRow.number))
            )
            for row in self._session.exec(wanted).all():
                self._seen[row.id] = row
                found[str(row.head)].append(_record(row))
        return {head: tuple(members) for head, members in found.items()}

    def has_begun(self, head: str) -> bool:
        """Return whether any replica of a family has ever held GPUs."""
        wanted = select(RequestRow.id).where(
            col(RequestRow.head) == head, col(RequestRow.attempt) > 0
        )
        return self._session.exec(wanted.limit(1)).first() is not None

    def ended(self, limit: int) -> tuple[Request, ...]:
        """Return the requests that held GPUs and ended last, at most `limit`, oldest first."""
        wanted = (
            select(RequestRow)
            .where(col(RequestRow.state).in_(FINAL), col(RequestRow.attempt) > 0)
            .order_by(col(RequestRow.number).desc())
            .limit(limit)
        )
        return tuple(_record(row) for row in reversed(self._session.exec(wanted).all()))

    def last_change(self) -> dt.datetime | None:
        """Return the moment of the latest move of any request; None if there is none."""
        return self._session.exec(select(func.max(RequestRow.changed))).one()

    def tally(self) -> dict[RequestState, int]:
        """Return how many requests stand in each state; every state has its number."""
        counted = self._session.exec(
            select(col(RequestRow.state), func.count()).group_by(col(RequestRow.state))
        )
        counts = dict.fromkeys(RequestState, 0)
        counts.update((state, count) for state, count in counted)
        return counts

    def move(
        self,
        request_id: str,
        after: RequestState,
        *,
        at: dt.datetime,
        actor: str,
        reason: str,
        details: Json | None = None,
        **changes: Unpack[Changes],
    ) -> Request:
        """Take a request to another state and write the line of its story.

        `reason` is a code. Only what is in `changes` changes besides: a request that waits
        again keeps its old admission unless `admission=None` is given. Raises IllegalMove
        or UnknownRequest and then changes nothing.
        """
        row = self._known(request_id)
        check_move(request_id, row.state, after)
        return self._tell(row, after, at, actor, reason, details or {}, changes)

    def note(
        self,
        request_id: str,
        *,
        at: dt.datetime,
        actor: str,
        reason: str,
        details: Json | None = None,
        **changes: Unpack[Changes],
    ) -> Request:
        """Change a request within its state and write a line of its story about it.

        Raises UnknownRequest.
        """
        row = self._known(request_id)
        return self._tell(row, row.state, at, actor, reason, details or {}, changes)

    def _tell(
        self,
        row: RequestRow,
        after: RequestState,
        at: dt.datetime,
        actor: str,
        reason: str,
        details: Json,
        changes: Changes,
    ) -> Request:
        before = row.state
        _change(row, changes)
        row.state, row.changed = after, at
        moved = _record(row)
        self._transitions.append(
            Transition(
                request=moved.id,
                before=before,
                after=after,
                at=at,
                actor=actor,
                reason=reason,
                decision=moved.decision if moved.attempt else None,
                details=details,
            )
        )
        return moved

    def amend(self, request_id: str, **changes: Unpack[Changes]) -> Request:
        """Change a request within its state: its thread, its lease, since when it starves.

        `changed` keeps the time of the last move. Raises UnknownRequest.
        """
        row = self._known(request_id)
        _change(row, changes)
        return _record(row)

    def prune(self, source: Source, before: dt.datetime, limit: int = 5000) -> int:
        """Remove requests of a source that ended before a moment; return how many.

        Their stories, events and messages go with them; one with an unsent message stays.
        At most `limit`, the oldest first, so that nobody has to wait long for the writer.
        """
        self._transitions.flush()
        unsent = exists().where(
            col(OutboxRow.request) == col(RequestRow.id),
            col(OutboxRow.state).in_((OutboxState.PENDING, OutboxState.CLAIMED)),
        )
        ended = self._session.exec(
            select(RequestRow.id)
            .where(col(RequestRow.state).in_(FINAL), col(RequestRow.source) == source)
            .where(col(RequestRow.changed) < before, ~unsent)
            .order_by(col(RequestRow.number))
            .limit(limit)
        ).all()
        for start in range(0, len(ended), _ASK_AT_ONCE):
            part = ended[start : start + _ASK_AT_ONCE]
            self._session.exec(delete(TransitionRow).where(col(TransitionRow.request).in_(part)))
            self._session.exec(delete(EventRow).where(col(EventRow.request).in_(part)))
            self._session.exec(delete(OutboxRow).where(col(OutboxRow.request).in_(part)))
            self._session.exec(delete(EstimateRow).where(col(EstimateRow.request).in_(part)))
            self._session.exec(delete(RequestRow).where(col(RequestRow.id).in_(part)))
            for request_id in part:
                self._seen.pop(request_id, None)
        return len(ended)

    def forget(self) -> None:
        """Let go of the rows: the transaction is over, and what they say may be too."""
        self._seen.clear()

    def _known(self, request_id: str) -> RequestRow:
        row = self._row(request_id)
        if row is None:
            raise UnknownRequest(request_id)
        return row

    def _row(self, request_id: str) -> RequestRow | None:
        row = self._seen.get(request_id)
        if row is None:
            row = self._session.get(RequestRow, request_id)
            if row is not None:
                self._seen[request_id] = row
        return row

    def _load(self, ids: Collection[str]) -> None:
        missing = [i for i in dict.fromkeys(ids) if i not in self._seen]
        for start in range(0, len(missing), _ASK_AT_ONCE):
            part = missing[start : start + _ASK_AT_ONCE]
            rows = self._session.exec(select(RequestRow).where(col(RequestRow.id).in_(part)))
            self._seen.update((row.id, row) for row in rows)


def number_of(request_id: str) -> int:
    """The number in an id: 1042 of R-1042. Raises ValueError for what is no id."""
    digits = request_id.removeprefix(_PREFIX)
    if digits == request_id or not (digits.isascii() and digits.isdigit()):
        msg = f"a request id is {_PREFIX} and digits, not {request_id!r}"
        raise ValueError(msg)
    return int(digits)


def _columns_of(workload: Workload) -> dict[str, Any]:
    """The parts of a workload that queries look at."""
    return {
        "workload": workload,
        "owner": workload.owner,
        "team": workload.team,
        "queue": workload.queue,
    }


def _values(request: Request) -> dict[str, Any]:
    values = {name: getattr(request, name) for name in _FIELDS}
    uid = None if request.ref is None else request.ref.uid
    own = {"number": number_of(request.id), "ref_uid": uid, "family": _family(request.ref)}
    return values | _columns_of(request.workload) | own


def _family(ref: ObjectRef | None) -> str | None:
    return None if ref is None else ref.family_key


def _change(row: RequestRow, changes: Changes) -> None:
    unknown = sorted(changes.keys() - _CHANGEABLE)
    if unknown:
        msg = f"no such change to a request: {', '.join(unknown)}"
        raise TypeError(msg)
    values: dict[str, Any] = {**changes}
    if "workload" in changes:
        values |= _columns_of(changes["workload"])
    if "ref" in changes:
        values["family"] = _family(changes["ref"])
    for name, value in values.items():
        setattr(row, name, value)


def _record(row: RequestRow) -> Request:
    return Request(**{name: getattr(row, name) for name in _FIELDS})
