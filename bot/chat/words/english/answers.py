"""Answers to what people ask: submitted, done, status, queue, why, mine, help."""

from __future__ import annotations

from collections.abc import Sequence

from bot.chat.grammar import EXAMPLES, Verb
from bot.chat.markup import Markup, date, escape, join, mention_channel, say
from bot.chat.words.english.standing import Standing
from bot.views import CardView, Done, QueueRow, QueueSection, Submitted, Unconfirmed
from bot.views import Verb as DoneVerb
from scheduler.model import Holder
from storage.states import RequestState

_HELP: dict[Verb, str] = {
    Verb.REQUEST: (
        "ask for GPUs: a size (`16`, `4x8` or `2 nodes`), a model, a time; then, if you like, "
        "`preemptible`, `priority low|medium|high|critical`, `team …`, `spend low|high`, "
        "`same rack|block`, `prefer rack|block`, `spread`, `at least …`, `spot`, `flex`, `name …`"
    ),
    Verb.TRY: "what would become of a request, without asking",
    Verb.DEBUG: "a pod to work in by hand, with one GPU unless you say more",
    Verb.RUN: "a job of an image; what stands after `--` is run in it",
    Verb.HOLD: "GPUs for pods that you make yourself and label with the request",
    Verb.STATUS: "your requests and the cluster, or one request, person or team",
    Verb.QUEUE: "who waits, in the order they will be tried, and why",
    Verb.WHY: "why a request waits, who is ahead, who holds what it needs",
    Verb.WHEN: "when a request is expected to start, as a range, and what that rests on",
    Verb.MINE: "all your requests, with buttons",
    Verb.MAP: "a picture of the cluster: blocks, racks, nodes, and whose each GPU is",
    Verb.CANCEL: "end a request, waiting or running",
    Verb.RELEASE: "give the GPUs of a running request back",
    Verb.EXTEND: "let a lease end later, unless somebody waits for the GPUs",
    Verb.EDIT: "change a request in the words of a request: size, time, priority, name and so on",
    Verb.GIVE: "hand a request over to a colleague, who is charged from then on",
    Verb.ADOPT: "make a request of a pod that runs outside the bot, where it runs",
    Verb.FAIR: "shares of the teams, and what each has used lately",
    Verb.REPORT: "what was used and how long people waited, in a day, week or month, with plots",
    Verb.PREFS: "your language, quiet hours, notices and digest",
    Verb.ONCALL: "who is on call, and who stands in for them for a while",
    Verb.LINK: "ask to join a team; its lead confirms it",
    Verb.PAUSE: "let nothing start from a queue or pool for a while",
    Verb.RESUME: "end a pause before its time",
    Verb.BOOST: "give a request another priority for a while",
    Verb.PREEMPT: "stop a request for what the engine does not know of; it waits again",
    Verb.DRAIN: "place nothing new on a node",
    Verb.UNDRAIN: "place on a node again",
    Verb.QUOTA: "give a queue or team another quota for a while",
    Verb.HELP: "this text, or more about one command",
}


