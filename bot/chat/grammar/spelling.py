"""The canonical way to write a command: what `parse` reads back as the same command."""

from __future__ import annotations

import re
from functools import singledispatch

from bot.asks import Ask, Change, End, Together
from bot.chat.grammar import commands as said
from bot.chat.grammar.commands import Verb
from bot.chat.grammar.vocabulary import VOCABULARY
from scheduler.model import Spend

_BARE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_ID = re.compile(r"R-[0-9]{1,12}")
_LIKE_ID = re.compile(r"[rR]-?[0-9]")
_QUOTES = (('"', '"'), ("«", "»"), ("「", "」"), ("“", "”"), ("'", "'"), ("‘", "’"))
_UNITS = ((86400.0, "d"), (3600.0, "h"), (60.0, "m"))


def spell(ask: Ask) -> str:
    """One line for an ask. Reading it back gives the ask, but for `text`."""
    spend = ask.spend if ask.spend is not Spend.LOW else None
    return _words(ask, preemptible="preemptible" if ask.preemptible else "", spend=spend)


def spell_change(change: Change) -> str:
    """The words of a change."""
    said_of = {True: "preemptible", False: "not preemptible", None: ""}
    return _words(change, preemptible=said_of[change.preemptible], spend=change.spend)


def _words(asked: Ask | Change, *, preemptible: str, spend: Spend | None) -> str:
    lease, priority, least = asked.duration, asked.priority, asked.minimum
    words = (
        spell_size(asked),
        asked.model,
        lease and spell_lease(lease),
        preemptible,
        priority and f"priority {priority.value}",
        asked.topology and spell_topology(asked.topology),
        least and f"at least {least}",
        asked.provision and asked.provision.value,
        spend and f"spend {spend.value}",
        asked.team and f"team {_word(asked.team)}",
        asked.name and f"name {_word(asked.name)}",
    )
    return " ".join(word for word in words if word)


@singledispatch
def spell_command(command: said.Command) -> str:
    """One line for a command. `confirmed` is not a matter of words. Raises TypeError for none."""
    raise TypeError(f"not a command: {command!r}")


@spell_command.register
def _(command: said.Form) -> str:
    del command
    return Verb.REQUEST.value


@spell_command.register(said.Request | said.Try | said.Debug | said.Hold)
def _(command: said.Request | said.Try | said.Debug | said.Hold) -> str:
    return f"{_verb(command)} {spell(command.ask)}"


@spell_command.register(said.Why | said.When | said.Cancel | said.Release)
def _(command: said.Why | said.When | said.Cancel | said.Release) -> str:
    return f"{_verb(command)} {_request(command.request)}"


@spell_command.register
def _(command: said.Adopt) -> str:
    words = (
        f"adopt {command.pod}",
        command.lease and spell_lease(command.lease),
        command.team and f"team {_word(command.team)}",
        "preemptible" if command.preemptible else "",
    )
    return " ".join(word for word in words if word)


@spell_command.register
def _(command: said.Run) -> str:
    line = f" -- {command.command}" if command.command else ""
    return f"run {_word(command.image)} {spell(command.ask)}{line}"


@spell_command.register(said.Status | said.Queue)
def _(command: said.Status | said.Queue) -> str:
    page = command.page if isinstance(command, said.Queue) else 1
    words = (_verb(command), _name(command.what), f"page {page}" if page > 1 else "")
    return " ".join(filter(None, words))


@spell_command.register
def _(command: said.Mine) -> str:
    return _verb(command)


@spell_command.register
def _(command: said.Map) -> str:
    return f"map {command.by.value}"


@spell_command.register
def _(command: said.Help) -> str:
    return f"help {command.verb.value}" if command.verb else "help"


@spell_command.register
def _(command: said.Extend) -> str:
    return f"extend {command.request} {spell_lease(command.by)}"


@spell_command.register
def _(command: said.Edit) -> str:
    return f"edit {command.request} {spell_change(command.change)}"


@spell_command.register
def _(command: said.Give) -> str:
    return f"give {command.request} {_person(command.to)}"


@spell_command.register
def _(command: said.Fair) -> str:
    return f"fair {_name(command.team)}".strip()


