"""What a bot with another database let start is left alone: on-call is told, once for each bot.

Ids that stand on such objects, or on ours where the database is older than they are, are not given
out again: people would take new work for the old, and so would the names of what we make.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable, Iterator, Sequence

from bot import notices
from bot.clock import moment
from bot.clusters.base import Foreign, Observation
from scheduler.model import Seconds
from storage.records import Audience, Notice, Setting
from storage.store import Store
from storage.work import Work

log = logging.getLogger(__name__)

NAMED = 6  # objects that are named, at most
TOLD = "foreign:"  # names the setting that keeps that on-call was told of a bot
_DECISION = re.compile(r"R-(\d{1,9})/\d+")


def file_foreign(store: Store, seen: Observation, now: Seconds, fence: int | None) -> None:
    """Pass by the ids that are in use, and tell on-call of what is not ours, where that is news."""
    highest = max(_numbers(seen), default=0)
    running: dict[str, list[Foreign]] = {}
    for one in seen.foreign:
        if one.gpus:
            running.setdefault(one.bot, []).append(one)
    with store.read() as view:
        untold = {bot for bot in running if view.settings.get(f"{TOLD}{bot}") is None}
        if highest <= view.requests.last_number() and not untold:
            return
    with store.write(fence) as work:
        work.requests.pass_by(highest)
        for bot in sorted(untold):
            _tell(work, bot, running[bot], now, store.identity)


def _numbers(seen: Observation) -> Iterator[int]:
    decisions: Iterable[str] = (
        *(one.decision for one in seen.foreign),
        *(one.decision for one in seen.workloads),
    )
    for decision in decisions:
        found = _DECISION.fullmatch(decision)
        if found is not None:
            yield int(found[1])


def _tell(work: Work, bot: str, objects: Sequence[Foreign], now: Seconds, mine: str) -> None:
    name = f"{TOLD}{bot}"
    gpus = sum(one.gpus for one in objects)
    log.warning("%d objects with %d GPUs are of a bot with another database", len(objects), gpus)
    args = notices.ForeignArgs(
        bot=bot,
        mine=mine,
        objects=tuple((one.ref.kind, one.ref.namespace, one.ref.name) for one in objects[:NAMED]),
        count=len(objects),
        gpus=gpus,
    )
    work.settings.put(Setting(name=name, value="told", author="gpubot"))
    work.outbox.put(
        Notice(
            key=name,
            kind=args.kind,
            audience=Audience.ONCALL,
            request=None,
            args=args.model_dump(mode="json"),
            urgent=True,
        ),
        moment(now),
    )
