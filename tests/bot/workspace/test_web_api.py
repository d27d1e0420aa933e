"""The Web API: tokens, encodings, messages, threads, metadata, people, files, errors."""

from __future__ import annotations

import json
import urllib.request
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.workspace.people import load_people
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from tests.fixtures_workspace import GENERAL, OpenWorkspace, client_of

Json = dict[str, Any]


def refused(call: Callable[[], Any]) -> str:
    """The error code of a call that must be refused."""
    with pytest.raises(SlackApiError) as caught:
        call()
    return str(caught.value.response["error"])


def test_tokens_are_checked(workspace: WorkspaceServer) -> None:
    def code(token: str | None, method: str = "auth.test") -> str:
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        answer = httpx.post(workspace.api_url + method, headers=headers)
        return str(answer.json().get("error", "ok"))

    options = workspace.options
    assert code(None) == "not_authed"
    assert code("xoxb-wrong") == "invalid_auth"
    assert code(options.app_token) == "not_allowed_token_type"
    assert code(options.bot_token, "apps.connections.open") == "not_allowed_token_type"
    assert code(options.bot_token) == "ok"
    assert code(options.bot_token, "chat.sing") == "unknown_method"
    assert options.bot_token not in repr(options)


def test_auth_test_says_who_the_bot_is_and_what_it_may(client: WebClient) -> None:
    answer = client.auth_test()
    assert answer["user_id"] == "U0GPUBOT"
    assert answer["bot_id"] == "B0GPUBOT"
    assert "chat:write" in answer.headers["x-oauth-scopes"].split(",")


@pytest.mark.parametrize("encoding", ["form", "json", "query"])
def test_arguments_come_in_three_encodings(workspace: WorkspaceServer, encoding: str) -> None:
    blocks = [{"type": "section", "text": {"type": "mrkdwn", "text": "*ü*"}}]
    url = f"{workspace.api_url}chat.postMessage"
    headers = {"Authorization": f"Bearer {workspace.options.bot_token}"}
    plain = {"channel": "#gpu-resources", "text": "ü", "blocks": json.dumps(blocks)}
    if encoding == "json":
        answer = httpx.post(url, json={**plain, "blocks": blocks}, headers=headers)
    elif encoding == "form":
        answer = httpx.post(url, data=plain, headers=headers)
    else:
        answer = httpx.get(url, params=plain, headers=headers)
    assert answer.json()["message"]["blocks"][0]["text"]["text"] == "*ü*"
    assert answer.json()["channel"] == GENERAL


def test_what_cannot_be_decoded_is_refused(workspace: WorkspaceServer) -> None:
    headers = {"Authorization": f"Bearer {workspace.options.bot_token}"}
    url = f"{workspace.api_url}chat.postMessage"
    as_json = {**headers, "Content-Type": "application/json"}
    assert httpx.post(url, content=b"{", headers=as_json).json()["error"] == "invalid_json"
    assert httpx.post(url, content=b"[]", headers=as_json).json()["error"] == "json_not_object"
    bad = {"channel": GENERAL, "text": "x", "blocks": "[{"}
    assert httpx.post(url, data=bad, headers=headers).json()["error"] == "invalid_blocks_format"


def test_messages_are_posted_changed_and_taken_away(client: WebClient, ada: Visitor) -> None:
    ts = client.chat_postMessage(channel=GENERAL, text="one")["ts"]
    client.chat_update(channel=GENERAL, ts=ts, text="two")
    message = client.conversations_history(channel=GENERAL)["messages"][0]
    assert (message["text"], message["ts"]) == ("two", ts)
    assert message["edited"]["user"] == "U0GPUBOT"
    client.chat_delete(channel=GENERAL, ts=ts)
    assert client.conversations_history(channel=GENERAL)["messages"] == []
    own = ada.say(GENERAL, "mine")["message"]["ts"]
    assert refused(lambda: client.chat_update(channel=GENERAL, ts=own, text="x")) == (
        "cant_update_message"
    )
    assert refused(lambda: client.chat_delete(channel=GENERAL, ts=own)) == "cant_delete_message"
    assert refused(lambda: client.chat_update(channel=GENERAL, ts=ts, text="x")) == (
        "message_not_found"
    )


