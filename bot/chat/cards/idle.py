"""The question about GPUs that do nothing, its answer, and what follows without one."""

from __future__ import annotations

from bot import notices
from bot.answers import Kept
from bot.chat.actions import ActionId, RequestValue, StopValue
from bot.chat.message import Button, Buttons, Confirm, Line, Lines, Message, Part, build
from bot.chat.voice import Voice
from bot.views import Verb
from storage.records import Audience


def idle(voice: Voice, args: notices.IdleArgs, audience: Audience) -> Message:
    """With buttons for the owner, and for leads when nobody answered."""
    words = voice.words
    named = audience is not Audience.PERSON
    owner = voice.people.name(args.owner) if named or args.over else None
    parts: list[Part] = [Lines(words.idle_title(args)), Lines(words.idle(args, owner))]
    if audience is Audience.ONCALL:
        parts += [Line(), Lines(words.for_oncall(voice.oncall))]
    elif not (args.over and args.releases):
        parts.append(Buttons((_keep(voice, args), _release(voice, args))))
    return build(parts)


def kept(voice: Voice, answer: Kept) -> Message:
    """The private answer to Keep."""
    return build([Lines(voice.words.kept(answer))])


def _keep(voice: Voice, args: notices.IdleArgs) -> Button:
    return Button(
        label=voice.words.button_keep,
        action=ActionId.KEEP,
        value=RequestValue(request=args.request).model_dump_json(),
    )


def _release(voice: Voice, args: notices.IdleArgs) -> Button:
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
