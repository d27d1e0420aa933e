"""Buttons, menus, modals, Home and response addresses, with a real Bolt app."""

from __future__ import annotations

from typing import Any

import pytest
from slack_bolt import Ack, Respond
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.webhook import WebhookClient

from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor, VisitorError
from tests.fixtures_workspace import (
    GENERAL,
    OpenWorkspace,
    app_of,
    client_of,
    connected,
    eventually,
)

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


CARD: list[Json] = [
    {"type": "section", "text": {"type": "mrkdwn", "text": "*Waiting* R-1001"}},
    {
        "type": "actions",
        "elements": [
            {"type": "button", "action_id": "cancel", "text": plain("Cancel"), "value": "R-1001"},
            {
                "type": "overflow",
                "action_id": "more",
                "options": [{"text": plain("Take 8"), "value": "8"}],
            },
        ],
    },
]
FORM: Json = {
    "type": "modal",
    "callback_id": "request",
    "title": plain("Request GPUs"),
    "submit": plain("Request"),
    "private_metadata": "kept",
    "notify_on_close": True,
    "blocks": [
        {
            "type": "input",
            "block_id": "gpus",
            "label": plain("GPUs"),
            "element": {"type": "number_input", "action_id": "n", "is_decimal_allowed": False},
        },
        {
            "type": "input",
            "block_id": "model",
            "label": plain("Model"),
            "element": {
                "type": "static_select",
                "action_id": "m",
                "options": [{"text": plain("H100"), "value": "h100"}],
                "initial_option": {"text": plain("H100"), "value": "h100"},
            },
        },
    ],
}


def number(value: str | None) -> Json:
    return {"gpus": {"n": {"type": "number_input", "value": value}}}


def test_a_pressed_button_updates_its_message(
    workspace: WorkspaceServer, ada: Visitor, client: WebClient
) -> None:
    app, seen = app_of(workspace), []

    @app.action("cancel")
    def cancel(ack: Ack, body: Json, client: WebClient) -> None:
        ack()
        seen.append(body)
        place = body["container"]
        client.chat_update(
            channel=place["channel_id"], ts=place["message_ts"], text=f"by {body['user']['id']}"
        )

    ts = client.chat_postMessage(channel=GENERAL, text="card", blocks=CARD)["ts"]
    with connected(workspace, app):
        assert "ack" in ada.press(GENERAL, ts, "cancel")
        eventually(lambda: ada.messages(GENERAL)[0]["text"] == "by U0ADA")
    assert ada.messages(GENERAL)[0]["blocks"] == []
    assert seen[0]["actions"][0]["value"] == "R-1001"
    assert seen[0]["message"]["ts"] == ts


def test_a_menu_sends_what_was_chosen(
    workspace: WorkspaceServer, ada: Visitor, client: WebClient
) -> None:
    app, seen = app_of(workspace), []

    @app.action("more")
    def more(ack: Ack, action: Json) -> None:
        ack()
        seen.append(action["selected_option"]["value"])

    ts = client.chat_postMessage(channel=GENERAL, text="card", blocks=CARD)["ts"]
    with connected(workspace, app):
        ada.press(GENERAL, ts, "more", selected_option={"text": plain("Take 8"), "value": "8"})
    assert seen == ["8"]


def test_a_button_that_is_not_there_cannot_be_pressed(ada: Visitor, client: WebClient) -> None:
    ts = client.chat_postMessage(channel=GENERAL, text="card", blocks=CARD)["ts"]
    with pytest.raises(VisitorError, match="action_not_found"):
        ada.press(GENERAL, ts, "forged")
    client.chat_delete(channel=GENERAL, ts=ts)
    with pytest.raises(VisitorError, match="message_not_found"):
        ada.press(GENERAL, ts, "cancel")


