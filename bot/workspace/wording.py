"""What a person types, turned into what Slack sends: escaped, with ids for names."""

from __future__ import annotations

import re

from bot.workspace.people import Directory

_NAME = re.compile(r"(?<![\w&;])([@#])([\w.-]*\w)")
_LINK = re.compile(r"(?<![<|\w])https?://[^\s<>|]+[^\s<>|.,;:!?)]")
_BROADCAST = ("here", "channel", "everyone")


def escape(text: str) -> str:
    """The three characters that mean something to Slack, made harmless."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def typed_to_wire(text: str, directory: Directory, *, command: bool = False) -> str:
    """A typed message as an app gets it; with `command`, names stand beside their ids."""
    people = {person.name: person.id for person in directory.people.values()}
    people[directory.app.name] = directory.app.user_id
    groups = {group.handle: group.id for group in directory.groups.values()}
    channels = {channel.name: channel.id for channel in directory.channels}

    def name(match: re.Match[str]) -> str:
        sign, word = match.groups()
        if sign == "#":
            return f"<#{channels[word]}|{word}>" if word in channels else match.group()
        if word in people:
            return f"<@{people[word]}|{word}>" if command else f"<@{people[word]}>"
        if word in groups:
            return f"<!subteam^{groups[word]}|@{word}>"
        return f"<!{word}>" if word in _BROADCAST else match.group()

    wired = _NAME.sub(name, escape(text))
    return wired if command else _LINK.sub(lambda match: f"<{match.group()}>", wired)
