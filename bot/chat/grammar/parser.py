"""From tokens to a command: the first word names the verb, each verb has one reader.

A reader walks the tokens once. A mistake is raised as `Wrong` inside this package and
leaves it as a `GrammarError`; nothing else is raised, whatever the text.
"""

from __future__ import annotations

from collections.abc import Callable

from rapidfuzz import fuzz, process

from bot.chat.grammar import adopting, orders, preferring, readers
from bot.chat.grammar.commands import Command, Form, Request, Verb
from bot.chat.grammar.errors import Expected, GrammarError, Mistake
from bot.chat.grammar.examples import stock
from bot.chat.grammar.pieces import surely_a_request
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.request import has_size, read_ask, read_draft, starts_a_request
from bot.chat.grammar.table import Lexicon
from bot.chat.grammar.tokens import LONGEST_LINE, Line, Token, is_han, tokenize
from bot.chat.grammar.vocabulary import VOCABULARY

LIKELY = 72.0
"""From this similarity (0 to 100) on, an unknown word is taken for a misspelt one."""
LIKELY_HAN = 50.0
"""Chinese words are two or three characters long: one of two is much."""


def parse(
    raw: str, *, lexicon: Lexicon = VOCABULARY, here: str | None = None
) -> Command | GrammarError:
    """Read one line. `here` is the request whose thread it was said in, if any."""
    line = tokenize(raw, lexicon.glued)
    try:
        _check_length(raw, line)
        return _read_whole(Cursor(line, lexicon), here)
    except Wrong as wrong:
        return _error(line, wrong, lexicon, here)


def _check_length(raw: str, line: Line) -> None:
    if len(raw) > LONGEST_LINE:
        raise Wrong(Mistake.TOO_LONG, Expected.SHORTER, Token("", "", 0, len(line.text)))


def _read_whole(cursor: Cursor, here: str | None) -> Command:
    """Read the line. A quote that is never closed is the mistake, wherever it is noticed.

    It is none in a reason or a shell command: those are taken as they were written.
    """
    unclosed = cursor.line.unclosed
    try:
        found = _read(cursor, here)
    except Wrong:
        if unclosed is None:
            raise
    else:
        if unclosed is None or (cursor.rest_from is not None and cursor.rest_from <= unclosed):
            return found
    place = Token("", "", unclosed, len(cursor.line.text))
    raise Wrong(Mistake.UNCLOSED, Expected.QUOTE, place)


def _read(cursor: Cursor, here: str | None) -> Command:
    lexicon = cursor.lexicon
    while (first := cursor.peek()) is not None and first.word in lexicon.filler:
        cursor.take()  # "please", "I"
    if first is None:
        return Form()
    after = cursor.peek(1)
    if surely_a_request(first) and after is not None and _verb(after, lexicon) is not None:
        cursor.swap()  # "R-1042 why"
        first = after
    verb = _verb(first, lexicon)
    if verb is not None:
        cursor.take()
        if verb is Verb.REQUEST and cursor.peek() is None:
            return Form()
        return _READERS[verb](cursor, here)
    if starts_a_request(first, lexicon):
        return Request(read_ask(cursor))
    raise Wrong(Mistake.UNKNOWN_VERB, Expected.VERB, first, known=tuple(lexicon.verbs))


def _verb(token: Token, lexicon: Lexicon) -> Verb | None:
    return None if token.quoted else lexicon.verbs.get(token.word)


def _read_request(cursor: Cursor, here: str | None) -> Command:
    draft = read_draft(cursor)
    if has_size(draft):
        return Request(draft)
    wrong = Wrong(Mistake.MISSING, Expected.SIZE, cursor.end())
    return Form(draft, _error(cursor.line, wrong, cursor.lexicon, here))


_READERS: dict[Verb, Callable[[Cursor, str | None], Command]] = {
    Verb.REQUEST: _read_request,
    Verb.TRY: readers.read_try,
    Verb.DEBUG: readers.read_debug,
    Verb.RUN: readers.read_run,
    Verb.HOLD: readers.read_hold,
    Verb.STATUS: readers.read_status,
    Verb.QUEUE: readers.read_queue,
    Verb.WHY: readers.read_why,
    Verb.WHEN: readers.read_when,
    Verb.MINE: readers.read_mine,
    Verb.MAP: readers.read_map,
    Verb.CANCEL: readers.read_cancel,
    Verb.RELEASE: readers.read_release,
    Verb.EXTEND: readers.read_extend,
    Verb.EDIT: readers.read_edit,
    Verb.GIVE: readers.read_give,
    Verb.ADOPT: adopting.read_adopt,
    Verb.FAIR: readers.read_fair,
    Verb.REPORT: readers.read_report,
    Verb.PREFS: preferring.read_prefs,
    Verb.LINK: readers.read_link,
    Verb.ONCALL: readers.read_oncall,
    Verb.HELP: readers.read_help,
    Verb.PAUSE: orders.read_pause,
    Verb.RESUME: orders.read_resume,
    Verb.BOOST: orders.read_boost,
    Verb.PREEMPT: orders.read_preempt,
    Verb.DRAIN: orders.read_drain,
    Verb.UNDRAIN: orders.read_undrain,
    Verb.QUOTA: orders.read_quota,
}


def _error(line: Line, wrong: Wrong, lexicon: Lexicon, here: str | None) -> GrammarError:
    token = wrong.token
    found = wrong.near or _near(token.word, wrong.known)
    near = tuple(wrong.spelt.get(word, word) for word in found)
    return GrammarError(
        mistake=wrong.mistake,
        expected=wrong.expected,
        text=line.text,
        start=token.start,
        end=token.end,
        example=_mended(line, wrong, near, lexicon, here) or _example(line, wrong, lexicon),
        near=near,
        first=wrong.first,
    )


def _near(word: str, known: tuple[str, ...]) -> tuple[str, ...]:
    """The known word that the written one may have been meant for, if any.

    Two Chinese words of two characters must begin alike: one in common says little.
    """
    if not known or len(word) > 40:
        return ()
    words, least = sorted(known), LIKELY
    if is_han(word[:1]):
        least = LIKELY_HAN
        words = [each for each in words if len(word) > 2 or each.startswith(word[0])]
    found = process.extract(word, words, scorer=fuzz.ratio, score_cutoff=least, limit=1)
    return tuple(match for match, _score, _index in found)


def _mended(
    line: Line, wrong: Wrong, near: tuple[str, ...], lexicon: Lexicon, here: str | None
) -> str | None:
    """The person's own line with the token replaced, if that makes it right."""
    if not near or len(line.text) > 200:
        return None
    token = wrong.token
    fixed = f"{line.text[: token.start]}{near[0]}{line.text[token.end :]}".strip()
    try:
        _read_whole(Cursor(tokenize(fixed, lexicon.glued), lexicon), here)
    except Wrong:
        return None
    return fixed


def _example(line: Line, wrong: Wrong, lexicon: Lexicon) -> str:
    """A stock line in the language that was written."""
    chinese = any(map(is_han, line.text))
    if wrong.expected is Expected.PAGE:
        return stock(Verb.QUEUE, wrong.expected, chinese=chinese)
    words = (token for token in line.tokens if token.word not in lexicon.filler)
    first = next(words, None)
    verb = None if first is None else _verb(first, lexicon)
    return stock(verb or Verb.REQUEST, wrong.expected, chinese=chinese)
