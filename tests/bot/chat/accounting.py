"""A report and a table of shares to render."""

from __future__ import annotations

from bot.asks import Period
from bot.fairness import Borrower, FairView
from bot.reports import Account, Guess, Point, ReportView, Waits
from bot.views import TeamShare
from tests.bot.chat.saying import ANN, BOB, HOUR, NOW

WEEK = 7 * 24 * HOUR


def account(name: str, hours: float, waits: Waits, **more: float) -> Account:
    return Account(
        name=name,
        gpu_hours=hours,
        share=hours / 90_000,
        waits=waits,
        preempted=int(more.get("preempted", 0)),
        entitled=more.get("entitled", 0.0),
    )


QUICK = Waits(starts=412, p50=12.0, p95=900.0, longest=4000.0)
SLOW = Waits(starts=38, p50=5400.0, p95=97_200.0, longest=180_000.0)

REPORT = ReportView(
    period=Period.WEEK,
    since=NOW - WEEK,
    until=NOW,
    team=None,
    utilisation=0.914,
    fragmentation=0.031,
    points=tuple(
        Point(
            at=NOW - WEEK + n * HOUR, used=0.85 + 0.001 * (n % 100), stranded=0.03, joined=n != 80
        )
        for n in range(168)
    ),
    gpu_hours=90_000.0,
    waits=Waits(starts=450, p50=30.0, p95=7200.0, longest=180_000.0),
    pools=(
        account("team", 41_000.0, QUICK, entitled=107_520.0),
        account("shared-multi", 46_000.0, SLOW, entitled=873_600.0),
        account("opportunistic", 3_000.0, Waits(), preempted=7),
    ),
    teams=(
        account("nlp", 62_000.0, QUICK, entitled=53_760.0, preempted=5),
        account("vision", 28_000.0, SLOW, entitled=53_760.0, preempted=2),
    ),
    people=(account(ANN, 50_000.0, QUICK), account(BOB, 12_000.0, SLOW)),
    spends=(account("high", 900.0, Waits()), account("low", 89_100.0, Waits())),
    preemptions=7,
    lost=1,
    starvations=2,
    interventions=0,
    guess=Guess(count=320, error=260.0, relative=0.12, late=9),
    guesses={
        "shared-multi": Guess(count=120, error=900.0, relative=0.14, late=7),
        "team": Guess(count=200, error=120.0, relative=0.1, late=2),
    },
)

FAIR = FairView(
    teams=(
        TeamShare(team="vision", used=320, nominal=320, chip_hours=18_000.4, rank=1, teams=2),
        TeamShare(team="nlp", used=512, nominal=320, chip_hours=41_250.6, rank=2, teams=2),
    ),
    waiting=(("nlp", 64),),
    weights=(("nlp", 2.0),),
    borrowers=(
        Borrower(queue="opportunistic-single", pool="opportunistic", used=96, nominal=0, share=9.6),
    ),
    half_life=WEEK,
    mine=("nlp",),
    at=NOW,
)
