"""The Bolt app: every door people come through. A handler acknowledges, asks, and replies.

Slack delivers again when it is unsure, so every delivery has a key: the desk gives the
first result to it again, and an answer that has gone out is not sent twice.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from slack_bolt import App
from slack_bolt.authorization import AuthorizeResult
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot import mishaps
from bot.asks import Ask
from bot.chat import conversation, grammar
from bot.chat.actions import (
    FORM,
    WHY_OF_MESSAGE,
    ActionId,
    AskValue,
    CallValue,
    ExtendValue,
    FormPlace,
    LinkValue,
    OfferValue,
    PageValue,
    RequestValue,
    StopValue,
    WishValue,
    place_of_form,
)
from bot.chat.cards import lists
from bot.chat.cards.form import form, mark_refused, read_form
from bot.chat.cards.home import home
from bot.chat.cards.oncall import taken
from bot.chat.cards.requests import refused as refused_message
from bot.chat.conversation import Asker
from bot.chat.deliveries import Deliveries
from bot.chat.discreet import LIBRARY_LOGGERS, discreet_logger
from bot.chat.editing import EditForm
from bot.chat.markup import Markup
from bot.chat.message import Block, Lines, build
from bot.chat.ports import Desk, Once, Threads
from bot.chat.presses import AnswerLink, Confirmed, End, Keep, Press, Prolong, TakeOffer
from bot.chat.replies import Body, Place, Replier, place_of
from bot.chat.spoken import after_mention, as_delivered, is_said, make_storable
from bot.chat.spool import Workers
from bot.chat.voices import Voices
from bot.chat.whole import WholePresses
from bot.chat.words import Words
from bot.views import NotReady, RefusalCode, Refused

COMMAND = "/gpu"
WORKERS = 64  # many may wait for a look ahead, and keep no other from being acknowledged
_LOST_TRIGGER = frozenset({"expired_trigger_id", "trigger_expired", "invalid_trigger_id"})
_Value = TypeVar("_Value", bound=BaseModel)
Ack = Callable[..., object]


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who the bot is in its workspace, from `auth.test`; asked once, not at every request."""

    bot_token: str
    user_id: str
    bot_id: str
    team_id: str


def identify(client: WebClient) -> Identity:
    """Ask Slack who we are. Raises SlackApiError."""
    answer = client.auth_test()
    return Identity(
        bot_token=client.token or "",
        user_id=str(answer["user_id"]),
        bot_id=str(answer.get("bot_id") or ""),
        team_id=str(answer.get("team_id") or ""),
    )


def build_app(
    desk: Desk,
    *,
    client: WebClient,
    identity: Identity,
    voices: Voices,
    once: Once,
    threads: Threads,
    workers: Executor | None = None,
) -> App:
    """The app with all its handlers, which run in `workers`; nothing is connected yet."""

    def authorize() -> AuthorizeResult:
        return AuthorizeResult(
            enterprise_id=None,
            team_id=identity.team_id,
            bot_token=identity.bot_token,
            bot_id=identity.bot_id,
            bot_user_id=identity.user_id,
        )

    logger = discreet_logger("gpubot.chat")
    for name in LIBRARY_LOGGERS:
        discreet_logger(name)
    handlers = workers or new_workers()
    app = App(
        client=WebClient(base_url=client.base_url),  # the token comes from `authorize`
        logger=logger,
        authorize=authorize,
        request_verification_enabled=False,
        token_verification_enabled=False,
        attaching_conversation_kwargs_enabled=False,
        ignoring_self_events_enabled=False,  # see `echo`; handlers of messages look for themselves
        listener_executor=handlers,
    )
    chat = Chat(
        desk=desk, voices=voices, once=once, threads=threads, client=client, identity=identity
    )
    app.use(WholePresses(chat.reject_press, handlers))
    app.use(make_storable)
    chat.register(app)
    app.error(Faults(chat, logger).handle)
    return app


def new_workers() -> Workers:
    """Threads for the handlers."""
    return Workers(WORKERS, thread_name_prefix="gpubot-chat")


