"""A small app that uses every part of the page: card, thread, modal, Home, menu, confirm."""

from __future__ import annotations

from typing import Any

from slack_bolt import Ack, App, Respond
from slack_sdk import WebClient

from bot.workspace.server import WorkspaceServer
from tests.fixtures_workspace import GENERAL, app_of

Json = dict[str, Any]


def plain(text: str) -> Json:
    return {"type": "plain_text", "text": text}


def mrkdwn(text: str) -> Json:
    return {"type": "mrkdwn", "text": text}


def card(person: str, text: str) -> list[Json]:
    """A card with fields, a menu and two buttons, one of which asks first."""
    confirm = {
        "title": plain("Cancel R-1001?"),
        "text": mrkdwn("It loses its place in the queue."),
        "confirm": plain("Cancel it"),
        "deny": plain("Keep it"),
        "style": "danger",
    }
    options = [{"text": plain("Take 8 GPUs"), "value": "8"}]
    buttons = [
        {"type": "button", "action_id": "why", "text": plain("Why"), "value": "R-1001"},
        {
            "type": "button",
            "action_id": "cancel",
            "style": "danger",
            "text": plain("Cancel"),
            "confirm": confirm,
        },
    ]
    return [
        {
            "type": "section",
            "text": mrkdwn(f"*Waiting* · R-1001 · {text}\n<@{person}> for team *nlp*"),
            "accessory": {"type": "overflow", "action_id": "more", "options": options},
        },
        {"type": "section", "fields": [mrkdwn("*Position*\n3 of 12"), mrkdwn("*GPUs*\n16")]},
        {"type": "context", "elements": [mrkdwn("as of <!date^1700000000^{date_num}|then>")]},
        {"type": "actions", "elements": buttons},
    ]


def form() -> Json:
    """A modal with one input of each kind that people fill in."""

    def block(name: str, label: str, element: Json, *, optional: bool = False) -> Json:
        return {
            "type": "input",
            "block_id": name,
            "label": plain(label),
            "element": {**element, "action_id": name},
            "optional": optional,
        }

    models = [{"text": plain(m), "value": m.lower()} for m in ("H100", "A100")]
    teams = [{"text": plain(t), "value": t} for t in ("nlp", "vision")]
    preemptible = [{"text": plain("Preemptible"), "value": "yes"}]
    return {
        "type": "modal",
        "callback_id": "request",
        "title": plain("Request GPUs"),
        "submit": plain("Request"),
        "blocks": [
            block("gpus", "GPUs", {"type": "number_input", "is_decimal_allowed": False}),
            block("model", "Model", {"type": "static_select", "options": models}),
            block("team", "Team", {"type": "radio_buttons", "options": teams}),
            block("more", "Options", {"type": "checkboxes", "options": preemptible}, optional=True),
            block("name", "Name", {"type": "plain_text_input"}, optional=True),
        ],
    }


def rehearsal(server: WorkspaceServer, submitted: list[Json]) -> App:
    """The app; what modals send is put into `submitted`."""
    app = app_of(server)
    app.command("/gpu")(answer_command)
    app.action("why")(answer_why)
    app.action("more")(answer_menu)
    app.action("cancel")(cancel)
    app.event("app_home_opened")(publish_home)
    app.event("app_mention")(answer_mention)
    app.event("message")(answer_direct)

    @app.view("request")
    def request(ack: Ack, view: Json) -> None:
        values = view["state"]["values"]
        if values["gpus"]["gpus"]["value"] == "0":
            ack(response_action="errors", errors={"gpus": "Ask for at least 1 GPU"})
            return
        submitted.append(values)
        ack()

    return app


def answer_command(ack: Ack, respond: Respond, command: Json, client: WebClient) -> None:
    """A modal, a reason, or a card with a thread and a private answer."""
    ack()
    if not command["text"]:
        client.views_open(trigger_id=command["trigger_id"], view=form())
    elif command["text"].startswith("why"):
        respond(f"{command['text'][4:]} waits for its team's quota")
    else:
        person = command["user_id"]
        text = f"R-1001 <@{person}> waits"
        blocks = card(person, command["text"])
        ts = client.chat_postMessage(channel=GENERAL, text=text, blocks=blocks)["ts"]
        client.chat_postMessage(channel=GENERAL, text="Submitted", thread_ts=ts)
        respond("You are third in line")


def answer_why(ack: Ack, respond: Respond) -> None:
    ack()
    respond("Because of the quota")


def answer_menu(ack: Ack, respond: Respond, action: Json) -> None:
    ack()
    respond(f"Took {action['selected_option']['value']}")


def cancel(ack: Ack, body: Json, client: WebClient) -> None:
    ack()
    client.chat_update(channel=GENERAL, ts=body["message"]["ts"], text="Cancelled R-1001")


def publish_home(event: Json, client: WebClient) -> None:
    blocks = [{"type": "header", "text": plain("Your requests")}, *card(event["user"], "home")]
    client.views_publish(user_id=event["user"], view={"type": "home", "blocks": blocks})


def answer_mention(event: Json, client: WebClient) -> None:
    thread = event.get("thread_ts") or event["ts"]
    client.chat_postMessage(channel=event["channel"], thread_ts=thread, text="You called?")


def answer_direct(event: Json, client: WebClient) -> None:
    if event["channel_type"] == "im":
        client.chat_postMessage(channel=event["channel"], text=f"You said {event['text']}")