def test_threads_are_counted_at_their_parent(client: WebClient, ada: Visitor) -> None:
    ts = client.chat_postMessage(channel=GENERAL, text="card")["ts"]
    client.chat_postMessage(channel=GENERAL, text="first", thread_ts=ts)
    ada.say(GENERAL, "second", thread_ts=ts)
    client.chat_postMessage(channel=GENERAL, text="loud", thread_ts=ts, reply_broadcast=True)
    replies = client.conversations_replies(channel=GENERAL, ts=ts)["messages"]
    assert [m["text"] for m in replies] == ["card", "first", "second", "loud"]
    assert replies[0]["reply_count"] == 3
    assert replies[0]["reply_users"] == ["U0GPUBOT", "U0ADA"]
    top = client.conversations_history(channel=GENERAL)["messages"]
    assert [m["text"] for m in top] == ["loud", "card"]
    lost = refused(lambda: client.conversations_replies(channel=GENERAL, ts="1.000000"))
    assert lost == "thread_not_found"
    bad = refused(lambda: client.chat_postMessage(channel=GENERAL, text="x", thread_ts="soon"))
    assert bad == "invalid_thread_ts"


def test_history_is_newest_first_in_pages_and_between_stamps(client: WebClient) -> None:
    stamps = [client.chat_postMessage(channel=GENERAL, text=str(n))["ts"] for n in range(5)]
    first = client.conversations_history(channel=GENERAL, limit=2)
    assert [m["text"] for m in first["messages"]] == ["4", "3"]
    cursor = first["response_metadata"]["next_cursor"]
    second = client.conversations_history(channel=GENERAL, limit=2, cursor=cursor)
    assert [m["text"] for m in second["messages"]] == ["2", "1"]
    some = client.conversations_history(channel=GENERAL, oldest=stamps[1], latest=stamps[3])
    assert [m["text"] for m in some["messages"]] == ["2"]
    some = client.conversations_history(
        channel=GENERAL, oldest=stamps[1], latest=stamps[3], inclusive=True
    )
    assert [m["text"] for m in some["messages"]] == ["3", "2", "1"]
    zero = refused(lambda: client.conversations_history(channel=GENERAL, limit=0))
    assert zero == "invalid_limit"
    assert refused(lambda: client.conversations_history(channel=GENERAL, cursor="??")) == (
        "invalid_cursor"
    )


def test_metadata_is_kept_and_given_to_who_asks(client: WebClient) -> None:
    metadata = {"event_type": "card", "event_payload": {"request": "R-1001", "revision": 2}}
    client.chat_postMessage(channel=GENERAL, text="card", metadata=metadata)
    shown = client.conversations_history(channel=GENERAL, include_all_metadata=True)
    assert shown["messages"][0]["metadata"] == metadata
    assert "metadata" not in client.conversations_history(channel=GENERAL)["messages"][0]
    bad = {"event_type": "card"}
    assert (
        refused(lambda: client.chat_postMessage(channel=GENERAL, text="x", metadata=bad))
        == "invalid_metadata_format"
    )


def test_rooms_that_cannot_be_posted_to(workspace: WorkspaceServer, client: WebClient) -> None:
    def post(channel: str) -> str:
        return refused(lambda: client.chat_postMessage(channel=channel, text="x"))

    assert post("C0NOWHERE") == "channel_not_found"
    assert post("") == "channel_not_found"

    def leave(archived: bool) -> None:
        room = workspace.workspace.room(GENERAL)
        room.archived, room.bot_inside = archived, False

    workspace.look(lambda _: leave(archived=True))
    assert post(GENERAL) == "is_archived"
    workspace.look(lambda _: leave(archived=False))
    assert post(GENERAL) == "not_in_channel"
    assert refused(lambda: client.conversations_history(channel=GENERAL)) == "not_in_channel"


def test_a_message_to_a_person_is_a_direct_message(client: WebClient, ada: Visitor) -> None:
    posted = client.chat_postMessage(channel="U0ADA", text="hello")
    opened = client.conversations_open(users="U0ADA")["channel"]
    assert posted["channel"] == opened["id"] == ada.direct()
    assert [m["text"] for m in ada.messages(ada.direct())] == ["hello"]
    assert client.conversations_members(channel=opened["id"])["members"] == ["U0GPUBOT", "U0ADA"]
    assert refused(lambda: client.conversations_open(users="U0NOBODY")) == "user_not_found"


def test_a_private_message_needs_somebody_in_the_room(client: WebClient, ada: Visitor) -> None:
    assert client.chat_postEphemeral(channel=GENERAL, user="U0ADA", text="psst")["message_ts"]
    assert [m["text"] for m in ada.private(GENERAL)] == ["psst"]
    assert client.conversations_history(channel=GENERAL)["messages"] == []
    for channel, user in ((GENERAL, "U0NOBODY"), (ada.direct(), "U0BEN")):
        with pytest.raises(SlackApiError, match="user_not_in_channel"):
            client.chat_postEphemeral(channel=channel, user=user, text="x")


