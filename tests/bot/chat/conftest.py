"""The local workspace, for tests over a real socket."""

from tests.fixtures_workspace import open_workspace, workspace

__all__ = ["open_workspace", "workspace"]