def open_form(server: WorkspaceServer, ada: Visitor, seen: list[Json]) -> Any:
    app = app_of(server)

    @app.command("/gpu")
    def gpu(ack: Ack, command: Json, client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=command["trigger_id"], view=FORM)

    @app.view("request")
    def request(ack: Ack, view: Json) -> None:
        seen.append(view)
        asked = int(view["state"]["values"]["gpus"]["n"]["value"])
        if asked == 0:
            ack(response_action="errors", errors={"gpus": "Ask for at least 1 GPU."})
        elif asked == 99:
            ack(response_action="update", view={**FORM, "title": plain("Once more")})
        else:
            ack()

    @app.view_closed("request")
    def closed(ack: Ack, view: Json) -> None:
        ack()
        seen.append({"closed": view["id"]})

    return connected(server, app)


def test_a_modal_shows_errors_at_their_block_and_then_closes(
    workspace: WorkspaceServer, ada: Visitor
) -> None:
    seen: list[Json] = []
    with open_form(workspace, ada, seen):
        ada.say(GENERAL, "/gpu")
        form = eventually(ada.modal)
        assert ada.submit(form, number(None))["errors"] == {
            "gpus": "Please complete this required field."
        }
        assert ada.submit(form, number("two"))["errors"] == {"gpus": "Enter a number."}
        assert ada.submit(form, number("1.5"))["errors"] == {"gpus": "Enter a whole number."}
        assert seen == []
        assert ada.submit(form, number("0"))["errors"] == {"gpus": "Ask for at least 1 GPU."}
        assert ada.modal() is not None
        assert ada.submit(form, number("16")) == {"ok": True}
    assert ada.modal() is None
    assert seen[-1]["private_metadata"] == "kept"
    assert seen[-1]["state"]["values"]["model"]["m"]["selected_option"]["value"] == "h100"


def test_a_modal_can_be_updated_by_its_submission_and_closed(
    workspace: WorkspaceServer, ada: Visitor
) -> None:
    seen: list[Json] = []
    with open_form(workspace, ada, seen):
        ada.say(GENERAL, "/gpu")
        form = eventually(ada.modal)
        ada.submit(form, number("99"))
        again = ada.modal()
        assert again is not None
        assert (again["title"]["text"], again["id"]) == ("Once more", form["id"])
        ada.close(again)
        eventually(lambda: seen[-1].get("closed") == form["id"])
    with pytest.raises(VisitorError, match="not_found"):
        ada.submit(form, number("1"))


def test_a_trigger_dies_and_is_used_once(open_workspace: OpenWorkspace) -> None:
    server = open_workspace(trigger_life=0.0)
    client, trigger = client_of(server), server.look(lambda space: space.triggers.issue("U0ADA"))
    eventually(lambda: _error(client, trigger) == "expired_trigger_id")
    assert _error(client, "1.2.3") == "invalid_trigger_id"


def test_a_trigger_is_exchanged_once(workspace: WorkspaceServer, client: WebClient) -> None:
    trigger = workspace.look(lambda space: space.triggers.issue("U0ADA"))
    client.views_open(trigger_id=trigger, view=FORM)
    assert _error(client, trigger) == "exchanged_trigger_id"


def _error(client: WebClient, trigger: str) -> str:
    with pytest.raises(SlackApiError) as caught:
        client.views_open(trigger_id=trigger, view=FORM)
    return str(caught.value.response["error"])


def test_modals_stack_three_deep(workspace: WorkspaceServer, client: WebClient) -> None:
    def trigger() -> str:
        return workspace.look(lambda space: space.triggers.issue("U0ADA"))

    first = client.views_open(trigger_id=trigger(), view=FORM)["view"]
    client.views_push(trigger_id=trigger(), view=FORM)
    top = client.views_push(trigger_id=trigger(), view=FORM)["view"]
    assert top["root_view_id"] == first["id"]
    with pytest.raises(SlackApiError, match="push_limit_reached"):
        client.views_push(trigger_id=trigger(), view=FORM)
    with pytest.raises(SlackApiError, match="hash_conflict"):
        client.views_update(view_id=top["id"], hash="old", view=FORM)
    assert client.views_update(view_id=top["id"], hash=top["hash"], view=FORM)["ok"]
    with pytest.raises(SlackApiError, match="not_found"):
        client.views_update(view_id="V0", view=FORM)


