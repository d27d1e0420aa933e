"""Several notices of a kind as one message that names everybody, a line each."""

from __future__ import annotations

from collections.abc import Sequence

from bot import notices
from bot.chat.cards import alerts
from bot.chat.cards.changes import extend_of
from bot.chat.markup import Markup, join
from bot.chat.message import LONGEST_TEXT, Buttons, Line, Lines, Message, Part, build
from bot.chat.voice import Voice
from storage.records import Audience

MOST_ROWS = 60
MOST_WITH_BUTTONS = 5
ROOM = LONGEST_TEXT - 800
"""Characters for the rows: the rest is for title, closing lines and what on-call is told."""


def burst(
    voice: Voice, several: Sequence[notices.NoticeArgs], audience: Audience
) -> tuple[Message, int]:
    """The message, and how many of the notices it says: what does not fit is for the next."""
    rows: list[Markup] = []
    room = ROOM
    for args in several[:MOST_ROWS]:
        row = _row(voice, args)
        if rows and len(row) + 1 > room:
            break
        rows.append(row)
        room -= len(row) + 1
    said = several[: len(rows)]
    if len(said) == 1:
        return alerts.notice(voice, said[0], audience), 1
    parts: list[Part] = [Lines(join("\n", [_title(voice, said), *rows]))]
    if isinstance(said[0], notices.PreemptedGroupArgs | notices.StarvingArgs):
        parts.append(Lines(voice.words.burst_details()))
    leases = [args for args in said if isinstance(args, notices.LeaseEndingArgs)]
    if leases:
        parts.append(Lines(voice.words.burst_leases()))
        parts += [
            Buttons(extend_of(voice, args, named=True)) for args in leases[:MOST_WITH_BUTTONS]
        ]
    if audience is Audience.ONCALL:
        parts += [Line(), Lines(voice.words.ask_oncall(voice.oncall))]
    return build(parts), len(said)


def _title(voice: Voice, said: Sequence[notices.NoticeArgs]) -> Markup:
    admitted = [args for args in said if isinstance(args, notices.AdmittedArgs)]
    if admitted:
        return voice.words.admitted_group_title(admitted)
    return voice.words.burst_title(said[0].kind, len(said))


def _row(voice: Voice, args: notices.NoticeArgs) -> Markup:
    words, people = voice.words, voice.people
    match args:
        case notices.AdmittedArgs():
            return words.admitted_row(args, people.mention(args.owner))
        case notices.PreemptedGroupArgs():
            owners = [people.name(each.target.owner) for each in args.targets]
            return words.burst_preempted(args, owners)
        case notices.PreemptedArgs():
            winner = people.name(args.preemptor.owner)
            return join(" ", [Markup("•"), words.preempted_by(args, winner), words.rule(args)])
        case notices.StarvingArgs():
            return words.burst_starving(args, people.mention(args.owner))
        case notices.LeaseEndingArgs():
            return words.burst_lease(args)
        case notices.EndedArgs():
            by = people.name(args.by) if args.by else None
            return words.burst_ended(args, words.ended(args, by))
        case notices.NodeFailedArgs():
            hit = [words.node_failed_row(each, people.name(each.owner)) for each in args.hit]
            return join("\n", [words.node_failed_title(args), *hit])
        case _:
            raise ValueError(f"{args.kind} is not said together with others")
