"""Whether what the bot wrote on an object is about that very object, and of this very bot.

Annotations go along when an object is copied, and outlast the database of the bot that wrote them.
So each write of ours bears a seal: the identity of the bot's store, and the uid of the object. A
template bears that of the Job whose it is, and a Job that we make, which has no uid yet, its own
name. What bears another seal tells of no decision: it is as if we had never seen the object, unless
the store knows that decision (`claims`).

What stands there of what we wrote into a template (`names.PINNED`) goes on counting, for the
template was copied with it. What bears no seal at all is as it was before there were any.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json

_TOLD = (
    names.ADMITTED,
    names.DECISION,
    names.REDEEMED,
    names.GRANT,
    names.MADE,
    names.STOP_AT,
    names.LEFT,
    names.FORMER,
)


def seal_of(bot: str, about: str) -> str:
    """What a bot writes beside its marks; `about` is the uid of an object, or `named`."""
    return f"{bot}/{about}"


def named(meta: Json) -> str:
    """What stands for the uid of an object that is still to be made."""
    return f"{meta.get('namespace')}/{meta.get('name')}"


def unsealed(obj: Json, bot: str) -> Json:
    """An object as a bot is to take it: without what is told there of others or by others."""
    meta = obj["metadata"]
    marks = meta.get("annotations") or {}
    seal = marks.get(names.SEAL)
    right = seal is None or seal in _seals(meta, bot)
    if right and names.FORMER not in marks:
        return obj
    void = {names.FORMER} if right else _TOLD
    kept = {name: text for name, text in marks.items() if name not in void}
    if not right and names.DECISION in marks:
        kept[names.FORMER] = marks[names.DECISION]
    return {**obj, "metadata": {**meta, "annotations": kept}}


def identity_in(obj: Json) -> str:
    """The identity of the bot that has sealed an object; empty where none has."""
    marks = obj["metadata"].get("annotations") or {}
    return str(marks.get(names.SEAL, "")).partition("/")[0]


def is_former(marks: Mapping[str, str]) -> bool:
    """Whether marks, as read, tell of a decision that is not ours or about another object."""
    return names.FORMER in marks


def other_bot(marks: Mapping[str, str], bot: str) -> str | None:
    """The identity of the other bot whose decision that is; None where there is none of another."""
    sealed = marks.get(names.SEAL, "").partition("/")[0]
    return sealed if is_former(marks) and sealed != bot else None


def _seals(meta: Json, bot: str) -> Iterator[str]:
    """Those that are right for an object: its own, and that of what controls it."""
    yield seal_of(bot, meta["uid"])
    yield seal_of(bot, named(meta))
    for one in meta.get("ownerReferences") or ():
        if one.get("controller"):
            yield seal_of(bot, str(one.get("uid")))
            yield seal_of(bot, f"{meta.get('namespace')}/{one.get('name')}")
