"""From tokens to a command: the first word names the verb, each verb has one reader.

A reader walks the tokens once. A mistake is raised as `_Wrong` inside this package and
leaves it as a `GrammarError`; nothing else is raised, whatever the text.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from rapidfuzz import fuzz, process

from bot.chat.grammar.commands import (
    Cancel,
    Command,
    Expected,
    Form,
    GrammarError,
    Help,
    Map,
    Mine,
    Mistake,
    Queue,
    Release,
    Request,
    Status,
    Verb,
    Why,
)
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.request import has_size, read_ask, read_draft, starts_a_request
from bot.chat.grammar.table import ENGLISH, EXAMPLE_OF, EXAMPLES, Lexicon
from bot.chat.grammar.tokens import LONGEST_LINE, Line, Token, tokenize

_ID = re.compile(r"#?(?:r-?)?(\d{1,12})")
LIKELY = 72.0
"""From this similarity (0 to 100) on, an unknown word is taken for a misspelt one."""


def parse(
    raw: str, *, lexicon: Lexicon = ENGLISH, here: str | None = None
) -> Command | GrammarError:
    """Read one line. `here` is the request whose thread it was said in, if any."""
    line = tokenize(raw)
    cursor = Cursor(line, lexicon)
    try:
        _check_form(raw, cursor)
        return _read(cursor, here)
    except Wrong as wrong:
        return _error(line, wrong, lexicon, here)


def _check_form(raw: str, cursor: Cursor) -> None:
    line = cursor.line
    if len(raw) > LONGEST_LINE:
        raise Wrong(Mistake.TOO_LONG, Expected.SHORTER, Token("", "", 0, len(line.text)))
    if line.unclosed is not None:
        place = Token("", "", line.unclosed, len(line.text))
        raise Wrong(Mistake.UNCLOSED, Expected.QUOTE, place)


def _read(cursor: Cursor, here: str | None) -> Command:
    while (first := cursor.peek()) is not None and first.word in cursor.lexicon.filler:
        cursor.take()  # "please", "I"
    if first is None:
        return Form()
    verb = None if first.quoted else cursor.lexicon.verbs.get(first.word)
    if verb is not None:
        cursor.take()
        if verb is Verb.REQUEST and cursor.peek() is None:
            return Form()
        return _READERS[verb](cursor, here)
    if starts_a_request(first, cursor.lexicon):
        return Request(read_ask(cursor))
    raise Wrong(Mistake.UNKNOWN_VERB, Expected.VERB, first, known=tuple(cursor.lexicon.verbs))


def _request(cursor: Cursor, here: str | None) -> Command:
    draft = read_draft(cursor)
    if has_size(draft):
        return Request(draft)
    wrong = Wrong(Mistake.MISSING, Expected.SIZE, cursor.end())
    return Form(draft, _error(cursor.line, wrong, cursor.lexicon, here))


def _status(cursor: Cursor, here: str | None) -> Command:
    token = cursor.take()
    if token is not None and token.word in cursor.lexicon.options:  # `status team nlp`
        token = cursor.take() or token
    _end(cursor)
    return Status(here if token is None else _topic(token))


def _queue(cursor: Cursor, here: str | None) -> Command:
    del here
    what: str | None = None
    page = 1
    while (token := cursor.take()) is not None:
        if token.word in cursor.lexicon.page and not token.quoted:
            page = _page(cursor, token)
        elif token.word in cursor.lexicon.options and cursor.peek() is not None and what is None:
            continue
        elif what is None:
            what = _topic(token)
        else:
            raise Wrong(Mistake.LEFT_OVER, Expected.NOTHING, token)
    return Queue(what, page)


def _page(cursor: Cursor, after: Token) -> int:
    token = cursor.take()
    if token is None:
        raise Wrong(Mistake.MISSING, Expected.PAGE, cursor.end())
    if re.fullmatch(r"0+", token.word):
        raise Wrong(Mistake.ZERO, Expected.PAGE, token)
    if not re.fullmatch(r"\d{1,5}", token.word):
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.PAGE, token, first=after.text)
    return int(token.word)


def _why(cursor: Cursor, here: str | None) -> Command:
    return Why(_request_id(cursor, here))


def _cancel(cursor: Cursor, here: str | None) -> Command:
    return Cancel(_request_id(cursor, here))


def _release(cursor: Cursor, here: str | None) -> Command:
    return Release(_request_id(cursor, here))


def _mine(cursor: Cursor, here: str | None) -> Command:
    del here
    _end(cursor)
    return Mine()


def _map(cursor: Cursor, here: str | None) -> Command:
    """`map`, `map team`, `map by team`."""
    del here
    token = cursor.take()
    if token is not None and token.word == "by":
        token = cursor.take() or token
    if token is None:
        return Map()
    groupings = cursor.lexicon.groupings
    if token.quoted or token.word not in groupings:
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.GROUPING, token, known=tuple(groupings))
    _end(cursor)
    return Map(groupings[token.word])


def _help(cursor: Cursor, here: str | None) -> Command:
    del here
    token = cursor.take()
    if token is None:
        return Help()
    verb = cursor.lexicon.verbs.get(token.word)
    if verb is None:
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.VERB, token, known=tuple(cursor.lexicon.verbs))
    _end(cursor)
    return Help(verb)


_READERS: dict[Verb, Callable[[Cursor, str | None], Command]] = {
    Verb.REQUEST: _request,
    Verb.STATUS: _status,
    Verb.QUEUE: _queue,
    Verb.WHY: _why,
    Verb.MINE: _mine,
    Verb.MAP: _map,
    Verb.CANCEL: _cancel,
    Verb.RELEASE: _release,
    Verb.HELP: _help,
}


def _request_id(cursor: Cursor, here: str | None) -> str:
    token = cursor.take()
    if token is not None and token.word in cursor.lexicon.verbs.keys() | cursor.lexicon.filler:
        token = cursor.take() or token  # `cancel request R-1042`
    if token is None:
        if here is not None:
            return here
        raise Wrong(Mistake.MISSING, Expected.REQUEST_ID, cursor.end())
    found = _ID.fullmatch(token.word.rstrip("?."))
    if found is None or token.quoted:
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.REQUEST_ID, token)
    _end(cursor)
    return f"R-{int(found[1])}"


def _topic(token: Token) -> str:
    """A request id in its canonical form, a person's Slack id, or the word as it was written."""
    if token.user is not None:
        return token.user
    found = None if token.quoted else _ID.fullmatch(token.word)
    if found is not None:
        return f"R-{int(found[1])}"
    if len(token.text) > 80 or not token.word.strip():
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.TOPIC, token)
    return token.text


