"""`gpubot serve` as a process of its own, for tests that kill it and do not wait for the world.

Slack takes about a message a second, what happens in ten seconds is told together, and a disk
takes its time; none of it is what those tests are about.
With GPUBOT_TEST_LEASE a leader that is gone is missed after so many seconds.

Each process is forked from one that has imported what a bot is made of, and has done nothing
else: to import it takes longer than to start.
"""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections.abc import Mapping
from multiprocessing.context import ForkServerProcess

from bot.chat import announcer, turns
from bot.chat.lanes import Rate
from bot.cli import serve
from bot.cli.main import app
from bot.clusters.kubernetes import leader
from storage import engines

__all__ = ["serve", "start"]

_CONTEXT = multiprocessing.get_context("forkserver")


def start(environment: Mapping[str, str]) -> ForkServerProcess:
    """Have a process serve with these variables beside our own."""
    _CONTEXT.set_forkserver_preload([__name__])
    process = _CONTEXT.Process(target=_serve, args=(dict(environment),), daemon=True)
    process.start()
    return process


def kill(process: ForkServerProcess) -> None:
    """Kill -9, and wait until it is gone."""
    process.kill()
    process.join()


def _serve(environment: dict[str, str]) -> None:
    os.environ.update(environment)
    for lane in ("POSTS", "UPDATES"):
        setattr(announcer, lane, Rate(50.0, 10))
    for kind, seconds in turns.WINDOWS.items():
        turns.WINDOWS[kind] = seconds / 20
    engines.SYNCHRONOUS = 0
    if "GPUBOT_TEST_LEASE" in os.environ:
        seconds = float(os.environ["GPUBOT_TEST_LEASE"])
        for name, part in (("DURATION", 1.0), ("TRUST", 0.7), ("EVERY", 0.15)):
            setattr(leader, name, seconds * part)
    sys.argv = ["gpubot", "serve"]
    app()
