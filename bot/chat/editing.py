"""The form that changes a request: opened from its card, filled with what it asks for now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from slack_bolt import App

from bot.chat.actions import EDIT_FORM, ActionId, FormPlace, RequestValue, place_of_form
from bot.chat.cards.form import form, mark_refused, of_a_field, read_form
from bot.chat.cards.requests import refused as refused_message
from bot.chat.presses import Rewrite
from bot.chat.replies import Place, place_of
from bot.views import Refused

if TYPE_CHECKING:
    from bot.chat.app import Ack, Chat


class EditForm:
    """Its two handlers."""

    def __init__(self, chat: Chat) -> None:
        self._chat = chat

    def register(self, app: App) -> None:
        """Bind the button and the form."""
        app.action(ActionId.EDIT.value)(self.on_press)
        app.view(EDIT_FORM)(self.on_sent)

    def on_press(self, ack: Ack, body: dict[str, Any]) -> None:
        """Edit, on a card."""
        ack()
        chat = self._chat
        value = chat.value_of(body, RequestValue)
        if value is None:
            return
        place = place_of(body)
        voice = chat.voices.of(place.user)
        asked = chat.desk.asked(place.user, value.request)
        if isinstance(asked, Refused):
            chat.replier.privately(place, refused_message(voice, asked))
            return
        choices = chat.desk.choices(place.user)
        opened = FormPlace(channel=place.channel, request=value.request)
        chat.open_view(body, form(voice, choices, opened, asked))

    def on_sent(self, ack: Ack, body: dict[str, Any]) -> None:
        """The form was sent: what a field says wrong is marked there, the rest is answered."""
        chat, view = self._chat, body["view"]
        person = body["user"]["id"]
        voice = chat.voices.of(person)
        values = view["state"]["values"]
        opened = place_of_form(view)
        if opened is None or opened.request is None:
            ack()
            chat.reject_press(body)
            return
        filled = read_form(voice, values)
        wrong = chat.desk.examine_rewrite(person, opened.request, filled.ask)
        marked = [wrong] if wrong is not None and of_a_field(wrong) else []
        errors = {**mark_refused(voice, marked, values), **filled.errors}
        if errors:
            ack(response_action="errors", errors=errors)
            return
        ack()
        place = Place(user=person, channel=opened.channel)
        said = Rewrite(opened.request, filled.ask)
        chat.converse(said, place, f"form:{view['id']}", private=True)