def _end(cursor: Cursor) -> None:
    token = cursor.peek()
    if token is not None:
        raise Wrong(Mistake.LEFT_OVER, Expected.NOTHING, token)


def _error(line: Line, wrong: Wrong, lexicon: Lexicon, here: str | None) -> GrammarError:
    token = wrong.token
    near = wrong.near or _near(token.word, wrong.known)
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
    """The known word that the written one may have been meant for, if any."""
    if not known or len(word) > 40:
        return ()
    found = process.extract(word, sorted(known), scorer=fuzz.ratio, score_cutoff=LIKELY, limit=1)
    return tuple(match for match, _score, _index in found)


def _mended(
    line: Line, wrong: Wrong, near: tuple[str, ...], lexicon: Lexicon, here: str | None
) -> str | None:
    """The person's own line with the token replaced, if that makes it right."""
    if not near or len(line.text) > 200:
        return None
    token = wrong.token
    fixed = f"{line.text[: token.start]}{near[0]}{line.text[token.end :]}".strip()
    if tokenize(fixed).unclosed is not None:
        return None
    try:
        _read(Cursor(tokenize(fixed), lexicon), here)
    except Wrong:
        return None
    return fixed


def _example(line: Line, wrong: Wrong, lexicon: Lexicon) -> str:
    """A stock line: of the verb that was meant, where one was."""
    verb = lexicon.verbs.get(line.tokens[0].word) if line.tokens else None
    if verb in {None, Verb.REQUEST}:
        return EXAMPLE_OF[wrong.expected]
    if wrong.expected is Expected.PAGE:
        return EXAMPLE_OF[Expected.PAGE]
    return EXAMPLES[verb or Verb.HELP][-1]
