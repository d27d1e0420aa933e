"""From a command to an answer: the desk is asked, the answer is rendered."""

from __future__ import annotations

from dataclasses import dataclass

from bot.chat import grammar
from bot.chat.cards import lists, requests
from bot.chat.message import Lines, Message, build
from bot.chat.picture import draw
from bot.chat.ports import Desk
from bot.chat.replies import Picture
from bot.chat.voice import Voice
from bot.views import (
    Done,
    MapView,
    MineView,
    QueueView,
    Refused,
    StatusView,
    Submitted,
    Unconfirmed,
    WhyView,
)
from storage.records import Role

DeskAnswer = Submitted | Done | Unconfirmed | Refused | StatusView | QueueView | WhyView | MineView


@dataclass(frozen=True, slots=True)
class Answer:
    """A message, and whether it is for the asker alone wherever it was asked.

    A picture goes where it was asked for, with the message beside it.
    """

    message: Message
    private: bool = False
    picture: Picture | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asker:
    """Who asks, where, and the key that makes the order idempotent."""

    person: str
    key: str
    channel: str | None = None


def answer(
    desk: Desk, voice: Voice, said: grammar.Command | grammar.GrammarError, asker: Asker
) -> Answer:
    """The answer to one line."""
    match said:
        case grammar.GrammarError():
            return Answer(lists.mistake(voice, said), private=True)
        case grammar.Form(missing=grammar.GrammarError() as missing):
            return Answer(lists.mistake(voice, missing), private=True)
        case grammar.Form() | grammar.Help(None):
            person = desk.person(asker.person)
            admin = person is not None and person.role is Role.ADMIN
            return Answer(lists.general_help(voice, admin=admin), private=True)
        case grammar.Help(verb):
            return Answer(lists.verb_help(voice, verb or grammar.Verb.HELP), private=True)
        case grammar.Map(by):
            return _map(voice, desk.map(by))
        case _:
            found = ask(desk, said, asker)
            private = isinstance(found, Refused | Unconfirmed)
            return Answer(render(voice, found), private=private)


def _map(voice: Voice, view: MapView) -> Answer:
    words = voice.words
    picture = Picture(
        name=f"gpu-map-{view.by.value}.png",
        title=words.map_file_title,
        alt=words.map_alt(view),
        content=draw(view, words),
    )
    return Answer(build([Lines(words.map_text(view))]), picture=picture)


def ask(desk: Desk, command: grammar.Command, asker: Asker) -> DeskAnswer:
    """Ask the desk. Raises TypeError for what no desk answers (a form, help)."""
    match command:
        case grammar.Request(wanted):
            return desk.submit(asker.person, wanted, key=asker.key, channel=asker.channel)
        case grammar.Cancel(request, confirmed):
            return desk.cancel(asker.person, request, key=asker.key, confirmed=confirmed)
        case grammar.Release(request, confirmed):
            return desk.release(asker.person, request, key=asker.key, confirmed=confirmed)
        case grammar.Status(what):
            return desk.status(asker.person, what)
        case grammar.Queue(what, page):
            return desk.queue(asker.person, what, page)
        case grammar.Why(request):
            return desk.why(asker.person, request)
        case grammar.Mine():
            return desk.mine(asker.person)
        case _:
            raise TypeError(f"not for the desk: {command!r}")


def render(voice: Voice, found: DeskAnswer) -> Message:
    """What the desk answered, as a message."""
    match found:
        case Submitted():
            return requests.submitted(voice, found)
        case Done():
            return requests.done(voice, found)
        case Unconfirmed():
            return requests.unconfirmed(voice, found)
        case Refused():
            return requests.refused(voice, found)
        case StatusView():
            return lists.status(voice, found)
        case QueueView():
            return lists.queue(voice, found)
        case WhyView():
            return requests.why(voice, found)
        case MineView():
            return lists.mine(voice, found)
