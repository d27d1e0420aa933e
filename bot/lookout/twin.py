"""A lookout in a process of its own, with an engine that is told all that the loop's is told.

So looking ahead takes neither the loop's engine nor the interpreter from those who answer
people. The process is started when it is first needed, and again when it has ended.
"""

from __future__ import annotations

import logging
import os
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import Connection
from typing import TypeVar

from bot.control.loop import Control
from bot.control.transcript import Transcript
from bot.lookout.messages import Answer, Ask, Begin, Message, Repeat
from bot.lookout.port import SHARED, Question, Turns
from bot.views import NotReady
from scheduler.model import Seconds

log = logging.getLogger(__name__)

T = TypeVar("T")
CHUNK = 500  # lines a message: a longer one would keep the interpreter while it is written
LONGEST = 60.0  # seconds a question may take before the process counts as stuck
PAUSE, LONGEST_PAUSE = 30.0, 3600.0  # seconds between two starts: twice as long after each loss
MOST_LOSSES = 20  # that are counted
ENDING = 5.0  # seconds it may take to end


class Lost(Exception):
    """The process has ended, hangs, or has gone another way than the loop's engine."""


class Twin:
    """See the module. The loop's engine has to be recorded from its first step on."""

    def __init__(self, control: Control) -> None:
        self._control = control
        self._turns = Turns()
        self._process: subprocess.Popen[bytes] | None = None
        self._pipe: Connection | None = None
        self._transcript: Transcript | None = None
        self._told = 0.0
        self._began: float | None = None
        self._losses = 0
        self._closed = False

    def ask(self, question: Question[T], *, patience: Seconds, shared: bool = False) -> T:
        """See `Lookout`."""
        with self._turns.one(patience) as queued:
            fresh = time.monotonic() - self._told < SHARED
            if not (shared and queued and fresh and self._transcript is not None):
                self._catch_up()
            answer = self._exchange(Ask(question, self._control.clock.now()))
        if answer.error is not None:
            raise answer.error
        found: T = answer.value
        return found

    @property
    def process_id(self) -> int | None:
        """The process that looks ahead, if there is one."""
        return None if self._process is None else self._process.pid

    def took(self) -> Seconds:
        """See `Lookout`."""
        return self._turns.took

    def keep_up(self) -> None:
        """See `Lookout`. Who does not lead has a new engine every moment: only when asked."""
        if not self._control.health().leads:
            return
        try:
            with self._turns.one(0.0):
                self._catch_up()
        except NotReady:
            return  # those who ask now are told, too

    def close(self) -> None:
        """See `Lookout`. A question that is being answered gets no answer."""
        self._closed = True
        if self._process is not None:
            self._process.terminate()
        with suppress(NotReady), self._turns.one(ENDING):
            self._end()

    # ---- in turn

    def _catch_up(self) -> None:
        """Tell what is new. Raises NotReady without an engine or a process."""
        transcript = self._control.transcript
        if transcript is None:
            raise NotReady
        with self._line() as pipe:
            if transcript is not self._transcript:
                if not transcript.whole:
                    raise Lost("another process was told the beginning")
                _send(pipe, Begin(self._control.terms.layout))
                self._transcript = transcript
            self._told = time.monotonic()
            lines = transcript.take()
            for start in range(0, len(lines), CHUNK):
                answer = _send(pipe, Repeat(lines[start : start + CHUNK]))
                if answer.error is not None:
                    raise Lost("it is not as the loop's engine any more") from answer.error

    def _exchange(self, asked: Ask) -> Answer:
        """Raises NotReady when no answer comes."""
        with self._line() as pipe:
            return _send(pipe, asked)

    @contextmanager
    def _line(self) -> Iterator[Connection]:
        """The pipe; what goes wrong with it costs the process. Raises NotReady."""
        pipe = self._open()
        try:
            yield pipe
        except (Lost, OSError, EOFError) as error:
            self._lose(error)
            raise NotReady from error

    def _open(self) -> Connection:
        """The pipe to a process that lives. Raises NotReady so soon after the last start."""
        if self._pipe is not None:
            return self._pipe
        now = time.monotonic()
        pause = min(LONGEST_PAUSE, PAUSE * 2.0 ** max(0, self._losses - 1))
        if self._closed or (self._began is not None and now - self._began < pause):
            raise NotReady
        self._began = now
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(  # noqa: S603 - our own module
                [sys.executable, "-m", "bot.lookout.player", str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._pipe = Connection(ours.detach())
        return self._pipe

    def _lose(self, error: Exception) -> None:
        """Start over with a later question; the loop builds its engine anew if it has to."""
        if not self._closed:
            log.warning("the process that looks ahead is lost: %s", error, exc_info=error)
        long_ago = self._began is None or time.monotonic() - self._began > LONGEST_PAUSE
        self._losses = 1 if long_ago else min(self._losses + 1, MOST_LOSSES)
        self._end()
        transcript = self._control.transcript
        if transcript is not None and not transcript.whole and not self._closed:
            self._control.renew()

    def _end(self) -> None:
        if self._pipe is not None:
            self._pipe.close()
        if self._process is not None:
            try:
                self._process.wait(ENDING)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        self._pipe = self._process = self._transcript = None


def _send(pipe: Connection, message: Message) -> Answer:
    """What is answered. Raises Lost, OSError or EOFError."""
    pipe.send(message)
    if not pipe.poll(LONGEST):
        raise Lost(f"no answer in {LONGEST:.0f} s")
    answer: Answer = pipe.recv()
    return answer
