"""What an order of an admin would do, shown before it is given, in English."""

from __future__ import annotations

from bot.byhand import HeldBack, Hit, Preview
from bot.chat.markup import Markup, date, join, say
from bot.chat.people import Names
from bot.chat.words.english.standing import Standing
from storage.audit import InterventionKind

K = InterventionKind


class Previews(Standing):
    """Sentences of the question before an order."""

    def preview(self, preview: Preview) -> Markup:
        """What would be done."""
        wish, until = preview.wish, self._until(preview.until)
        match wish.kind:
            case K.PREEMPT:
                return say("*Stop {where}?*", where=preview.where)
            case K.DRAIN:
                return say("*Drain node {where}{until}?*", where=preview.where, until=until)
            case K.BOOST:
                return say(
                    "*Give {where} {priority} priority{until}?*",
                    where=preview.where,
                    priority=wish.priority or "",
                    until=until,
                )
            case K.PAUSE:
                return say("*Pause {where}{until}?*", where=preview.where, until=until)
            case _:
                return say(
                    "*Change the quota of {where} from {before} to {gpus}{until}?*",
                    where=preview.where,
                    before=self.gpus(preview.before),
                    gpus=self.gpus(wish.gpus or 0),
                    until=until,
                )

    def preview_hits(self, preview: Preview, names: Names) -> Markup:
        """Whom it would hit, a line each."""
        if preview.wish.kind is K.PAUSE:
            return self._kept_waiting(preview, names)
        if not preview.hits:
            return say("Nobody is stopped by it.")
        gpus = self.gpus(sum(hit.gpus for hit in preview.hits))
        count = self.count(len(preview.hits), "request")
        lead = say("Running there: {count}, {gpus}", count=count, gpus=gpus)
        if preview.wish.kind is not K.DRAIN:
            lead = say("It would stop {count}, {gpus}:", count=count, gpus=gpus)
        rows = [self.hit_row(hit, names(hit.owner)) for hit in preview.hits[:10]]
        if len(preview.hits) > 10:
            more = self.count(len(preview.hits) - 10, "more request")
            rows.append(say("• and {more}", more=more))
        return join("\n", [lead, *rows])

    def _kept_waiting(self, preview: Preview, names: Names) -> Markup:
        """Who would wait on, the next to start first."""
        lead = say(
            "It would keep {count}, {gpus}, from starting in {queues}. Next in line:",
            count=self.count(preview.waiting, "request"),
            gpus=self.gpus(preview.waiting_gpus),
            queues=self.several([say("{queue}", queue=queue) for queue in preview.queues], 6),
        )
        rows = [self._held_row(one, names(one.owner)) for one in preview.held]
        if (left := preview.waiting - len(preview.held)) > 0:
            rows.append(say("• and {more}", more=self.count(left, "more request")))
        return join("\n", [lead, *rows])

    def _held_row(self, one: HeldBack, owner: Markup) -> Markup:
        start = say(", expected to start {at}", at=date(one.start)) if one.start else Markup()
        return say(
            "• {request}{name} of {owner} (team {team}, {gpus}){start}",
            request=one.request,
            name=say(" “{name}”", name=one.name) if one.name else "",
            owner=owner,
            team=one.team,
            gpus=self.gpus(one.gpus),
            start=start,
        )

    def hit_row(self, hit: Hit, owner: Markup) -> Markup:
        """Somebody's running work, in a line."""
        return say(
            "• {request}{name} of {owner} (team {team}, {gpus}), has run {ran}",
            request=hit.request,
            name=say(" “{name}”", name=hit.name) if hit.name else "",
            owner=owner,
            team=hit.team,
            gpus=self.gpus(hit.gpus),
            ran=self.span(hit.ran),
        )

    def preview_after(self, preview: Preview) -> Markup:
        """What it would bring, and that nothing was done yet."""
        wish, lines = preview.wish, []
        if wish.kind is K.PREEMPT and wish.beneficiary:
            lines.append(say("{request} starts in its place.", request=wish.beneficiary))
        elif wish.kind is K.PREEMPT:
            lines.append(say("It waits again at the back of its queue."))
        elif wish.kind is K.BOOST:
            lines.append(say("Whoever is stopped goes back to their old place in line."))
        elif wish.kind is K.QUOTA and preview.starts:
            lines.append(say("{gpus} would start.", gpus=self.gpus(preview.starts)))
        elif wish.kind is K.PAUSE:
            lines.append(say("What runs there goes on, and who waits keeps their place."))
        if preview.over:
            lines.append(self._over(preview.over))
        if wish.kind is K.QUOTA and (preview.at_once or preview.an_hour):
            lines.append(self._bounds(preview))
        lines.append(say("Nothing was changed yet."))
        return join(" ", lines)

    def _bounds(self, preview: Preview) -> Markup:
        at_once, an_hour = preview.at_once, preview.an_hour
        bounds = [
            say("{count:,} at a time", count=at_once) if at_once else Markup(),
            say("{count:,} an hour", count=an_hour) if an_hour else Markup(),
        ]
        return say("No more than {bounds} are stopped.", bounds=join(" and ", bounds))

    def _over(self, over: int) -> Markup:
        return say(
            "It uses {gpus} more than that now: they run on, and nothing more starts there "
            "until it fits.",
            gpus=self.gpus(over),
        )

    def confirm_text(self, preview: Preview) -> str:
        """The question of the dialog."""
        count = self.count(len(preview.hits), "request")
        match preview.wish.kind:
            case K.DRAIN:
                one = len(preview.hits) == 1
                verbs = ("stops", "starts") if one else ("stop", "start")
                then = "{}, and {} elsewhere when there is room.".format(*verbs)
                return f"{count} on {preview.where} {then}"
            case K.PREEMPT:
                return f"{preview.where} is stopped. Everybody can read that you did it, and why."
            case _:
                return f"This stops {count}. Everybody can read that you did it, and why."

    def button_go_on(self, preview: Preview) -> str:
        """The button that orders it."""
        labels = {K.PREEMPT: "Stop it", K.BOOST: "Boost it", K.PAUSE: "Pause it"}
        return labels.get(preview.wish.kind, "Change the quota")

    def button_let_finish(self) -> str:
        """The button that drains a node and lets finish what runs there."""
        return "Drain, let them finish"

    def button_move(self) -> str:
        """The button that drains a node and moves what runs there."""
        return "Drain, move them now"

    def button_no(self) -> str:
        """The way out of the dialog."""
        return "No"

    def changed_since(self) -> Markup:
        """That a preview is a new one, as what was confirmed is not so any more."""
        return say("Things have changed since you looked: this is what it would do now.")

    def _until(self, at: float | None) -> Markup:
        return say(" until {until}", until=date(at)) if at is not None else Markup()
