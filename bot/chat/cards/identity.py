"""Who is in which team: answers to `link`, and the question to a lead."""

from __future__ import annotations

from bot import notices
from bot.chat.actions import ActionId, LinkValue
from bot.chat.markup import join
from bot.chat.message import Button, Buttons, Lines, Message, Note, build
from bot.chat.voice import Voice
from bot.identity import LinkAnswered, LinkAsked, LinkRefused, LinkView, OnCallView
from storage.records import Audience


def who(voice: Voice, view: LinkView) -> Message:
    """Whom the bot takes somebody for."""
    return build([Lines(voice.words.link_view(view))])


def asked(voice: Voice, answer: LinkAsked) -> Message:
    """That the leads were asked."""
    return build([Lines(voice.words.link_asked(answer, voice.people.name))])


def answered(voice: Voice, answer: LinkAnswered) -> Message:
    """To the lead who answered."""
    return build([Lines(voice.words.link_answered(answer, voice.people.name(answer.person)))])


def refused(voice: Voice, answer: LinkRefused) -> Message:
    """Why not."""
    words, people = voice.words, voice.people
    why = words.link_refused(answer, people.name, people.mention)
    return build([Lines(join(" ", [why, words.nothing_done()]))])


def told(
    voice: Voice, args: notices.LinkAskedArgs | notices.LinkAnsweredArgs, _: Audience
) -> Message:
    """What leads and those who asked are sent."""
    words, people = voice.words, voice.people
    if isinstance(args, notices.LinkAnsweredArgs):
        return build([Lines(words.link_told(args, people.name(args.by)))])
    buttons = (
        _button(args, ActionId.LINK, words.button_agree(), agree=True),
        _button(args, ActionId.LINK_NO, words.button_disagree(), agree=False),
    )
    return build([Lines(words.link_question(args, people.mention(args.person))), Buttons(buttons)])


def _button(args: notices.LinkAskedArgs, action: ActionId, label: str, *, agree: bool) -> Button:
    value = LinkValue(person=args.person, team=args.team, agree=agree)
    style = "primary" if agree else None
    return Button(label=label, action=action, value=value.model_dump_json(), style=style)


def on_call(voice: Voice, view: OnCallView) -> Message:
    """Who is on call, and who stands in."""
    words, people = voice.words, voice.people
    doubt = [Note(words.oncall_doubt(view.doubt))] if view.doubt is not None else []
    return build([Lines(words.on_call(view, people.name)), *doubt])


def substitute(voice: Voice, args: notices.SubstituteArgs, _: Audience) -> Message:
    """To on-call, and to who stands in."""
    words, people = voice.words, voice.people
    person = None if args.person is None else people.mention(args.person)
    return build([Lines(words.substitute(args, people.name(args.by), person))])
