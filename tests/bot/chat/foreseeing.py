"""Values to render that look ahead: forecasts, offers, tries."""

from __future__ import annotations

import dataclasses

from bot.answers import Tried, WhenView
from bot.asks import Ask, Change
from bot.clock import moment
from bot.fields import FieldChange, FieldName
from bot.prospects import Offered, Prospect
from scheduler.forecast import Forecast, Reach
from scheduler.model import Basis, Priority, WorkloadId
from scheduler.offers import OfferKind
from storage.records import Estimate
from tests.bot.chat.saying import CARDS, HOUR, NOW, RUNNING, WAITING


def a_forecast(
    reason: Reach = Reach.ENDS,
    low: float | None = 2 * HOUR,
    likely: float | None = 2.5 * HOUR,
    high: float | None = 3 * HOUR,
    basis: Basis = Basis.DECLARED,
) -> Forecast:
    """A forecast whose times count from NOW."""
    times = [None if one is None else NOW + one for one in (low, likely, high)]
    return Forecast(
        workload=WorkloadId("R-1042"),
        low=times[0],
        likely=times[1],
        high=times[2],
        basis=basis,
        reason=reason,
        horizon=NOW + 6 * HOUR,
    )


PROSPECT = Prospect(
    forecast=a_forecast(),
    offers=(
        Offered(
            key="0123456789abcdef",
            kind=OfferKind.PREEMPTIBLE,
            change=Change(preemptible=True),
            changes=(FieldChange(field=FieldName.PREEMPTIBLE, before=False, after=True),),
            start=NOW,
        ),
        Offered(
            key="0123456789abcde0",
            kind=OfferKind.FEWER_GPUS,
            change=Change(pods=1, gpus_per_pod=8),
            changes=(FieldChange(field=FieldName.SIZE, before="2×8", after="1×8"),),
            start=NOW + HOUR,
        ),
        Offered(
            key="0123456789abcde1",
            kind=OfferKind.SPLIT,
            change=Change(pods=4, gpus_per_pod=4),
            changes=(FieldChange(field=FieldName.SIZE, before="2×8", after="4×4"),),
            start=NOW + HOUR,
            back=True,
        ),
    ),
    at=NOW,
)
FORECASTS = (
    a_forecast(),
    a_forecast(low=2 * HOUR, likely=2 * HOUR, high=2 * HOUR),
    a_forecast(high=None, basis=Basis.HISTORY),
    a_forecast(low=None, likely=None, high=None, basis=Basis.UNKNOWN),
    a_forecast(Reach.NOW),
    a_forecast(Reach.BEYOND),
    a_forecast(Reach.ENDLESS),
    a_forecast(Reach.STUCK),
    a_forecast(Reach.NEVER),
)
FORESEEN = dataclasses.replace(WAITING, prospect=PROSPECT)
_FIRST = Estimate(
    request="R-1042",
    pool="shared-multi",
    at=moment(NOW - 2 * HOUR),
    low=moment(NOW),
    likely=moment(NOW + HOUR),
    high=moment(NOW + 2 * HOUR),
    basis=Basis.DECLARED,
)
_ANOTHER = dataclasses.replace(
    PROSPECT,
    offers=(
        Offered(
            key="0123456789abcde2",
            kind=OfferKind.OTHER_MODEL,
            change=Change(model="a100"),
            changes=(FieldChange(field=FieldName.MODEL, before="h100", after="a100"),),
            start=NOW,
        ),
    ),
)
WHEN = WhenView(card=FORESEEN, first=_FIRST)
WHENS = (
    WHEN,
    *(
        WhenView(card=dataclasses.replace(WAITING, prospect=Prospect(forecast=one, at=NOW)))
        for one in FORECASTS
    ),
    WhenView(card=dataclasses.replace(WAITING, prospect=_ANOTHER)),
    WhenView(card=WAITING),
    WhenView(
        card=RUNNING,
        first=dataclasses.replace(_FIRST, started=moment(NOW + 1.5 * HOUR)),
    ),
    WhenView(
        card=RUNNING,
        first=dataclasses.replace(_FIRST, started=moment(NOW + HOUR)),
    ),
    WhenView(card=CARDS["starting"], first=dataclasses.replace(_FIRST, likely=None)),
    WhenView(card=CARDS["cancelled"]),
)
TRIED = Tried(
    card=dataclasses.replace(FORESEEN, request="R-0"),
    ask=Ask(pods=2, gpus_per_pod=8, model="h100", duration=8 * HOUR, priority=Priority.HIGH),
)
