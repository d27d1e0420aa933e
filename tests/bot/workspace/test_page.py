"""The page as people use it, in headless Chromium, with a real Bolt app behind it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from slack_sdk import WebClient

from bot.workspace.faults import FaultKind
from bot.workspace.options import Shortcut, Suggestion, WorldTime
from bot.workspace.server import WorkspaceServer
from bot.workspace.visitor import Visitor
from tests.bot.workspace.rehearsal import rehearsal
from tests.fixtures_browser import PHONE, LookAt
from tests.fixtures_workspace import GENERAL, ONCALL, OpenWorkspace, client_of, connected

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]

WORLD = 1_772_755_200.0  # 2026-03-06 00:00 UTC, where the bot lives
LAST = {"U0ADA": "R-1001"}
SUGGESTIONS = (
    Suggestion(label="A small request", about="One GPU for two hours", command="/gpu 1 h100 2h"),
    Suggestion(label="A gang", about="All start together", command="/gpu 4x8 h100 for 8h"),
    Suggestion(
        label="A night job",
        about="May be stopped",
        command="/gpu 2 nodes h100 12h preemptible name night-sweep",
    ),
    Suggestion(
        label="A hero job", about="Many", command="/gpu 64 nodes h100 24h priority high name hero"
    ),
    Suggestion(label="Why?", about="The reason", command="/gpu why {last}", fallback="/gpu why me"),
)


@pytest.fixture
def server(open_workspace: OpenWorkspace) -> WorkspaceServer:
    """A workspace with things to try and a clock."""
    return open_workspace(
        suggestions=SUGGESTIONS,
        clock=lambda: WorldTime(WORLD, 60.0),
        last_request=LAST.get,
        shortcuts=(Shortcut(callback_id="ask", label="Request GPUs"),),
    )


@pytest.fixture
def submitted(server: WorkspaceServer) -> Iterator[list[dict[str, Any]]]:
    """The rehearsal app, connected; gives what its modal was sent."""
    values: list[dict[str, Any]] = []
    with connected(server, rehearsal(server, values)):
        yield values


@pytest.fixture
def bot(server: WorkspaceServer) -> WebClient:
    """The bot's Web API client."""
    return client_of(server)


def send(page: Page, text: str) -> None:
    page.get_by_test_id("composer").fill(text)
    page.get_by_test_id("send").click()


def message(page: Page, text: str) -> Any:
    return page.get_by_test_id("message").filter(has_text=text)


@pytest.mark.usefixtures("submitted")
def test_a_command_gives_a_card_a_thread_and_a_private_answer(
    server: WorkspaceServer, look_at: LookAt
) -> None:
    page = look_at(server.base_url)
    expect(page.get_by_test_id("me")).to_have_text("Ada Moreau")
    send(page, "/gpu 16 h100 8h <b>bold</b>")
    card = message(page, "Waiting · R-1001")
    expect(card).to_contain_text("16 h100 8h <b>bold</b>")
    expect(card.locator("b")).to_have_count(0)
    expect(card.locator(".mention-me")).to_have_text("@Ada Moreau")
    private = message(page, "You are third in line")
    expect(private.get_by_test_id("ephemeral")).to_have_text("Only visible to you")
    card.get_by_test_id("thread-open").click()
    thread = page.get_by_test_id("thread")
    expect(thread.get_by_test_id("message")).to_have_count(2)
    thread.get_by_test_id("thread-composer").fill("thanks @gpubot")
    page.keyboard.press("Enter")
    expect(thread.get_by_text("You called?")).to_be_visible()
    expect(card.get_by_test_id("thread-open")).to_contain_text("3 replies")
    ben = look_at(f"{server.base_url}/?person=U0BEN")
    expect(message(ben, "Waiting · R-1001")).to_be_visible()
    expect(message(ben, "You are third in line")).to_have_count(0)


@pytest.mark.usefixtures("submitted")
def test_buttons_menus_and_confirm_dialogs(server: WorkspaceServer, look_at: LookAt) -> None:
    page = look_at(server.base_url)
    send(page, "/gpu 16 h100 8h")
    page.get_by_role("button", name="Why", exact=True).click()
    expect(message(page, "Because of the quota")).to_be_visible()
    page.get_by_test_id("overflow").click()
    page.get_by_role("menuitem", name="Take 8 GPUs").click()
    expect(message(page, "Took 8")).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    page.get_by_test_id("confirm-cancel").click()
    expect(message(page, "Waiting · R-1001")).to_be_visible()
    page.get_by_role("button", name="Cancel", exact=True).click()
    expect(page.get_by_test_id("confirm")).to_contain_text("It loses its place")
    page.get_by_test_id("confirm-ok").click()
    expect(message(page, "Cancelled R-1001")).to_be_visible()
    expect(page.get_by_test_id("action")).to_have_count(0)


