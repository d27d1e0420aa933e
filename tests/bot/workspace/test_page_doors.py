"""The newer parts of the page, in headless Chromium: a message's menu, typed menus, the past."""

from __future__ import annotations

from typing import Any

import pytest
from playwright.sync_api import expect
from slack_bolt import Ack, Respond
from slack_sdk import WebClient

from bot.workspace.options import Shortcut
from bot.workspace.visitor import Visitor
from tests.bot.workspace.test_more_doors import _modal
from tests.fixtures_browser import PHONE, LookAt, browser, look_at
from tests.fixtures_workspace import GENERAL, OpenWorkspace, app_of, connected

__all__ = ["browser", "look_at"]
pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

WHY = Shortcut(callback_id="why", label="Why does it wait?", on_message=True)


@pytest.mark.parametrize("viewport", [None, PHONE], ids=["desktop", "phone"])
def test_the_menu_of_a_message_and_a_typed_menu(
    open_workspace: OpenWorkspace, look_at: LookAt, viewport: dict[str, int] | None
) -> None:
    server = open_workspace(shortcuts=(WHY,))
    app, picked = app_of(server), []

    @app.shortcut("why")
    def why(ack: Ack, respond: Respond) -> None:
        ack()
        respond("Because of the quota")

    @app.command("/gpu")
    def open_it(ack: Ack, body: dict[str, Any], client: WebClient) -> None:
        ack()
        client.views_open(trigger_id=body["trigger_id"], view=_modal())

    @app.options("node")
    def offer(ack: Ack, payload: dict[str, Any]) -> None:
        names = [f"gpu-{n:04}" for n in range(100) if payload["value"] in f"gpu-{n:04}"]
        ack(options=[{"text": {"type": "plain_text", "text": n}, "value": n} for n in names])

    @app.view("pick")
    def pick(ack: Ack, view: dict[str, Any]) -> None:
        ack()
        picked.append(view["state"]["values"]["node"]["node"]["selected_option"]["value"])

    Visitor(server.base_url, "U0ADA").say(GENERAL, "a card")
    with connected(server, app):
        options = {} if viewport is None else {"viewport": viewport}
        page = look_at(f"{server.base_url}/?person=U0ADA", **options)
        line = page.get_by_test_id("message").filter(has_text="a card")
        line.hover()
        line.get_by_test_id("on-message-why").click()
        expect(page.get_by_test_id("message").filter(has_text="the quota")).to_be_visible()
        page.get_by_test_id("composer").fill("/gpu")
        page.get_by_test_id("send").click()
        field = page.get_by_test_id("field-node")
        field.press_sequentially("0042")
        expect(page.locator("datalist option")).to_have_count(1)
        field.fill("gpu-0042")
        page.get_by_test_id("modal-submit").click()
        expect(page.get_by_test_id("modal")).to_have_count(0)
    assert picked == ["gpu-0042"]


def test_what_was_said_long_ago_is_there_on_demand(
    open_workspace: OpenWorkspace, look_at: LookAt
) -> None:
    server = open_workspace()
    ada = Visitor(server.base_url, "U0ADA")
    for number in range(450):
        ada.say(GENERAL, f"line {number}")
    page = look_at(f"{server.base_url}/?person=U0BEN")
    expect(page.get_by_test_id("message").filter(has_text="line 449")).to_be_visible()
    first = page.get_by_test_id("message").filter(has_text="line 0")
    expect(first).to_have_count(0)
    for _ in range(2):
        page.get_by_test_id("earlier").click()
    expect(first).to_have_count(1)
    expect(page.get_by_test_id("earlier")).to_be_hidden()
    expect(page.get_by_test_id("message")).to_have_count(450)
