"""When a request will start, what would start sooner, and what became of an estimate."""

from __future__ import annotations

from bot.answers import Tried
from bot.chat.markup import Markup, date, join, say
from bot.chat.people import Names
from bot.chat.words.english.changes import Changes
from bot.prospects import SOON, Offered, Prospect
from bot.views import CardView
from scheduler.byhand import Hand
from scheduler.forecast import Forecast, Reach
from scheduler.model import Basis
from scheduler.offers import OfferKind
from storage.records import Estimate
from storage.states import RequestState

_BASES: dict[Basis, str] = {
    Basis.DECLARED: "from the leases of what runs",
    Basis.HISTORY: "from how long such work ran lately",
    Basis.UNKNOWN: "some of what runs has no known end",
}

_HINGES: dict[Hand, str] = {
    Hand.PAUSE: "That counts on the pause of {where} ending {at}.",
    Hand.QUOTA: "That counts on {where} having its own quota again {at}.",
    Hand.DRAIN: "That counts on the drain of node {where} ending {at}.",
    Hand.BOOST: "That counts on the boost of {where} ending {at}.",
}
"""What was set by hand and has to end before."""

_OFFERS: dict[OfferKind, str] = {
    OfferKind.SHORTER_LEASE: "shorter lease",
    OfferKind.LOOSER_TOPOLOGY: "looser nearness",
    OfferKind.SPLIT: "split pods",
    OfferKind.PREEMPTIBLE: "preemptible",
    OfferKind.OTHER_MODEL: "another GPU model",
    OfferKind.FEWER_GPUS: "fewer GPUs",
    OfferKind.FLEX_START: "flex-start, on demand",
    OfferKind.SPOT: "spot, on demand",
}

_PLAIN = frozenset({OfferKind.PREEMPTIBLE, OfferKind.FLEX_START, OfferKind.SPOT})
"""What is or is not, without figures."""


class Prospects(Changes):
    """Sentences about what lies ahead."""

    def expected(self, prospect: Prospect) -> Markup:
        """When it starts, as a range with what that rests on."""
        told = prospect.forecast
        match told.reason:
            case Reach.NOW:
                return say("Expected start: at once.")
            case Reach.ENDS:
                return join(" ", [self._range(told), self._hinge(told)])
            case Reach.BEYOND:
                return say("Expected start: not before {until}.", until=date(told.horizon))
            case Reach.ENDLESS:
                return say("Expected start: unknown, as some of what runs has no known end.")
            case Reach.STUCK:
                return say("Expected start: unknown; nothing that ends by itself makes its room.")
            case Reach.NEVER:
                return say("Expected start: never, as it is.")

    def _range(self, told: Forecast) -> Markup:
        basis = say(_BASES[told.basis])
        if told.low is None or told.likely is None:
            return say("Expected start: unknown ({basis}).", basis=basis)
        if told.high is None:
            text = "Expected start: from {low} on, likely {likely} ({basis})."
            return say(text, low=date(told.low), likely=date(told.likely), basis=basis)
        if told.high - told.low < SOON:
            return say("Expected start: {likely} ({basis}).", likely=date(told.likely), basis=basis)
        text = "Expected start: between {low} and {high} ({basis})."
        return say(text, low=date(told.low), high=date(told.high), basis=basis)

    def _hinge(self, told: Forecast) -> Markup:
        """What was set by hand that has to end as ordered; empty where nothing has to."""
        if told.hinge is None:
            return Markup()
        held = told.hinge.held
        return say(_HINGES[held.hand], where=held.where, at=date(told.hinge.at))

    def offers(self, prospect: Prospect, names: Names) -> Markup:
        """What would start sooner, one a line."""
        if not prospect.offers:
            return Markup()
        rows = [self._offer(offer, prospect.at, names) for offer in prospect.offers]
        return join("\n", [say("*Sooner, if you change it*"), *rows])

    def _offer(self, offer: Offered, at: float, names: Names) -> Markup:
        start = say("at once")
        if offer.start - at > SOON:
            start = say("about {start}", start=date(offer.start))
        back = say(", from the back of the line") if offer.back else Markup()
        return say(
            "• {what}: starts {start}{back}",
            what=self._offered(offer, names),
            start=start,
            back=back,
        )

    def button_offer(self, offer: Offered, names: Names) -> str:
        """The button that takes an offer."""
        return f"Take: {self._offered(offer, names)}"

    def _offered(self, offer: Offered, names: Names) -> Markup:
        """What it is, with the figures where it could be more or less."""
        kind = say(_OFFERS[offer.kind])
        if offer.kind in _PLAIN:
            return kind
        what = self.field_changes(offer.changes[:1], names)
        if offer.kind is OfferKind.OTHER_MODEL:  # the change says it all
            return what
        return say("{kind} ({what})", kind=kind, what=what)

    def when_caveat(self) -> Markup:
        """What an expected start does not know."""
        return say(
            "That holds if what runs ends as expected, and changes when more urgent work comes or "
            "somebody ends early."
        )

    def when_not_waiting(self, card: CardView) -> Markup:
        """When it did start, or that it never will."""
        if card.started is not None:
            return say("It started {at}.", at=date(card.started))
        if card.state is RequestState.ADMITTED:
            return say("It is starting right now.")
        return say("It does not wait any more.")

    def first_estimate(self, first: Estimate) -> Markup:
        """What was expected when it was asked for, against what happened."""
        if first.likely is None:
            return say("At first no start could be told.")
        likely = date(first.likely.timestamp())
        error = first.error
        if error is None:
            at = date(first.at.timestamp())
            return say("Told {at}: likely {likely}.", at=at, likely=likely)
        if abs(error) < SOON:
            return say("At first {likely} was expected, and so it came.", likely=likely)
        way = "later" if error > 0 else "earlier"
        text = "At first {likely} was expected; it came {error} {way}."
        return say(text, likely=likely, error=self.span(abs(error)), way=way)

    def tried(self, tried: Tried) -> Markup:
        """What would become of an ask."""
        card = tried.card
        span = say(" for {span}", span=self.span(card.lease)) if card.lease is not None else ""
        return say(
            "*Only tried* · {amount}{span}, charged to team {team}, would go to pool {pool} with "
            "{priority} priority.",
            amount=self.amount(card),
            span=span,
            team=card.team,
            pool=card.pool,
            priority=card.priority,
        )

    def tried_nothing(self) -> Markup:
        """Under what was only tried."""
        return say("Nothing was created.")

    def button_ask_tried(self) -> str:
        """The button that asks for what was tried."""
        return "Ask for it"