class Chat:
    """The handlers. Each is safe to run in any of Bolt's threads."""

    def __init__(
        self,
        *,
        desk: Desk,
        voices: Voices,
        once: Once,
        threads: Threads,
        client: WebClient,
        identity: Identity,
    ) -> None:
        self.desk, self.voices, self.once, self.threads = desk, voices, once, threads
        self.client, self.identity = client, identity
        self.replier = Replier(client)
        self.deliveries = Deliveries(once)

    def register(self, app: App) -> None:
        """Bind every door. The last two are for ids this version does not make."""
        app.command(COMMAND)(self.on_command)
        app.event("app_mention")(self.on_mention)
        app.event("message")(self.on_message)
        app.event("app_home_opened")(self.on_home)
        app.shortcut(FORM)(self.on_shortcut)
        app.shortcut(WHY_OF_MESSAGE)(self.on_message_shortcut)
        app.view(FORM)(self.on_form)
        for action, handler in (
            (ActionId.WHY, self.on_why),
            (ActionId.CANCEL, self.on_cancel),
            (ActionId.RELEASE, self.on_release),
            (ActionId.EXTEND, self.on_extend),
            (ActionId.KEEP, self.on_keep),
            (ActionId.LINK, self.on_link),
            (ActionId.LINK_NO, self.on_link),
            (ActionId.ORDER, self.on_order),
            (ActionId.ORDER_MOVE, self.on_order),
            (ActionId.OFFER_1, self.on_offer),
            (ActionId.OFFER_2, self.on_offer),
            (ActionId.OFFER_3, self.on_offer),
            (ActionId.ASK_0, self.on_ask),
            (ActionId.ASK_1, self.on_ask),
            (ActionId.ASK_2, self.on_ask),
            (ActionId.ASK_3, self.on_ask),
            (ActionId.REQUEST, self.on_shortcut),
            (ActionId.REFRESH, self.on_refresh),
            (ActionId.PREVIOUS, self.on_page),
            (ActionId.NEXT, self.on_page),
            (ActionId.ACKNOWLEDGE, self.on_acknowledge),
        ):
            app.action(action.value)(handler)
        EditForm(self).register(app)
        app.action(re.compile(".*"))(self.on_unknown)
        app.view(re.compile(".*"))(self.on_unknown)

    def on_command(self, ack: Ack, body: dict[str, Any]) -> None:
        """`/gpu …`: the answer is private; alone it opens the form."""
        ack()
        said = grammar.parse(str(body.get("text") or ""))
        if isinstance(said, grammar.Form):
            self._open_form(body, said.draft)
        else:
            self.converse(said, place_of(body), f"command:{body['trigger_id']}")

    def on_mention(self, body: dict[str, Any]) -> None:
        """`@gpubot …`: answered in the thread; the thread may name the request."""
        event = body["event"]
        if is_said(event):
            self._hear(after_mention(str(event.get("text") or ""), self.identity.user_id), body)

    def on_message(self, body: dict[str, Any]) -> None:
        """A direct message; whatever is said in channels without a mention is not for us."""
        event = body["event"]
        if event.get("channel_type") != "im" or not is_said(event):
            return
        text = str(event.get("text") or "").replace(f"<@{self.identity.user_id}>", "", 1)
        self._hear(text, body)

    def on_home(self, body: dict[str, Any]) -> None:
        """The Home tab was opened."""
        if body["event"].get("tab", "home") == "home":
            self._publish_home(body["event"]["user"])

    def on_refresh(self, ack: Ack, body: dict[str, Any]) -> None:
        """Refresh on the Home tab."""
        ack()
        self._publish_home(body["user"]["id"])

    def on_shortcut(self, ack: Ack, body: dict[str, Any]) -> None:
        """The button or shortcut that opens the form."""
        ack()
        self._open_form(body)

    def on_message_shortcut(self, ack: Ack, body: dict[str, Any]) -> None:
        """Why, from the menu of a card or of anything in its thread."""
        ack()
        place, message = place_of(body), body["message"]
        thread = str(message.get("thread_ts") or message["ts"])
        here = self.threads.request_at(place.channel, thread) if place.channel else None
        said = grammar.parse("why", here=here)
        self.converse(said, place, f"shortcut:{body['trigger_id']}", private=True)

    def on_form(self, ack: Ack, body: dict[str, Any]) -> None:
        """The form was sent: what is wrong is said in it, the rest where it was opened.

        The desk's look comes before the acknowledgement, so that nobody fills it in twice.
        """
        view = body["view"]
        person = body["user"]["id"]
        voice = self.voices.of(person)
        filled = read_form(voice, view["state"]["values"])
        refused = self.desk.examine(person, filled.ask)
        errors = {**mark_refused(voice, refused, view["state"]["values"]), **filled.errors}
        if errors:
            ack(response_action="errors", errors=errors)
            return
        ack()
        opened = place_of_form(view)
        place = Place(user=person, channel=None if opened is None else opened.channel)
        self.converse(grammar.Request(filled.ask), place, f"form:{view['id']}", private=True)

    def on_why(self, ack: Ack, body: dict[str, Any]) -> None:
        """Why, on a card."""
        ack()
        self._pressed(body, lambda value: grammar.Why(value.request))

    def on_cancel(self, ack: Ack, body: dict[str, Any]) -> None:
        """Cancel, confirmed; one that waited when the button was drawn is stopped only if asked."""
        ack()
        self._pressed(body, lambda it: End(it.request, release=False, grant=_confirmed(it)))

    def on_release(self, ack: Ack, body: dict[str, Any]) -> None:
        """Release, confirmed for one grant."""
        ack()
        self._pressed(body, lambda it: End(it.request, release=True, grant=_confirmed(it)))

    def on_extend(self, ack: Ack, body: dict[str, Any]) -> None:
        """Extend, on a card or a reminder."""
        ack()
        value = self.value_of(body, ExtendValue)
        if value is not None:
            said = Prolong(value.request, value.by, value.ends)
            self.converse(said, place_of(body), _press_key(body), private=True)

    def on_keep(self, ack: Ack, body: dict[str, Any]) -> None:
        """Keep, under the question about idle GPUs."""
        ack()
        value = self.value_of(body, RequestValue)
        if value is not None:
            said = Keep(value.request)
            self.converse(said, place_of(body), _press_key(body), private=True)

    def on_link(self, ack: Ack, body: dict[str, Any]) -> None:
        """A lead's answer to who wants to be in the team."""
        ack()
        value = self.value_of(body, LinkValue)
        if value is not None:
            said = AnswerLink(value.person, value.team, value.agree)
            self.converse(said, place_of(body), _press_key(body), private=True, replace=True)

    def on_order(self, ack: Ack, body: dict[str, Any]) -> None:
        """An order of an admin, confirmed."""
        ack()
        value = self.value_of(body, WishValue)
        if value is not None:
            said = Confirmed(value.wish(), value.seen)
            self.converse(said, place_of(body), _press_key(body), private=True, replace=True)

    def on_offer(self, ack: Ack, body: dict[str, Any]) -> None:
        """Take an offer, on a card or an answer."""
        ack()
        value = self.value_of(body, OfferValue)
        if value is not None:
            said = TakeOffer(value.request, value.offer)
            self.converse(said, place_of(body), _press_key(body), private=True)

    def on_ask(self, ack: Ack, body: dict[str, Any]) -> None:
        """Ask for what was tried."""
        ack()
        value = self.value_of(body, AskValue)
        if value is not None:
            said = grammar.parse(as_delivered(f"request {value.line}"))
            place, key = place_of(body), _press_key(body)
            self.converse(said, place, key, private=True, meant=_button_key(body, place))

    def on_page(self, ack: Ack, body: dict[str, Any]) -> None:
        """Another page of the queue, in place of the one shown."""
        ack()
        value = self.value_of(body, PageValue)
        if value is not None:
            said = grammar.Queue(value.what, value.page)
            self.converse(said, place_of(body), _press_key(body), private=True, replace=True)

    def on_acknowledge(self, ack: Ack, body: dict[str, Any]) -> None:
        """On-call takes a notice; the notice itself is drawn anew by the announcer."""
        ack()
        value, key = self.value_of(body, CallValue), _press_key(body)
        if value is None:
            return
        with self.deliveries.turn(key) as mine:
            if not mine:
                return
            place = place_of(body)
            found = self.desk.acknowledge(place.user, value.call, key=key)
            if self.deliveries.first_answer(key):
                self.replier.privately(place, taken(self.voices.of(place.user), found))

    def on_unknown(self, ack: Ack, body: dict[str, Any]) -> None:
        """A button or a form this version does not make."""
        ack()
        self.reject_press(body)

    def _hear(self, text: str, body: Body) -> None:
        place = place_of(body)
        here = None
        if body["event"].get("thread_ts") and place.channel:
            here = self.threads.request_at(place.channel, str(body["event"]["thread_ts"]))
        self.converse(grammar.parse(text, here=here), place, f"event:{body['event_id']}")

    def _pressed(self, body: Body, command: Callable[[StopValue], grammar.Command | Press]) -> None:
        value = self.value_of(body, StopValue)
        if value is None:
            return
        self.converse(
            command(value), place_of(body), _press_key(body), private=True, replace=value.replace
        )
        if (body.get("view") or {}).get("type") == "home":
            self._publish_home(body["user"]["id"])

    def value_of(self, body: Body, model: type[_Value]) -> _Value | None:
        """The checked value of the pressed button; an old or forged one is answered here."""
        try:
            return model.model_validate_json(str(body["actions"][0].get("value") or ""))
        except ValidationError:
            self.reject_press(body)
            return None

    def reject_press(self, body: Body) -> None:
        """Say that a button or form is of another version, and what would do."""
        place = place_of(body)
        sentence = self.voices.of(place.user).words.old_button()
        self.replier.privately(place, build([Lines(sentence)]))

    def converse(
        self,
        said: grammar.Command | Press | grammar.GrammarError,
        place: Place,
        key: str,
        *,
        private: bool = False,
        replace: bool = False,
        meant: str | None = None,
    ) -> None:
        """Carry out what was said and answer. With the same `meant` it is carried out once."""
        with self.deliveries.turn(key) as mine:
            if not mine:
                return
            asker = Asker(person=place.user, key=meant or key, channel=place.channel)
            answer = conversation.answer(self.desk, self.voices, said, asker)
            if not self.deliveries.first_answer(key):
                return
            if answer.picture is not None:
                self.replier.show(place, answer.picture, answer.message)
            elif private or answer.private:
                self.replier.privately(place, answer.message, replace=replace)
            else:
                self.replier.openly(place, answer.message)

    def _open_form(self, body: Body, draft: Ask | None = None) -> None:
        trigger = str(body["trigger_id"])
        if not self.once.first(f"open:{trigger}"):
            return
        place = place_of(body)
        voice, choices = self.voices.of(place.user), self.desk.choices(place.user)
        if not choices.teams:
            nobody = Refused(code=RefusalCode.NO_TEAM)
            self.replier.privately(place, refused_message(voice, nobody))
            return
        self.open_view(body, form(voice, choices, FormPlace(channel=place.channel), draft))

    def open_view(self, body: Body, view: Block) -> None:
        """Open a form; help in words, where it took too long."""
        place = place_of(body)
        try:
            self.client.views_open(trigger_id=str(body["trigger_id"]), view=view)
        except SlackApiError as error:
            if str(error.response.get("error")) not in _LOST_TRIGGER:
                raise
            self.replier.privately(place, lists.general_help(self.voices.of(place.user)))

    def _publish_home(self, user: str) -> None:
        view = home(self.voices.of(user), self.desk.home(user))
        self.client.views_publish(user_id=user, view=view)


