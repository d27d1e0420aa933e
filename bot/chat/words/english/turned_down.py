"""Why a change of a request was not made."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.chat.markup import Markup, date, say
from bot.chat.words.english.units import Units
from bot.chat.words.figures import Figures
from bot.views import RefusalCode, Refused
from storage.states import RequestState

Sentence = Callable[[Refused, Figures], Markup]


class TurnedDown(Units):
    """One sentence a code."""

    def turned_down(self) -> Mapping[RefusalCode, Sentence]:
        """The sentences by code."""
        return {
            RefusalCode.SOMEBODY_WAITS: self._somebody_waits,
            RefusalCode.EXTENDED_TOO_LONG: self._extended_too_long,
            RefusalCode.NO_LEASE: self._no_lease,
            RefusalCode.LEASE_OVER: self._lease_over,
            RefusalCode.LEASE_MOVED: self._lease_moved,
            RefusalCode.CHANGED_MEANWHILE: self._meanwhile,
        }

    def _somebody_waits(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        more = figures.number("more") or 0
        others = say(" and {more}", more=self.count(more, "other")) if more else Markup()
        waits = "wait" if more else "waits"
        return say(
            "{request} cannot be extended: {first} of {owner} (team {team}, {gpus}){others} "
            "{waits} for GPUs that it holds.",
            request=_request(figures),
            first=figures.text("first") or say("another request"),
            owner=figures.text("owner") or say("somebody"),
            team=figures.text("team") or say("another"),
            gpus=self.gpus(figures.number("gpus") or 0),
            others=others,
            waits=waits,
        )

    def _extended_too_long(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        most, left = figures.number("most") or 0.0, figures.number("left") or 0.0
        rest = say("it can have {left} more", left=self.span(left))
        return say(
            "{request} cannot be extended so far: a lease in pool {pool} lasts at most {most} in "
            "all, so {rest}.",
            request=_request(figures),
            pool=figures.text("pool") or say("its pool"),
            most=self.span(most),
            rest=rest if left > 0 else say("it can have no more"),
        )

    def _no_lease(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        return say("{request} has no end, so nothing can be extended.", request=_request(figures))

    def _lease_over(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        ended = figures.number("ended")
        at = say(", {at}", at=date(ended)) if ended is not None else Markup()
        return say(
            "The lease of {request} is over{at}: it is too late to extend it. Ask for GPUs anew "
            "if you need them longer.",
            request=_request(figures),
            at=at,
        )

    def _lease_moved(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        ends = figures.number("ends")
        at = say(": it ends {at}", at=date(ends)) if ends is not None else Markup()
        return say(
            "The lease of {request} is another since that button was drawn{at}.",
            request=_request(figures),
            at=at,
        )

    def _meanwhile(self, refused: Refused, figures: Figures) -> Markup:
        del refused
        state = figures.text("state")
        now = say(" It is {state} now.", state=_STATES.get(str(state), state)) if state else ""
        return say(
            "{request} was changed or moved on in the same moment.{now} Look at it and say it "
            "again if you still want it.",
            request=_request(figures),
            now=now,
        )


def _request(figures: Figures) -> Markup:
    return figures.text("request") or say("That request")


_STATES: dict[str, str] = {
    RequestState.WAITING: "waiting",
    RequestState.ADMITTED: "starting",
    RequestState.RUNNING: "running",
    RequestState.PREEMPTING: "being preempted",
    RequestState.EVICTING: "being evicted",
    RequestState.STOPPING: "stopping",
}
