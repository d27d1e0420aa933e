"""What the bot says on its own: one rendering a notice and audience."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from bot import notices
from bot.chat.cards import changes, families, identity, idle, interventions, oncall
from bot.chat.markup import Markup, is_user_id, join
from bot.chat.message import Line, Lines, Message, Note, Part, build
from bot.chat.voice import Voice
from bot.chat.words.english.units import SHOWN_NODES
from storage.records import Audience

MOST_TARGETS = 10


def notice(voice: Voice, args: notices.NoticeArgs, audience: Audience) -> Message:
    """The message for one audience. A CARD is not drawn here: it needs the stored request.

    Raises ValueError for a CARD.
    """
    render = _RENDERERS.get(type(args))
    if render is None:
        raise ValueError("a card is drawn from the stored request")
    return render(voice, args, audience)


def _ended(voice: Voice, args: notices.EndedArgs, audience: Audience) -> Message:
    by = voice.people.name(args.by) if args.by else None
    told = Markup()
    if audience is Audience.PERSON and by:
        told = voice.words.ended_for_you(args, by)
    what = [Lines(voice.words.ended_title(args)), Lines(told), Lines(voice.words.ended(args, by))]
    if audience is Audience.ONCALL:
        return build([*what, Line(), Lines(voice.words.for_oncall(voice.oncall))])
    return build(what)


def redirected(voice: Voice, message: Message, where: str) -> Message:
    """A message that comes to the fallback channel, with its first address."""
    lead = voice.words.meant_for(where)
    head = build([Note(lead)])
    return Message(f"{head.text}\n{message.text}", (*head.blocks, *message.blocks)[:50])


def _admitted(voice: Voice, args: notices.AdmittedArgs, audience: Audience) -> Message:
    words = voice.words
    if audience is Audience.THREAD:
        use = Markup()
        if voice.label and not args.kept:
            use = words.how_to_use(args.request, voice.label, args.made)
        owner = voice.people.name(args.owner)
        parts: list[Part] = [Lines(words.admitted_title(args)), Lines(words.admitted(args, owner))]
        if len(args.nodes) > SHOWN_NODES:
            parts.append(Lines(words.admitted_details(args)))
        return build([*parts, Lines(use)])
    owner = voice.people.mention(args.owner)
    return build([Lines(words.admitted_title(args)), Lines(words.admitted(args, owner))])


def _preempted(voice: Voice, args: notices.PreemptedArgs, _: Audience) -> Message:
    words = voice.words
    winner = voice.people.name(args.preemptor.owner)
    return build(
        [
            Lines(words.preempted_title(args)),
            Lines(words.preempted_by(args, winner)),
            Lines(join("\n", [words.rule(args), words.paths(args)])),
            Lines(words.preempted_next(args)),
        ]
    )


def _preempted_group(voice: Voice, args: notices.PreemptedGroupArgs, audience: Audience) -> Message:
    words, people = voice.words, voice.people
    yours = audience is Audience.PERSON
    title = words.preempted_yours(args) if yours else words.preempted_group_title(args)
    parts: list[Part] = [
        Lines(title),
        Lines(words.preempted_group(args, people.name(args.preemptor.owner))),
    ]
    targets = sorted(args.targets, key=lambda each: not is_user_id(each.target.owner))
    shown, rest = targets[:MOST_TARGETS], targets[MOST_TARGETS:]
    timed = len({each.grace for each in targets}) > 1
    rows = [
        words.preempted_row(each, people.name(each.target.owner), timed=timed) for each in shown
    ]
    if rest:
        rows.append(words.preempted_rest(rest))
    parts.append(Lines(join("\n", rows)))
    code = audience is not Audience.CHANNEL
    rules = partial(words.rules, code=code)
    parts.append(Lines(join("\n", _rules(rules, args))))
    parts.append(Lines(words.preempted_group_next(args, told=not yours)))
    if audience is Audience.ONCALL:
        parts += [Line(), Lines(words.ask_oncall(voice.oncall))]
    return build(parts)


def _requeued(voice: Voice, args: notices.RequeuedArgs, _: Audience) -> Message:
    held = args.what and args.rest is not None
    return build([Lines(voice.words.template_held(args) if held else voice.words.requeued(args))])


def _repaired(voice: Voice, args: notices.RepairedArgs, _: Audience) -> Message:
    held = args.held and bool(voice.label)
    return build([Lines(voice.words.held_elsewhere(args) if held else voice.words.repaired(args))])


def _flipped(voice: Voice, args: notices.FlippedArgs, _: Audience) -> Message:
    return build([Lines(voice.words.flipped(args))])


def _monthly(voice: Voice, args: notices.MonthlyArgs, _: Audience) -> Message:
    return build([Lines(voice.words.monthly(args))])


def _undeliverable(voice: Voice, args: notices.UndeliverableArgs, _: Audience) -> Message:
    return build([Lines(voice.words.undeliverable(where=args.where, error=args.error))])


def _overfull(voice: Voice, args: notices.OverfullArgs, _: Audience) -> Message:
    called = voice.words.for_oncall(voice.oncall)
    return build([Lines(voice.words.overfull(args)), Line(), Lines(called)])


def _node_failed(voice: Voice, args: notices.NodeFailedArgs, _: Audience) -> Message:
    words = voice.words
    hit = sorted(args.hit, key=lambda each: not is_user_id(each.owner))
    shown, rest = hit[:MOST_TARGETS], hit[MOST_TARGETS:]
    rows = [words.node_failed_row(each, voice.people.name(each.owner)) for each in shown]
    if rest:
        rows.append(words.node_failed_rest(rest))
    parts: list[Part] = [Lines(words.node_failed_title(args))]
    if rows:
        parts.append(Lines(join("\n", rows)))
    parts += [Lines(words.node_failed_next(args)), Line(), Lines(words.ask_oncall(voice.oncall))]
    return build(parts)


def _rules(
    sentence: Callable[[Sequence[notices.PreemptedArgs]], Markup], args: notices.PreemptedGroupArgs
) -> list[Markup]:
    """One sentence for each right, level and losing queue, in the order they first come up."""
    groups: dict[tuple[str, bool, str, str], list[notices.PreemptedArgs]] = {}
    for each in args.targets:
        key = (each.rule.value, each.overstayed, each.level, each.target.queue)
        groups.setdefault(key, []).append(each)
    return [sentence(group) for group in list(groups.values())[:10]]


def _starving(voice: Voice, args: notices.StarvingArgs, audience: Audience) -> Message:
    words = voice.words
    channel = audience is Audience.CHANNEL
    owner = voice.people.mention(args.owner) if channel else voice.people.name(args.owner)
    parts: list[Part] = [
        Lines(words.starving_title(args)),
        Lines(words.starving(args, owner)),
        Lines(words.why_in_short(args.reason, args.figures)),
        Lines(words.starving_plan(args)),
        Lines(words.starving_holders(args)),
    ]
    if audience is Audience.ONCALL:
        parts += [Line(), Lines(words.starving_oncall(args, voice.oncall))]
    return build(parts)


_RENDERERS: dict[type[notices.NoticeArgs], Callable[[Voice, Any, Audience], Message]] = {
    notices.AdmittedArgs: _admitted,
    notices.PreemptedArgs: _preempted,
    notices.PreemptedGroupArgs: _preempted_group,
    notices.StarvingArgs: _starving,
    notices.EndedArgs: _ended,
    notices.ReplicasArgs: families.told,
    notices.RequeuedArgs: _requeued,
    notices.LeaseEndingArgs: changes.told,
    notices.UnprotectedArgs: changes.told,
    notices.ChangedArgs: changes.told,
    notices.FlippedArgs: _flipped,
    notices.RepairedArgs: _repaired,
    notices.NodeFailedArgs: _node_failed,
    notices.NodeAvoidedArgs: interventions.node_avoided,
    notices.OverfullArgs: _overfull,
    notices.InterventionArgs: interventions.told,
    notices.InterventionOverArgs: interventions.told,
    notices.InterventionFailedArgs: interventions.told,
    notices.DisplacedArgs: interventions.told,
    notices.StuckArgs: interventions.stuck,
    notices.TakenArgs: interventions.taken,
    notices.ForeignArgs: interventions.foreign,
    notices.NotTakenArgs: interventions.not_taken,
    notices.LinkAskedArgs: identity.told,
    notices.LinkAnsweredArgs: identity.told,
    notices.SubstituteArgs: identity.substitute,
    notices.MonthlyArgs: _monthly,
    notices.IdleArgs: idle.idle,
    notices.UndeliverableArgs: _undeliverable,
    notices.EscalatedArgs: lambda voice, args, _: build(oncall.escalated(voice, args)),
}
"""Every kind of notice but the card."""
