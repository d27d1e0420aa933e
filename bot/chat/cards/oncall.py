"""What stands under a notice for on-call: the button, or who has taken it."""

from __future__ import annotations

from dataclasses import replace

from bot import notices
from bot.chat.actions import ActionId, CallValue
from bot.chat.cards.requests import refused
from bot.chat.markup import mention_channel
from bot.chat.message import Button, Buttons, Line, Lines, Message, Note, Part, append, build
from bot.chat.voice import Voice
from bot.duty import DutyDoubt
from bot.views import Acknowledged, Refused
from storage.records import Call


def called(
    voice: Voice,
    message: Message,
    kind: notices.NoticeKind,
    key: str,
    call: Call | None,
    doubt: DutyDoubt | None,
) -> Message:
    """The message with what on-call can do about it, or what was done."""
    words = voice.words
    parts: list[Part] = []
    if doubt:
        parts.append(Note(words.oncall_doubt(doubt)))
    if call is not None and call.acknowledged_by and call.acknowledged_at:
        by = voice.people.name(call.acknowledged_by)
        parts.append(Lines(words.acknowledged(by, call.acknowledged_at.timestamp())))
    elif kind in notices.NEEDS_ACKNOWLEDGEMENT or kind is notices.NoticeKind.ESCALATED:
        value = CallValue(call=key).model_dump_json()
        button = Button(
            label=words.button_acknowledge,
            action=ActionId.ACKNOWLEDGE,
            value=value,
            style="primary",
        )
        parts.append(Buttons((button,)))
    return append(message, parts)


def taken(voice: Voice, answer: Acknowledged | Refused) -> Message:
    """The private answer to the press."""
    if isinstance(answer, Refused):
        return refused(voice, answer)
    if answer.before:
        name = voice.people.name(answer.by)
        return build([Lines(voice.words.acknowledged_before(name, answer.at))])
    return build([Lines(voice.words.acknowledged_now(answer.count))])


def escalated(voice: Voice, args: notices.EscalatedArgs) -> list[Part]:
    """Calls the next in line, or says that the calls are over."""
    links = [
        voice.words.call_in(call.notice, call.request, mention_channel(call.channel))
        for call in args.calls
    ]
    if args.over:
        called = voice.words.for_oncall(voice.oncall)
        return [Lines(voice.words.escalation_over(args, links)), Line(), Lines(called)]
    whom = replace(voice, oncall_group=args.called) if args.called else voice
    who = whom.oncall or voice.words.no_fallback()
    return [Lines(voice.words.escalated(args, who, links))]
