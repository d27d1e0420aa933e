"""The local workspace, for tests over a real socket; an app with its fakes."""

from tests.bot.chat.room import room
from tests.fixtures_workspace import open_workspace, workspace

__all__ = ["open_workspace", "room", "workspace"]