def test_a_modal_keeps_what_was_typed_and_shows_errors(
    server: WorkspaceServer, look_at: LookAt, submitted: list[dict[str, Any]]
) -> None:
    page = look_at(server.base_url)
    send(page, "/gpu")
    modal = page.get_by_test_id("modal")
    modal.get_by_test_id("field-gpus").fill("0")
    modal.get_by_test_id("modal-submit").click()
    empty = modal.locator("[data-input-block=model]").get_by_test_id("input-error")
    expect(empty).to_have_text("Please complete this required field.")
    modal.get_by_test_id("field-model").select_option(label="H100")
    modal.get_by_label("vision").check()
    modal.get_by_label("Preemptible").check()
    modal.get_by_test_id("field-name").fill("llama & co")
    modal.get_by_test_id("modal-submit").click()
    error = modal.locator("[data-input-block=gpus]").get_by_test_id("input-error")
    expect(error).to_have_text("Ask for at least 1 GPU")
    expect(modal.get_by_test_id("field-name")).to_have_value("llama & co")
    modal.get_by_test_id("field-gpus").fill("16")
    page.keyboard.press("Enter")
    expect(modal).to_have_count(0)
    [values] = submitted
    assert values["gpus"]["gpus"]["value"] == "16"
    assert values["model"]["model"]["selected_option"]["value"] == "h100"
    assert values["team"]["team"]["selected_option"]["value"] == "vision"
    assert [o["value"] for o in values["more"]["more"]["selected_options"]] == ["yes"]
    assert values["name"]["name"]["value"] == "llama & co"


@pytest.mark.usefixtures("submitted")
def test_five_things_to_try_one_click_each(server: WorkspaceServer, look_at: LookAt) -> None:
    page = look_at(f"{server.base_url}/?person=U0BEN")
    page.get_by_test_id("suggestion-4").click()
    expect(message(page, "me waits for its team's quota")).to_be_visible()
    page.goto(f"{server.base_url}/?person=U0ADA")
    for n, said in enumerate(("1 h100 2h", "4x8 h100 for 8h", "night-sweep", "name hero")):
        page.get_by_test_id(f"suggestion-{n}").click()
        expect(message(page, "Waiting · R-1001").filter(has_text=said)).to_be_visible()
        page.get_by_test_id("welcome-open").click()
    page.get_by_test_id("suggestion-4").click()
    expect(message(page, "R-1001 waits for its team's quota")).to_be_visible()


@pytest.mark.usefixtures("submitted")
def test_the_welcome_folds_for_good_and_stays_in_the_first_room(
    server: WorkspaceServer, look_at: LookAt
) -> None:
    page = look_at(f"{server.base_url}/?person=U0ADA")
    full = page.get_by_test_id("welcome").bounding_box()
    page.get_by_test_id("suggestion-0").click()
    page.reload()
    expect(page.get_by_test_id("welcome-open")).to_have_text("Five things to try ▸")
    expect(page.get_by_test_id("suggestion-0")).to_have_count(0)
    folded = page.get_by_test_id("welcome").bounding_box()
    assert full is not None
    assert folded is not None
    assert folded["height"] < 32 < full["height"]
    page.get_by_test_id("welcome-open").click()
    expect(page.get_by_test_id("suggestion-0")).to_be_visible()
    page.get_by_test_id("channel-gpu-oncall").click()
    expect(page.get_by_test_id("title")).to_have_text("#gpu-oncall")
    expect(page.get_by_test_id("welcome")).to_have_count(0)
    page.goto(f"{server.base_url}/?person=U0BEN#{GENERAL}")
    expect(page.get_by_test_id("suggestion-0")).to_be_visible()  # new to this person