class Faults:
    """The one error path: a trace in the log and an answer to the person, joined by an id."""

    def __init__(self, chat: Chat, logger: logging.Logger) -> None:
        self._chat, self._logger = chat, logger

    def handle(self, error: Exception, body: dict[str, Any]) -> None:
        """Called by Bolt with whatever a handler raised."""
        if isinstance(error, NotReady):
            self._tell(body, lambda words: words.not_ready())
            return
        kind = body.get("command") or (body.get("event") or {}).get("type") or body.get("type")
        fault = mishaps.note(self._logger, f"handling {kind}", error)
        self._tell(body, lambda words: words.unexpected(fault))

    def _tell(self, body: Body, sentence: Callable[[Words], Markup]) -> None:
        """Where they asked; directly if that place is closed."""
        try:
            place = place_of(body)
            message = build([Lines(sentence(self._chat.voices.of(place.user).words))])
        except (KeyError, TypeError):  # nobody is behind this payload
            return
        for where in (place, Place(user=place.user)):
            try:
                self._chat.replier.privately(where, message)
            except (OSError, SlackApiError, SlackClientError) as failed:
                mishaps.note(self._logger, "telling a person of a failure", failed)
            else:
                return


def _confirmed(value: StopValue) -> int | None:
    """The grant whose stop a press confirms; None for none."""
    return None if value.waiting else value.grant


def _press_key(body: Body) -> str:
    return f"press:{body['trigger_id']}:{body['actions'][0]['action_id']}"


def _button_key(body: Body, place: Place) -> str:
    """The same for every press of one button by one person: pressed again, it asks once."""
    at = (body.get("container") or {}).get("message_ts") or body["trigger_id"]
    return f"button:{place.user}:{place.channel}:{at}:{body['actions'][0]['action_id']}"