class Answers(Standing):
    """Sentences for the answers of the desk."""

    def submitted(self, submitted: Submitted) -> Markup:
        """Leads the answer to a request."""
        card = submitted.card
        span = say(" for {span}", span=self.span(card.lease)) if card.lease is not None else ""
        lead = say(
            "Your request is {request}: {amount}{span}, charged to team {team}.",
            request=card.request,
            amount=self.amount(card),
            span=span,
            team=card.team,
        )
        return lead if submitted.again else join("\n", [lead, self._at_once(card)])

    def _at_once(self, card: CardView) -> Markup:
        """What became of it when it was asked, which stays true."""
        if card.state is not RequestState.WAITING:
            return say("It was admitted.")
        why = card.explanation
        if why is None:
            return say("It was stored; the first decision comes within seconds.")
        return say(
            "It went into line as {place} in {queue} ({reason}).",
            place=self.ordinal(why.position),
            queue=why.queue,
            reason=self.short_reason(why.verdict.reason),
        )

    def see_card(self, channel: str | None) -> Markup:
        """Where to look from now on."""
        where = say(" in {channel}", channel=mention_channel(channel)) if channel else ""
        return say("Its card{where} shows where it stands, and has the buttons.", where=where)

    def nothing_stopped(self) -> Markup:
        """Under the question whether something is to be stopped."""
        return say("Nothing was stopped so far.")

    def unconfirmed(self, asked: Unconfirmed, owner: Markup) -> Markup:
        """Asks whether something running is to be stopped."""
        card = asked.card
        name = say(" “{name}”", name=card.name) if card.name else ""
        where = self.nodes(card.nodes) if card.nodes else self.gpus(card.gpus)
        anew = say("It was stopped and has started again since you were asked. ")
        return say(
            "{anew}{request}{name} of {owner} (team {team}) holds {amount} on {where}. {verb} it "
            "stops everything it runs; what is not saved is lost. Press the button if you mean it.",
            anew=anew if asked.anew else "",
            request=card.request,
            name=name,
            owner=owner,
            team=card.team,
            amount=self.amount(card),
            where=where,
            verb="Releasing" if asked.verb is DoneVerb.RELEASING else "Cancelling",
        )

    def done(self, done: Done) -> Markup:
        """What was done about cancel or release."""
        request = done.card.request
        if done.verb is DoneVerb.CANCELLED:
            if done.card.state is RequestState.WAITING or done.card.state.final:
                return say("{request} is cancelled.", request=request)
            return say("{request} is cancelled; its pods are being stopped.", request=request)
        return say(
            "{request} is being released: its pods are stopped, then its {gpus} go to the next.",
            request=request,
            gpus=self.gpus(done.card.gpus),
        )

    def mine_title(self, count: int, *, may_ask: bool = True) -> Markup:
        """Heads a person's own open requests; who has none reads what to do first."""
        if count == 0 and not may_ask:
            return say("*Yours* · nothing waits or runs. {no_team}", no_team=self.no_team())
        if count == 0:
            return say("*Yours* · nothing waits or runs. `/gpu 8 h100 4h` asks for GPUs.")
        return say("*Yours* · {count} open", count=self.count(count, "request"))

    def mine_waiting_title(self, count: int) -> Markup:
        """Heads a person's own requests in the line: how many of them wait."""
        return say("*Yours* · {count:,} waiting", count=count)

    def ended_list_title(self) -> Markup:
        """Heads the requests that ended last."""
        return say("*Ended lately*")

    def about_title(self, about: Markup) -> Markup:
        """Heads the rows about one request, person, team or queue."""
        return say("*About {about}*", about=about)

    def nothing_found(self) -> Markup:
        """Where a list is empty."""
        return say("Nothing waits or runs there.")

    def more(self, count: int) -> Markup:
        """Closes a list that was cut."""
        return say("… and {count:,} more", count=count)

    def as_of(self, at: float) -> Markup:
        """The moment a view was true."""
        return say("As of {at}.", at=date(at, "{date_short_pretty} {time_secs}"))

    def asked(self, card: CardView) -> Markup:
        """When it was asked, and how often it started; of replicas, how to have more or fewer."""
        if card.opens is not None:
            return self.family_note(card.opens)
        parts = [say("Asked {at}", at=date(card.created))]
        if card.attempt > 1:
            parts.append(say("started {times}", times=self.count(card.attempt, "time")))
        return join(" · ", parts)

    def cluster_title(self) -> Markup:
        """Heads the cluster's figures."""
        return say("*The cluster*")

    def queue_title(self, section: QueueSection) -> Markup:
        """Heads one queue."""
        quota = f" of {section.nominal:,}" if section.nominal else ""
        return say(
            "*{queue}* · {total:,} waiting · {used:,}{quota} GPUs in use",
            queue=section.queue,
            total=section.total,
            used=section.used,
            quota=quota,
        )

    def queue_empty(self) -> Markup:
        """When nothing waits."""
        return say("*Queue* · nothing waits here.")

    def queue_row(self, row: QueueRow, owner: Markup | None) -> Markup:
        """One waiting request in a line."""
        parts = [
            say("{position:,}. {request}", position=row.position, request=row.request),
            self._size(row),
            say("you") if row.mine else owner or Markup(),
            say("team {team}", team=row.team),
            say("{priority}", priority=row.counts_as),
            say("waits {span}", span=self.span(row.waited)),
            self.short_reason(row.reason),
            say("{name}", name=row.name),
        ]
        return join(" · ", parts)

    def _size(self, row: QueueRow) -> Markup:
        shape = "" if row.shape.startswith("1×") else f" ({row.shape})"
        return say("{gpus}{shape}", gpus=self.gpus(row.gpus), shape=shape)

    def page(self, page: int, pages: int) -> Markup:
        """Which page of how many."""
        return say("Page {page:,} of {pages:,}.", page=page, pages=pages)

    def owned_by(self, request: str, owner: Markup | None) -> Markup:
        """A request and whose it is."""
        return say("{id}{who}", id=request, who=say(" ({who})", who=owner) if owner else "")

    def ahead_of(self, named: Sequence[Markup], rest: int, queue: str) -> Markup:
        """Who stands before it, with owners."""
        if not named and rest <= 0:
            return say("Nobody is ahead of it in {queue}.", queue=queue)
        items = [*named, say("{rest:,} more", rest=rest)] if rest > 0 else list(named)
        return say("Ahead of it in {queue}: {who}.", queue=queue, who=self.several(items, 12))

    def holders(self, holders: Sequence[Holder]) -> Markup:
        """Who holds what it needs, one a line."""
        rows = [
            say(
                "• {holder}",
                holder=self.holder(
                    request=each.workload, team=each.team, gpus=each.gpus, ends=each.ends
                ),
            )
            for each in holders
        ]
        return join("\n", [say("Who holds what it needs:"), *rows])

    def story(self, rows: Sequence[Markup]) -> Markup:
        """The story of a request, oldest first."""
        return join("\n", [say("*So far*"), *rows])

    def story_row(self, *, at: float, state: str, reason: str, actor: Markup | None) -> Markup:
        """One line of a request's story."""
        known = state in set(RequestState)
        word = self.state(RequestState(state)) if known else say("{state}", state=state)
        why = say(" ({reason})", reason=reason.replace("-", " ")) if reason else ""
        by = say(" by {actor}", actor=actor) if actor else ""
        return say("• {at}: {word}{why}{by}", at=date(at), word=word, why=why, by=by)

    def hello(self) -> Markup:
        """The first line of the help text."""
        return say(
            "*gpubot* gives out the cluster's GPUs. Say what you need; it decides by the policy, "
            "not by who asks loudest."
        )

    def help_row(self, verb: Verb, command: str) -> Markup:
        """One command in a line or two."""
        example = escape(EXAMPLES[verb][0])
        return say(
            "• `{command}{example}` – {text}",
            command=command,
            example=example,
            text=Markup(_HELP[verb]),
        )

    def help_verb(self, verb: Verb) -> Markup:
        """What one command does."""
        return say("*{verb}*: {text}.", verb=verb.value, text=Markup(_HELP[verb]))

    def examples(self, verb: Verb, command: str) -> Markup:
        """All examples of a command."""
        lines = [
            say("• `{command}{example}`", command=command, example=escape(example))
            for example in EXAMPLES[verb]
        ]
        return join("\n", [say("Examples:"), *lines])

    def help_admin(self) -> Markup:
        """Heads the commands that only admins may say."""
        return say("*For admins*: posted for all to read, each with a reason.")

    def help_doors(self) -> Markup:
        """Where else it works."""
        return say(
            "The same words work after a mention of me, also in threads, and in a direct message. "
            "`/gpu` alone opens a form."
        )
