"""The workspace under test."""

from tests.fixtures_workspace import ada, client, open_workspace, workspace

__all__ = ["ada", "client", "open_workspace", "workspace"]
