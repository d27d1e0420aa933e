"""What the bot says on its own: admissions, preemptions, starvation, ends.

People come as ready `Markup` (a mention or a name): who may be mentioned is not a matter
of words.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot import notices
from bot.chat.markup import Markup, date, join, say
from bot.chat.words.english.standing import Standing
from scheduler.model import Figure, PreemptionRule, Verdict, WaitReason
from storage.records import RecipeKind
from storage.states import RequestState

_RULES: dict[PreemptionRule, str] = {
    PreemptionRule.IN_QUEUE: (
        "in queue {loser_queue}, {winner} goes before {losers} by priority or by time"
    ),
    PreemptionRule.RECLAIM: (
        "queue {winner_queue} takes back GPUs of its own quota, which {losers} had borrowed "
        "through {loser_queue}"
    ),
    PreemptionRule.RECLAIM_WHILE_BORROWING: (
        "{winner} may borrow ahead of {losers}, whose priority in {loser_queue} is low enough to "
        "give way"
    ),
    PreemptionRule.FAIR_SHARING: (
        "what is borrowed is shared fairly: {loser_queue}, where {losers} ran, held more than its "
        "share, {winner_queue} less"
    ),
    PreemptionRule.DEFRAGMENTATION: (
        "{winner} needs whole nodes, and there is other room for {losers}, which start again there "
        "at once"
    ),
    PreemptionRule.INTERVENTION: "an admin stopped {losers} by hand",
}

_OVERSTAYED = (
    "in queue {loser_queue}, work whose lease is over makes way for whoever waits: {losers} for "
    "{winner}"
)

_FIND = "Find out why its pods do not get ready (`kubectl describe pod`, their image and node)"
_ALLOW = "Have the namespace allow them, or make them such as it allows"
_CAUSES: dict[str, str] = {
    "preempted": "It was preempted",
    "taken": "Pods outside the bot took the GPUs that it held",
    "node-lost": "It lost a node, so the whole gang was stopped",
    "drained": "A node of it is drained, so the whole gang was stopped",
    "failed": "Its pods failed",
    "late": "Not all of its pods were ready in time, so the whole gang was stopped",
    "unplaced": "Its pods did not get onto their nodes in time, so the whole gang was stopped",
    "unmade": (
        "Not all of its pods were made, so the whole gang was stopped: a quota, a policy or a "
        "webhook of its namespace may refuse them (`kubectl describe job` tells)"
    ),
    "stopped": "It was stopped or changed in the cluster itself",
}


_HOW_TO_USE: dict[RecipeKind | None, str] = {
    None: (
        "To use it, give your pods the label `{label}={request}`. "
        "Done early? `/gpu release {request}`"
    ),
    RecipeKind.DEBUG: (
        "Its pod is being made. Find it with "
        "`kubectl get pods -A -l gpubot.dev/admitted={request}` and go in with "
        "`kubectl exec -it POD -- bash`. Done early? `/gpu release {request}`"
    ),
    RecipeKind.RUN: (
        "Its pods are being made: `kubectl get pods -A -l gpubot.dev/admitted={request}`, "
        "`kubectl logs -f POD`. It ends by itself, or with `/gpu release {request}`"
    ),
}


class Alerts(Standing):
    """Sentences for notices."""

    def title(self, word: str, *, request: str, gpus: int, name: str) -> Markup:
        """The first line of a notice: what happened, to what."""
        lead = say("*{word}*", word=word)
        return join(" · ", [lead, say(request), self.gpus(gpus), say("{name}", name=name)])

    def admitted_title(self, args: notices.AdmittedArgs) -> Markup:
        """Leads an admission."""
        return self.title("Admitted", request=args.request, gpus=args.gpus, name=args.name)

    def admitted(self, args: notices.AdmittedArgs, owner: Markup) -> Markup:
        """Who got what, where, until when."""
        until = say(", until {until}", until=date(args.until)) if args.until else Markup()
        return say(
            "{owner} (team {team}) has {gpus} of {flavor} on {nodes}{until}. Pool {pool}; "
            "it waited {waited}.",
            owner=owner,
            team=args.team,
            gpus=self.gpus(args.gpus),
            flavor=args.flavor,
            nodes=self.nodes(args.nodes, self.domain(args.domain)),
            until=until,
            pool=args.pool,
            waited=self.span(args.waited),
        )

    def admitted_details(self, args: notices.AdmittedArgs) -> Markup:
        """Every node, for the thread."""
        named = [say("{node} ({gpus})", node=node, gpus=gpus) for node, gpus in args.nodes]
        return say("Nodes (GPUs on each): {named}", named=self.several(named, 60))

    def how_to_use(self, request: str, label: str, made: RecipeKind | None) -> Markup:
        """How pods find their grant, or the person the pods that are made."""
        return say(
            _HOW_TO_USE[made],
            label=label,
            request=request,
        )

    def admitted_group_title(self, group: Sequence[notices.AdmittedArgs]) -> Markup:
        """Leads a burst of admissions."""
        return say(
            "*Admitted* · {count} · {gpus}",
            count=self.count(len(group), "request"),
            gpus=self.gpus(sum(args.gpus for args in group)),
        )

    def admitted_row(self, args: notices.AdmittedArgs, owner: Markup) -> Markup:
        """One admission of a burst, in a line."""
        until = say("until {until}", until=date(args.until)) if args.until else Markup()
        what = say(
            "{request} · {owner} · team {team} · {gpus} on {nodes}",
            request=args.request,
            owner=owner,
            team=args.team,
            gpus=self.gpus(args.gpus),
            nodes=self.count(len(args.nodes), "node"),
        )
        return join(" · ", [what, say("{name}", name=args.name), until])

    def preempted_title(self, args: notices.PreemptedArgs) -> Markup:
        """Leads the notice to the one who was stopped."""
        target = args.target
        return self.title(
            "Being preempted", request=target.request, gpus=target.gpus, name=target.name
        )

    def preempted_by(self, args: notices.PreemptedArgs, winner: Markup) -> Markup:
        """Who takes the GPUs."""
        return say(
            "{target} has to make room for {party}.",
            target=args.target.request,
            party=self.party(args.preemptor, winner),
        )

    def party(self, party: notices.Party, owner: Markup) -> Markup:
        """One side of a preemption: request, name, owner, team, pool, size."""
        name = say(" “{name}”", name=party.name) if party.name else Markup()
        return say(
            "{request}{name} of {owner} (team {team}, pool {pool}, {gpus})",
            request=party.request,
            name=name,
            owner=owner,
            team=party.team,
            pool=party.pool,
            gpus=self.gpus(party.gpus),
        )

    def rule(self, args: notices.PreemptedArgs) -> Markup:
        """By which right, in plain words, with the rule's name and the level it acted at."""
        return self.rules([args])

    def rules(self, group: Sequence[notices.PreemptedArgs], *, code: bool = True) -> Markup:
        """The rule by which the targets of a group, all of one queue, were stopped.

        Its name and level, the `code`, are for those who look into it, not for everybody.
        """
        first = group[0]
        losers = [say("{request}", request=each.target.request) for each in group]
        plain = say(
            _OVERSTAYED if first.overstayed else _RULES[first.rule],
            winner=first.preemptor.request,
            losers=self.several(losers, 6),
            winner_queue=first.preemptor.queue,
            loser_queue=first.target.queue,
        )
        named = say(" (`{rule}`, at `{level}`)", rule=first.rule.value, level=first.level)
        return say("The rule: {plain}{named}.", plain=plain, named=named if code else "")

    def paths(self, args: notices.PreemptedArgs) -> Markup:
        """Both queues with their place in the quota tree."""
        return say(
            "Quota: {loser} gives to {winner}.",
            loser=self._path(args.target),
            winner=self._path(args.preemptor),
        )

    def _path(self, party: notices.Party) -> Markup:
        steps = party.path or (party.queue,)
        return say("`{path}`", path=" › ".join(steps))

    def preempted_next(self, args: notices.PreemptedArgs) -> Markup:
        """What is lost and what happens next."""
        return say(
            "It had run {ran}; what it did not save is lost. Its pods have {grace} to stop, then "
            "it is requeued at its old place and starts again by itself when there is room.",
            ran=self.span(args.ran),
            grace=self.span(args.grace),
        )

    def preempted_group_title(self, args: notices.PreemptedGroupArgs) -> Markup:
        """Leads the post about all that one request stopped."""
        return say(
            "*Preemption* · {count}, {gpus}, for {winner}",
            count=self.count(len(args.targets), "request"),
            gpus=self.gpus(sum(each.target.gpus for each in args.targets)),
            winner=args.preemptor.request,
        )

    def preempted_group(self, args: notices.PreemptedGroupArgs, winner: Markup) -> Markup:
        """Who needed the room."""
        party = self.party(args.preemptor, winner)
        return say("{party} starts as soon as the room is free. Stopped for it:", party=party)

    def preempted_row(
        self, args: notices.PreemptedArgs, owner: Markup, *, timed: bool = False
    ) -> Markup:
        """One target of a group."""
        grace = say(", has {grace} to stop", grace=self.span(args.grace))
        return say(
            "• {party}, had run {ran}{grace}",
            party=self.party(args.target, owner),
            ran=self.span(args.ran),
            grace=grace if timed else "",
        )

    def preempted_rest(self, rest: Sequence[notices.PreemptedArgs]) -> Markup:
        """The targets that are not listed one by one, by team, the largest first."""
        teams: dict[str, int] = {}
        for each in rest:
            teams[each.target.team] = teams.get(each.target.team, 0) + each.target.gpus
        by_size = sorted(teams.items(), key=lambda item: (-item[1], item[0]))
        named = [say("{gpus} of {team}", gpus=self.gpus(gpus), team=team) for team, gpus in by_size]
        return say(
            "• and {count}: {teams}",
            count=self.count(len(rest), "more request"),
            teams=self.several(named, 8),
        )

    def preempted_group_next(
        self, args: notices.PreemptedGroupArgs, *, told: bool = True
    ) -> Markup:
        """What happens to the targets; and that their owners know, where others read it."""
        graces = [each.grace for each in args.targets] or [0.0]
        grace = self.span(max(graces))
        if min(graces) < max(graces):
            grace = say("{least} to {most}", least=self.span(min(graces)), most=grace)
        many = len(args.targets) != 1
        return say(
            "{they} {grace} to stop, then {go} back to {their} old place in line.{told}",
            told=say(" Owners were told.") if told else Markup(),
            they="They have" if many else "It has",
            grace=grace,
            go="go" if many else "goes",
            their="their" if many else "its",
        )

    def for_oncall(self, group: Markup | None) -> Markup:
        """Calls on-call; without a group to mention, in words."""
        return say("{who}: for your information.", who=group or say("On-call"))

    def ask_oncall(self, group: Markup | None) -> Markup:
        """Calls on-call to what somebody has to acknowledge."""
        return say("{who}: please acknowledge.", who=group or say("On-call"))

    def starving_title(self, args: notices.StarvingArgs) -> Markup:
        """Leads a starvation alert."""
        return self.title("Starving", request=args.request, gpus=args.gpus, name=args.name)

    def starving(self, args: notices.StarvingArgs, owner: Markup) -> Markup:
        """How long, against what target, and where."""
        return say(
            "{owner} (team {team}) has waited {waited}; the target for {priority} priority is "
            "{target}. {place} in line, pool {pool}.",
            owner=owner,
            team=args.team,
            waited=self.span(args.waited),
            priority=args.priority,
            target=self.span(args.target_wait),
            place=self.ordinal(args.position),
            pool=args.pool,
        )

    def why_in_short(self, reason: WaitReason, figures: Mapping[str, Figure]) -> Markup:
        """The reason and the next step."""
        verdict = Verdict(reason=reason, figures=figures)
        return join(" ", [self.reason(verdict), self.next_step(verdict)])

    def starving_plan(self, args: notices.StarvingArgs) -> Markup:
        """The room that is kept for it; empty without any."""
        plan = args.plan
        if plan is None:
            return Markup()
        return self.plan(at=plan.at, nodes=plan.nodes, domain=plan.domain, basis=plan.basis)

    def starving_holders(self, args: notices.StarvingArgs) -> Markup:
        """Who holds what it needs."""
        rows = [
            say(
                "• {holder}",
                holder=self.holder(
                    request=each.request, team=each.team, gpus=each.gpus, ends=each.ends
                ),
            )
            for each in args.holders
        ]
        return join("\n", [say("Who holds what it needs:"), *rows]) if rows else Markup()

    def starving_oncall(self, args: notices.StarvingArgs, group: Markup | None) -> Markup:
        """What on-call can do."""
        return say(
            "{who}: please look at it. `/gpu why {request}` shows it live.",
            who=group or say("On-call"),
            request=args.request,
        )

    def ended_title(self, args: notices.EndedArgs) -> Markup:
        """Leads the last reply of a thread."""
        state = self.state(RequestState(args.state))
        return self.title(state, request=args.request, gpus=args.gpus, name=args.name)

    def ended(self, args: notices.EndedArgs, by: Markup | None) -> Markup:
        """How it ended and what it used."""
        state = RequestState(args.state)
        why = self.gone(args.by)
        gone = say(" {gone}", gone=why) if why else why
        who = say(" by {by}", by=by) if by and not gone else Markup()
        if args.ran <= 0 and args.gpu_hours <= 0:
            text = "{state}{who} before it started.{gone}"
            return say(text, state=self.state(state), who=who, gone=gone)
        return say(
            "{state}{who} after {ran} on {gpus}; {hours} used in all.{gone}",
            gone=gone,
            state=self.state(state),
            who=who,
            ran=self.span(args.ran),
            gpus=self.gpus(args.gpus),
            hours=say("{hours:,.1f} GPU-hours", hours=args.gpu_hours),
        )

    def ended_for_you(self, args: notices.EndedArgs, by: Markup) -> Markup:
        """To the owner of what somebody else ended."""
        text = "{by} ended your request {request}. If that was a mistake, talk to them."
        return say(text, by=by, request=args.request)

    def requeued(self, args: notices.RequeuedArgs) -> Markup:
        """That it waits again, and where; or that it is not tried for a while, or at all."""
        cause, rest = say(_CAUSES[args.cause]), args.rest
        if rest is None:
            return say(
                "*Waiting again* · {request}. {cause}; now it is {place} in line and starts by "
                "itself when there is room.",
                request=args.request,
                cause=cause,
                place=self.ordinal(args.position),
            )
        if rest.until is None:
            return say(
                "*Held* · {request}. {cause}, for the {tries} time in a row: it is not tried again "
                "by itself. {find}, then change it, in the cluster or with `/gpu edit {request} "
                "…`, and it waits again. `/gpu cancel {request}` gives it up.",
                request=args.request,
                cause=cause,
                find=say(_ALLOW if args.cause == "unmade" else _FIND),
                tries=self.ordinal(rest.tries),
            )
        return say(
            "*Waiting again* · {request}. {cause}{tries}. It is tried again {until} at the "
            "earliest, and is {place} in line then.",
            request=args.request,
            cause=cause,
            tries=say(" ({tries} of {most} tries)", tries=rest.tries, most=rest.most)
            if rest.most is not None
            else "",
            until=date(rest.until),
            place=self.ordinal(args.position),
        )

    def repaired(self, args: notices.RepairedArgs) -> Markup:
        """Which nodes failed and where the pods went."""
        if args.whole:
            return say(
                "*Node failed* · {request}: {lost} failed. Its pods can be sent to no other node: "
                "it is stopped whole.",
                request=args.request,
                lost=self._named_nodes(args.lost),
            )
        return say(
            "*Repaired* · {request}: {lost} failed; its pods moved to {to}, the rest untouched.",
            request=args.request,
            lost=self._named_nodes(args.lost),
            to=self.several([say("{name}", name=name) for name in args.to], 6),
        )

    def held_elsewhere(self, args: notices.RepairedArgs) -> Markup:
        """Which nodes failed and where the GPUs are held now."""
        return say(
            "*Repaired* · {request}: {lost} failed; what was held there is held on {to} now. Pods "
            "of yours that were there are gone: make them anew, with the same label.",
            request=args.request,
            lost=self._named_nodes(args.lost),
            to=self.several([say("{name}", name=name) for name in args.to], 6),
        )

    def _named_nodes(self, names: Sequence[str]) -> Markup:
        """`node a`, or `nodes a, b and 3 more`."""
        named = self.several([say("{name}", name=name) for name in names], 6)
        return say("{word} {named}", word="node" if len(names) == 1 else "nodes", named=named)

    def node_failed_title(self, args: notices.NodeFailedArgs) -> Markup:
        """Leads the post about a failed node."""
        hit = self.count(len(args.hit), "request") if args.hit else say("nobody")
        what = say("leaving") if args.leaving else say("failed")
        return say("*Node {what}* · {node} · {hit} hit", what=what, node=args.node, hit=hit)

    def node_failed_row(self, hit: notices.HitArgs, owner: Markup) -> Markup:
        """One who was hit, and what becomes of it."""
        moved = say("moved to {to}", to=self._named_nodes(hit.to))
        stopped = say("no other node will do: stopped whole, back to its old place in line")
        if hit.pinned:
            stopped = say("stopped whole, for its pods can be sent to no other node")
        return say(
            "• {request}{name} of {owner} (team {team}, {gpus}): {fate}",
            request=hit.request,
            name=say(" “{name}”", name=hit.name) if hit.name else Markup(),
            owner=owner,
            team=hit.team,
            gpus=self.gpus(hit.gpus),
            fate=moved if hit.to else stopped,
        )

    def node_failed_rest(self, rest: Sequence[notices.HitArgs]) -> Markup:
        """Those who are not listed one by one."""
        return say("• and {count}", count=self.count(len(rest), "more request"))

    def node_failed_next(self, args: notices.NodeFailedArgs) -> Markup:
        """What the bot does about it."""
        told = say("Owners were told.") if args.hit else Markup()
        rest = say("Nothing is placed on it until it is ready again.")
        if args.leaving:
            rest = say(
                "Its provider or an autoscaler takes it away, by a taint. Nothing is placed on it "
                "while it has that."
            )
        return join(" ", [rest, told])

    def overfull(self, args: notices.OverfullArgs) -> Markup:
        """A node that shrank below what it holds."""
        return say(
            "*Overfull node* · {node} has {excess:,} of `{resource}` less than the pods on it "
            "hold. They go on; nothing new is placed there. Has a device failed, or was the node "
            "changed?",
            node=args.node,
            excess=args.excess,
            resource=args.resource,
        )

    def flipped(self, args: notices.FlippedArgs) -> Markup:
        """To on-call, once: two requests stopped each other again and again."""
        return say(
            "*Stopping each other* · {one} and {other}, {times} by now. From here on neither "
            "stops the other. Look at the quotas and priorities of their queues.",
            one=args.one,
            other=args.other,
            times=self.count(args.times, "time"),
        )

    def undeliverable(self, *, where: str, error: str) -> Markup:
        """To on-call, once: messages cannot be delivered there."""
        return say(
            "*Undeliverable* · Slack refuses messages to {where} (`{error}`). Until that is "
            "mended they come here, or are kept as undelivered. Is the bot still invited, and "
            "is the channel not archived?",
            where=where,
            error=error,
        )

    def meant_for(self, where: str) -> Markup:
        """Leads a message that comes to the fallback channel."""
        return say("Meant for {where}:", where=where)
