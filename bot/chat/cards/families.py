"""Replicas of one Deployment or StatefulSet: why they wait, and what became of some."""

from __future__ import annotations

from collections.abc import Sequence

from bot import notices
from bot.chat.markup import Markup, join
from bot.chat.message import Lines, Message, Part, build
from bot.chat.voice import Voice
from bot.views import FamilyView
from storage.records import Audience

MOST_ROWS = 10


def replica_parts(voice: Voice, family: FamilyView) -> list[Part]:
    """The replicas of a family, one a line."""
    words = voice.words
    rows = [words.row(card) for card in family.replicas]
    return [Lines(_list(voice, words.replicas_title(), rows, family.more))] if rows else []


def told(voice: Voice, args: notices.ReplicasArgs, audience: Audience) -> Message:
    """What became of replicas in one step; in the channel only the first start of all."""
    words = voice.words
    if audience is Audience.CHANNEL:
        return build([Lines(words.family_started(args, voice.people.mention(args.owner)))])
    parts: list[Part] = []
    if args.started:
        rows = [words.replica_started(one) for one in args.started]
        parts.append(Lines(_list(voice, words.replicas_started(args), rows)))
    if args.ended:
        rows = [words.replica_ended(one) for one in args.ended]
        parts.append(Lines(_list(voice, words.replicas_ended(args), rows)))
    return build(parts)


def _list(voice: Voice, title: Markup, rows: Sequence[Markup], more: int = 0) -> Markup:
    left = max(0, len(rows) - MOST_ROWS) + more
    end = voice.words.more(left) if left else Markup()
    return join("\n", [title, *rows[:MOST_ROWS], end])
