"""Replicas of one object, such as a Deployment: their card, and what becomes of them."""

from __future__ import annotations

from bot import notices
from bot.chat.markup import Markup, date, join, say
from bot.chat.words.english.reasons import Reasons
from bot.views import CardView, FamilyView


class Families(Reasons):
    """Sentences about replicas."""

    def family_headline(self, family: FamilyView) -> Markup:
        """State word, id, what keeps the replicas, and how many of which size."""
        total, one = family.total, family.latest
        if not total:
            state = say("*No replicas*")
        elif family.waiting == total:
            state = say("*Waiting*")
        elif family.running == total:
            state = say("*Running*")
        else:
            text = "*{running:,} of {total:,} running*"
            state = say(text, running=family.running, total=total)
        each = self.gpus(one.gpus_per_pod)
        if one.model:
            each = say("{gpus:,} × {model}", gpus=one.gpus_per_pod, model=one.model.upper())
        size = say("{replicas} of {each}", replicas=self.count(total, "replica"), each=each)
        parts = [state, say("{id}", id=family.head), self.family_name(family)]
        return join(" · ", [*parts, size if total else Markup()])

    def family_name(self, family: FamilyView) -> Markup:
        """What keeps the replicas, by kind, namespace and name."""
        return say(
            "{kind} {space}/{name}", kind=family.kind, space=family.namespace, name=family.name
        )

    def family_protection(self, family: FamilyView) -> Markup | None:
        """How many replicas are guaranteed, where some are and some are not."""
        if family.guaranteed in (0, family.total):
            return None
        return say("{count:,} guaranteed, the rest preemptible", count=family.guaranteed)

    def family_stand(self, family: FamilyView) -> Markup:
        """How many run, start, stop and wait, since when, and why the next one waits."""
        if not family.total:
            return say("It has no replicas now. The next ones are told here.")
        parts = []
        if family.running and family.runs_since is not None:
            text = "{count:,} run, the longest since {since}."
            text = text if family.running > 1 else "{count:,} runs, since {since}."
            parts.append(say(text, count=family.running, since=date(family.runs_since)))
        for count, word in ((family.starting, "starting"), (family.stopping, "stopping")):
            verb = "is" if count == 1 else "are"
            if count:
                parts.append(say("{count:,} {verb} {word}.", count=count, verb=verb, word=word))
        return join("\n", [join(" ", parts), self._family_waits(family)])

    def _family_waits(self, family: FamilyView) -> Markup:
        if not family.waiting or family.waits_since is None:
            return Markup()
        text = "{count:,} wait, the longest since {since}{next}."
        text = text if family.waiting > 1 else "{count:,} waits, since {since}{next}."
        first, why = family.first, None if family.first is None else family.first.explanation
        if first is None or why is None:
            return say(text, count=family.waiting, since=date(family.waits_since), next="")
        place = say(
            "; {request} is {place} in line in {queue}",
            request=first.request,
            place=self.ordinal(why.position),
            queue=why.queue,
        )
        waits = say(text, count=family.waiting, since=date(family.waits_since), next=place)
        return join(" ", [waits, self.reason(why.verdict)])

    def family_row(self, family: FamilyView, owner: Markup | None) -> Markup:
        """A family in one line, for lists."""
        parts = [self.family_headline(family), owner or Markup()]
        why = None if family.first is None else family.first.explanation
        if why is not None:
            parts += [
                say("{place} in line", place=self.ordinal(why.position)),
                self.short_reason(why.verdict.reason),
            ]
        return join(" · ", parts)

    def family_note(self, family: FamilyView) -> Markup:
        """How to have more or fewer of them."""
        return say(
            "Each replica is a request of its own. More or fewer: "
            "`kubectl -n {space} scale {kind}/{name} --replicas=…`",
            space=family.namespace,
            kind=family.kind.lower(),
            name=family.name,
        )

    def replica_of(self, card: CardView) -> Markup:
        """What a single replica belongs to; empty for anything else."""
        family = card.family
        if family is None or card.opens is not None:
            return Markup()
        return say("A replica of {head}, {name}.", head=family.head, name=self.family_name(family))

    def template_held(self, args: notices.RequeuedArgs) -> Markup:
        """That no replica of a template is tried any more, and what to do."""
        return say(
            "*Held* · {what} `{where}`: its replicas were not ready in time, {times} in a row, and "
            "none of this template is tried again by itself. Find out why their pods do not get "
            "ready (`kubectl describe pod`, their image and node), then change the template: those "
            "of another are tried at once. (Of a Deployment or StatefulSet, `kubectl rollout "
            "restart` makes another that asks for the same.)",
            what=args.what,
            where=args.where,
            times=self.count(1 if args.rest is None else args.rest.tries, "time"),
        )

    def replicas_title(self) -> Markup:
        """Heads the replicas of a family, one a line."""
        return say("*Its replicas*")

    def replicas_started(self, args: notices.ReplicasArgs) -> Markup:
        """Leads the replicas that got their GPUs."""
        return say("*Started* · {what}", what=self._some(args, len(args.started)))

    def replicas_ended(self, args: notices.ReplicasArgs) -> Markup:
        """Leads the replicas that are gone."""
        return say("*Gone* · {what}", what=self._some(args, len(args.ended)))

    def _some(self, args: notices.ReplicasArgs, count: int) -> Markup:
        return say(
            "{count} of {kind} {space}/{name}",
            count=self.count(count, "replica"),
            kind=args.what,
            space=args.namespace,
            name=args.name,
        )

    def replica_started(self, one: notices.ReplicaArgs) -> Markup:
        """One replica that got its GPUs, in a line."""
        return say(
            "• {request} · {name} · {gpus} on {nodes}",
            request=one.request,
            name=one.name,
            gpus=self.gpus(one.gpus),
            nodes=self.several([say("{node}", node=node) for node in one.nodes]),
        )

    def replica_ended(self, one: notices.ReplicaArgs) -> Markup:
        """One replica that is gone, in a line."""
        how = say("never started")
        if one.ran:
            text = "failed after {span}" if one.failed else "after {span}"
            how = say(text, span=self.span(one.ran))
        return say("• {request} · {name} · {how}", request=one.request, name=one.name, how=how)

    def family_started(self, args: notices.ReplicasArgs, owner: Markup) -> Markup:
        """The first start of a family, for the channel."""
        return say(
            "*Started* · {request} · {what}, {gpus}\n"
            "{owner} (team {team}) in pool {pool}. Replicas that come and go later are told in its "
            "thread only.",
            request=args.request,
            what=self._some(args, len(args.started)),
            gpus=self.gpus(sum(one.gpus for one in args.started)),
            owner=owner,
            team=args.team,
            pool=args.pool,
        )
