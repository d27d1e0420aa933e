"""Drains the outbox into Slack: ordered lanes, Slack's pace, nothing lost, nothing said twice.

`tick(now)` claims what is due, sends what may go now, and returns; it never sleeps. A
message is claimed, sent and noted in three steps with no transaction across the network.
If the bot dies between sending and noting, the message is claimed again when the claim has
run out, and is first looked for in Slack by the key it carries.

Order in a lane: urgent first, then by age. A thread follows its card. Admissions in the
channel: the first at once, the rest of the same window as one grouped message.
"""

from __future__ import annotations

import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from bot import notices
from bot.chat.cards import alerts, requests
from bot.chat.lanes import POSTS, UPDATES, Bucket
from bot.chat.message import Message
from bot.chat.ports import Cards, Once, Outbox, Posted, Slack, SlackRefused, SlackUnreachable
from bot.chat.replies import BAD_BLOCKS
from bot.chat.voice import Voice
from storage.records import Audience, OutboxItem

WINDOW = 10.0
MOST_IN_GROUP = 60
MOST_IN_LANE = 40
MOST_GROUPED = 1000
CLAIM = 200
HELD_FOR = 60.0
MOST_ATTEMPTS = 6
UNREACHABLE = "service_unavailable"
LONGEST_BACKOFF = 300.0
BROKEN_FOR = 600.0
UPDATE_LANE = "updates"

GONE = frozenset(
    {
        "is_archived",
        "channel_not_found",
        "not_in_channel",
        "user_not_found",
        "user_disabled",
        "users_not_found",
        "cannot_dm_bot",
        "messages_tab_disabled",
        "restricted_action",
        "ekm_access_denied",
    }
)
"""Errors that stay: the place is gone or closed to us."""

_NOT_THERE = frozenset({"message_not_found", "cant_update_message", "edit_window_closed"})
_NO_THREAD = frozenset({"thread_not_found", "cannot_reply_to_message"})
_SLOW_DOWN = frozenset({"ratelimited", "rate_limited", "message_limit_exceeded"})
_TROUBLE = frozenset(
    {
        "internal_error",
        "fatal_error",
        "service_unavailable",
        "request_timeout",
        "not_authed",
        "invalid_auth",
        "token_revoked",
        "token_expired",
        "account_inactive",
        "team_access_not_granted",
    }
)
"""Slack, or our standing with it, is in trouble: every message would fail, so none is given up."""

_UNDRAWABLE = (ValidationError, KeyError, ValueError, TypeError)

