"""The whole bot over a real socket: local workspace, Bolt app, loop with its ticks, SQLite."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

from bot.clock import ScaledClock
from bot.clusters.kubernetes.cluster import KubernetesCluster
from bot.composition import Bot, Core
from bot.settings import read_settings
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from storage.records import Person
from tests.bot.house import House
from tests.fixtures_workspace import GENERAL, ONCALL, eventually, quick_options

SECONDS = 20.0
SPEED = 20.0  # of the time that messages are delivered by: Slack's pace is a message a second
Json = dict[str, Any]


class Room:
    """A workspace, and what people do and see in it."""

    prometheus_url: str | None = None

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.server = WorkspaceServer(
            state_path=folder / "workspace.jsonl", options=quick_options()
        )
        self.wall = ScaledClock(time.time(), SPEED)
        self.server.workspace.rooms.stamps._now = self.wall.now
        self.server.start()

    def join(self, core: Core) -> Bot:
        """A bot that is connected to the workspace and running."""
        settings = read_settings(
            slack_api_url=self.server.api_url,
            bot_token=self.server.options.bot_token,
            app_token=self.server.options.app_token,
            oncall_group="S0ONCALL",
            prometheus_url=self.prometheus_url,
        )
        core.control.wall = self.wall
        core.desk.patience = 5.0
        core.desk.foresight.patience = 10.0
        cluster = core.cluster
        gpus = None
        if isinstance(cluster, KubernetesCluster):
            gpus = (cluster.find_pod, cluster.vacancies)
        bot = Bot(core, settings, gpus=gpus)
        bot.start()
        return bot

    def visitor(self, person: Person | str) -> Visitor:
        """A person at the page."""
        return Visitor(self.server.base_url, person if isinstance(person, str) else person.id)

    def command(self, visitor: Visitor, text: str) -> Json:
        """Say a slash command in the channel; the private answer to it."""
        before = {message["ts"] for message in visitor.private(GENERAL)}
        visitor.say(GENERAL, text)
        return eventually(
            lambda: next((m for m in visitor.private(GENERAL) if m["ts"] not in before), None),
            seconds=SECONDS,
        )

    def wait_for(self, visitor: Visitor, text: str, *, channel: str = GENERAL) -> Json:
        """The first public message in a channel whose text contains `text`."""
        return eventually(
            lambda: next(iter(self.said(visitor, text, channel=channel)), None), seconds=SECONDS
        )

    def said(self, visitor: Visitor, text: str, *, channel: str = GENERAL) -> list[Json]:
        """All public messages of a channel whose text contains `text`."""
        return [
            message
            for message in visitor.messages(channel)
            if text in message.get("text", "") and not message.get("is_ephemeral")
        ]


class Rig(Room):
    """A bot in a workspace. Its world's time moves by `pass_time` only; its ticks are real."""

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.house = House(folder)
        self._join()

    def _join(self) -> None:
        self.bot = self.join(self.house.core)

    def close(self) -> None:
        """Stop everything."""
        self.bot.stop()
        self.house.cluster.close()
        self.server.stop()

    def restart_bot(self) -> None:
        """The bot is stopped and comes back; the workspace goes on."""
        self.bot.stop()
        self.house.cluster.close()
        self.house._open()
        self._join()

    def pass_time(self, seconds: float) -> None:
        """Let the world's time pass and the loop notice.

        Not before the cluster has been told what was decided: that is stored first.
        """
        with self.house.control._stepping:
            self.house.clock.advance(seconds)
        self.house.control.wake()

    def settled(self) -> None:
        """Wait until everything the loop wanted said has been said."""
        eventually(lambda: not self.unsent(), seconds=SECONDS)

    def unsent(self) -> list[str]:
        """Keys of notices that still have to go out."""
        return [i.notice.key for i in self.house.said() if i.state in {"pending", "claimed"}]


__all__ = ["GENERAL", "ONCALL", "Rig", "Room", "eventually"]
