"""The workspace under test, and a browser to look at it."""

from tests.fixtures_browser import browser, look_at
from tests.fixtures_workspace import ada, client, open_workspace, workspace

__all__ = ["ada", "browser", "client", "look_at", "open_workspace", "workspace"]
