"""The card of a request, in the channel and in answers, with the buttons its state allows."""

from __future__ import annotations

from bot.chat.actions import ActionId, RequestValue, StopValue
from bot.chat.cards.changes import extend_button
from bot.chat.cards.families import replica_parts
from bot.chat.cards.offers import ahead_parts, offer_buttons
from bot.chat.markup import Markup
from bot.chat.message import Button, Buttons, Confirm, Lines, Message, Note, Part, build
from bot.chat.voice import Voice
from bot.views import CardView, Done, Refused, Submitted, Unconfirmed, Verb, WhyView
from storage.states import RequestState


def card(voice: Voice, view: CardView) -> Message:
    """The request's own message: updated in place, never posted twice."""
    return build(request_parts(voice, view))


def request_parts(voice: Voice, view: CardView) -> list[Part]:
    """State word, who, where it stands, since when, and what can be done."""
    words = voice.words
    return [
        Lines(words.headline(view)),
        Lines(words.who(view, voice.people.mention(view.owner))),
        Lines(words.recipe(view)),
        Lines(words.replica_of(view)),
        Lines(_stand(voice, view)),
        *ahead_parts(voice, view),
        Buttons(offer_buttons(voice, view)),
        Note(words.asked(view)),
        Buttons(buttons(voice, view)),
    ]


def buttons(voice: Voice, view: CardView) -> tuple[Button, ...]:
    """Waiting: Why, Edit, Cancel. Holding GPUs: Extend, Release. Ending or ended: none.

    Who may not end it is offered only to ask why.
    """
    if view.opens is not None:
        return (_why(voice, view),)
    if view.state is RequestState.WAITING:
        why = _why(voice, view)
        return (why, _edit(voice, view), _cancel(voice, view)) if view.may_end else (why,)
    if view.state in {RequestState.ADMITTED, RequestState.RUNNING} and view.may_end:
        return (*_longer(voice, view), _stop(voice, view, Verb.RELEASING))
    return ()


def submitted(voice: Voice, answer: Submitted) -> Message:
    """The private answer to a request: what became of it at once, and where its card is.

    The card is drawn anew as things change; this is not, so it says as of when it is true.
    An offer that has come too late by the time it is taken says so.
    """
    view = answer.card
    may: tuple[Button, ...] = ()
    if view.state is RequestState.WAITING:
        may = (_why(voice, view), *offer_buttons(voice, view))
    return build(
        [
            Lines(voice.words.submitted(answer)),
            Lines(voice.words.lowered(view)),
            *ahead_parts(voice, view),
            Lines(voice.words.see_card(voice.channel)),
            Buttons(may),
        ]
    )


def done(voice: Voice, answer: Done) -> Message:
    """The private answer to cancel or release."""
    return build([Lines(voice.words.done(answer))])


def unconfirmed(voice: Voice, answer: Unconfirmed) -> Message:
    """Asks before something running is stopped by a line that may have been a slip."""
    view, words = answer.card, voice.words
    return build(
        [
            Lines(words.unconfirmed(answer, voice.people.name(view.owner))),
            Note(words.nothing_stopped()),
            Buttons((_stop(voice, view, answer.verb, replace=True),)),
        ]
    )


def refused(voice: Voice, answer: Refused) -> Message:
    """Why nothing was done."""
    return build([Lines(voice.words.refused(answer)), Note(voice.words.nothing_done())])


def why(voice: Voice, view: WhyView) -> Message:
    """Reason, place, who is ahead, who holds what, and the story so far."""
    words = voice.words
    return build(
        [
            Lines(words.headline(view.card)),
            Lines(words.replica_of(view.card)),
            Lines(_stand(voice, view.card)),
            *ahead_parts(voice, view.card),
            *_ahead(voice, view),
            *([] if view.card.opens is None else replica_parts(voice, view.card.opens)),
            *_story(voice, view),
            Note(words.as_of(view.card.at)),
            Buttons(offer_buttons(voice, view.card)),
            Buttons(tuple(b for b in buttons(voice, view.card) if b.action is not ActionId.WHY)),
        ]
    )


def _stand(voice: Voice, view: CardView) -> Markup:
    by = voice.people.name(view.ended_by) if view.ended_by else None
    return voice.words.stand(view, by)


def _ahead(voice: Voice, view: WhyView) -> list[Part]:
    family = view.card.opens
    card = view.card if family is None else family.first
    explanation = None if card is None else card.explanation
    if card is None or explanation is None or card.state is not RequestState.WAITING:
        return []
    words = voice.words
    named = []
    for request in explanation.ahead:
        owner = view.owners.get(request)
        name = voice.people.name(owner) if owner else None
        named.append(words.owned_by(request, name))
    rest = explanation.position - 1 - len(named)
    parts: list[Part] = [Lines(words.ahead_of(named, rest, explanation.queue))]
    if (kept := explanation.reservation) is not None:
        nodes = len(kept.nodes)
        plan = words.plan(at=kept.at, nodes=nodes, domain=kept.domain, basis=kept.basis)
        parts.insert(0, Lines(plan))
    if explanation.holders:
        parts.append(Lines(words.holders(explanation.holders)))
    return parts


def _story(voice: Voice, view: WhyView) -> list[Part]:
    rows = [
        voice.words.story_row(
            at=at, state=state, reason=reason, actor=voice.people.name(actor) if actor else None
        )
        for at, state, reason, actor in view.story[-10:]
    ]
    return [Lines(voice.words.story(rows))] if rows else []


def _why(voice: Voice, view: CardView) -> Button:
    value = RequestValue(request=view.request).model_dump_json()
    return Button(label=voice.words.button_why, action=ActionId.WHY, value=value)


def _edit(voice: Voice, view: CardView) -> Button:
    return Button(
        label=voice.words.button_edit,
        action=ActionId.EDIT,
        value=RequestValue(request=view.request).model_dump_json(),
    )


def _longer(voice: Voice, view: CardView) -> tuple[Button, ...]:
    if view.longer is None or view.lease_ends is None or view.lease_ends <= view.at:
        return ()
    return (extend_button(voice, request=view.request, by=view.longer, ends=view.lease_ends),)


def _cancel(voice: Voice, view: CardView) -> Button:
    words = voice.words
    return Button(
        label=words.button_cancel,
        action=ActionId.CANCEL,
        value=StopValue(request=view.request, waiting=True).model_dump_json(),
        confirm=Confirm(
            title=words.confirm_cancel_title(view.request),
            text=words.confirm_cancel(view.gpus),
            confirm=words.button_cancel,
            deny=words.confirm_keep,
        ),
    )


def _stop(voice: Voice, view: CardView, verb: Verb, *, replace: bool = False) -> Button:
    words = voice.words
    label = words.stop_label(verb)
    value = StopValue(request=view.request, replace=replace, grant=view.attempt)
    return Button(
        label=f"{label} {view.request}" if replace else label,
        action=ActionId.RELEASE if verb is Verb.RELEASING else ActionId.CANCEL,
        value=value.model_dump_json(),
        style="danger",
        confirm=Confirm(
            title=words.confirm_stop_title(verb, view.request),
            text=words.confirm_stop(gpus=view.gpus, nodes=len(view.nodes)),
            confirm=words.stop_label(verb),
            deny=words.confirm_keep,
        ),
    )
