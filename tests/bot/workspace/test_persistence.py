"""What a workspace remembers when it is started again."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from bot.workspace.people import load_people
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from tests.fixtures_workspace import GENERAL, ONCALL, OpenWorkspace, client_of, quick_options

_WRITER = """
import sys
from pathlib import Path
from tests.fixtures_workspace import GENERAL, client_of, quick_options
from bot.workspace.server import WorkspaceServer
server = WorkspaceServer(state_path=Path(sys.argv[1]), options=quick_options())
server.start()
client = client_of(server)
while True:
    print(client.chat_postMessage(channel=GENERAL, text="kept")["ts"], flush=True)
"""


def test_history_threads_files_and_what_was_read_survive(
    tmp_path: Path, open_workspace: OpenWorkspace
) -> None:
    path = tmp_path / "state" / "workspace.sqlite3"
    with WorkspaceServer(state_path=path, options=quick_options()) as server:
        client, ada = client_of(server), Visitor(server.base_url, "U0ADA")
        ts = client.chat_postMessage(channel=GENERAL, text="card")["ts"]
        client.chat_postMessage(channel=GENERAL, text="reply", thread_ts=ts)
        client.chat_update(channel=GENERAL, ts=ts, text="card, changed")
        gone = client.chat_postMessage(channel=ONCALL, text="gone")["ts"]
        client.chat_delete(channel=ONCALL, ts=gone)
        client.files_upload_v2(channel="U0ADA", content=b"bytes", filename="a.txt")
        ada.read(GENERAL)
        direct, file = ada.direct(), ada.messages(ada.direct())[0]["files"][0]
    server = open_workspace(state_path=path)
    client, ada = client_of(server), Visitor(server.base_url, "U0ADA")
    replies = client.conversations_replies(channel=GENERAL, ts=ts)["messages"]
    assert [m["text"] for m in replies] == ["card, changed", "reply"]
    assert client.conversations_history(channel=ONCALL)["messages"] == []
    assert ada.direct() == direct
    assert server.look(lambda space: space.archive.file(file["id"])) == b"bytes"
    unread = {room["name"]: room["unread"] for room in ada.boot()["rooms"]}
    assert (unread["gpu-resources"], unread["gpubot"]) == (0, 1)
    assert client.chat_postMessage(channel=GENERAL, text="later")["ts"] > ts


def test_a_killed_workspace_has_every_message_it_acknowledged(
    tmp_path: Path, open_workspace: OpenWorkspace
) -> None:
    path = tmp_path / "workspace.sqlite3"
    writer = subprocess.Popen(
        [sys.executable, "-c", _WRITER, str(path)], stdout=subprocess.PIPE, text=True
    )
    assert writer.stdout is not None
    told = [writer.stdout.readline().strip() for _ in range(30)]
    os.kill(writer.pid, signal.SIGKILL)
    told += writer.stdout.read().split()
    writer.stdout.close()
    writer.wait()
    client = client_of(open_workspace(state_path=path))
    kept = {m["ts"] for m in client.conversations_history(channel=GENERAL, limit=999)["messages"]}
    assert set(told[-900:]) <= kept


def test_two_servers_cannot_have_one_port(workspace: WorkspaceServer) -> None:
    port = int(workspace.base_url.rpartition(":")[2])
    other = WorkspaceServer(port=port)
    with pytest.raises(OSError, match="in use"):
        other.start()
    other.workspace.archive.close()


def test_a_bad_people_file_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "people.yaml"
    path.write_text("team: {id: T0}\n", encoding="utf-8")
    with pytest.raises(ValueError, match="not a people file"):
        load_people(path)
