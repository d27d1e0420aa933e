"""Which of several bots decides: the one that leads. The others look on and take orders.

A bot without others always decides. Where there may be others, a number that grows with each
change of leader tells storage whose decisions count.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Protocol


class NotLeading(Exception):
    """Another bot decides, or none does at this moment; `leader` is who, as far as is known."""

    def __init__(self, leader: str | None) -> None:
        super().__init__(f"{leader or 'nobody'} leads")
        self.leader = leader


class Leadership(Protocol):
    """Whether this bot decides. Safe to ask from any thread; asking never waits.

    `deposed` is set for good when another has taken over from this bot: what it knows is out of
    date, and it is to start afresh. `on_change` is called when this bot begins or ends to lead.
    """

    deposed: threading.Event
    on_change: Callable[[], None]

    def fence(self) -> int | None:
        """The number that storage knows this leader by, None without others.

        Raises NotLeading.
        """
        ...

    @property
    def leader(self) -> str | None:
        """Who leads, None when nobody is known to."""
        ...

    def start(self) -> None:
        """Begin to take part."""
        ...

    def stop(self) -> None:
        """Let another lead at once. What still decides must have ended before."""
        ...


class Alone:
    """The leadership of the only bot there is."""

    def __init__(self) -> None:
        self.deposed = threading.Event()
        self.on_change: Callable[[], None] = lambda: None

    def fence(self) -> int | None:
        """No number: there is nobody to be told from."""
        return None

    @property
    def leader(self) -> str:
        """It does."""
        return "this bot"

    def start(self) -> None:
        """Nothing is to be done."""

    def stop(self) -> None:
        """Nothing is to be done."""
