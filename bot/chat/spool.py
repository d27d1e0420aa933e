"""The spool: what was acknowledged and is not yet carried out, in a file beside the database.

Slack does not send a command or a click again once it is acknowledged, and it has to be
acknowledged before anything slow happens. So each delivery is first appended here. One
write and no fsync: a killed process loses nothing that the system has taken.

A delivery holds secrets of its own (a trigger id that lives for seconds, a response URL
that lives for half an hour). The file is readable by its owner only, a delivery stays in it
until it is carried out, and the file is emptied as soon as nothing is under way.
"""

from __future__ import annotations

import fcntl
import json
import logging
import os
import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

from bot import mishaps
from bot.chat.discreet import discreet_logger

log = logging.getLogger(__name__)

_faults = discreet_logger("gpubot.chat.workers")

MOST_TRIES = 10
"""How often a delivery is taken up again: one that ends every process is given up then."""

REWRITE_BYTES = 4 << 20
"""Size at which what is done is taken out of the file although something is under way."""

_P = ParamSpec("_P")
_R = TypeVar("_R")
_UNDER_WAY: ContextVar[tuple[Spool, str] | None] = ContextVar("under_way", default=None)


class SpoolError(Exception):
    """The spool cannot be used; the message says why and what to do."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """One envelope. `tries` counts how often it was taken up again."""

    envelope_id: str
    payload: Mapping[str, Any]
    headers: Mapping[str, str]
    tries: int = 0


class Spool:
    """One file; safe to use from any thread, by one process. Raises SpoolError."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._closed = False
        self._holds: Counter[str] = Counter()
        try:
            self._file = _opened(path)
            known = _read(path)
            self._waiting = {n: one for n, one in known.items() if one.tries < MOST_TRIES}
            self._rewrite()
        except OSError as error:
            raise SpoolError(
                f"GPUBOT_SPOOL: {path} cannot be used ({error.strerror or error}); name a file in"
                " a folder that the bot can write to, and that no other bot uses"
            ) from error
        for name in sorted(known.keys() - self._waiting.keys()):
            log.error("delivery %s was taken up %d times and is given up", name, MOST_TRIES)
        self._left = tuple(self._waiting.values())

    def left(self) -> tuple[Delivery, ...]:
        """What an earlier process acknowledged and did not carry out, oldest first.

        Each is counted as tried once `keeping` has it.
        """
        return tuple(replace(one, tries=one.tries + 1) for one in self._left)

    @contextmanager
    def keeping(self, delivery: Delivery) -> Iterator[None]:
        """Keep a delivery until this block, and all that it gives to `Workers`, is over.

        One that fails to be handed over is kept for the next start.
        """
        name = delivery.envelope_id
        with self._lock:
            self._holds[name] += 1
            if self._waiting.get(name) != delivery and self._holds[name] == 1:
                self._waiting[name] = delivery
                self._append(_line(delivery))
        token = _UNDER_WAY.set((self, name))
        try:
            yield
        finally:
            _UNDER_WAY.reset(token)
        self.release(name)

    def hold(self, name: str) -> None:
        """Keep a delivery for one more piece of work."""
        with self._lock:
            self._holds[name] += 1

    def release(self, name: str) -> None:
        """A piece of work is over; the last one ends the delivery's stay."""
        with self._lock:
            if self._closed:
                return
            self._holds[name] -= 1
            if self._holds[name] > 0:
                return
            del self._holds[name]
            self._waiting.pop(name, None)
            try:
                if not self._waiting:
                    os.ftruncate(self._file, 0)
                elif os.fstat(self._file).st_size > REWRITE_BYTES:
                    self._rewrite()
                else:
                    self._append(json.dumps({"done": name}))
            except OSError:
                log.exception("the spool %s cannot be tidied up", self._path)

    def close(self) -> None:
        """Let go of the file; what is in it waits for the next start."""
        with self._lock:
            self._closed = True
            os.close(self._file)

    def _append(self, line: str) -> None:
        """Write one line. A line begins with its end, so that a torn one spoils no other."""
        try:
            os.write(self._file, b"\n" + line.encode())
        except OSError:  # to answer without a safety net is better than not to answer
            log.exception("the spool %s cannot be written to", self._path)

    def _rewrite(self) -> None:
        """Put a file with only what waits in the place of the old one."""
        fresh = self._path.with_name(self._path.name + ".new")
        fresh.unlink(missing_ok=True)
        file = _opened(fresh)
        for one in self._waiting.values():
            os.write(file, b"\n" + _line(one).encode())
        fresh.replace(self._path)
        os.close(self._file)
        self._file = file


class Workers(ThreadPoolExecutor):
    """Threads for Bolt's handlers; a delivery stays in its spool until they are through."""

    def submit(self, fn: Callable[_P, _R], /, *args: _P.args, **kwargs: _P.kwargs) -> Future[_R]:
        """Run it in a thread, and hold the delivery under way here until it is over."""

        def watched() -> _R:
            try:
                return fn(*args, **kwargs)
            except Exception as error:
                mishaps.note(_faults, "working on a delivery", error)  # nobody asks the future
                raise

        under_way = _UNDER_WAY.get()
        if under_way is None:
            return super().submit(watched)
        spool, name = under_way

        def run() -> _R:
            try:
                return watched()
            finally:
                spool.release(name)

        spool.hold(name)
        return super().submit(run)


def _opened(path: Path) -> int:
    """Open for appending, by us alone. Raises OSError."""
    file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    try:
        os.fchmod(file, 0o600)  # also where it was there before
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(file)
        raise
    return file


def _read(path: Path) -> dict[str, Delivery]:
    """What is in the file and not done, in order. A torn line was never acknowledged."""
    found: dict[str, Delivery] = {}
    for number, line in enumerate(path.read_bytes().split(b"\n")):
        if not line.strip():
            continue
        try:
            said = json.loads(line)
            if "done" in said:
                found.pop(said["done"], None)
            else:
                found[said["envelope_id"]] = Delivery(**said)
        except (ValueError, KeyError, TypeError):
            log.warning("line %d of the spool %s is damaged and left out", number, path)
    return found


def _line(delivery: Delivery) -> str:
    return json.dumps(
        {
            "envelope_id": delivery.envelope_id,
            "payload": delivery.payload,
            "headers": delivery.headers,
            "tries": delivery.tries,
        }
    )