@spell_command.register
def _(command: said.Report) -> str:
    return f"report {command.period.value} {_name(command.team)}".strip()


@spell_command.register
def _(command: said.Prefs) -> str:
    return " ".join(["prefs", *(f"{key.value} {value}" for key, value in command.changes)])


@spell_command.register
def _(command: said.Link) -> str:
    whom = f"as {_person(command.person)}" if command.person else ""
    return " ".join(filter(None, ["link", _name(command.team), whom]))


@spell_command.register
def _(command: said.OnCall) -> str:
    who = "off" if command.off else _person(command.person) if command.person else ""
    return " ".join(filter(None, ["oncall", who, spell_end(command.end)]))


@spell_command.register(said.Pause | said.Drain | said.Resume | said.Undrain)
def _(command: said.Pause | said.Drain | said.Resume | said.Undrain) -> str:
    target = command.where if isinstance(command, said.Pause | said.Resume) else command.node
    end = command.end if isinstance(command, said.Pause | said.Drain) else End()
    return _order(_verb(command), _word(target), spell_end(end), command.reason)


@spell_command.register
def _(command: said.Boost) -> str:
    priority = f"priority {command.priority.value}"
    return _order("boost", command.request, priority, spell_end(command.end), command.reason)


@spell_command.register
def _(command: said.Preempt) -> str:
    winner = f"for {command.winner}" if command.winner else ""
    return _order("preempt", command.request, winner, command.reason)


@spell_command.register
def _(command: said.Quota) -> str:
    flavor = f"flavor {_word(command.flavor)}" if command.flavor else ""
    amount = f"{_word(command.where)} {command.gpus}"
    return _order("quota", amount, flavor, spell_end(command.end), command.reason)


def _order(*words: str) -> str:
    """An admin's line: the last word is the reason."""
    return " ".join(filter(None, [*words[:-1], "reason", words[-1]]))


def _verb(command: said.Command) -> str:
    return type(command).__name__.lower()


def spell_end(end: End) -> str:
    """`for 2h`, `until 2026-12-05 18:00`; nothing where there is no end."""
    if end.after is not None:
        return f"for {spell_lease(end.after)}"
    day = [end.day.isoformat()] if end.day is not None else []
    minute = [] if end.minute is None else [f"{end.minute // 60:02}:{end.minute % 60:02}"]
    return " ".join(["until", *day, *minute]) if day or minute else ""


def spell_topology(topology: Together) -> str:
    """`same rack`, `prefer block` or `spread`."""
    return " ".join(filter(None, (topology.nearness.value, topology.level)))


def spell_lease(seconds: float) -> str:
    """`8h`, `90m`, `2d`: the largest unit that leaves a whole number, or minutes."""
    for unit, letter in _UNITS:
        if seconds >= unit and seconds % unit == 0:
            return f"{int(seconds // unit)}{letter}"
    return f"{seconds / 60:.6f}".rstrip("0").rstrip(".") + "m"


def spell_size(ask: Ask | Change) -> str:
    """`16`, `2 nodes` or `4x8`."""
    if ask.nodes is not None:
        return f"{ask.nodes} nodes"
    if ask.pods is not None and ask.gpus_per_pod is not None:
        return f"{ask.pods}x{ask.gpus_per_pod}"
    return str(ask.gpus or "")


def _person(person: str) -> str:
    return person if person.startswith("@") else f"<@{person}>"


def _name(what: str | None) -> str:
    return "" if what is None else _word(what)


def _request(what: str) -> str:
    """An id, or a name; one that could be read as an id, or ends like a question, in quotes."""
    if _ID.fullmatch(what):
        return what
    return _quoted(what) if not what[:1].isalpha() or _LIKE_ID.match(what) else _word(what)


def _word(text: str) -> str:
    """The word as it is, or quoted if it needs it, in the quotes that it does not hold."""
    if _BARE.fullmatch(text) and text.casefold() not in VOCABULARY.known:
        return text
    return _quoted(text)


def _quoted(text: str) -> str:
    for opens, closes in _QUOTES:
        if closes not in text:
            return f"{opens}{text}{closes}"
    return "«" + text.replace("»", "«") + "»"
