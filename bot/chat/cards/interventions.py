"""Orders of admins: the question before, the answer, and what everybody hears."""

from __future__ import annotations

from dataclasses import replace

from bot import notices
from bot.byhand import Declined, Intervened, Preview, Wish
from bot.chat.actions import ActionId, WishValue
from bot.chat.markup import Markup, join
from bot.chat.message import Button, Buttons, Confirm, Line, Lines, Message, build
from bot.chat.voice import Voice
from bot.refusals import read_refusal
from storage.audit import InterventionKind
from storage.records import Audience

Told = (
    notices.InterventionArgs
    | notices.InterventionOverArgs
    | notices.InterventionFailedArgs
    | notices.DisplacedArgs
)


def declined(voice: Voice, answer: Declined) -> Message:
    """Why not, and what would do."""
    words = voice.words
    why = words.declined(answer, voice.people.mention)
    return build([Lines(join(" ", [why, words.nothing_done()]))])


def preview(voice: Voice, answer: Preview) -> Message:
    """What an order would do, with the buttons that give it."""
    words, wish = voice.words, answer.wish
    buttons = [_button(voice, answer, wish, words.button_go_on(answer))]
    if wish.kind is InterventionKind.DRAIN:
        buttons = [
            _button(voice, answer, replace(wish, move=False), words.button_let_finish()),
            _button(voice, answer, replace(wish, move=True), words.button_move()),
        ]
    return build(
        [
            Lines(words.changed_since() if answer.anew else Markup()),
            Lines(words.preview(answer)),
            Lines(words.preview_hits(answer, voice.people.name)),
            Lines(words.preview_after(answer)),
            Buttons(tuple(buttons)),
        ]
    )


def _button(voice: Voice, answer: Preview, wish: Wish, label: str) -> Button:
    """One way to go on; where it stops somebody, a dialog asks once more."""
    words = voice.words
    stops = bool(answer.hits) and wish.move is not False
    confirm = Confirm(
        title=label, text=words.confirm_text(answer), confirm=label, deny=words.button_no()
    )
    return Button(
        label=label,
        action=ActionId.ORDER_MOVE if wish.move else ActionId.ORDER,
        value=WishValue.of(wish, answer.token).model_dump_json(exclude_none=True),
        style="danger" if stops else None,
        confirm=confirm if stops else None,
    )


def intervened(voice: Voice, answer: Intervened) -> Message:
    """To who ordered it."""
    return build([Lines(voice.words.intervened(answer))])


def told(voice: Voice, args: Told, audience: Audience) -> Message:
    """What is said of it."""
    words, people = voice.words, voice.people
    match args:
        case notices.InterventionArgs():
            return _posted(voice, args, audience)
        case notices.InterventionOverArgs():
            return build([Lines(words.intervention_over(args, people.name(args.actor)))])
        case notices.InterventionFailedArgs():
            return build([Lines(words.intervention_failed(args))])
        case notices.DisplacedArgs():
            who = words.displaced(args, people.name(args.actor), people.name)
            return build(
                [
                    Lines(words.displaced_title(args)),
                    Lines(join("\n", [who, words.intervention_reason(args.reason)])),
                    Lines(words.displaced_paths(args)),
                    Lines(words.displaced_next(args)),
                ]
            )


def _posted(voice: Voice, args: notices.InterventionArgs, audience: Audience) -> Message:
    words, people = voice.words, voice.people
    what = words.intervention(args, people.name(args.actor), people.name)
    rows = words.intervention_hits(args, people.name)
    parts = [
        Lines(words.intervention_title(args)),
        Lines(join("\n", [what, *rows])),
        Lines(words.intervention_reason(args.reason)),
    ]
    if audience is Audience.ONCALL:
        return build([*parts, Line(), Lines(words.for_oncall(voice.oncall))])
    return build(parts)


def stuck(voice: Voice, args: notices.StuckArgs, _: Audience) -> Message:
    """To on-call: what does not go."""
    words = voice.words
    what = words.stuck(args, voice.people.name(args.owner))
    return build([Lines(what), Line(), Lines(words.for_oncall(voice.oncall))])


def taken(voice: Voice, args: notices.TakenArgs, audience: Audience) -> Message:
    """To its owner, its thread and on-call: who has GPUs that a hold has no pods on."""
    words = voice.words
    if audience is not Audience.ONCALL:
        return build([Lines(words.taken(args))])
    what = [Lines(words.taken(args)), Lines(words.taken_next())]
    return build([*what, Line(), Lines(words.for_oncall(voice.oncall))])


def foreign(voice: Voice, args: notices.ForeignArgs, _: Audience) -> Message:
    """To on-call: what runs that a bot with another database let start."""
    words = voice.words
    what = [Lines(words.foreign(args)), Lines(words.foreign_next())]
    return build([*what, Line(), Lines(words.for_oncall(voice.oncall))])


def node_avoided(voice: Voice, args: notices.NodeAvoidedArgs, _: Audience) -> Message:
    """To on-call: a node that held up others is used no more for a while."""
    words = voice.words
    return build([Lines(words.node_avoided(args)), Line(), Lines(words.for_oncall(voice.oncall))])


def not_taken(voice: Voice, args: notices.NotTakenArgs, _: Audience) -> Message:
    """To its owner or to on-call: why an object of the cluster is no request."""
    words = voice.words
    why = words.refused(read_refusal(args.refusal))
    return build([Lines(words.not_taken(args)), Lines(why), Lines(words.not_taken_next(args))])