def test_home_is_published_when_it_is_opened(workspace: WorkspaceServer, ada: Visitor) -> None:
    app, pressed = app_of(workspace), []

    @app.event("app_home_opened")
    def opened(event: Json, client: WebClient) -> None:
        view = {"type": "home", "blocks": CARD}
        client.views_publish(user_id=event["user"], view=view)

    @app.action("cancel")
    def cancel(ack: Ack, body: Json) -> None:
        ack()
        pressed.append(body["container"]["type"])

    with connected(workspace, app):
        ada.open_home()
        home = eventually(lambda: ada.boot()["home"])
        ada.press_in_view(home, "cancel")
    assert pressed == ["view"]
    assert Visitor(workspace.base_url, "U0BEN").boot()["home"] is None


def test_a_private_answer_is_replaced_and_deleted(
    workspace: WorkspaceServer, ada: Visitor, client: WebClient
) -> None:
    app, seen = app_of(workspace), []

    @app.action("cancel")
    def cancel(ack: Ack, respond: Respond, body: Json) -> None:
        ack()
        seen.append(body)
        respond("gone soon", replace_original=True)

    client.chat_postEphemeral(channel=GENERAL, user="U0ADA", text="card", blocks=CARD)
    with connected(workspace, app):
        ada.press(GENERAL, ada.private(GENERAL)[0]["ts"], "cancel")
        eventually(lambda: ada.private(GENERAL)[0]["text"] == "gone soon")
    assert "message" not in seen[0]
    assert seen[0]["container"]["is_ephemeral"] is True
    assert len(ada.messages(GENERAL)) == 1
    hook = WebhookClient(seen[0]["response_url"])
    assert hook.send(delete_original=True).status_code == 200
    assert ada.messages(GENERAL) == []


def test_a_response_address_wears_out(workspace: WorkspaceServer, ada: Visitor) -> None:
    key = workspace.look(lambda space: space.rights.issue("U0ADA", GENERAL))
    hook = WebhookClient(f"{workspace.base_url}/respond/{key}")
    answers = [hook.send(text=f"answer {n}", response_type="in_channel") for n in range(6)]
    assert [answer.status_code for answer in answers] == [200] * 5 + [404]
    assert "used_url" in answers[-1].body
    assert len(ada.messages(GENERAL)) == 5
    assert WebhookClient(f"{workspace.base_url}/respond/none").send(text="x").status_code == 404


def test_a_response_address_grows_old(open_workspace: OpenWorkspace) -> None:
    server = open_workspace(response_life=0.0)
    key = server.look(lambda space: space.rights.issue("U0ADA", GENERAL))
    hook = WebhookClient(f"{server.base_url}/respond/{key}")
    eventually(lambda: "expired_url" in hook.send(text="late").body)


def test_a_response_with_bad_blocks_is_refused(workspace: WorkspaceServer) -> None:
    key = workspace.look(lambda space: space.rights.issue("U0ADA", GENERAL))
    hook = WebhookClient(f"{workspace.base_url}/respond/{key}")
    answer = hook.send(text="x", blocks=[{"type": "carousel"}])
    assert (answer.status_code, "invalid_blocks" in answer.body) == (400, True)


def test_a_shortcut_opens_a_modal(workspace: WorkspaceServer, ada: Visitor) -> None:
    app = app_of(workspace)

    @app.shortcut("ask")
    def ask(ack: Ack, shortcut: Json, client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=shortcut["trigger_id"], view=FORM)

    with connected(workspace, app):
        ada.shortcut("ask")
        assert eventually(ada.modal)["callback_id"] == "request"
