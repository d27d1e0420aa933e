"""Things that go wrong on purpose, one by one."""

from __future__ import annotations

import threading

import httpx
import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.workspace.faults import FaultKind, Faults
from bot.workspace.server import WorkspaceServer
from tests.fixtures_workspace import GENERAL, ONCALL, eventually


def test_a_fault_wears_off_or_stays() -> None:
    faults = Faults()
    once = faults.add(FaultKind.SLOW, match="chat.*")
    always = faults.add(FaultKind.DEAF, times=None)
    assert faults.take(FaultKind.SLOW, "users.info") is None
    assert faults.take(FaultKind.SLOW, "chat.update") is once
    assert faults.take(FaultKind.SLOW, "chat.update") is None
    assert [faults.take(FaultKind.DEAF, "events_api") for _ in range(3)] == [always] * 3
    faults.clear()
    assert faults.active() == ()


def test_a_storm_of_429(workspace: WorkspaceServer, client: WebClient) -> None:
    workspace.faults.add(FaultKind.RATE_LIMITED, match="chat.*", times=2, seconds=7)
    for _ in range(2):
        with pytest.raises(SlackApiError) as caught:
            client.chat_postMessage(channel=GENERAL, text="x")
        assert caught.value.response.headers["Retry-After"] == "7"
    assert client.chat_postMessage(channel=GENERAL, text="x")["ok"]
    assert len(client.conversations_history(channel=GENERAL)["messages"]) == 1


def test_a_server_error_does_nothing_and_a_lost_answer_does_it(
    workspace: WorkspaceServer, client: WebClient
) -> None:
    for kind, posted in ((FaultKind.SERVER_ERROR, 0), (FaultKind.LOST_ANSWER, 1)):
        workspace.faults.add(kind, match="chat.postMessage")
        with pytest.raises(SlackApiError) as caught:
            client.chat_postMessage(channel=GENERAL, text="x")
        assert caught.value.response.status_code == 503
        assert len(client.conversations_history(channel=GENERAL)["messages"]) == posted


def test_a_slow_call_takes_its_time(workspace: WorkspaceServer, client: WebClient) -> None:
    workspace.faults.add(FaultKind.SLOW, match="auth.test", seconds=1.0)
    answered: list[str] = []

    def ask() -> None:
        client.auth_test()
        answered.append("slow")

    slow = threading.Thread(target=ask)
    slow.start()
    eventually(lambda: not workspace.faults.active())  # the slow call is under way
    client.api_test()
    answered.append("quick")
    slow.join()
    assert answered == ["quick", "slow"]


def test_rejected_blocks_an_archived_channel_and_a_missing_person(
    workspace: WorkspaceServer, client: WebClient
) -> None:
    workspace.faults.add(FaultKind.INVALID_BLOCKS)
    block = {"type": "divider"}
    with pytest.raises(SlackApiError, match="invalid_blocks"):
        client.chat_postMessage(channel=GENERAL, text="x", blocks=[block])
    workspace.faults.add(FaultKind.ARCHIVED, match=GENERAL, times=None)
    with pytest.raises(SlackApiError, match="is_archived"):
        client.chat_postMessage(channel=GENERAL, text="x")
    assert client.chat_postMessage(channel=ONCALL, text="x")["ok"]
    workspace.faults.add(FaultKind.MISSING_USER, match="U0BEN", times=None)
    with pytest.raises(SlackApiError, match="user_not_found"):
        client.users_info(user="U0BEN")
    with pytest.raises(SlackApiError, match="channel_not_found"):
        client.chat_postMessage(channel="U0BEN", text="x")
    assert client.chat_postMessage(channel="U0ADA", text="x")["ok"]


def test_faults_can_be_switched_from_another_process(workspace: WorkspaceServer) -> None:
    control = f"{workspace.base_url}/control/faults"
    answer = httpx.post(control, json={"kind": "slow", "match": "chat.*", "seconds": 1})
    assert answer.json()["faults"][0]["match"] == "chat.*"
    assert workspace.faults.active()[0].seconds == 1.0
    assert httpx.post(control, json={"kind": "earthquake"}).status_code == 400
    assert httpx.delete(control).json()["faults"] == []
    assert httpx.post(f"{workspace.base_url}/control/sockets/drop").json() == {"ok": True}
    assert httpx.post(f"{workspace.base_url}/control/sockets/paint").status_code == 404
