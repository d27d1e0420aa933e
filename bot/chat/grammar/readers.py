"""One reader for each verb that everybody may say: from the tokens after it to its value."""

from __future__ import annotations

import re
from dataclasses import replace

from bot.chat.grammar import commands as said
from bot.chat.grammar.errors import Expected, Mistake
from bot.chat.grammar.pieces import (
    at_end,
    look_up,
    only_request,
    request_or_name,
    skip_filler,
    take_name,
    take_person,
    take_request,
    topic,
)
from bot.chat.grammar.reading import Cursor, Wrong
from bot.chat.grammar.request import has_size, read_ask, read_change, read_draft
from bot.chat.grammar.spans import check_span, starts_a_span, take_end, take_span
from bot.chat.grammar.table import Option
from bot.chat.grammar.tokens import Token


def read_try(cursor: Cursor, here: str | None) -> said.Command:
    """`try 16 h100 8h`."""
    del here
    return said.Try(read_ask(cursor))


def read_debug(cursor: Cursor, here: str | None) -> said.Command:
    """`debug h100 2h`: one GPU if no size is said."""
    del here
    draft = read_draft(cursor)
    return said.Debug(draft if has_size(draft) else replace(draft, gpus=1))


def read_hold(cursor: Cursor, here: str | None) -> said.Command:
    """`hold 16 h100 8h`."""
    del here
    return said.Hold(read_ask(cursor))


def read_run(cursor: Cursor, here: str | None) -> said.Command:
    """`run IMAGE 2 nodes h100 8h -- python train.py`."""
    del here
    image = take_name(cursor, Expected.IMAGE)
    tokens = cursor.line.tokens
    split = next((n for n, t in enumerate(tokens) if t.word in {"-", "--"} and not t.quoted), None)
    if split is None:
        return said.Run(image, read_ask(cursor))
    dashes = tokens[split]
    ask = read_ask(cursor.before(split))
    cursor.rest_from = dashes.end
    return said.Run(image, ask, cursor.line.text[dashes.end :].strip())


def read_status(cursor: Cursor, here: str | None) -> said.Command:
    """`status`, `status R-1042`, `status team nlp`."""
    _skip_team(cursor)
    token = cursor.take()
    at_end(cursor)
    return said.Status(here if token is None else topic(token))


def read_queue(cursor: Cursor, here: str | None) -> said.Command:
    """`queue`, `queue h100 page 2`, `队列 第2页`."""
    del here
    lexicon = cursor.lexicon
    what: str | None = None
    page = 1
    while (token := cursor.take()) is not None:
        after = cursor.peek()
        if token.word in lexicon.page and not token.quoted:
            page = _page(cursor, token, cursor.take())
        elif token.word.isdigit() and after is not None and after.word in lexicon.page:
            page = _page(cursor, cursor.take() or token, token)
        elif _says_nothing(cursor, token, what):
            continue
        elif what is None:
            what = topic(token)
        else:
            raise Wrong(Mistake.LEFT_OVER, Expected.NOTHING, token)
    return said.Queue(what, page)


def _says_nothing(cursor: Cursor, token: Token, what: str | None) -> bool:
    """Filler, or the `team` of `queue team nlp`."""
    if token.quoted:
        return False
    names_team = cursor.lexicon.options.get(token.word) is Option.TEAM
    named = names_team and cursor.peek() is not None and what is None
    return named or token.word in cursor.lexicon.filler


def _page(cursor: Cursor, word: Token, number: Token | None) -> int:
    if number is None:
        raise Wrong(Mistake.MISSING, Expected.PAGE, cursor.end())
    if re.fullmatch(r"0+", number.word):
        raise Wrong(Mistake.ZERO, Expected.PAGE, number)
    if not re.fullmatch(r"\d{1,5}", number.word):
        raise Wrong(Mistake.UNKNOWN_WORD, Expected.PAGE, number, first=word.text)
    return int(number.word)


def read_why(cursor: Cursor, here: str | None) -> said.Command:
    """`why R-1042`, `why llama-sft`."""
    return said.Why(request_or_name(cursor, here))


def read_when(cursor: Cursor, here: str | None) -> said.Command:
    """`when R-1042`, `when llama-sft`."""
    return said.When(request_or_name(cursor, here))


def read_cancel(cursor: Cursor, here: str | None) -> said.Command:
    """`cancel R-1042`."""
    return said.Cancel(only_request(cursor, here))


def read_release(cursor: Cursor, here: str | None) -> said.Command:
    """`release R-1042`."""
    return said.Release(only_request(cursor, here))


def read_mine(cursor: Cursor, here: str | None) -> said.Command:
    """`mine`."""
    del here
    at_end(cursor)
    return said.Mine()


