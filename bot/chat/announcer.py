"""Drains the outbox into Slack: ordered lanes, Slack's pace, nothing lost, nothing said twice.

`tick(now)` claims what is due, sends what may go now, and returns; it never sleeps. A
message is claimed, sent and noted in three steps with no transaction across the network.
If the bot dies between sending and noting, the message is claimed again when the claim has
run out, and is first looked for in Slack by the key it carries.

Where a message goes and when is `routing`, whose turn it is `turns`, what it says `drawing`.
"""

from __future__ import annotations

import dataclasses
import datetime as dt
import logging
from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import ValidationError

from bot import notices
from bot.chat.cards import alerts
from bot.chat.drawing import Drawer, Drawn
from bot.chat.lanes import POSTS, UPDATES, Bucket
from bot.chat.message import Message
from bot.chat.ports import Outbox, Posted, Slack, SlackRefused, SlackUnreachable
from bot.chat.replies import BAD_BLOCKS
from bot.chat.routing import UPDATE_LANE, Places, Router
from bot.chat.turns import Held, Turns
from storage.records import Audience, Notice, OutboxItem, OutboxState

MOST_IN_LANE = 40
CLAIM = 200
HELD_FOR = 60.0
MOST_ATTEMPTS = 6
MOST_LOOKS = 3
UNREACHABLE = "service_unavailable"
LONGEST_BACKOFF = 300.0
BROKEN_FOR = 600.0

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

__all__ = ["Announcer", "Places", "Tick"]


@dataclass(frozen=True, slots=True)
class Tick:
    """What one tick did. `held` are claimed and wait for their turn."""

    posts: int
    updates: int
    held: int


