"""The process that looks ahead: it repeats what the loop's engine was told, and answers.

Started by `bot.lookout.twin` as `python -m bot.lookout.player FD`, FD being its end of a pair
of sockets. It ends when the other end is closed.
"""

from __future__ import annotations

import gc
import signal
import sys
import traceback
from collections.abc import Sequence
from multiprocessing.connection import Connection
from typing import assert_never

from bot.control.transcript import Line, repeat
from bot.lookout.messages import Answer, Ask, Begin, Message, Repeat
from bot.terms import Terms
from scheduler.engine import Engine
from scheduler.layout import Layout

LINES = 2_000  # of the transcript, after which there is garbage worth collecting


class Player:
    """An engine that follows another."""

    def __init__(self) -> None:
        self._engine: Engine | None = None
        self._terms: Terms | None = None
        self._asked = False
        self._untidy = 0

    def begin(self, layout: Layout) -> Answer:
        """Start over."""
        gc.unfreeze()
        self._engine, self._terms, self._asked = Engine(layout), Terms(layout), False
        return Answer()

    def repeat(self, lines: Sequence[Line]) -> Answer:
        """Follow."""
        assert self._engine is not None, "told before there was an engine"  # noqa: S101
        try:
            repeat(self._engine, lines)
        except Exception as error:  # noqa: BLE001 - handed on
            return Answer(error=noted(error))
        self._untidy += len(lines)
        return Answer()

    def answer(self, asked: Ask) -> Answer:
        """Look ahead."""
        assert self._engine is not None, "asked before there was an engine"  # noqa: S101
        assert self._terms is not None  # noqa: S101 - likewise
        self._untidy = LINES
        if not self._asked:  # what an engine begins with is there to stay, mostly
            gc.collect()
            gc.freeze()
            self._asked = True
        try:
            return Answer(asked.question(self._engine, self._terms, asked.now))
        except Exception as error:  # noqa: BLE001 - raised again by whoever asked
            return Answer(error=noted(error))

    def tidy(self) -> None:
        """Collect garbage, while nobody waits: after a question, or when much was repeated.

        What is there before the first question is not gone through again.
        """
        if self._untidy < LINES:
            return
        self._untidy = 0
        gc.collect()
        if not self._asked:
            gc.freeze()


def noted(error: Exception) -> Exception:
    """An error with its trace as a note, since traces do not travel."""
    error.add_note("".join(traceback.format_exception(error)))
    return error


def play(pipe: Connection) -> None:
    """Answer until the other end is closed."""
    player = Player()
    gc.disable()
    while True:
        try:
            pipe.send(answer(player, pipe.recv()))
        except (EOFError, ConnectionError):
            return
        player.tidy()


def answer(player: Player, message: Message) -> Answer:
    """What the player makes of a message."""
    match message:
        case Begin(layout):
            return player.begin(layout)
        case Repeat(lines):
            return player.repeat(lines)
        case Ask():
            return player.answer(message)
    assert_never(message)


def main() -> None:
    """See the module."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the bot, which hangs up
    play(Connection(int(sys.argv[1])))


if __name__ == "__main__":
    main()
