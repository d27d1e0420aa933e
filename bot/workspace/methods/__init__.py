"""The Web API methods, by name. Each takes the workspace and the arguments."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from bot.workspace.methods import chat, conversations, files, people, views
from bot.workspace.wire import Json
from bot.workspace.workspace import Workspace

Method = Callable[[Workspace, Json], Json]

METHODS: Mapping[str, Method] = {
    **chat.METHODS,
    **conversations.METHODS,
    **files.METHODS,
    **people.METHODS,
    **views.METHODS,
}