class Announcer:
    """One per bot; `tick` is called by one thread."""

    def __init__(self, *, outbox: Outbox, slack: Slack, drawer: Drawer, router: Router) -> None:
        self._outbox, self._slack = outbox, slack
        self._drawer, self._router, self._turns = drawer, router, Turns()
        self._places = router.places
        self._hand: dict[int, Held] = {}
        self._buckets: dict[str, Bucket] = {}
        self._broken: dict[str, tuple[str, float]] = {}
        self._looks: dict[int, int] = {}
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
            route = self._router.route(item, now)
            if route.muted:
                self._outbox.sent_all([item], channel=None, ts=None, at=now)
                continue
            if route.after is not None and route.after > now:
                self._outbox.defer([item], due=route.after)
                continue
            self._hand[item.id] = Held(
                item=item,
                lane=route.lane,
                channel=route.channel,
                since=now.timestamp(),
                thread=route.thread,
            )
        self._give_back_surplus(now)

    def _give_back_surplus(self, now: dt.datetime) -> None:
        """What a slow lane cannot send soon goes back to the outbox, in order, untried."""
        for lane in sorted({held.lane for held in self._hand.values()}):
            waiting = sorted(
                (h for h in self._hand.values() if h.lane == lane and h.window is None),
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
        while True:
            waiting = [held for held in self._hand.values() if held.lane == lane]
            turn = self._turns.next(waiting, now.timestamp())
            if not turn or not bucket.take(now.timestamp()):
                return
            for held in turn:
                del self._hand[held.item.id]
            self._turns.said(turn[0], now.timestamp())
            self._deliver(turn, now)

    # ---- one message

    def _deliver(self, turn: Sequence[Held], now: dt.datetime) -> None:
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
            drawn = self._drawer.draw(self._whole(items), now)
        except _UNDRAWABLE as error:
            _log.exception("notice %s cannot be drawn", items[0].notice.key)
            self._bury(items, left[0].channel, type(error).__name__, now)
            return
        if items[0].ts is None:
            for held in left[drawn.said :]:  # no room for these: they wait for the next
                self._hand[held.item.id] = held
            left = left[: drawn.said]
        broken = self._broken.get(left[0].channel)
        if broken is not None and now.timestamp() < broken[1]:
            self._fall_back(left, drawn.message, broken[0], now)
        else:
            self._attempt(left, drawn, now)

    def _whole(self, items: Sequence[OutboxItem]) -> Sequence[OutboxItem]:
        """All that a message says which is drawn anew; cards are always alone."""
        first = items[0]
        if first.notice.audience is Audience.CARD or not (first.ts and first.channel):
            return items
        return self._outbox.at(first.channel, first.ts)

    def _attempt(self, turn: Sequence[Held], drawn: Drawn, now: dt.datetime) -> None:
        items, channel = [held.item for held in turn], turn[0].channel
        message = drawn.message
        try:
            posted = self._send(turn[0], items, drawn)
        except SlackRefused as refused:
            if refused.code in BAD_BLOCKS and message.blocks:
                self._attempt(turn, dataclasses.replace(drawn, message=message.bare()), now)
            elif refused.code in GONE:
                self._broken[channel] = (refused.code, now.timestamp() + BROKEN_FOR)
                self._fall_back(turn, message, refused.code, now)
            else:
                self._refused(turn, refused, now)
        except SlackUnreachable:
            self._retry(turn, UNREACHABLE, now)
        else:
            held_back = [self._held_back(i, p) for i in items for p in drawn.hushed]
            more = [one for one in held_back if one is not None]
            self._note(turn, posted, now, [*more, *_plots_of(items[0], posted)])

    def _held_back(self, item: OutboxItem, person: str) -> Notice | None:
        """What a person in quiet hours, who was not mentioned, is to hear when they are over."""
        notice = item.notice
        if notices.owner_of(notices.read_args(notice.kind, dict(notice.args))) != person:
            return None
        key = f"{notice.key}:later"
        return dataclasses.replace(notice, key=key, audience=Audience.PERSON, target=person)

    def _note(
        self, turn: Sequence[Held], posted: Posted, now: dt.datetime, more: Sequence[Notice] = ()
    ) -> None:
        items = [held.item for held in turn]
        self._outbox.sent_all(items, channel=posted.channel, ts=posted.ts, at=now, more=more)
        for item in items:
            self._looks.pop(item.id, None)

    def _not_yet_said(self, turn: Sequence[Held], now: dt.datetime) -> list[Held]:
        """The turn without those that an attempt before has brought to Slack after all.

        Only what was claimed before is looked for. Where history is closed to us, or Slack
        lets nobody read it for long, a message is rather said twice than never.
        """
        turn = [held for held in turn if not self._noted_meanwhile(held)]
        doubtful = [held.item for held in turn if held.item.attempts > 1 and not held.item.ts]
        if not doubtful:
            return list(turn)
        since = min(item.created for item in doubtful).timestamp() - 60.0
        keys = [item.notice.key for item in doubtful]
        try:
            found = self._slack.find(turn[0].channel, keys, since=since, thread_ts=turn[0].thread)
        except (SlackRefused, SlackUnreachable) as error:
            looks = self._looks.get(doubtful[0].id, 0) + 1
            self._looks[doubtful[0].id] = looks
            closed = isinstance(error, SlackRefused) and error.code not in _SLOW_DOWN
            if closed or looks >= MOST_LOOKS:
                return list(turn)
            raise
        for held in turn:
            if (posted := found.get(held.item.notice.key)) is not None:
                self._note([held], posted, now)
        return [held for held in turn if held.item.notice.key not in found]

    def _noted_meanwhile(self, held: Held) -> bool:
        """Whether Slack has told us that a doubtful message was posted; a card's place is kept."""
        if held.item.attempts < 2 or held.item.ts:
            return False
        fresh = self._outbox.get(held.item.notice.key)
        if fresh is not None and fresh.ts is not None:
            held.item = dataclasses.replace(held.item, channel=fresh.channel, ts=fresh.ts)
            return fresh.state is OutboxState.SENT
        return False

    def _send(self, held: Held, items: Sequence[OutboxItem], drawn: Drawn) -> Posted:
        """Update or post. Raises SlackRefused and SlackUnreachable."""
        item, message = held.item, drawn.message
        if drawn.picture is not None and held.thread is not None:
            self._posts += 1
            return self._slack.show(held.channel, drawn.picture, thread_ts=held.thread)
        keys = [each.notice.key for each in items]
        if item.ts and item.channel:
            self._updates += 1
            keys = [each.notice.key for each in self._whole(items)]
            try:
                return self._slack.update(item.channel, item.ts, message, keys=keys)
            except SlackRefused as refused:
                if refused.code not in _NOT_THERE:
                    raise
                if item.notice.audience is not Audience.CARD:
                    return Posted(item.channel, item.ts)  # what was taken away stays away
        self._posts += 1
        try:
            return self._slack.post(held.channel, message, keys=keys, thread_ts=held.thread)
        except SlackRefused as refused:
            if refused.code not in _NO_THREAD:
                raise
            return self._slack.post(held.channel, message, keys=keys)

    # ---- when it does not work

    def _refused(self, turn: Sequence[Held], refused: SlackRefused, now: dt.datetime) -> None:
        """Wait as long as Slack says, and keep the turn; or try again later."""
        if refused.code not in _SLOW_DOWN:
            self._retry(turn, refused.code, now)
            return
        seconds = refused.wait or 30.0
        self._bucket(turn[0].lane).block(now.timestamp() + seconds)
        due = now + dt.timedelta(seconds=seconds)
        self._outbox.defer([held.item for held in turn], due=due)

    def _retry(self, turn: Sequence[Held], error: str, now: dt.datetime) -> None:
        """Later again. In general trouble the lane waits as well, so that order holds.

        A message that alone is refused does not hold up the others, and is given up in the end.
        """
        attempts = max(held.item.attempts for held in turn)
        seconds = min(LONGEST_BACKOFF, 2.0 ** min(attempts, 10))
        if error in _TROUBLE:
            self._bucket(turn[0].lane).block(now.timestamp() + seconds)
        elif attempts >= MOST_ATTEMPTS:
            self._bury([held.item for held in turn], turn[0].channel, error, now)
            return
        for held in turn:
            self._outbox.retry(held.item, error=error, due=now + dt.timedelta(seconds=seconds))

    def _fall_back(
        self, turn: Sequence[Held], message: Message, code: str, now: dt.datetime
    ) -> None:
        """Say it elsewhere, and tell on-call once that the place is gone."""
        items, channel = [held.item for held in turn], turn[0].channel
        if channel == items[0].notice.target:
            self._bury(items, channel, code, now)
            return
        self._outbox.put(_undeliverable(channel, code), at=now)
        moved = alerts.redirected(self._drawer.voice, message, channel)
        keys = [item.notice.key for item in items]
        try:
            self._posts += 1
            posted = self._slack.post(self._places.fallback(channel), moved, keys=keys)
        except SlackRefused as refused:
            if refused.code in GONE:
                self._bury(items, channel, refused.code, now)
            else:
                self._retry(turn, refused.code, now)
        except SlackUnreachable:
            self._retry(turn, UNREACHABLE, now)
        else:
            self._note(turn, posted, now)

    def _bury(
        self, items: Sequence[OutboxItem], channel: str, error: str, now: dt.datetime
    ) -> None:
        """Give up: kept in the store as dead, and on-call hears of it once."""
        _log.error("messages to %s cannot be delivered: %s", channel, error)
        for item in items:
            self._outbox.dead(item, error=error)
        if items[0].notice.kind != notices.NoticeKind.UNDELIVERABLE:  # no alarm about an alarm
            self._outbox.put(_undeliverable(channel, error), at=now)


def _plots_of(item: OutboxItem, posted: Posted) -> list[Notice]:
    """The plots that follow a digest into its thread."""
    if item.notice.kind != notices.NoticeKind.DIGEST:
        return []
    digest = notices.DigestArgs.model_validate(dict(item.notice.args))
    args = notices.DigestPlotsArgs(
        period=digest.period, until=digest.until, channel=posted.channel, thread=posted.ts
    )
    plots = dataclasses.replace(
        item.notice,
        key=f"file:{item.notice.key.replace(':', '-')}.png",  # by its name it is found again
        kind=args.kind,
        args=args.model_dump(mode="json"),
    )
    return [plots]


def _undeliverable(channel: str, error: str) -> Notice:
    """To on-call, once for each place and error: its key is known for as long as that lasts."""
    args = notices.UndeliverableArgs(where=channel, error=error)
    return Notice(
        key=f"undeliverable:{channel}:{error}",
        kind=args.kind,
        audience=Audience.ONCALL,
        request=None,
        args=args.model_dump(mode="json"),
        urgent=True,
    )
