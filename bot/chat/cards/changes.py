"""Leases and changes of requests: the answer to who made them, and what others hear of it."""

from __future__ import annotations

import dataclasses

from bot import notices
from bot.answers import Changed
from bot.chat.actions import ActionId, ExtendValue, StopValue
from bot.chat.message import Button, Buttons, Confirm, Lines, Message, build
from bot.chat.voice import Voice
from bot.views import Verb
from storage.records import Audience

Told = notices.LeaseEndingArgs | notices.UnprotectedArgs | notices.ChangedArgs


def changed(voice: Voice, answer: Changed) -> Message:
    """The private answer to extend, edit or give."""
    return build([Lines(voice.words.changed(answer, voice.people.name))])


def told(voice: Voice, args: Told, audience: Audience) -> Message:
    """What owner and thread hear."""
    del audience
    words = voice.words
    match args:
        case notices.LeaseEndingArgs():
            return lease_ending(voice, args)
        case notices.UnprotectedArgs():
            return build([Lines(words.unprotected_title(args)), Lines(words.unprotected(args))])
        case notices.ChangedArgs():
            names = voice.people.name
            lines = [Lines(words.told_change(args, names(args.actor), names))]
            if args.yours:
                lines.append(Lines(words.yours_now(args)))
            return build(lines)


def lease_ending(voice: Voice, args: notices.LeaseEndingArgs) -> Message:
    """The reminder, with a press to extend it where that may be, and one to release it now."""
    words = voice.words
    return build(
        [
            Lines(words.lease_ending_title(args)),
            Lines(words.lease_ending(args, voice.people.mention(args.owner))),
            Lines(words.lease_longer(args, voice.people.name)),
            Buttons((*extend_of(voice, args), _release(voice, args))),
        ]
    )


def extend_button(voice: Voice, *, request: str, by: float, ends: float) -> Button:
    """One press for a longer lease; it counts once for one end."""
    return Button(
        label=voice.words.button_extend(by),
        action=ActionId.EXTEND,
        value=ExtendValue(request=request, by=by, ends=ends).model_dump_json(),
    )


def extend_of(
    voice: Voice, args: notices.LeaseEndingArgs, *, named: bool = False
) -> tuple[Button, ...]:
    """The button for a lease that ends, if it may be longer; `named` among others of its kind."""
    if args.step is None or args.waits is not None:
        return ()
    button = extend_button(voice, request=args.request, by=args.step, ends=args.ends)
    if named:
        label = voice.words.button_extend_one(args.request, args.step)
        button = dataclasses.replace(button, label=label)
    return (button,)


def _release(voice: Voice, args: notices.LeaseEndingArgs) -> Button:
    words = voice.words
    return Button(
        label=words.stop_label(Verb.RELEASING),
        action=ActionId.RELEASE,
        value=StopValue(request=args.request, grant=args.grant).model_dump_json(),
        style="danger",
        confirm=Confirm(
            title=words.confirm_stop_title(Verb.RELEASING, args.request),
            text=words.confirm_stop(gpus=args.gpus, nodes=0),
            confirm=words.stop_label(Verb.RELEASING),
            deny=words.confirm_keep,
        ),
    )
