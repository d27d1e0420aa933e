"""What admins do by hand, in English."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bot import notices
from bot.byhand import LONGEST_REASON, DeclineCode, Declined, Intervened
from bot.chat.markup import Markup, date, escape, join, say
from bot.chat.people import Names
from bot.chat.words.english.previews import Previews
from bot.chat.words.figures import Figures
from bot.views import RefusalCode
from storage.audit import Intervention, InterventionKind

K = InterventionKind

_DOING: Mapping[InterventionKind, str] = {
    K.PAUSE: "pause a queue",
    K.RESUME: "resume a queue",
    K.BOOST: "boost a request",
    K.PREEMPT: "stop somebody else's request",
    K.DRAIN: "drain a node",
    K.UNDRAIN: "open a drained node again",
    K.QUOTA: "change a quota",
}
_TITLES: Mapping[InterventionKind, str] = {
    K.PAUSE: "paused",
    K.RESUME: "resumed",
    K.BOOST: "boosted",
    K.PREEMPT: "stopped",
    K.DRAIN: "drained",
    K.UNDRAIN: "open again",
    K.QUOTA: "quota",
}
_OVER: Mapping[InterventionKind, str] = {
    K.PAUSE: "The pause of {target} that {actor} set {began} is over: requests start there again.",
    K.BOOST: "The boost of {target} that {actor} gave {began} is over: it has its own priority.",
    K.DRAIN: "Node {target}, which {actor} drained {began}, takes new work again.",
    K.QUOTA: "The quota that {actor} set for {target} {began} is over: the policy's holds again.",
}
_DECLINED: Mapping[DeclineCode, str] = {
    DeclineCode.ADMINS_ONLY: "Only an admin can {doing}.{ask}",
    DeclineCode.NO_REASON: (
        "Say why: `reason` and a few words for all to read, for example `reason switch upgrade`."
    ),
    DeclineCode.END_PASSED: (
        "That end is in the past. Say a later one, for example `for 2h` or `until 18:00`."
    ),
    DeclineCode.END_TOO_FAR: (
        "That end is more than a year ahead. Say a nearer one, for example `for 2h` or "
        "`until 18:00`, or none."
    ),
    DeclineCode.UNKNOWN_PLACE: "I know no queue, pool or team called {where}.{near}",
    DeclineCode.UNKNOWN_NODE: "There is no node {node}.{near}",
    DeclineCode.NO_SUCH_REQUEST: "There is no request {request}. `/gpu queue` lists who waits.",
    DeclineCode.NOT_PAUSED: "Nothing of {where} is paused.{instead}",
    DeclineCode.NOT_DRAINED: "Node {node} is not drained.{instead}",
    DeclineCode.NOT_WAITING: (
        "{request} is not waiting: only who waits can be helped. `/gpu queue` lists them."
    ),
    DeclineCode.NOT_RUNNING: "{request} does not run, or is being stopped already.",
    DeclineCode.NOT_HIGHER: (
        "{request} has {priority} priority already: a boost goes higher, for example "
        "`priority critical`."
    ),
    DeclineCode.WOULD_NOT_START: (
        "{request} would not start even without {target}, so nobody is stopped for it. "
        "`/gpu why {request}` shows what it lacks."
    ),
    DeclineCode.NEEDS_QUEUE: "{where} has several queues. Name one: {list}.",
    DeclineCode.NEEDS_FLAVOR: "{where} has quota of several kinds. Name one: {list}.",
    DeclineCode.NO_SUCH_FLAVOR: "{where} has no quota of {flavor}. Say {list}.",
    DeclineCode.SAME_QUOTA: "{where} has that quota already.",
}


_EXAMPLES: Mapping[DeclineCode, Markup] = {
    DeclineCode.UNKNOWN_PLACE: Markup(
        "For example `/gpu pause shared-multi for 2h reason switch upgrade`."
    ),
    DeclineCode.UNKNOWN_NODE: Markup(
        "`/gpu map` shows where nodes are: for example `/gpu drain h100-0042 for 2h reason fan`."
    ),
}


class Interventions(Previews):
    """Sentences about orders of admins."""

    def declined(self, declined: Declined, mention: Names) -> Markup:
        """Why an order was not taken, and what would do or whom to ask."""
        figures = Figures(declined.args)
        named = {key: figures.text(key) or Markup() for key in declined.args}
        near = say(" Did you mean {near}?", near=self.or_list(declined.near[:3]))
        example = say(" {example}", example=_EXAMPLES.get(declined.code, Markup()))
        instead = say(" In force: {near}.", near=self.several(_codes(declined.near), 6))
        asked = self.several([mention(one) for one in declined.near], 3)
        return say(
            _DECLINED[declined.code],
            doing=_DOING[declined.kind],
            ask=say(" Ask {asked}.", asked=asked) if declined.near else "",
            near=near if declined.near else example,
            instead=instead if declined.near else "",
            list=self.or_list(declined.near[:8]),
            **named,
        )

    def intervened(self, answer: Intervened) -> Markup:
        """The private answer to who ordered it."""
        what = say(
            "*Intervention* · {word} · {target}",
            word=_TITLES[answer.done.kind],
            target=answer.done.target,
        )
        if answer.pending:
            return join(". ", [what, say("It is stored and will be carried out in a moment.")])
        return join(". ", [what, say("It is posted in the channel, with your reason.")])

    # ---- notices

    def intervention_title(self, args: notices.InterventionArgs) -> Markup:
        """Leads the post."""
        lead = say(
            "*Intervention* · {word} · {target}", word=_TITLES[args.what], target=args.target
        )
        of = args.request
        if of is None:
            return lead
        return join(" · ", [lead, self.gpus(of.gpus), say("{name}", name=of.name)])

    def intervention(self, args: notices.InterventionArgs, actor: Markup, names: Names) -> Markup:
        """Who did what until when, and what it means."""
        match args.what:
            case K.PAUSE | K.RESUME:
                return self._paused_post(args, actor)
            case K.BOOST:
                return say(
                    "{actor} gave {party} {priority} priority{until}.",
                    actor=actor,
                    party=self._of(args.request, names),
                    priority=args.priority or say("a higher"),
                    until=self._until(args.until),
                )
            case K.PREEMPT:
                winner = say("It waits again at the back of its queue.")
                if args.winner is not None:
                    winner = say("{party} starts in its place.", party=self._of(args.winner, names))
                stopped = self._of(args.request, names)
                return say(
                    "{actor} stops {party}. {winner}", actor=actor, party=stopped, winner=winner
                )
            case K.DRAIN | K.UNDRAIN:
                return self._drained_post(args, actor)
            case K.QUOTA:
                return self._quota_post(args, actor)

    def _paused_post(self, args: notices.InterventionArgs, actor: Markup) -> Markup:
        queues = self.several([say("{queue}", queue=queue) for queue in args.queues], 6)
        if args.what is K.RESUME:
            return say("{actor} lets requests start again in {queues}.", actor=actor, queues=queues)
        waits = say("Nobody waits there.")
        if args.waiting:
            waits = say(
                "{count} for {gpus} {wait} there.",
                count=self.count(args.waiting, "request"),
                gpus=self.gpus(args.gpus),
                wait="waits" if args.waiting == 1 else "wait",
            )
        return say(
            "{actor} paused {queues}{until}. Nothing starts there; what runs goes on. {waits}",
            actor=actor,
            queues=queues,
            until=self._until(args.until) or say(", until it is resumed"),
            waits=waits,
        )

    def _drained_post(self, args: notices.InterventionArgs, actor: Markup) -> Markup:
        if args.what is K.UNDRAIN:
            text = "{actor} lets new work onto node {node} again."
            return say(text, actor=actor, node=args.target)
        fate = say("Nothing runs there.")
        if args.hit and args.moved:
            fate = say("What runs there is stopped and starts elsewhere when there is room:")
        elif args.hit:
            fate = say("What runs there may finish:")
        return say(
            "{actor} drains node {node}{until}: nothing new is placed there. {fate}",
            actor=actor,
            node=args.target,
            until=self._until(args.until),
            fate=fate,
        )

    def _quota_post(self, args: notices.InterventionArgs, actor: Markup) -> Markup:
        changed = say(
            "{actor} changed the quota of {queue} in {flavor} from {before} to {gpus}{until}.",
            actor=actor,
            queue=args.target,
            flavor=args.flavor or say("its only flavor"),
            before=self.gpus(args.before),
            gpus=self.gpus(args.gpus),
            until=self._until(args.until),
        )
        return join(" ", [changed, self._over(args.over) if args.over else Markup()])

    def intervention_reason(self, reason: str) -> Markup:
        """Why, in the admin's own words."""
        return say("Reason: {reason}", reason=escape(reason, LONGEST_REASON))

    def intervention_hits(self, args: notices.InterventionArgs, names: Names) -> Sequence[Markup]:
        """Whom it hits, a line each."""
        if args.what is not K.DRAIN:
            return ()
        rows = [say("• {party}", party=self._of(hit, names)) for hit in args.hit[:10]]
        left = args.more + max(0, len(args.hit) - 10)
        more = say("• and {more}", more=self.count(left, "more request"))
        return [*rows, more] if left else rows

    def intervention_over(self, args: notices.InterventionOverArgs, actor: Markup) -> Markup:
        """That something set by hand has ended by itself."""
        what = say(_OVER[args.what], target=args.target, actor=actor, began=date(args.began))
        return say("*Intervention over* · {what}", what=what)

    def intervention_failed(self, args: notices.InterventionFailedArgs) -> Markup:
        """That an order came too late."""
        return say(
            "*Nothing was changed* · {target}: things had changed before your order ({what}) could "
            "be carried out. Look again, and give it once more if it is still needed.",
            target=args.target,
            what=args.what.value,
        )

    def displaced_title(self, args: notices.DisplacedArgs) -> Markup:
        """Leads the notice to the one who is stopped."""
        target = args.target
        return join(
            " · ",
            [
                say("*Being stopped by hand*"),
                say(target.request),
                self.gpus(target.gpus),
                say("{name}", name=target.name),
            ],
        )

    def displaced(self, args: notices.DisplacedArgs, actor: Markup, names: Names) -> Markup:
        """Who stops it, for whom, by which right."""
        target = args.target.request
        if args.node is not None:
            return say(
                "{actor} drains node {node}, on which {target} runs (rule `{rule}`).",
                actor=actor,
                node=args.node,
                target=target,
                rule=args.rule.value,
            )
        purpose = say("so that its GPUs come free")
        if args.preemptor is not None:
            winner = args.preemptor
            purpose = say(
                "for {request}{name} of {owner} (team {team}, pool {pool}, {gpus})",
                request=winner.request,
                name=say(" “{name}”", name=winner.name) if winner.name else "",
                owner=names(winner.owner),
                team=winner.team,
                pool=winner.pool,
                gpus=self.gpus(winner.gpus),
            )
        return say(
            "{actor} stops {target} {purpose}. No rule of the policy asked for it: a person did "
            "(`{rule}`).",
            actor=actor,
            target=target,
            purpose=purpose,
            rule=args.rule.value,
        )

    def displaced_paths(self, args: notices.DisplacedArgs) -> Markup:
        """The quota paths of both sides."""
        loser = say("`{path}`", path=" › ".join(args.target.path or (args.target.queue,)))
        if args.preemptor is None:
            return say("Quota: {loser} gets its GPUs back.", loser=loser)
        path = " › ".join(args.preemptor.path or (args.preemptor.queue,))
        winner = say("`{path}`", path=path)
        return say("Quota: {loser} gives to {winner}.", loser=loser, winner=winner)

    def displaced_next(self, args: notices.DisplacedArgs) -> Markup:
        """What is lost and what happens next."""
        back = args.what is K.PREEMPT and args.preemptor is None
        return say(
            "It had run {ran}; what it did not save is lost. Its pods have {grace} to stop, then "
            "it is requeued at {place} and starts again by itself when there is room.",
            ran=self.span(args.ran),
            grace=self.span(args.grace),
            place="the back of its queue" if back else "its old place",
        )

    def stuck(self, args: notices.StuckArgs, owner: Markup) -> Markup:
        """To on-call: something was told to stop and does not go."""
        return say(
            "*Stuck* · {request}{name} of {owner} (team {team}, {gpus}) was told to stop {told}, "
            "had {grace} for it, and its pods are still on {nodes}. Whoever waited for it gets "
            "room elsewhere; its GPUs count as taken until it is gone. Look at its pods; on "
            "Kubernetes, `kubectl get pdb -A` tells whether a disruption budget holds them.",
            request=args.request,
            name=say(" “{name}”", name=args.name) if args.name else "",
            owner=owner,
            team=args.team,
            gpus=self.gpus(args.gpus),
            told=date(args.told),
            grace=self.span(args.grace),
            nodes=self.nodes(args.nodes),
        )

    def node_avoided(self, args: notices.NodeAvoidedArgs) -> Markup:
        """To on-call: a node is used no more for a while; why, and how to undo it."""
        return say(
            "*Node avoided* · {node}: the pods of {requests} on it were not ready in time. Until "
            "{until} nothing new is placed there; what runs there goes on. Look at it: `kubectl "
            "describe node {node}`. `/gpu undrain {node} reason …` uses it again at once, "
            "`/gpu drain {node} for 2d reason …` keeps it out for longer.",
            node=args.node,
            requests=self.several([say("{id}", id=one) for one in args.held_up]),
            until=date(args.until),
        )

    def not_taken(self, args: notices.NotTakenArgs) -> Markup:
        """An object of the cluster cannot become a request, or be one still; why is said below."""
        if args.request and args.refusal.get("refused") == RefusalCode.LINGERS:
            return say(
                "*Held* · {request}: the {what} `{where}` cannot start again yet:",
                request=args.request,
                what=args.what,
                where=f"{args.namespace}/{args.name}",
            )
        if args.request:
            return say(
                "*Held* · {request}: the {what} `{where}` was changed while it waited, and cannot "
                "be a request as it is now:",
                request=args.request,
                what=args.what,
                where=f"{args.namespace}/{args.name}",
            )
        return say(
            "*Not taken* · the {what} `{where}` waits in the cluster, but cannot be a request:",
            what=args.what,
            where=f"{args.namespace}/{args.name}",
        )

    def not_taken_next(self, args: notices.NotTakenArgs) -> Markup:
        """What to do about it."""
        if args.request and args.refusal.get("refused") == RefusalCode.LINGERS:
            return say(
                "It is not tried meanwhile, keeps its place and waits again by itself then; "
                "`/gpu cancel {request}` gives it up.",
                request=args.request,
            )
        if args.request:
            return say(
                "It is not tried meanwhile and keeps its place. Put it right with kubectl, and it "
                "waits again by itself; `/gpu cancel {request}` gives it up.",
                request=args.request,
            )
        return say("It goes on waiting. Change it with kubectl, and it is looked at again.")

    def lasting_title(self) -> Markup:
        """Leads what admins have set that still lasts."""
        return say("*Set by hand*")

    def lasting(self, one: Intervention, actor: Markup) -> Markup:
        """Something that lasts, in a line."""
        gpus = one.after.get("gpus")
        amount = say(" {gpus}", gpus=self.gpus(gpus)) if isinstance(gpus, int) else Markup()
        until = None if one.until is None else one.until.timestamp()
        return say(
            "• {word} · {target}{amount}{until}, by {actor} (reason: {reason})",
            word=_TITLES[one.kind],
            target=one.target,
            amount=amount,
            until=self._until(until),
            actor=actor,
            reason=one.reason,
        )

    def _of(self, party: notices.HitArgs | None, names: Names) -> Markup:
        if party is None:
            return say("a request")
        return say(
            "{request}{name} of {owner} (team {team}, {gpus})",
            request=party.request,
            name=say(" “{name}”", name=party.name) if party.name else "",
            owner=names(party.owner),
            team=party.team,
            gpus=self.gpus(party.gpus),
        )


def _codes(words: Sequence[str]) -> list[Markup]:
    return [say("`{word}`", word=word) for word in words]
