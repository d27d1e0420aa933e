"""Leases and changes of requests: what was done, what is about to happen, and why not."""

from __future__ import annotations

from collections.abc import Sequence

from bot import notices
from bot.answers import Changed, ChangeKind
from bot.chat.markup import Markup, date, join, say
from bot.chat.people import Names
from bot.chat.words.english.fields import FIELDS
from bot.chat.words.english.standing import Standing
from bot.fields import FieldChange, FieldName, Value
from scheduler.layout import AfterLease
from storage.states import RequestState


class Changes(Standing):
    """Sentences about leases and changes."""

    def field(self, field: FieldName) -> Markup:
        """A part of a request, as people call it."""
        return say(FIELDS[field])

    def field_change(self, change: FieldChange, names: Names) -> Markup:
        """`lease 4 h → 6 h`."""
        return say(
            "{field} {before} → {after}",
            field=self.field(change.field),
            before=self._value(change.field, change.before, names),
            after=self._value(change.field, change.after, names),
        )

    def _value(self, field: FieldName, value: Value, names: Names) -> Markup:
        if value is None or value == "":
            return say("none")
        if field is FieldName.OWNER:
            return names(str(value))
        if isinstance(value, bool):
            return say("yes" if value else "no")
        if isinstance(value, int | float):
            return self.span(value)
        return say("{value}", value=value)

    def field_changes(self, changes: Sequence[FieldChange], names: Names) -> Markup:
        """All of them in a row."""
        return join("; ", [self.field_change(change, names) for change in changes])

    def changed(self, done: Changed, names: Names) -> Markup:
        """What was changed, for the one who did it."""
        card = done.card
        lead: Markup
        if done.kind is ChangeKind.EXTENDED and card.lease_ends is not None and done.decided:
            lead = say(
                "{request} now ends {ends}: {what}.",
                request=card.request,
                ends=date(card.lease_ends),
                what=self.field_changes(done.changes, names),
            )
        elif done.kind is ChangeKind.GIVEN:
            lead = say(
                "{request} is handed over: {what}. Both of you are told.",
                request=card.request,
                what=self.field_changes(done.changes, names),
            )
        else:
            lead = say(
                "{request} is changed: {what}.",
                request=card.request,
                what=self.field_changes(done.changes, names),
            )
        later = Markup() if done.decided else say("It is stored and carried out within seconds.")
        return join(" ", [lead, self._place_kept(done), later])

    def _place_kept(self, done: Changed) -> Markup:
        if done.card.state is not RequestState.WAITING:
            return Markup()
        if done.back and done.kind is ChangeKind.GIVEN:
            return say("It joins the line of its new team at the back.")
        if done.back:
            return say("It asks for more than before, so it goes to the back of its queue.")
        return say("It keeps its place in line.")

    def told_change(self, args: notices.ChangedArgs, actor: Markup, names: Names) -> Markup:
        """For thread and owners: who changed what; that it is held no more."""
        if args.again:
            return say(
                "*Waiting again* · {request}: what it stands for was put right in the cluster"
                "{what}. It is tried again.",
                request=args.request,
                what=say(" ({what})", what=self.field_changes(args.changes, names))
                if args.changes
                else "",
            )
        what = self.field_changes(args.changes, names)
        text = "*Changed* · {request} · {actor}: {what}.{ends}"
        if args.given:
            text = "*Handed over* · {request} · {actor}: {what}.{ends}"
        ends = say(" It ends {ends}.", ends=date(args.ends)) if args.ends else Markup()
        return say(text, request=args.request, actor=actor, what=what, ends=ends)

    def yours_now(self, args: notices.ChangedArgs) -> Markup:
        """To whoever has got a request."""
        text = "{request} is yours now: you may extend, release or give it, and get its notices."
        return say(text, request=args.request)

    def lease_ending_title(self, args: notices.LeaseEndingArgs) -> Markup:
        """Leads the reminder."""
        return self._title("Lease ending", request=args.request, gpus=args.gpus, name=args.name)

    def lease_ending(self, args: notices.LeaseEndingArgs, owner: Markup) -> Markup:
        """When it ends and what happens then."""
        then = "then its GPUs are released. Save your work before."
        if args.after is AfterLease.UNPROTECT:
            then = "then it runs on, but may be preempted first: whoever needs its GPUs gets them."
        return say(
            "{owner}: the lease of {request} ends {ends}, " + then,
            owner=owner,
            request=args.request,
            ends=date(args.ends),
        )

    def lease_longer(self, args: notices.LeaseEndingArgs, names: Names) -> Markup:
        """Whether it may last longer, and who keeps it from that."""
        if args.waits is not None:
            return say(
                "It cannot be extended: {request} of {owner} (team {team}, {gpus}) waits for "
                "GPUs that it holds.",
                request=args.waits.request,
                owner=names(args.waits.owner),
                team=args.waits.team,
                gpus=self.gpus(args.waits.gpus),
            )
        if args.step is None:
            return say("It has the longest lease that its pool gives, so it cannot be extended.")
        return say(
            "Need it longer? Press the button, and it ends {later}, or say "
            "`/gpu extend {request} …`: you get it unless somebody would start later for it.",
            later=date(args.ends + args.step),
            request=args.request,
        )

    def unprotected_title(self, args: notices.UnprotectedArgs) -> Markup:
        """Leads the notice that a lease is over."""
        return self._title("Lease over", request=args.request, gpus=args.gpus, name=args.name)

    def unprotected(self, args: notices.UnprotectedArgs) -> Markup:
        """What that means."""
        return say(
            "{request} runs on, but from now on it may be preempted first: whoever needs its "
            "GPUs gets them. Save your work often; `/gpu release {request}` gives them back.",
            request=args.request,
        )

    def button_extend(self, seconds: float) -> str:
        """The button that extends a lease."""
        return f"Extend by {self.span(seconds)}"

    def button_extend_one(self, request: str, seconds: float) -> str:
        """The button that extends one of several leases."""
        return f"Extend {request} by {self.span(seconds)}"

    def _title(self, word: str, *, request: str, gpus: int, name: str) -> Markup:
        lead = say("*{word}*", word=word)
        return join(" · ", [lead, say(request), self.gpus(gpus), say("{name}", name=name)])
