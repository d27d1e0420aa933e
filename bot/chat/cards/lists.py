"""Answers that are lists: status, queue, mine, help; own rows first, cut with a count."""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat.actions import ActionId, EmptyValue, PageValue
from bot.chat.cards.requests import buttons, request_parts
from bot.chat.grammar import ADMIN_VERBS, GrammarError, Verb
from bot.chat.markup import Markup, join
from bot.chat.message import Button, Buttons, Lines, Message, Note, Part, build
from bot.chat.voice import Voice
from bot.views import MineView, PreferencesView, QueueRow, QueueView, StatusView

MOST_ROWS = 15
MOST_SECTIONS = 12
MOST_POOLS = 20
MOST_WITH_BUTTONS = 8
MOST_LASTING = 10
MOST_DOUBTS = 10
MOST_OUTSIDE = 5


def status(voice: Voice, view: StatusView) -> Message:
    """Own requests, then what was asked about, then the cluster."""
    words = voice.words
    parts: list[Part] = []
    if view.about is not None:
        parts += _about(voice, view, view.about)
    else:
        title = words.mine_title(len(view.mine), may_ask=view.may_ask)
        parts.append(Lines(_list(voice, title, [words.row(row) for row in view.mine])))
        cluster = [words.cluster(view.cluster), *words.levels(view.cluster)]
        cluster += [words.pool(pool) for pool in view.cluster.pools[:MOST_POOLS]]
        parts.append(Lines(join("\n", [words.cluster_title(), *cluster])))
        if view.by_hand:
            rows = [words.lasting(one, voice.people.name(one.actor)) for one in view.by_hand]
            most, left = rows[:MOST_LASTING], len(rows[MOST_LASTING:])
            parts.append(Lines(_list(voice, words.lasting_title(), most, left)))
        if view.outside:
            rows = [words.outside(pod) for pod in view.outside[:MOST_OUTSIDE]]
            title = words.outside_title(view.outside)
            listed = _list(voice, title, rows, len(view.outside) - len(rows))
            parts.append(Lines(join("\n", [listed, words.outside_hint(voice.command)])))
        if view.doubts:
            rows = [words.doubt(doubt) for doubt in view.doubts[:MOST_DOUBTS]]
            left = len(view.doubts) - len(rows)
            parts.append(Lines(_list(voice, words.doubts_title(len(view.doubts)), rows, left)))
        if view.letters:
            rows = [words.letter(one, voice.people.name(one.where)) for one in view.letters]
            parts.append(Lines(_list(voice, words.letters_title(len(rows)), rows)))
    parts.append(Note(words.as_of(view.cluster.at)))
    return build(parts)


def _about(voice: Voice, view: StatusView, about: str) -> list[Part]:
    words = voice.words
    if [row.request for row in view.rows] == [about]:
        return request_parts(voice, view.rows[0])
    owners = [voice.people.name(row.owner) if row.owner != about else None for row in view.rows]
    rows = [words.row(row, owner) for row, owner in zip(view.rows, owners, strict=True)]
    title = words.about_title(voice.people.name(about))
    found = Lines(_list(voice, title, rows or [words.nothing_found()], view.more))
    return [found, Lines(words.budgets(view.budgets))]


def preferences(voice: Voice, view: PreferencesView) -> Message:
    """What a person wants to hear, and how to change it."""
    words = voice.words
    title, rows = words.preferences_title(view), words.preferences(view)
    return build([Lines(join("\n", [title, rows])), Note(words.preferences_example())])


def queue(voice: Voice, view: QueueView) -> Message:
    """Own rows first, then queue by queue in the engine's order."""
    words = voice.words
    parts: list[Part] = []
    if view.mine:
        rows = [_queue_row(voice, row) for row in view.mine]
        title, more = words.mine_waiting_title(view.mine_total), view.mine_total - len(rows)
        parts.append(Lines(_list(voice, title, rows, more)))
    shown = view.sections[:MOST_SECTIONS]
    for section in shown:
        rows = [_queue_row(voice, row) for row in section.rows]
        parts.append(Lines(_list(voice, words.queue_title(section), rows)))
    if not any(section.total for section in view.sections):
        parts.append(Lines(words.queue_empty()))
    if len(view.sections) > len(shown):
        parts.append(Lines(words.more(len(view.sections) - len(shown))))
    place = words.page(view.page, view.pages) if view.pages > 1 else Markup()
    parts.append(Note(join(" ", [place, words.as_of(view.at)])))
    parts.append(Buttons(_pages(voice, view)))
    return build(parts)