@pytest.mark.usefixtures("submitted")
def test_switching_the_person_and_unread_badges(
    server: WorkspaceServer, look_at: LookAt, bot: WebClient
) -> None:
    page = look_at(server.base_url)
    page.get_by_test_id("person-switch").click()
    page.get_by_test_id("person-U0OLI").click()
    expect(page.get_by_test_id("me")).to_have_text("Oli Berg")
    bot.chat_postMessage(channel=ONCALL, text="R-1 was stopped, <!subteam^S0ONCALL>")
    bot.chat_postMessage(channel="U0OLI", text="Please look")
    expect(page.get_by_test_id("unread-gpu-oncall")).to_have_text("1")
    expect(page.get_by_test_id("unread-gpubot")).to_have_text("1")
    page.get_by_test_id("channel-gpu-oncall").click()
    expect(message(page, "R-1 was stopped").locator(".mention-me")).to_have_text("@gpu-oncall")
    expect(page.get_by_test_id("unread-gpu-oncall")).to_have_count(0)
    page.get_by_test_id("dm-gpubot").click()
    send(page, "hello")
    expect(message(page, "You said hello")).to_be_visible()
    page.get_by_test_id("person-switch").click()
    page.get_by_test_id("person-U0BEN").click()
    page.get_by_test_id("dm-gpubot").click()
    expect(page.get_by_test_id("title")).to_have_text("gpubot")
    expect(page.get_by_test_id("message")).to_have_count(0)


@pytest.mark.usefixtures("submitted")
def test_home_is_shown_to_who_opens_it(server: WorkspaceServer, look_at: LookAt) -> None:
    page = look_at(server.base_url)
    page.get_by_test_id("app-home").click()
    home = page.get_by_test_id("home")
    expect(home.get_by_role("heading", name="Your requests")).to_be_visible()
    home.get_by_role("button", name="Why", exact=True).click()
    page.get_by_test_id("tab-messages").click()
    expect(page.get_by_test_id("composer")).to_be_visible()


def test_the_page_says_when_the_bot_is_away(
    server: WorkspaceServer, look_at: LookAt, submitted: list[dict[str, Any]]
) -> None:
    page = look_at(server.base_url)
    expect(page.get_by_test_id("presence")).to_have_text("gpubot is online")
    expect(page.get_by_test_id("banner")).to_be_hidden()
    server.faults.add(FaultKind.LOST, match="slash_commands")
    server.drop_sockets()
    expect(page.get_by_test_id("banner")).to_contain_text("offline")
    expect(page.get_by_test_id("banner")).to_be_hidden()
    assert submitted == []


def test_a_command_without_a_bot_fails_in_words(server: WorkspaceServer, look_at: LookAt) -> None:
    page = look_at(server.base_url)
    send(page, "/gpu status")
    expect(message(page, "dispatch_failed")).to_be_visible()


def test_text_is_rendered_and_never_run(
    server: WorkspaceServer, look_at: LookAt, bot: WebClient
) -> None:
    page = look_at(server.base_url)
    text = (
        "*bold* _italic_ ~gone~ `a*b*c` :rocket: &lt;img src=x onerror=alert(1)&gt;\n"
        "&gt; quoted\n```x &lt; 1\n  y```"
        "<https://example.org|link> <javascript:alert(1)|bad> <#C0ONCALL> <!channel>"
        " <!date^1700000000^{date_num} {time}|then>"
    )
    bot.chat_postMessage(channel=GENERAL, text=text)
    shown = page.get_by_test_id("message-text")
    expect(shown.locator("strong")).to_have_text("bold")
    expect(shown.locator("em")).to_have_text("italic")
    expect(shown.locator("s")).to_have_text("gone")
    expect(shown.locator("code")).to_have_text("a*b*c")
    expect(shown.locator("blockquote")).to_have_text("quoted")
    expect(shown.locator("pre")).to_have_text("x < 1\n  y")
    expect(shown.get_by_role("link", name="link", exact=True)).to_have_attribute(
        "href", "https://example.org"
    )
    expect(shown).to_contain_text("<img src=x onerror=alert(1)>")
    expect(shown.get_by_role("link", name="#gpu-oncall")).to_be_visible()
    expect(shown.get_by_role("link", name="bad")).to_have_count(0)
    expect(shown.locator("img")).to_have_count(0)
    expect(shown.locator("time")).to_have_text(re.compile(r"11/14/2023 .*:13|11/15/2023 .*:13"))


