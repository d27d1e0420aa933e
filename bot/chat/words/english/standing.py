"""Where a request stands: the lines of its card."""

from __future__ import annotations

from bot.chat.markup import Markup, date, join, say
from bot.chat.words.english.families import Families
from bot.views import CLUSTER, OUTSIDE, Boost, CardView
from scheduler.model import Spend
from storage.records import RecipeKind
from storage.states import RequestState

_STATES: dict[RequestState, str] = {
    RequestState.WAITING: "Waiting",
    RequestState.ADMITTED: "Starting",
    RequestState.RUNNING: "Running",
    RequestState.PREEMPTING: "Being preempted",
    RequestState.EVICTING: "Being evicted",
    RequestState.STOPPING: "Stopping",
    RequestState.FINISHED: "Finished",
    RequestState.FAILED: "Failed",
    RequestState.CANCELLED: "Cancelled",
    RequestState.RELEASED: "Released",
    RequestState.EXPIRED: "Lease ended",
}

_EXTENDABLE = frozenset({RequestState.ADMITTED, RequestState.RUNNING})


class Standing(Families):
    """State words and card lines."""

    def state(self, state: RequestState) -> Markup:
        """The word that leads every card and row."""
        return say(_STATES[state])

    def amount(self, card: CardView) -> Markup:
        """`16 × H100 (2×8)`, or `16 GPUs` where the model is open."""
        shape = f" ({card.whole})" if card.pods > 1 else ""
        if not card.model:
            return say("{gpus}{shape}", gpus=self.gpus(card.gpus), shape=shape)
        template = "{gpus:,} × {model}{shape}"
        return say(template, gpus=card.gpus, model=card.model.upper(), shape=shape)

    def headline(self, card: CardView) -> Markup:
        """State word, id, amount, name."""
        if card.opens is not None:
            return self.family_headline(card.opens)
        lead = say("*{state}*", state=self.state(card.state))
        rest = [say("{id}", id=card.request), self.amount(card), say("{name}", name=card.name)]
        return join(" · ", [lead, *rest])

    def who(self, card: CardView, owner: Markup) -> Markup:
        """Owner, team, pool and the terms of the request."""
        family = card.opens
        card = card if family is None else family.latest
        kept = None if family is None else self.family_protection(family)
        terms = [
            owner,
            say("team {team}", team=card.team),
            self._pool(card),
            self._counts_as(card.priority, card.boost),
            kept or (say("preemptible") if card.preemptible else say("not preemptible")),
        ]
        if card.topology:
            terms.append(say("{topology}", topology=card.topology))
        if card.provision:
            terms.append(say("{provision}", provision=card.provision))
        if card.asked > card.gpus + card.given_back:
            terms.append(say("of {asked} asked for", asked=self.gpus(card.asked)))
        elif card.least and card.state is RequestState.WAITING:
            terms.append(say("at least {least}", least=self.gpus(card.least)))
        if card.lease is not None:
            terms.append(say("for {span}", span=self.span(card.lease)))
        return join(" · ", terms)

    def _counts_as(self, own: str, boost: Boost | None) -> Markup:
        """Its priority; or the one that somebody gave it for a while, and who."""
        if boost is None:
            return say("{priority} priority", priority=own)
        by = say(" by {by}", by=boost.by) if boost.by else Markup()
        until = say(" until {until}", until=date(boost.until)) if boost.until else Markup()
        text = "{priority} priority (boosted{by}{until}, else {own})"
        return say(text, priority=boost.priority, by=by, until=until, own=own)

    def _pool(self, card: CardView) -> Markup:
        """Its pool; or that it is bought by the hour, and how, which nobody need have said."""
        if card.spend == Spend.HIGH:
            return say("on demand ({queue})", queue=card.queue)
        return say("pool {pool}", pool=card.pool)

    def recipe(self, card: CardView) -> Markup:
        """What the bot makes for it; empty for a hold."""
        recipe = card.recipe
        if recipe is None:
            return Markup()
        if recipe.kind is RecipeKind.DEBUG:
            return say("A pod to work in, made when it starts.")
        command = say(" with `{command}`", command=recipe.command) if recipe.command else Markup()
        return say("Runs `{image}`{command}.", image=recipe.image, command=command)

    def stand(self, card: CardView, ended_by: Markup | None = None) -> Markup:
        """One or two sentences: what is true of it now, and what comes next."""
        if card.opens is not None:
            return self.family_stand(card.opens)
        if card.state is RequestState.WAITING:
            return self._stand_waiting(card)
        if card.state.final:
            return self._stand_ended(card, ended_by)
        return self._stand_holding(card)

    def place(self, card: CardView) -> Markup:
        """Its place in line, in a sentence; empty while nothing is known."""
        why = card.explanation
        if why is None:
            return Markup()
        return say(
            "{place} in line in {queue}, since {since}.",
            place=self.ordinal(why.position),
            queue=why.queue,
            since=date(card.queued if card.queued is not None else card.created),
        )

    def _stand_waiting(self, card: CardView) -> Markup:
        why = card.explanation
        if why is None:
            return say("Stored. The first decision comes within seconds.")
        verdict = why.verdict
        reason = join(" ", [self.reason(verdict), self.next_step(verdict)])
        return join("\n", [self.place(card), reason])

    def _stand_holding(self, card: CardView) -> Markup:
        domain = self.domain(card.domain)
        place = self.nodes(card.nodes, domain) if card.nodes else self.gpus(card.gpus)
        if card.state is RequestState.ADMITTED:
            first = say("Its pods are starting on {place}.", place=place)
        elif card.state is RequestState.RUNNING:
            since = card.started if card.started is not None else card.created
            first = say("Since {since} on {place}.", since=date(since), place=place)
        elif card.state is RequestState.PREEMPTING:
            if card.to_back:
                return say("It is being stopped by hand and goes to the back of its queue.")
            text = "It is being stopped for another request and keeps its place in line."
            return say(text)
        elif card.state is RequestState.EVICTING:
            text = (
                "It lost a node that nothing can replace now. What is left of it is being stopped; "
                "then it waits at its old place in line."
            )
            return say(text)
        else:
            return say("Its GPUs are free as soon as its pods are gone.")
        return join(" ", [first, self._given_back(card), self._lease(card)])

    def _given_back(self, card: CardView) -> Markup:
        """What of its grant is others' already; empty where it holds all of it."""
        if not card.given_back:
            return Markup()
        whole = self.gpus(card.gpus + card.given_back)
        text = "It has given back {back:,} of {whole}, whose pods are done."
        return say(text, back=card.given_back, whole=whole)

    def _lease(self, card: CardView) -> Markup:
        if card.lease_ends is None:
            return Markup()
        over = card.lease_ends <= card.at
        text = "The lease ended {ends}." if over else "The lease ends {ends}."
        return join(" ", [say(text, ends=date(card.lease_ends)), self.extends(card)])

    def extends(self, card: CardView) -> Markup:
        """What the button that extends it makes of its end; empty without one."""
        if card.longer is None or card.lease_ends is None or not card.may_end:
            return Markup()
        if card.lease_ends <= card.at or card.state not in _EXTENDABLE:
            return Markup()
        return say("Extend moves that to {later}.", later=date(card.lease_ends + card.longer))

    def _stand_ended(self, card: CardView, ended_by: Markup | None) -> Markup:
        when = date(card.ended) if card.ended is not None else date(card.at)
        ran = Markup()
        if card.started is not None and card.ended is not None:
            ran = say(", after running {span}", span=self.span(card.ended - card.started))
        why = self.gone(card.ended_by)
        gone = say(" {gone}", gone=why) if why else why
        by = say(" by {who}", who=ended_by) if ended_by and not gone else Markup()
        state = self.state(card.state)
        text = "{state}{by} {when}{ran}.{gone}"
        return say(text, state=state, by=by, when=when, ran=ran, gone=gone)

    def gone(self, by: str | None) -> Markup:
        """Why something ended that nobody ended in chat; empty where somebody did."""
        if by == CLUSTER:
            return say("What it stood for is gone from the cluster, or was let go there by others.")
        if by == OUTSIDE:
            return say(
                "Its label `gpubot.dev/team` was taken off while it ran: it runs on outside the "
                "bot, and its GPUs count as occupied."
            )
        return Markup()

    def row(self, card: CardView, owner: Markup | None = None) -> Markup:
        """A card in one line, for lists; `owner` where it is not the reader."""
        if card.opens is not None:
            return self.family_row(card.opens, owner)
        parts = [self.headline(card), owner or Markup()]
        if card.given_back:
            parts.append(say("{back} given back", back=self.gpus(card.given_back)))
        if card.state is RequestState.WAITING and card.explanation is not None:
            why = card.explanation
            place = say("{place} in line", place=self.ordinal(why.position))
            parts += [place, self.short_reason(why.verdict.reason)]
        elif card.state.final and card.ended is not None:
            parts.append(date(card.ended))
        elif card.lease_ends is not None:
            over = card.lease_ends <= card.at
            text = "lease ended {ends}" if over else "until {ends}"
            parts.append(say(text, ends=date(card.lease_ends)))
        return join(" · ", parts)

    def holder(self, *, request: str, team: str, gpus: int, ends: float | None) -> Markup:
        """Who holds what until when, as one item of a list."""
        until = say("until {ends}", ends=date(ends)) if ends is not None else say("no known end")
        return say(
            "{request} (team {team}) holds {gpus}, {until}",
            request=request,
            team=team,
            gpus=self.gpus(gpus),
            until=until,
        )
