"""Orders of admins for tests: given by Ana, with a reason."""

from __future__ import annotations

import datetime as dt

from bot.byhand import ByHandAnswer, Wish
from scheduler.model import WaitReason
from storage.audit import InterventionKind, InterventionState
from storage.states import RequestState as S
from tests.bot.house import ANA, START_DELAY, House

K = InterventionKind
HOUR = 3600.0


def order(
    house: House,
    kind: InterventionKind,
    target: str,
    *,
    confirmed: bool = False,
    seen: str | None = None,
    key: str | None = None,
    **more: object,
) -> ByHandAnswer:
    """Ana, an admin, orders something for a stated reason; the loop goes round once."""
    wish = Wish(kind=kind, target=target, **{"reason": "new switches", **more})  # type: ignore[arg-type]  # names are checked when it is built
    answer = house.desk.intervene(
        ANA.id, wish, key=key or house.key(), confirmed=confirmed, seen=seen
    )
    house.step()
    return answer


def run(house: House, **more: object) -> str:
    """A request that runs."""
    request = house.ask(**more)  # type: ignore[arg-type]  # as `House.ask` takes them
    house.step()
    house.step(START_DELAY)
    assert house.state(request) is S.RUNNING
    return request


def reason(house: House, request: str) -> WaitReason:
    why = house.desk.card(request).explanation
    assert why is not None
    return why.verdict.reason


def audit(house: House) -> list[tuple[InterventionKind, InterventionState]]:
    with house.store.read() as view:
        return [(one.kind, one.state) for one in reversed(view.interventions.latest(50))]


def two_in_line(house: House) -> tuple[str, str, str]:
    """One that runs on all that nlp has, and two that wait for it."""
    runs = run(house, gpus=8)
    run(house, gpus=8)
    first, second = house.ask(), house.ask()
    house.step()
    return runs, first, second


def everything() -> tuple[dt.datetime, dt.datetime]:
    """A span that all orders lie in."""
    return dt.datetime(2000, 1, 1, tzinfo=dt.UTC), dt.datetime(2100, 1, 1, tzinfo=dt.UTC)
