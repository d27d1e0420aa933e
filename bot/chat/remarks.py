"""Notices as one paragraph without markup, for those who read them outside of Slack."""

from __future__ import annotations

import re
from collections.abc import Callable

from bot import notices
from bot.chat.markup import Markup, escape, join, literal
from bot.chat.words import Words, words_for
from bot.refusals import read_refusal
from bot.views import Refused

_DATE = re.compile(r"<!date\^[^|>]*\|([^>]*)>")
Name = Callable[[str], str]
"""How a person is called, by id."""


def remark(args: notices.NoticeArgs | Refused, name: Name, words: Words | None = None) -> str:
    """What the cluster's Events say of it. Raises ValueError on a kind that they say nothing of."""
    said = words or words_for(None)
    match args:
        case Refused():
            text = said.refused(args)
        case notices.NotTakenArgs():
            refusal = read_refusal(args.refusal)
            text = join(" ", [said.refused(refusal), said.not_taken_next(args)])
        case notices.AdmittedArgs():
            owner = escape(name(args.owner))
            text = join(". ", [said.admitted_title(args), said.admitted(args, owner)])
        case notices.PreemptedArgs():
            winner = escape(name(args.preemptor.owner))
            text = join(" ", [said.preempted_by(args, winner), said.preempted_next(args)])
        case notices.RequeuedArgs():
            text = said.template_held(args) if args.what else said.requeued(args)
        case _:
            raise ValueError(f"nothing is said on objects of {args.kind}")
    return unadorned(text)


def unadorned(text: Markup) -> str:
    """The text as it reads without Slack: no emphasis, moments in UTC, on one line."""
    bare = _DATE.sub(r"\1", text).replace("*", "").replace("\n", " ")
    return literal(Markup(bare))