_log = logging.getLogger("gpubot.chat.announcer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Places:
    """Channel ids. What cannot be delivered goes to on-call, and on-call's to the channel."""

    channel: str
    oncall: str

    def fallback(self, channel: str) -> str:
        """Where to turn when `channel` is gone."""
        return self.channel if channel == self.oncall else self.oncall


@dataclass(frozen=True, slots=True)
class Tick:
    """What one tick did. `held` are claimed and wait for their turn."""

    posts: int
    updates: int
    held: int


@dataclass(slots=True)
class _Held:
    item: OutboxItem
    lane: str
    channel: str
    since: float
    grouped: bool

    @property
    def order(self) -> tuple[bool, int]:
        return (not self.item.notice.urgent, self.item.id)


class Announcer:
    """One per bot; `tick` is called by one thread."""

    def __init__(
        self,
        *,
        outbox: Outbox,
        slack: Slack,
        cards: Cards,
        voice: Voice,
        places: Places,
        once: Once,
    ) -> None:
        self._outbox, self._slack, self._cards = outbox, slack, cards
        self._voice, self._places, self._once = voice, places, once
        self._hand: dict[int, _Held] = {}
        self._buckets: dict[str, Bucket] = {}
        self._broken: dict[str, tuple[str, float]] = {}
        self._grouped_at: dict[str, float] = {}
        self._posts = self._updates = 0

    def tick(self, now: dt.datetime) -> Tick:
        """Send what is due and allowed at `now`. Raises what the outbox raises, nothing else."""
        self._posts = self._updates = 0
        self._give_back_stale(now)
        while True:
            self._claim(now)
            before = self._posts + self._updates
            for lane in sorted({held.lane for held in self._hand.values()}):
                self._run_lane(lane, now)
            if self._posts + self._updates == before:
                return Tick(self._posts, self._updates, len(self._hand))

    def stop(self, now: dt.datetime) -> None:
        """Give everything in hand back, so that the next to start need not wait."""
        self._outbox.defer([held.item for held in self._hand.values()], due=now)
        self._hand.clear()

    # ---- what is in hand

    def _claim(self, now: dt.datetime) -> None:
        for item in self._outbox.claim(now, CLAIM):
            lane, channel = self._destination(item)
            notice = item.notice
            grouped = (
                notice.kind == notices.NoticeKind.ADMITTED and notice.audience is Audience.CHANNEL
            )
            self._hand[item.id] = _Held(item, lane, channel, now.timestamp(), grouped)
        self._give_back_surplus(now)

    def _destination(self, item: OutboxItem) -> tuple[str, str]:
        """The lane and channel (or user id) of a message."""
        notice = item.notice
        if notice.audience is Audience.CARD and item.ts and item.channel:
            return UPDATE_LANE, item.channel
        match notice.audience:
            case Audience.PERSON:
                channel = notice.target or self._places.oncall
            case Audience.ONCALL:
                channel = self._places.oncall
            case Audience.THREAD:
                card = self._outbox.card_of(notice.request) if notice.request else None
                channel = card.channel if card and card.channel else self._places.channel
            case _:
                channel = self._places.channel
        return channel, channel

    def _give_back_surplus(self, now: dt.datetime) -> None:
        """What a slow lane cannot send soon goes back to the outbox, in order, untried."""
        for lane in sorted({held.lane for held in self._hand.values()}):
            waiting = sorted(
                (held for held in self._hand.values() if held.lane == lane and not held.grouped),
                key=lambda held: held.order,
            )
            bucket = self._bucket(lane)
            for place in range(MOST_IN_LANE, len(waiting), MOST_IN_LANE):
                some = waiting[place : place + MOST_IN_LANE]
                seconds = bucket.next_at(now.timestamp(), place)
                due = dt.datetime.fromtimestamp(seconds, dt.UTC)
                self._outbox.defer([held.item for held in some], due=due)
                for held in some:
                    del self._hand[held.item.id]

    def _give_back_stale(self, now: dt.datetime) -> None:
        """What was held so long that the claim may run out goes back, untried."""
        stale = [h for h in self._hand.values() if now.timestamp() - h.since > HELD_FOR]
        if stale:
            self._outbox.defer([held.item for held in stale], due=now)
            for held in stale:
                del self._hand[held.item.id]

    def _bucket(self, lane: str) -> Bucket:
        return self._buckets.setdefault(lane, Bucket(UPDATES if lane == UPDATE_LANE else POSTS))

    # ---- one lane

    def _run_lane(self, lane: str, now: dt.datetime) -> None:
        bucket = self._bucket(lane)
        while (turn := self._next(lane, now)) and bucket.take(now.timestamp()):
            for held in turn:
                del self._hand[held.item.id]
            if turn[0].grouped:
                self._grouped_at[lane] = now.timestamp()
            self._deliver(turn, now)

    def _next(self, lane: str, now: dt.datetime) -> list[_Held]:
        """The next message of a lane: one notice, or the admissions of a window together."""
        waiting = sorted(
            (held for held in self._hand.values() if held.lane == lane), key=lambda h: h.order
        )
        grouped = [held for held in waiting if held.grouped]
        last = self._grouped_at.get(lane)
        in_window = last is not None and now.timestamp() - last < WINDOW
        for held in waiting:
            if not held.grouped:
                return [held]
            if last is None or now.timestamp() - last >= 2 * WINDOW:
                return [held]  # after a silence the first goes at once, alone
            ripe = any(now.timestamp() - each.since >= WINDOW for each in grouped)
            if not in_window or ripe:
                return grouped[:MOST_IN_GROUP]
        return []

    # ---- one message

    def _deliver(self, turn: Sequence[_Held], now: dt.datetime) -> None:
        try:
            left = self._not_yet_said(turn, now)
        except SlackRefused as refused:
            self._refused(turn, refused, now)
            return
        except SlackUnreachable:
            self._retry(turn, UNREACHABLE, now)
            return
        if not left:
            return
        items = [held.item for held in left]
        try:
            message = self._draw(items)
        except _UNDRAWABLE as error:
            _log.exception("notice %s cannot be drawn", items[0].notice.key)
            self._bury(items, left[0].channel, type(error).__name__)
            return
        broken = self._broken.get(left[0].channel)
        if broken is not None and now.timestamp() < broken[1]:
            self._fall_back(left, message, broken[0], now)
        else:
            self._attempt(left, message, now)

    def _attempt(self, turn: Sequence[_Held], message: Message, now: dt.datetime) -> None:
        items, channel = [held.item for held in turn], turn[0].channel
        try:
            posted = self._send(items, channel, message)
        except SlackRefused as refused:
            if refused.code in BAD_BLOCKS and message.blocks:
                self._attempt(turn, message.bare(), now)
            elif refused.code in GONE:
                self._broken[channel] = (refused.code, now.timestamp() + BROKEN_FOR)
                self._fall_back(turn, message, refused.code, now)
            else:
                self._refused(turn, refused, now)
        except SlackUnreachable:
            self._retry(turn, UNREACHABLE, now)
        else:
            self._outbox.sent_all(items, channel=posted.channel, ts=posted.ts, at=now)

    def _not_yet_said(self, turn: Sequence[_Held], now: dt.datetime) -> list[_Held]:
        """The turn without those that an attempt before has brought to Slack after all.

        Only what was claimed before is looked for. Where history is closed to us, a message
        is rather said twice than never.
        """
        doubtful = [held.item for held in turn if held.item.attempts > 1 and not held.item.ts]
        if not doubtful:
            return list(turn)
        since = min(item.created for item in doubtful).timestamp() - 60.0
        thread = self._thread_of(doubtful[0])
        keys = [item.notice.key for item in doubtful]
        try:
            found = self._slack.find(turn[0].channel, keys, since=since, thread_ts=thread)
        except SlackRefused as refused:
            if refused.code in _SLOW_DOWN:
                raise
            return list(turn)
        for item in doubtful:
            if (posted := found.get(item.notice.key)) is not None:
                self._outbox.sent_all([item], channel=posted.channel, ts=posted.ts, at=now)
        return [held for held in turn if held.item.notice.key not in found]

    def _draw(self, items: Sequence[OutboxItem]) -> Message:
        if len(items) > 1:
            group = [notices.AdmittedArgs.model_validate(dict(i.notice.args)) for i in items]
            return alerts.admitted_group(self._voice, group)
        notice = items[0].notice
        args = notices.read_args(notice.kind, dict(notice.args))
        if isinstance(args, notices.CardArgs):
            return requests.card(self._voice, self._cards.card(args.request))
        return alerts.notice(self._voice, args, notice.audience)

    def _send(self, items: Sequence[OutboxItem], channel: str, message: Message) -> Posted:
        """Update or post. Raises SlackRefused and SlackUnreachable."""
        keys = [item.notice.key for item in items]
        item = items[0]
        if item.notice.audience is Audience.CARD and item.ts and item.channel:
            self._updates += 1
            try:
                return self._slack.update(item.channel, item.ts, message, keys=keys)
            except SlackRefused as refused:
                if refused.code not in _NOT_THERE:
                    raise
        thread = self._thread_of(item)
        self._posts += 1
        try:
            return self._slack.post(channel, message, keys=keys, thread_ts=thread)
        except SlackRefused as refused:
            if refused.code not in _NO_THREAD:
                raise
            return self._slack.post(channel, message, keys=keys)

    def _thread_of(self, item: OutboxItem) -> str | None:
        if item.notice.audience is not Audience.THREAD or item.notice.request is None:
            return None
        card = self._outbox.card_of(item.notice.request)
        return card.ts if card is not None else None

    # ---- when it does not work

    def _refused(self, turn: Sequence[_Held], refused: SlackRefused, now: dt.datetime) -> None:
        """Wait as long as Slack says, and keep the turn; or try again later."""
        if refused.code not in _SLOW_DOWN:
            self._retry(turn, refused.code, now)
            return
        seconds = refused.wait or 30.0
        self._bucket(turn[0].lane).block(now.timestamp() + seconds)
        due = now + dt.timedelta(seconds=seconds)
        self._outbox.defer([held.item for held in turn], due=due)

    def _retry(self, turn: Sequence[_Held], error: str, now: dt.datetime) -> None:
        """Later again. In general trouble the lane waits as well, so that order holds.

        A message that alone is refused does not hold up the others, and is given up in the end.
        """
        attempts = max(held.item.attempts for held in turn)
        seconds = min(LONGEST_BACKOFF, 2.0 ** min(attempts, 10))
        if error in _TROUBLE:
            self._bucket(turn[0].lane).block(now.timestamp() + seconds)
        elif attempts >= MOST_ATTEMPTS:
            self._bury([held.item for held in turn], turn[0].channel, error)
            return
        for held in turn:
            self._outbox.retry(held.item, error=error, due=now + dt.timedelta(seconds=seconds))

    def _fall_back(
        self, turn: Sequence[_Held], message: Message, code: str, now: dt.datetime
    ) -> None:
        """Say it elsewhere, and tell on-call once that the place is gone."""
        items, channel = [held.item for held in turn], turn[0].channel
        if items[0].notice.audience is Audience.PERSON:
            self._bury(items, channel, code)
            return
        self._alarm(channel, code)
        elsewhere = self._places.fallback(channel)
        moved = alerts.redirected(self._voice, message, channel)
        keys = [item.notice.key for item in items]
        try:
            self._posts += 1
            posted = self._slack.post(elsewhere, moved, keys=keys)
        except SlackRefused as refused:
            if refused.code in GONE:
                self._bury(items, channel, refused.code)
            else:
                self._retry(turn, refused.code, now)
        except SlackUnreachable:
            self._retry(turn, UNREACHABLE, now)
        else:
            self._outbox.sent_all(items, channel=posted.channel, ts=posted.ts, at=now)

    def _bury(self, items: Sequence[OutboxItem], channel: str, error: str) -> None:
        """Give up: kept in the store as dead, and on-call hears of it once."""
        for item in items:
            self._outbox.dead(item, error=error)
        self._alarm(channel, error)

    def _alarm(self, channel: str, error: str) -> None:
        if not self._once.first(f"undeliverable:{channel}:{error}"):
            return
        _log.error("messages to %s cannot be delivered: %s", channel, error)
        message = alerts.undeliverable(self._voice, where=channel, error=error)
        try:
            self._posts += 1
            key = f"undeliverable:{channel}:{error}"
            self._slack.post(self._places.fallback(channel), message, keys=[key])
        except (SlackRefused, SlackUnreachable) as failed:
            _log.error("on-call could not be told about %s: %s", channel, failed)
