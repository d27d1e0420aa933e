"""Answers that look ahead: `when` and `try`."""

from __future__ import annotations

from bot.answers import Tried, WhenView
from bot.chat import grammar
from bot.chat.actions import ActionId, AskValue
from bot.chat.cards.offers import ahead_parts, offer_buttons
from bot.chat.message import Button, Buttons, Lines, Message, Note, Part, build
from bot.chat.voice import Voice
from storage.states import RequestState


def when(voice: Voice, view: WhenView) -> Message:
    """When it is expected to start, or did."""
    words, card = voice.words, view.card
    parts: list[Part] = [Lines(words.headline(card))]
    if card.state is RequestState.WAITING:
        parts += ahead_parts(voice, card) or [Lines(words.stand(card))]
        if card.prospect is not None and card.prospect.forecast.likely is not None:
            parts.append(Lines(words.when_caveat()))
    else:
        parts.append(Lines(words.when_not_waiting(card)))
    if view.first is not None:
        parts.append(Lines(words.first_estimate(view.first)))
    return build([*parts, Note(words.as_of(card.at)), Buttons(offer_buttons(voice, card))])


def tried(voice: Voice, answer: Tried) -> Message:
    """What would become of an ask, with buttons that ask for it, as it is or changed."""
    words, card = voice.words, answer.card
    lines = [(words.button_ask_tried(), answer.ask)]
    if card.prospect is not None:
        lines += [
            (words.button_offer(offer, voice.people.name), offer.change.of(answer.ask))
            for offer in card.prospect.offers
        ]
    buttons = tuple(
        Button(
            label=label,
            action=ActionId(f"{ActionId.ASK.value}.{number}"),
            value=AskValue(line=grammar.spell(ask)).model_dump_json(),
        )
        for number, (label, ask) in enumerate(lines)
    )
    return build(
        [
            Lines(words.tried(answer)),
            *ahead_parts(voice, card),
            Note(words.tried_nothing()),
            Buttons(buttons),
        ]
    )