def read_map(cursor: Cursor, here: str | None) -> said.Command:
    """`map`, `map team`, `map by team`."""
    del here
    skip_filler(cursor)
    token = cursor.take()
    if token is None:
        return said.Map()
    by = look_up(token, cursor.lexicon.groupings, Expected.GROUPING)
    at_end(cursor)
    return said.Map(by)


def read_help(cursor: Cursor, here: str | None) -> said.Command:
    """`help`, `help queue`, `帮助？`."""
    del here
    token = cursor.take()
    if token is None or (token.word == "?" and cursor.peek() is None):
        return said.Help()
    verb = look_up(token, cursor.lexicon.verbs, Expected.VERB)
    at_end(cursor)
    return said.Help(verb)


def read_extend(cursor: Cursor, here: str | None) -> said.Command:
    """`extend R-1042 2h`, in a thread `extend 2h`."""
    skip_filler(cursor)
    thread = here is not None and starts_a_span(cursor)
    request = here if here is not None and thread else take_request(cursor, here)
    skip_filler(cursor)
    if not starts_a_span(cursor):
        token = cursor.peek()
        near = (f"{token.word}h",) if token is not None and token.word.isdigit() else ()
        mistake = Mistake.NO_UNIT if near else Mistake.UNKNOWN_WORD
        if token is not None and token.word.startswith("-"):
            mistake = Mistake.NEGATIVE
        raise Wrong(
            mistake if token else Mistake.MISSING,
            Expected.DURATION,
            token or cursor.end(),
            near=near,
        )
    by = check_span(*take_span(cursor))
    at_end(cursor)
    return said.Extend(request, by)


def read_edit(cursor: Cursor, here: str | None) -> said.Command:
    """`edit R-1042 8 gpus 4h`."""
    request = take_request(cursor, here)
    skip_filler(cursor)
    return said.Edit(request, read_change(cursor))


def read_give(cursor: Cursor, here: str | None) -> said.Command:
    """`give R-1042 @bob`, in a thread `give @bob`."""
    skip_filler(cursor)
    token = cursor.peek()
    mentioned = token is not None and (token.user is not None or token.text.startswith("@"))
    request = here if here is not None and mentioned else take_request(cursor, here)
    person = take_person(cursor)
    at_end(cursor)
    return said.Give(request, person)


def read_fair(cursor: Cursor, here: str | None) -> said.Command:
    """`fair`, `fair nlp`, `fair team nlp`."""
    del here
    return said.Fair(_team(cursor))


def _team(cursor: Cursor) -> str | None:
    """The team that is the rest of the line, if there is one."""
    skip_filler(cursor)
    _skip_team(cursor)
    if cursor.peek() is None:
        return None
    team = take_name(cursor, Expected.TEAM)
    at_end(cursor)
    return team


def _skip_team(cursor: Cursor) -> None:
    """Go past the word `team` where a name follows."""
    token = cursor.peek()
    if token is None or token.quoted or cursor.peek(1) is None:
        return
    if cursor.lexicon.options.get(token.word) is Option.TEAM:
        cursor.take()


def read_report(cursor: Cursor, here: str | None) -> said.Command:
    """`report`, `report month`, `report week nlp`."""
    del here
    skip_filler(cursor)
    token = cursor.peek()
    if token is None or token.quoted or token.word not in cursor.lexicon.periods:
        return said.Report(team=_team(cursor))
    cursor.take()
    return said.Report(cursor.lexicon.periods[token.word], _team(cursor))


def read_link(cursor: Cursor, here: str | None) -> said.Command:
    """`link`, `link nlp`, `link nlp as @bob`."""
    del here
    skip_filler(cursor)
    _skip_team(cursor)
    if cursor.peek() is None:
        return said.Link()
    team = take_name(cursor, Expected.TEAM)
    skip_filler(cursor)
    token = cursor.peek()
    if token is not None and token.word in cursor.lexicon.as_whom:
        cursor.take()
        token = cursor.peek() or cursor.end()
        person: str | None = take_person(cursor)
    else:
        person = None if token is None else take_person(cursor)
    at_end(cursor)
    return said.Link(team, person)


def read_oncall(cursor: Cursor, here: str | None) -> said.Command:
    """`oncall`, `oncall @bob for 8h`, `oncall off`."""
    del here
    skip_filler(cursor)
    token = cursor.peek()
    if token is None:
        return said.OnCall()
    if not token.quoted and token.word in cursor.lexicon.off:
        cursor.take()
        at_end(cursor)
        return said.OnCall(off=True)
    person, end = take_person(cursor), take_end(cursor)
    at_end(cursor)
    return said.OnCall(person, end)
