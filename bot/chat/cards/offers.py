"""What lies ahead of a request that waits, as lines and buttons for its card and answers."""

from __future__ import annotations

from bot.chat.actions import ActionId, OfferValue
from bot.chat.message import Button, Lines, Part
from bot.chat.voice import Voice
from bot.views import CardView
from storage.states import RequestState


def ahead_parts(voice: Voice, view: CardView) -> list[Part]:
    """When it is expected to start, and what would start sooner; nothing while that is unknown."""
    prospect = view.prospect
    if prospect is None or view.state is not RequestState.WAITING:
        return []
    words = voice.words
    return [
        Lines(words.expected(prospect)),
        Lines(words.offers(prospect, voice.people.name)),
    ]


def offer_buttons(voice: Voice, view: CardView) -> tuple[Button, ...]:
    """One for each offer, for whoever may change the request."""
    if view.prospect is None or not view.may_end or view.state is not RequestState.WAITING:
        return ()
    return tuple(
        Button(
            label=voice.words.button_offer(offer, voice.people.name),
            action=ActionId(f"{ActionId.OFFER.value}.{number}"),
            value=OfferValue(request=view.request, offer=offer.key).model_dump_json(),
        )
        for number, offer in enumerate(view.prospect.offers, start=1)
    )