def test_people_groups_and_channels_are_those_of_the_file(client: WebClient) -> None:
    people = load_people()
    user = client.users_info(user="U0MEI", include_locale=True)["user"]
    assert (user["locale"], user["profile"]["display_name"]) == ("zh-CN", "mei")
    assert "locale" not in client.users_info(user="U0MEI")["user"]
    assert len(client.users_list()["members"]) == len(people.people) + 1
    assert client.users_lookupByEmail(email="ADA@gpulab.example")["user"]["id"] == "U0ADA"
    assert refused(lambda: client.users_lookupByEmail(email="x@y.z")) == "users_not_found"
    groups = client.usergroups_list(include_users=True)["usergroups"]
    assert {g["handle"]: g["users"] for g in groups}["gpu-oncall"] == ["U0OLI"]
    assert client.usergroups_users_list(usergroup="S0NLP")["users"] == ["U0ADA", "U0MEI", "U0LEA"]
    assert refused(lambda: client.usergroups_users_list(usergroup="S0")) == "no_such_subteam"
    names = [c["name"] for c in client.conversations_list()["channels"]]
    assert names == ["gpu-resources", "gpu-oncall"]
    assert client.team_info()["team"]["domain"] == "gpulab"
    assert client.bots_info(bot="B0GPUBOT")["bot"]["name"] == "gpubot"


def test_a_leaver_is_marked_and_cannot_be_written_to(open_workspace: OpenWorkspace) -> None:
    server = open_workspace(directory=load_people().without("U0BEN"))
    client = client_of(server)
    assert client.users_info(user="U0BEN")["user"]["deleted"] is True
    assert refused(lambda: client.conversations_open(users="U0BEN")) == "user_disabled"
    assert refused(lambda: client.users_lookupByEmail(email="ben@gpulab.example")) == (
        "users_not_found"
    )


def test_a_file_is_uploaded_in_three_steps(
    workspace: WorkspaceServer, client: WebClient, ada: Visitor
) -> None:
    picture = b"\x89PNG\r\n\x1a\nnot much of a picture"
    client.files_upload_v2(
        channel=GENERAL,
        content=picture,
        filename="week.png",
        title="The week",
        initial_comment="*ok*",
    )
    message = ada.messages(GENERAL)[0]
    file = message["files"][0]
    assert (message["text"], file["title"], file["mimetype"]) == ("*ok*", "The week", "image/png")
    with urllib.request.urlopen(workspace.base_url + file["url_private"]) as answer:  # noqa: S310 - our own server
        assert answer.read() == picture
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
    assert httpx.get(f"{workspace.base_url}/files/{file['id']}/guess").status_code == 404
    unknown = refused(
        lambda: client.files_completeUploadExternal(files=[{"id": "F0", "title": "x"}])
    )
    assert unknown == "file_not_found"


def test_reactions_and_links(workspace: WorkspaceServer, client: WebClient, ada: Visitor) -> None:
    ts = client.chat_postMessage(channel=GENERAL, text="look")["ts"]
    client.reactions_add(channel=GENERAL, timestamp=ts, name="eyes")
    again = refused(lambda: client.reactions_add(channel=GENERAL, timestamp=ts, name="eyes"))
    assert again == "already_reacted"
    assert ada.messages(GENERAL)[0]["reactions"] == [
        {"name": "eyes", "users": ["U0GPUBOT"], "count": 1}
    ]
    link = client.chat_getPermalink(channel=GENERAL, message_ts=ts)["permalink"]
    assert httpx.get(link).headers["location"] == f"/#{GENERAL}/{ts}"
    missing = refused(lambda: client.chat_getPermalink(channel=GENERAL, message_ts="1.0"))
    assert missing == "message_not_found"


def test_pages_of_other_sites_get_nothing(workspace: WorkspaceServer) -> None:
    say = f"{workspace.base_url}/page/say"
    body = json.dumps({"person": "U0ADA", "channel": GENERAL, "text": "x"})
    assert httpx.post(say, content=body, headers={"Content-Type": "text/plain"}).status_code == 415
    assert httpx.get(workspace.base_url, headers={"Host": "evil.example"}).status_code == 400
    assert "default-src 'none'" in httpx.get(workspace.base_url).headers["content-security-policy"]
