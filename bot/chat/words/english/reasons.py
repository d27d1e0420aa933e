"""Why a request waits, as sentences with figures, and the one next step.

Any figure may be missing: a sentence then says less, never something wrong.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.chat.markup import Markup, date, join, say
from bot.chat.words.english.units import Units
from bot.chat.words.figures import Figures, asked_for, left_over, shared_level
from scheduler.byhand import Hand
from scheduler.model import GPU, Basis, Figure, RestCause, Verdict, WaitReason

_SHORT: dict[WaitReason, str] = {
    WaitReason.PAUSED: "queue paused",
    WaitReason.RESTING: "is not tried for now",
    WaitReason.MISCONFIGURED: "queue not set up",
    WaitReason.EXCEEDS_LIMIT: "over a limit",
    WaitReason.NO_FLAVOR: "no matching GPUs",
    WaitReason.QUOTA: "quota in use",
    WaitReason.TOPOLOGY: "no room for the whole gang",
    WaitReason.PROTECTED: "others' minimum run time",
    WaitReason.RESERVED: "room is kept for another",
    WaitReason.WAITING_FOR_TARGETS: "room is being made",
    WaitReason.BEHIND: "others are ahead",
    WaitReason.NOT_EVALUATED: "just arrived",
}

_NEXT: dict[WaitReason, str] = {
    WaitReason.PAUSED: "It keeps its place; an admin has to resume the queue.",
    WaitReason.RESTING: (
        "Change it, in the cluster or with `/gpu edit`, and it waits again; or cancel it."
    ),
    WaitReason.MISCONFIGURED: "It keeps its place; an admin has to mend the policy.",
    WaitReason.EXCEEDS_LIMIT: "Cancel it and ask for fewer GPUs.",
    WaitReason.NO_FLAVOR: "Cancel it and ask for another GPU model.",
    WaitReason.QUOTA: "It starts when GPUs of that quota come free.",
    WaitReason.TOPOLOGY: "It starts when enough room comes free, or sooner with fewer nodes.",
    WaitReason.PROTECTED: "Nothing to do: it starts then, or when other room comes free.",
    WaitReason.RESERVED: "It starts when that one has started and left it room.",
    WaitReason.WAITING_FOR_TARGETS: "It starts as soon as they are gone.",
    WaitReason.BEHIND: "Its turn comes; you need not do anything.",
    WaitReason.NOT_EVALUATED: "You need not do anything.",
}


_THEN: dict[WaitReason, str] = {
    WaitReason.PAUSED: "It keeps its place, and the queue goes on by itself then.",
    WaitReason.RESTING: "You need not do anything. A change of the request ends the pause at once.",
}
"""What follows where it is known until when that lasts."""

_IN_VAIN: dict[str, str] = {
    RestCause.UNPLACED: "Its pods did not get onto their nodes in time",
    RestCause.UNMADE: "Its pods were not all made in time (`kubectl describe job` tells why)",
}
_OF_OBJECT: dict[str, str] = {
    RestCause.SPOILED: (
        "It is held: what it stands for was changed in the cluster, and cannot be a "
        "request as it is now."
    ),
    RestCause.LINGERS: (
        "It is held: a node that has failed keeps a pod of it, and no other is made in its place "
        "before that has ended."
    ),
}
_MEND = (
    "Put it right there; its thread says what is wrong. It keeps its place and waits again by "
    "itself."
)

_BASIS: dict[Basis, str] = {
    Basis.DECLARED: "That goes by the leases of those who are there now.",
    Basis.HISTORY: "That is an estimate, by how long such work has run before.",
    Basis.UNKNOWN: "That is a guess: some who are there have no known end.",
}
MINUTE = 60.0


class Reasons(Units):
    """One sentence a reason, one a next step."""

    def short_reason(self, reason: WaitReason | str) -> Markup:
        """A reason in a few words, for lists."""
        return say(_SHORT[WaitReason(reason)])

    def reason(self, verdict: Verdict) -> Markup:
        """The dominant reason with its numbers, as one sentence."""
        sentences: dict[WaitReason, Callable[[Figures], Markup]] = {
            WaitReason.PAUSED: self._paused,
            WaitReason.RESTING: self._resting,
            WaitReason.MISCONFIGURED: self._misconfigured,
            WaitReason.EXCEEDS_LIMIT: self._exceeds_limit,
            WaitReason.NO_FLAVOR: self._no_flavor,
            WaitReason.QUOTA: self._quota,
            WaitReason.TOPOLOGY: self._topology,
            WaitReason.PROTECTED: self._protected,
            WaitReason.RESERVED: self._reserved,
            WaitReason.WAITING_FOR_TARGETS: self._waiting_for_targets,
            WaitReason.BEHIND: self._behind,
            WaitReason.NOT_EVALUATED: self._not_evaluated,
        }
        figures = Figures(verdict.figures)
        said = [sentences[verdict.reason](figures), self._by_hand(figures)]
        return join(" ", [*said, *self._lower_class(figures)])

    def _by_hand(self, figures: Figures) -> Markup:
        """Who set by hand what is in its way, until when, and why; empty where nobody did."""
        hand = str(figures.text("hand") or "")
        because, until = figures.text("because"), figures.number("until")
        rest = [
            say(" until {until}", until=date(until)) if until else Markup(),
            say(" (reason: {because})", because=because) if because else Markup(),
        ]
        by = figures.text("by") or say("Somebody")
        if hand == Hand.QUOTA:
            return say(
                "{by} lowered the quota of {queue} from {before:,} to {gpus:,}{rest}.",
                by=by,
                queue=figures.text("set_queue") or "its queue",
                before=int(figures.number("set_from") or 0),
                gpus=int(figures.number("set_to") or 0),
                rest=join("", rest),
            )
        if hand == Hand.DRAIN:
            more = int(figures.number("nodes_drained") or 1) - 1
            are = "is" if more == 1 else "are"
            others = say(", and {count} {are}", count=self.count(more, "more node"), are=are)
            return say(
                "{by} drained node {node}{rest}{more}: it would fit otherwise.",
                by=by,
                node=figures.text("drained") or "that has room",
                rest=join("", rest),
                more=others if more else "",
            )
        return Markup()

    def _resting(self, figures: Figures) -> Markup:
        cause = str(figures.text("cause") or "")
        if cause in _OF_OBJECT:
            return say(_OF_OBJECT[cause])
        tries, most, until = (figures.number(key) for key in ("tries", "most", "until"))
        said = say(_IN_VAIN.get(cause, "Its pods were not all ready in time"))
        if tries and most:
            often = say(", {tries} of {most} times", tries=int(tries), most=int(most))
        else:
            often = say(", {times} in a row", times=self.count(int(tries or 1), "time"))
        if until is None:
            return say("It is held. {said}{often}: it is not tried again.", said=said, often=often)
        return say(
            "{said}{often}: it rests until {until}.", said=said, often=often, until=date(until)
        )

    def _lower_class(self, figures: Figures) -> list[Markup]:
        """That it has a lower priority than it asked for, and why."""
        asked, has = figures.text("asked_class"), figures.text("class")
        if not asked or not has:
            return []
        text = "Its team's budget of {asked} priority is used up, so it waits with {has} priority."
        return [say(text, asked=asked, has=has)]

    def reason_of(self, reason: str, figures: Mapping[str, Figure]) -> Markup:
        """The sentence for a reason that comes as a code."""
        return self.reason(Verdict(reason=WaitReason(reason), figures=figures))

    def next_step(self, verdict: Verdict) -> Markup:
        """The one thing to do, or to expect, about that reason."""
        figures = Figures(verdict.figures)
        asked, free = asked_for(figures), left_over(figures)
        if verdict.reason is WaitReason.QUOTA and figures.number("lowered"):
            if figures.text("hand"):
                return say("It can start once that ends.")
            return say("Quota was changed by hand: it can start once that ends.")
        if figures.text("hand") and verdict.reason in (WaitReason.QUOTA, WaitReason.TOPOLOGY):
            return say("It starts when that ends, or when enough comes free before.")
        if verdict.reason is WaitReason.QUOTA and asked and free is not None and asked > free:
            text = "It starts when {short:,} more come free there, or sooner if you ask for fewer."
            return say(text, short=int(asked - max(0, free)))
        spoiled = str(figures.text("cause") or "") in _OF_OBJECT
        if verdict.reason in _THEN and (spoiled or figures.number("until")):
            return say(_MEND if spoiled else _THEN[verdict.reason])
        longest = figures.number("seconds")
        if verdict.reason is WaitReason.RESERVED and longest is not None and longest >= MINUTE:
            text = "It could go ahead now with a lease of at most {longest}."
            return say(text, longest=self.span(longest // MINUTE * MINUTE))
        if verdict.reason is WaitReason.TOPOLOGY:
            return self._room_comes(figures)
        return say(_NEXT[verdict.reason])

    def _room_comes(self, figures: Figures) -> Markup:
        """What is next where quota is there and room is not: one pod cannot have fewer nodes."""
        if level := shared_level(figures):
            return self._one_domain(figures, level)
        if figures.number("pods") == 1:
            one = figures.number("per_pod") == 1
            return say(
                "It starts when a node has room for it."
                if one
                else "It starts when enough room comes free, or sooner with fewer GPUs."
            )
        return say(_NEXT[WaitReason.TOPOLOGY])

    def plan(self, *, at: float, nodes: int, domain: str, basis: Basis) -> Markup:
        """The room that is kept for it: from when on, where (`level=value`), and how sure."""
        level, _, value = domain.partition("=")
        path = [(level.rsplit("/", maxsplit=1)[-1], value)]
        return say(
            "Room is kept for it from {at} on: {nodes}{domain}. {basis}",
            at=date(at),
            nodes=self.count(nodes, "node"),
            domain=say(" in {domain}", domain=self.domain(path)) if domain else "",
            basis=say(_BASIS[basis]),
        )

    def _one_domain(self, figures: Figures, level: str) -> Markup:
        """A required level holds it: it could lie in several domains instead."""
        pods, room = figures.number("pods"), figures.number("room")
        text = "It starts when one {level} has room for it all, maybe sooner with `prefer {level}`."
        if pods is not None and room is not None and room >= pods:
            text = (
                "Several of them together have room for it now: asked again with `prefer {level}`"
                " it may lie in more than one."
            )
        return say(text, level=level)

    def _paused(self, figures: Figures) -> Markup:
        by, because = figures.text("by", "author"), figures.text("because")
        until = figures.number("until")
        return say(
            "{where} is paused{by}{until}{because}.",
            where=figures.text("queue", "where", "pool") or "Its queue",
            by=say(" by {by}", by=by) if by else "",
            until=say(" until {until}", until=date(until)) if until else "",
            because=say(" (reason: {because})", because=because) if because else "",
        )

    def _misconfigured(self, figures: Figures) -> Markup:
        where = figures.text("queue", "where")
        what = figures.text("problem", "detail", "cause")
        return say(
            "{where} is not set up correctly{what}.",
            where=say("Queue {where}", where=where) if where else "Its queue",
            what=say(" ({what})", what=what) if what else "",
        )

    def _exceeds_limit(self, figures: Figures) -> Markup:
        asked, most = asked_for(figures), figures.number("most", "limit", "max")
        where = figures.text("where", "queue", "level") or "its queue"
        if asked is None or most is None:
            return say("It asks for more than {where} can ever give.", where=where)
        return say(
            "It asks for {asked}; {where} can never give more than {most:,}.",
            asked=self.gpus(asked),
            where=where,
            most=int(most),
        )

    def _no_flavor(self, figures: Figures) -> Markup:
        model = figures.text("model", "flavor")
        if model:
            return say("No capacity of kind {model} is open to it.", model=model)
        return say("No kind of capacity fits what it asks for.")

    def _quota(self, figures: Figures) -> Markup:
        asked, free = asked_for(figures), left_over(figures)
        where = figures.text("where", "level", "cohort", "queue") or "its queue"
        if asked is None or free is None:
            return say("The quota of {where} is in use.", where=where)
        total = figures.number("limit", "nominal", "quota", "total")
        of = say(" of {total:,}", total=int(total)) if total else ""
        text = "It needs {asked}; the quota of {where} has {free:,}{of} left{flavor}.{tried}"
        flavor, tried = figures.text("flavor"), figures.text("tried")
        return say(
            text,
            tried=say(" Tried: {tried}.", tried=tried) if tried else "",
            asked=self._units(asked, figures),
            where=where,
            free=max(0, int(free)),
            of=of,
            flavor=say(" in {flavor}", flavor=flavor) if flavor else "",
        )

    def _units(self, amount: float, figures: Figures) -> Markup:
        """An amount of the resource that is short: GPUs, unless the figures name another."""
        resource = figures.text("resource")
        if resource is None or str(resource) == str(GPU):
            return self.gpus(amount)
        return say("{amount:,} {resource}", amount=int(amount), resource=resource)

    def _topology(self, figures: Figures) -> Markup:
        pods, room = figures.number("pods"), figures.number("room", "fits")
        free, nodes = left_over(figures), figures.number("nodes")
        largest, each = figures.number("largest"), figures.number("per_pod")
        level, in_domain = figures.text("level"), figures.number("in_domain")
        if level and in_domain is not None and pods is not None:
            return self._no_domain(figures, int(in_domain), int(pods))
        parts = [say("There is quota for it, but no room")]
        if pods != 1:
            parts.append(say(" for the whole gang"))
        if room is not None and pods is not None and pods > 1:
            pods_said = self.count(pods, "pod")
            parts.append(say(": {room:,} of its {pods} would fit", room=int(room), pods=pods_said))
        if free is not None:
            on = say(" on {nodes}", nodes=self.count(nodes, "node")) if nodes else ""
            parts.append(say(". Free now: {free}{on}", free=self.gpus(free), on=on))
        if largest is not None and each is not None:
            text = ", at most {largest:,} on one node; each pod needs {each:,}"
            parts.append(say(text, largest=int(largest), each=int(each)))
        return join("", [*parts, say(".")])

    def _no_domain(self, figures: Figures, in_domain: int, pods: int) -> Markup:
        """A required level: the domain that comes closest, and what it lacks."""
        label = (figures.path("level") or ("level",))[-1]
        level = "node" if label == "hostname" else label
        text = "There is quota for it, but no {level} has room for all of it. {best}"
        values, each = figures.path("domain"), figures.number("per_pod")
        best = say("None can take any of its pods now.")
        if values and in_domain > 0:
            path = [*(("", value) for value in values[:-1]), (level, values[-1])]
            short = pods - in_domain
            gpus = say(" ({gpus})", gpus=self.gpus(short * each)) if each else Markup()
            best = say(
                "Closest is {domain}: it could take {room:,} of its {pods}, {short:,} short{gpus}.",
                domain=self.domain(path),
                room=in_domain,
                pods=self.count(pods, "pod"),
                short=short,
                gpus=gpus,
            )
        return say(text, level=level, best=best)

    def _protected(self, figures: Figures) -> Markup:
        at, truce = figures.number("recall_at"), figures.text("truce")
        if truce:
            text = (
                "It and {truce} have stopped each other too often: neither stops the other again."
            )
            return say(text, truce=truce)
        count, gpus = figures.number("targets", "count"), figures.number("gpus")
        who = self.count(count, "request") if count is not None else "other requests"
        what = say(" with {gpus}", gpus=self.gpus(gpus)) if gpus is not None else ""
        verb = "it has" if count == 1 else "they have"
        text = "It may take the room of {who}{what} once {verb} run for the minimum time{when}."
        when = say(", {at}", at=date(at)) if at is not None else ""
        return say(text, who=who, what=what, verb=verb, when=when)

    def _reserved(self, figures: Figures) -> Markup:
        other, at, gpus = figures.text("for"), figures.number("from"), figures.number("gpus")
        size = say(" ({gpus})", gpus=self.gpus(gpus)) if gpus is not None else ""
        lasts = figures.number("lasts")
        why = say("it does not say how long it runs")
        if lasts is not None:
            why = say("its {lasts} would run past that", lasts=self.span(lasts))
        text = "It would fit now, but room is kept for {other}{size}{when}, and {why}."
        return say(
            text,
            other=other or "larger work that has waited long",
            size=size,
            when=say(" from {at} on", at=date(at)) if at is not None else "",
            why=why,
        )

    def _waiting_for_targets(self, figures: Figures) -> Markup:
        count, gpus = figures.number("targets", "count"), figures.number("gpus", "freed", "leaving")
        who = self.count(count, "request") if count is not None else "other requests"
        what = say(" with {gpus}", gpus=self.gpus(gpus)) if gpus is not None else ""
        verb = "is" if count == 1 else "are"
        text = "Room is being made: {who}{what} {verb} still stopping."
        return say(text, who=who, what=what, verb=verb)

    def _behind(self, figures: Figures) -> Markup:
        ahead = figures.number("ahead", "count")
        where = figures.text("queue", "where")
        in_queue = say(" in {where}", where=where) if where else ""
        if ahead is None:
            first = figures.text("first", "behind")
            text = "It would fit now, but {first} is ahead of it{in_queue}."
            return say(text, first=first or "another request", in_queue=in_queue)
        verb = "is" if ahead == 1 else "are"
        who = self.count(ahead, "request")
        return say("{who} {verb} ahead of it{in_queue}.", who=who, verb=verb, in_queue=in_queue)

    def _not_evaluated(self, figures: Figures) -> Markup:
        del figures
        return say("It has just arrived and is looked at within seconds.")
