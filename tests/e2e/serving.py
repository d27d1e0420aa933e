"""`gpubot` as a process of its own, for tests that kill it and do not wait for the world.

Slack takes about a message a second, and a disk its time; neither is what those tests are about.
With GPUBOT_TEST_LEASE a leader that is gone is missed after so many seconds.
"""

from __future__ import annotations

import os

from bot.chat import announcer
from bot.chat.lanes import Rate
from bot.cli.main import app
from bot.clusters.kubernetes import leader
from storage import engines

if __name__ == "__main__":
    for lane in ("POSTS", "UPDATES"):
        setattr(announcer, lane, Rate(50.0, 10))
    engines.SYNCHRONOUS = 0
    if "GPUBOT_TEST_LEASE" in os.environ:
        seconds = float(os.environ["GPUBOT_TEST_LEASE"])
        for name, part in (("DURATION", 1.0), ("TRUST", 0.7), ("EVERY", 0.15)):
            setattr(leader, name, seconds * part)
    app()