def test_the_bots_dates_are_read_in_its_own_world(
    server: WorkspaceServer, look_at: LookAt, bot: WebClient
) -> None:
    page = look_at(server.base_url, timezone_id="UTC")
    seconds = int(WORLD)
    bot.chat_postMessage(
        channel=GENERAL,
        text=f"<!date^{seconds + 7200}^{{date_short_pretty}} {{time}}, {{ago}}|then> and "
        f"<!date^{seconds - 3600}^{{date_pretty}}|then> and "
        f"<!date^{seconds + 100000}^{{date_long_pretty}}|then>",
    )
    expect(page.get_by_test_id("message-text")).to_have_text(
        re.compile(r"^today 2:00\sAM, in 2 hours and yesterday and tomorrow$")
    )
    mei = look_at(f"{server.base_url}/?person=U0MEI", timezone_id="UTC")
    expect(mei.get_by_test_id("message-text")).to_have_text(
        re.compile(r"^今天 0?2:00, 2 ?小时后 and 昨天 and 明天$")
    )
    expect(page.get_by_test_id("clock")).to_have_text(
        re.compile(r"^Fri, Mar 6, 12:0\d\sAM, 60× speed$")
    )
    expect(page.locator(".day").last).to_have_text("Today")  # messages are stamped by our time


def test_the_keyboard_is_enough(server: WorkspaceServer, look_at: LookAt) -> None:
    page = look_at(server.base_url)
    composer = page.get_by_test_id("composer")
    expect(composer).to_be_enabled()  # as soon as it is known who writes; keys do not wait for it
    composer.press_sequentially("/gp")
    expect(page.get_by_test_id("suggest").first).to_contain_text("/gpu")
    page.keyboard.press("Tab")
    expect(composer).to_have_value("/gpu ")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    expect(composer).to_have_value("/gpu 1 h100 2h")
    composer.fill("for @be")
    page.keyboard.press("Tab")
    expect(composer).to_have_value("for @ben ")
    page.keyboard.press("Enter")
    expect(message(page, "for @Ben Okafor")).to_be_visible()
    place = page.get_by_test_id("channel-gpu-oncall")
    place.focus()
    Visitor(server.base_url, "U0BEN").say(ONCALL, "news that draws the places anew")
    expect(page.get_by_test_id("unread-gpu-oncall")).to_have_text("1")
    expect(place).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.get_by_test_id("title")).to_have_text("#gpu-oncall")


def test_a_page_that_lost_the_server_comes_back(
    tmp_path: Path, look_at: LookAt, open_workspace: OpenWorkspace
) -> None:
    path = tmp_path / "workspace.sqlite3"
    server = open_workspace(state_path=path)
    port = int(server.base_url.rpartition(":")[2])
    page = look_at(server.base_url, tolerate="ERR_CONNECTION|WebSocket")
    send(page, "before")
    expect(message(page, "before")).to_be_visible()
    server.stop()
    expect(page.get_by_test_id("banner")).to_contain_text("Connecting to the workspace")
    again = open_workspace(state_path=path, port=port)
    Visitor(again.base_url, "U0BEN").say(GENERAL, "meanwhile")
    expect(message(page, "meanwhile")).to_be_visible()
    expect(message(page, "before")).to_be_visible()
    send(page, "after")
    expect(message(page, "after")).to_be_visible()


@pytest.mark.usefixtures("submitted")
def test_a_phone_has_a_drawer_and_no_sideways_scroll(
    server: WorkspaceServer, look_at: LookAt
) -> None:
    page = look_at(server.base_url, viewport=PHONE, has_touch=True, is_mobile=True)
    send(page, f"/gpu 16 h100 8h name {'x' * 120}")
    expect(message(page, "Waiting · R-1001")).to_be_visible()
    assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]
    send(page, "one")
    send(page, "two")
    under = message(page, "two")  # in a group: no line with a name above it
    expect(under.get_by_test_id("thread-start")).to_be_visible()
    said = under.get_by_test_id("message-text").bounding_box()
    tool = under.get_by_test_id("thread-start").bounding_box()
    assert said is not None
    assert tool is not None
    assert tool["y"] >= said["y"] + said["height"]
    expect(page.get_by_test_id("sidebar")).to_have_count(0)
    expect(page.get_by_test_id("channel-gpu-oncall")).to_be_hidden()
    page.get_by_test_id("menu").tap()
    page.get_by_test_id("channel-gpu-oncall").tap()
    expect(page.get_by_test_id("title")).to_have_text("#gpu-oncall")
    expect(page.get_by_test_id("channel-gpu-oncall")).to_be_hidden()
    send(page, "/gpu")
    box = page.get_by_test_id("modal").bounding_box()
    assert box is not None
    assert box["width"] == PHONE["width"]


@pytest.mark.usefixtures("submitted")
def test_a_shortcut_is_offered_beside_the_commands(
    server: WorkspaceServer, look_at: LookAt
) -> None:
    page = look_at(server.base_url)
    page.get_by_test_id("slash").click()
    expect(page.get_by_test_id("suggest").filter(has_text="Request GPUs")).to_be_visible()
