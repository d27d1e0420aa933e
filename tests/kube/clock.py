"""The emulator's time: it stands still until a test moves it."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

START = datetime(2026, 3, 2, 8, 0, tzinfo=UTC)


class VirtualClock:
    """Time that only `advance` moves."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def set(self, moment: datetime) -> None:
        """Go to a moment, also an earlier one: for replays that try again."""
        self._now = moment

    def pause_until(self, *moments: datetime | None) -> float | None:
        """Seconds a sleeper may sleep; None: until it is woken, for time moves by hand."""
        del moments
        return None

    def advance(self, seconds: float) -> None:
        """Move time on; negative seconds are refused.

        Raises:
            ValueError: seconds is negative.

        """
        if seconds < 0:
            raise ValueError(f"time does not run backwards: advance({seconds})")
        self._now += timedelta(seconds=seconds)


class WallClock(VirtualClock):
    """The machine's time, plus what was advanced: for benchmarks."""

    def __init__(self) -> None:
        super().__init__()
        self._ahead = timedelta(0)

    def now(self) -> datetime:
        return datetime.now(UTC) + self._ahead

    def pause_until(self, *moments: datetime | None) -> float | None:
        waits = [(each - self.now()).total_seconds() for each in moments if each is not None]
        return max(min(waits), 0.01) if waits else None

    def advance(self, seconds: float) -> None:
        self._ahead += timedelta(seconds=seconds)


def to_wire(moment: datetime) -> str:
    """metav1.Time: whole seconds, UTC."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def to_micro(moment: datetime) -> str:
    """metav1.MicroTime: always six digits."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


def from_wire(text: str) -> datetime:
    return datetime.fromisoformat(text)