def mine(voice: Voice, view: MineView) -> Message:
    """Own open requests with their buttons, then what ended lately."""
    words = voice.words
    parts = mine_parts(voice, view)
    if view.ended:
        rows = [words.row(row) for row in view.ended]
        parts.append(Lines(_list(voice, words.ended_list_title(), rows)))
    return build([*parts, Note(words.as_of(view.at))])


def mine_parts(voice: Voice, view: MineView, *, brief: bool = False) -> list[Part]:
    """The open requests of a person; the first few with buttons, and, unless brief, the reason."""
    words, cards = voice.words, view.open
    parts: list[Part] = [Lines(words.mine_title(len(cards), may_ask=view.may_ask))]
    for card in cards[:MOST_WITH_BUTTONS]:
        lines = [words.headline(card), words.stand(card)]
        if brief:
            lines = [words.row(card), words.extends(card)]
        if card.prospect is not None:
            lines.append(words.expected(card.prospect))
        parts.append(Lines(join("\n", lines)))
        parts.append(Buttons(buttons(voice, card)))
    rest = cards[MOST_WITH_BUTTONS:]
    if rest:
        parts.append(Lines(_list(voice, Markup(), [words.row(card) for card in rest])))
    return parts


def general_help(voice: Voice, *, admin: bool = False) -> Message:
    """Every command with an example; those of admins for admins only."""
    words = voice.words
    rows = {verb: words.help_row(verb, voice.command) for verb in Verb}
    orders = [row for verb, row in rows.items() if verb in ADMIN_VERBS]
    others = [row for verb, row in rows.items() if verb not in ADMIN_VERBS]
    parts: list[Part] = [Lines(words.hello()), Lines(join("\n", others))]
    if admin:
        parts.append(Lines(join("\n", [words.help_admin(), *orders])))
    return build([*parts, Note(words.help_doors()), Buttons((ask_button(voice),))])


def verb_help(voice: Voice, verb: Verb) -> Message:
    """One command with all its examples."""
    words = voice.words
    for_admins = words.help_admin() if verb in ADMIN_VERBS else Markup()
    examples = words.examples(verb, voice.command)
    return build([Lines(words.help_verb(verb)), Lines(examples), Note(for_admins)])


def mistake(voice: Voice, wrong: GrammarError) -> Message:
    """What was wrong, with a caret at the token, and a line that works."""
    words = voice.words
    return build(
        [
            Lines(words.mistake(wrong)),
            Lines(words.caret(wrong)),
            Lines(words.did_you_mean(wrong, voice.command)),
            Note(words.nothing_done()),
        ]
    )


def ask_button(voice: Voice) -> Button:
    """Opens the form."""
    value = EmptyValue().model_dump_json()
    label = voice.words.button_request
    return Button(label=label, action=ActionId.REQUEST, value=value, style="primary")


def _queue_row(voice: Voice, row: QueueRow) -> Markup:
    owner = voice.people.name(row.owner) if row.owner != row.team else None
    return voice.words.queue_row(row, owner)


def _list(voice: Voice, title: Markup, rows: Sequence[Markup], more: int = 0) -> Markup:
    left = max(0, len(rows) - MOST_ROWS) + more
    end = voice.words.more(left) if left else Markup()
    return join("\n", [title, *rows[:MOST_ROWS], end])


def _pages(voice: Voice, view: QueueView) -> tuple[Button, ...]:
    words = voice.words
    pages = []
    if view.page > 1:
        pages.append((words.button_previous, ActionId.PREVIOUS, view.page - 1))
    if view.page < view.pages:
        pages.append((words.button_next, ActionId.NEXT, view.page + 1))
    return tuple(
        Button(
            label=label,
            action=action,
            value=PageValue(what=(view.about or "")[:80] or None, page=page).model_dump_json(),
        )
        for label, action, page in pages
    )
