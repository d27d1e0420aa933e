"""`gpubot` as a process of its own, for tests that kill it and do not wait for the world.

Slack takes about a message a second, and a disk its time; neither is what those tests are about.
"""

from __future__ import annotations

from bot.chat import announcer
from bot.chat.lanes import Rate
from bot.cli.main import app
from storage import engines

if __name__ == "__main__":
    for lane in ("POSTS", "UPDATES"):
        setattr(announcer, lane, Rate(50.0, 10))
    engines.SYNCHRONOUS = 0
    app()
