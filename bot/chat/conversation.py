"""From a command to an answer: the desk is asked, the answer is rendered.

Two tables join the chat to the desk: what asks for a command, and what shows an answer. A
new verb is a row in each.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from bot import maps, views
from bot.answers import Changed, Kept, Tried, WhenView
from bot.byhand import Declined, Intervened, Preview
from bot.chat import grammar
from bot.chat.cards import (
    changes,
    identity,
    idle,
    interventions,
    lists,
    prospects,
    reports,
    requests,
)
from bot.chat.message import Lines, Message, build
from bot.chat.ports import Desk
from bot.chat.presses import AnswerLink, Confirmed, End, Keep, Press, Prolong, Rewrite, TakeOffer
from bot.chat.replies import Picture
from bot.chat.voice import Voice
from bot.chat.voices import Voices
from bot.chat.wishes import wish_of
from bot.fairness import FairView
from bot.identity import LinkAnswered, LinkAsked, LinkRefused, LinkView, OnCallView
from bot.reports import ReportView
from storage.records import Recipe, RecipeKind, Role


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
    desk: Desk, voices: Voices, said: grammar.Command | Press | grammar.GrammarError, asker: Asker
) -> Answer:
    """The answer to one line, in the language that the asker has after it."""
    if not isinstance(said, grammar.GrammarError | grammar.Form | grammar.Help):
        found = ask(desk, said, asker)
        return render(voices.of(asker.person), in_its_words(said, found))
    voice = voices.of(asker.person)
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


def in_its_words(said: grammar.Command | Press, found: object) -> object:
    """A refusal that proposes what was said, changed: a try stays a try."""
    if not isinstance(found, views.Refused) or found.instead is None:
        return found
    if not isinstance(said, grammar.Try | grammar.Debug | grammar.Hold | grammar.Run):
        return found
    return replace(found, line=grammar.spell_command(replace(said, ask=found.instead)))


def ask(desk: Desk, command: grammar.Command | Press, asker: Asker) -> object:
    """What the desk says to a command. Raises TypeError for what no desk answers (a form, help)."""
    put = _ASKED.get(type(command))
    if put is None:
        raise TypeError(f"not for the desk: {command!r}")
    return put(desk, command, asker)


def render(voice: Voice, found: object) -> Answer:
    """What the desk said, shown. Raises TypeError for what has no row in the table."""
    show = _SHOWN.get(type(found))
    if show is None:
        raise TypeError(f"nothing shows a {type(found).__name__}")
    draw_it = _DRAWN.get(type(found))
    return Answer(
        show(voice, found),
        private=type(found) in _PRIVATE,
        picture=None if draw_it is None else draw_it(voice, found),
    )


def _map(voice: Voice, view: maps.MapView) -> Message:
    return build([Lines(voice.words.map_text(view))])


def _map_picture(voice: Voice, view: maps.MapView) -> Picture:
    # What draws takes half a second to load: nobody has to wait for it at a start.
    from bot.chat.lettering import labels  # noqa: PLC0415 - see above
    from bot.chat.picture import draw  # noqa: PLC0415 - see above

    words = voice.words
    return Picture(
        name=f"gpu-map-{view.by.value}.png",
        title=words.map_file_title,
        alt=words.map_alt(view),
        content=draw(view, labels(words)),
    )


_ASKED: dict[type[grammar.Command | Press], Callable[[Desk, Any, Asker], object]] = {
    grammar.Request: lambda desk, it, who: desk.submit(
        who.person, it.ask, key=who.key, channel=who.channel
    ),
    grammar.Hold: lambda desk, it, who: desk.submit(
        who.person, it.ask, key=who.key, channel=who.channel
    ),
    grammar.Debug: lambda desk, it, who: desk.submit(
        who.person,
        it.ask,
        key=who.key,
        channel=who.channel,
        recipe=Recipe(kind=RecipeKind.DEBUG),
    ),
    grammar.Run: lambda desk, it, who: desk.submit(
        who.person,
        it.ask,
        key=who.key,
        channel=who.channel,
        recipe=Recipe(kind=RecipeKind.RUN, image=it.image, command=it.command),
    ),
    grammar.Cancel: lambda desk, it, who: desk.cancel(
        who.person, it.request, key=who.key, confirmed=False
    ),
    grammar.Release: lambda desk, it, who: desk.release(
        who.person, it.request, key=who.key, confirmed=False
    ),
    End: lambda desk, it, who: (desk.release if it.release else desk.cancel)(
        who.person, it.request, key=who.key, confirmed=it.grant is not None, grant=it.grant
    ),
    grammar.Extend: lambda desk, it, who: desk.extend(who.person, it.request, it.by, key=who.key),
    grammar.Edit: lambda desk, it, who: desk.edit(who.person, it.request, it.change, key=who.key),
    grammar.Adopt: lambda desk, it, who: desk.adopt(
        who.person,
        it.pod,
        key=who.key,
        lease=it.lease,
        team=it.team,
        preemptible=it.preemptible,
        channel=who.channel,
    ),
    grammar.Give: lambda desk, it, who: desk.give(who.person, it.request, it.to, key=who.key),
    grammar.Try: lambda desk, it, who: desk.try_out(who.person, it.ask),
    grammar.When: lambda desk, it, who: desk.when(who.person, it.request),
    Rewrite: lambda desk, it, who: desk.rewrite(who.person, it.request, it.ask, key=who.key),
    TakeOffer: lambda desk, it, who: desk.take(who.person, it.request, it.offer, key=who.key),
    Prolong: lambda desk, it, who: desk.extend(
        who.person, it.request, it.by, key=who.key, ends=it.ends
    ),
    grammar.Status: lambda desk, it, who: desk.status(who.person, it.what),
    grammar.Queue: lambda desk, it, who: desk.queue(who.person, it.what, it.page),
    grammar.Why: lambda desk, it, who: desk.why(who.person, it.request),
    grammar.Mine: lambda desk, _, who: desk.mine(who.person),
    grammar.Map: lambda desk, it, _: desk.map(it.by),
    grammar.Fair: lambda desk, it, who: desk.fair(who.person, it.team),
    **dict.fromkeys(
        (
            grammar.Pause,
            grammar.Resume,
            grammar.Boost,
            grammar.Preempt,
            grammar.Drain,
            grammar.Undrain,
            grammar.Quota,
        ),
        lambda desk, it, who: desk.intervene(who.person, wish_of(it), key=who.key),
    ),
    grammar.Link: lambda desk, it, who: desk.link(who.person, it.team, it.person, key=who.key),
    Keep: lambda desk, it, who: desk.keep(who.person, it.request, key=who.key),
    grammar.OnCall: lambda desk, it, who: desk.stand_in(
        who.person, it.person, it.end, key=who.key, off=it.off
    ),
    AnswerLink: lambda desk, it, who: desk.answer_link(
        who.person, it.person, it.team, agree=it.agree
    ),
    Confirmed: lambda desk, it, who: desk.intervene(
        who.person, it.wish, key=who.key, confirmed=True, seen=it.seen
    ),
    grammar.Report: lambda desk, it, _: desk.report(it.period, it.team),
    grammar.Prefs: lambda desk, it, who: desk.prefs(who.person, it.changes, key=who.key),
}
"""How each command is put to the desk."""

_SHOWN: dict[type, Callable[[Voice, Any], Message]] = {
    views.Submitted: requests.submitted,
    views.Done: requests.done,
    views.Unconfirmed: requests.unconfirmed,
    views.Refused: requests.refused,
    Changed: changes.changed,
    Tried: prospects.tried,
    WhenView: prospects.when,
    views.StatusView: lists.status,
    views.QueueView: lists.queue,
    views.WhyView: requests.why,
    views.MineView: lists.mine,
    maps.MapView: _map,
    views.PreferencesView: lists.preferences,
    FairView: reports.fair,
    Kept: idle.kept,
    ReportView: reports.report,
    Declined: interventions.declined,
    Preview: interventions.preview,
    Intervened: interventions.intervened,
    LinkView: identity.who,
    OnCallView: identity.on_call,
    LinkAsked: identity.asked,
    LinkAnswered: identity.answered,
    LinkRefused: identity.refused,
}
"""How each answer of the desk is shown in words."""

_DRAWN: dict[type, Callable[[Voice, Any], Picture]] = {
    maps.MapView: _map_picture,
    ReportView: reports.report_picture,
}
"""What comes with a picture."""

_PRIVATE: frozenset[type] = frozenset(
    {
        views.Refused,
        views.Unconfirmed,
        views.PreferencesView,
        Changed,
        Tried,
        Declined,
        Preview,
        Intervened,
        LinkView,
        LinkAsked,
        LinkAnswered,
        LinkRefused,
        OnCallView,
    }
)
"""What only the asker sees, wherever it was asked."""
