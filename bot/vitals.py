"""What the bot knows of its own state: what fails, what is missing, and figures."""

from __future__ import annotations

import time
from collections.abc import Iterable

from bot.clock import moment
from bot.control.loop import Control
from bot.control.ticks import Ticker
from bot.hearing import Hearing
from bot.views import NotReady
from bot.web.health import Gauge
from storage.errors import StoreError


class BotVitals:
    """Of one running bot. Safe to call from any thread."""

    def __init__(self, control: Control, ticker: Ticker, hearing: Hearing) -> None:
        self._control, self._ticker, self._hearing = control, ticker, hearing

    def failing(self) -> tuple[str, ...]:
        """Ticks that do not come through, and a socket that nothing helps."""
        late = tuple(f"tick {name} is late" for name in self._ticker.late())
        return (*late, "slack does not reach us") if self._hearing.failed.is_set() else late

    def missing(self) -> tuple[str, ...]:
        """What keeps people from being answered now."""
        wrong = list(self.failing())
        if not self._hearing.connected:
            wrong.append("no connection to slack")
        elif not self._hearing.watchdog.hears:
            wrong.append("slack may not reach us")
        try:
            with self._control.store.read():
                pass
        except StoreError:
            wrong.append("the store does not answer")
        try:
            self._control.read(lambda _: None)
        except NotReady:
            wrong.append("the engine is not built yet")
        if self.leader() is None:
            wrong.append("no bot leads, so nothing is decided")
        return tuple(wrong)

    def leader(self) -> str | None:
        """Which bot decides; None while none is known to."""
        return self._control.leadership.leader

    def gauges(self) -> Iterable[Gauge]:
        """Figures for a dashboard; those of a part that is not there are left out."""
        yield _one("gpubot_slack_silence_seconds", "Since the last event", self._silence())
        yield _one("gpubot_slack_hears", "1 while events arrive", self._hearing.watchdog.hears)
        yield _one("gpubot_leads", "1 for the bot that decides", self._control.health().leads)
        yield from self._of_ticks()
        yield from self._of_store()
        yield from self._of_engine()

    def _silence(self) -> float:
        return self._hearing.watchdog.silence(time.monotonic())

    def _of_ticks(self) -> Iterable[Gauge]:
        pulses = self._ticker.pulses()
        for name, about in _TICKS.items():
            yield Gauge(
                name=f"gpubot_tick_{name}",
                about=about,
                labels=("tick",),
                values={(tick,): float(getattr(pulse, name)) for tick, pulse in pulses.items()},
            )

    def _of_store(self) -> Iterable[Gauge]:
        try:
            with self._control.store.read() as view:
                found = view.outbox.figures(moment(self._control.wall.now()))
                tally = view.requests.tally()
        except StoreError:
            return
        yield Gauge(
            name="gpubot_outbox_messages",
            about="Messages by state",
            labels=("state",),
            values={
                ("pending",): found.pending,
                ("claimed",): found.claimed,
                ("sent",): found.sent,
                ("dead",): found.dead,
            },
        )
        yield _one("gpubot_outbox_lag_seconds", "How late the oldest message is", found.lag)
        yield Gauge(
            name="gpubot_requests",
            about="Requests by state",
            labels=("state",),
            values={(state.value,): float(count) for state, count in tally.items()},
        )

    def _of_engine(self) -> Iterable[Gauge]:
        try:
            found = self._control.read(lambda engine: engine.figures())
        except NotReady:
            return
        for name, value in (
            ("gpus", found.gpus),
            ("gpus_used", found.used),
            ("gpus_stranded", found.stranded),
            ("nodes", found.nodes),
            ("running", found.running),
            ("pending", found.pending),
        ):
            yield _one(f"gpubot_{name}", "Of the cluster, as the engine sees it", value)


_TICKS = {
    "ran": "How often a tick came through",
    "failed": "How often it failed",
    "overran": "How often it was given up",
    "missed": "How often it missed its time",
}


def _one(name: str, about: str, value: float) -> Gauge:
    return Gauge(name=name, about=about, values={(): float(value)})
