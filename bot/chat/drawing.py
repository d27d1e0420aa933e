"""From notices to the message that says them: alone or together, for whom, how loudly."""

from __future__ import annotations

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from bot import notices
from bot.chat.cards import alerts, bursts, oncall, reports, requests
from bot.chat.message import Message
from bot.chat.ports import Cards
from bot.chat.replies import Picture
from bot.chat.routing import Preferred
from bot.chat.voice import Voice
from bot.chat.voices import Voices
from bot.duty import Duty
from bot.preferences import Notices
from storage.records import Audience, Call, Notice, OutboxItem

CallOf = Callable[[str], Call | None]
"""The call of a notice's key, if there is one."""


@dataclass(frozen=True, slots=True)
class Drawn:
    """A message, how many of the notices it says, and whom it had to leave unmentioned."""

    message: Message
    said: int = 1
    hushed: tuple[str, ...] = ()
    picture: Picture | None = None


class Drawer:
    """Draws at the moment of sending, so that nothing in it is old."""

    def __init__(
        self, *, voices: Voices, cards: Cards, preferred: Preferred, duty: Duty, call_of: CallOf
    ) -> None:
        self._voices, self._cards, self._preferred = voices, cards, preferred
        self._duty, self._call_of = duty, call_of

    @property
    def voice(self) -> Voice:
        """The voice of the channel."""
        return self._voices.channel

    def draw(self, items: Sequence[OutboxItem], now: dt.datetime) -> Drawn:
        """One message for as many of the items as fit.

        Raises KeyError, ValueError, TypeError or pydantic's ValidationError on a notice that
        cannot be drawn.
        """
        first = items[0].notice
        args = notices.read_args(first.kind, dict(first.args))
        if isinstance(args, notices.CardArgs):
            return Drawn(requests.card(self.voice, self._cards.card(args.request)))
        if isinstance(args, notices.DigestArgs | notices.DigestPlotsArgs):
            return self._draw_digest(args, first)
        several = [
            args,
            *(notices.read_args(i.notice.kind, dict(i.notice.args)) for i in items[1:]),
        ]
        voice, hushed = self._voice_for(first.audience, first.target, several, now)
        if len(several) > 1:
            message, said = bursts.burst(voice, several, first.audience)
        else:
            message, said = alerts.notice(voice, args, first.audience), 1
        if first.audience is Audience.ONCALL or first.kind == notices.NoticeKind.ESCALATED:
            call = self._call_of(first.key)
            doubt = self._duty.oncall().doubt
            message = oncall.called(voice, message, args.kind, first.key, call, doubt)
        return Drawn(message, said, hushed)

    def _draw_digest(
        self, args: notices.DigestArgs | notices.DigestPlotsArgs, notice: Notice
    ) -> Drawn:
        """A digest in words, or its plots under the name that the notice gives them."""
        voice = self._voices.of(notice.target) if notice.target else self.voice
        view = self._cards.report_until(args.until, args.period)
        message = reports.report(voice, view, digest=True)
        if isinstance(args, notices.DigestArgs):
            return Drawn(message)
        picture = reports.report_picture(voice, view)
        return Drawn(message, picture=replace(picture, name=notice.key.removeprefix("file:")))

    def _voice_for(
        self,
        audience: Audience,
        target: str | None,
        several: Sequence[notices.NoticeArgs],
        now: dt.datetime,
    ) -> tuple[Voice, tuple[str, ...]]:
        """The voice for an audience, and who is only named although they will want to know."""
        voice = self.voice
        if audience is Audience.ONCALL:
            return replace(voice, oncall_group=self._duty.oncall().called), ()
        if audience is Audience.PERSON and target:
            voice = self._voices.of(target)
            if self._preferred(target).notices is Notices.NONE:  # the thread only names them
                voice = replace(voice, people=voice.people.hushed([target]))
            return voice, ()
        if audience is not Audience.CHANNEL:
            return voice, ()
        owners = dict.fromkeys(owner for args in several if (owner := notices.owner_of(args)))
        gain = all(isinstance(args, notices.AdmittedArgs) for args in several)
        quiet, muted = [], []
        for owner in owners:
            wishes = self._preferred(owner)
            if wishes.notices is Notices.NONE or (gain and wishes.notices is Notices.IMPORTANT):
                muted.append(owner)
            elif wishes.quiet_until(now) is not None:
                quiet.append(owner)
        people = voice.people.hushed((*quiet, *muted))
        return replace(voice, people=people), tuple(quiet)
