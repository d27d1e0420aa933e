"""A local workspace in a process of its own, as Slack is: its work does not slow the bot down.

Whoever speaks in it does so from there, too. The bot's side gets addresses and tokens first,
and what was measured in the end.
"""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Generic, TypeVar

from bot import logs
from bot.workspace.options import Options
from bot.workspace.people import load_people
from bot.workspace.rates import RateLimits
from bot.workspace.server import WorkspaceServer

T = TypeVar("T")
STARTING, ENDING = 60.0, 10.0  # seconds


class OutsideError(Exception):
    """The process of the workspace has ended without an answer."""


@dataclass(frozen=True, slots=True)
class Door:
    """What an app needs to join the workspace."""

    api_url: str
    bot_token: str
    app_token: str


@dataclass(frozen=True, slots=True)
class Outside(Generic[T]):
    """The workspace's side, seen from the bot's."""

    door: Door
    _pipe: Connection

    def measure(self) -> T:
        """Have people speak there, now that the bot is in, and wait for what they found."""
        self._pipe.send(True)
        return _received(self._pipe)


@contextmanager
def outside(
    folder: Path, people: Path, work: Callable[[WorkspaceServer], T]
) -> Iterator[Outside[T]]:
    """A workspace with the people of a file; `work` is what they do, and has to be picklable.

    Raises OutsideError if it does not start.
    """
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_live, args=(folder, people, work, theirs), daemon=True)
    process.start()
    theirs.close()
    try:
        if not ours.poll(STARTING):
            raise OutsideError("the workspace does not start")
        yield Outside(_received(ours), ours)
    finally:
        ours.close()  # which ends it
        process.join(ENDING)
        if process.is_alive():
            process.terminate()


def _received(pipe: Connection) -> T:  # type: ignore[type-var] # a pipe carries anything
    try:
        answer: T = pipe.recv()
    except EOFError as error:
        raise OutsideError("the process of the workspace has ended; see its trace above") from error
    return answer


def _live(
    folder: Path, people: Path, work: Callable[[WorkspaceServer], object], pipe: Connection
) -> None:
    """The other process, until the bot's side hangs up."""
    logs.set_up("ERROR")
    options = Options(limits=RateLimits.off())
    server = WorkspaceServer(
        state_path=folder / "workspace.jsonl", directory=load_people(people), options=options
    )
    server.start()
    try:
        pipe.send(Door(server.api_url, options.bot_token, options.app_token))
        pipe.recv()
        pipe.send(work(server))
        pipe.recv()
    except EOFError:
        pass
    finally:
        server.stop()
