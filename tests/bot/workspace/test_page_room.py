"""What is said keeps its room on the page: the newest stays in sight, nothing lies on another."""

from __future__ import annotations

import io
import re

import matplotlib.image
import numpy as np
import pytest
from playwright.sync_api import Page, expect

from bot.workspace.options import Suggestion
from bot.workspace.server import WorkspaceServer
from tests.fixtures_browser import PHONE, LookAt
from tests.fixtures_workspace import GENERAL, OpenWorkspace, client_of

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


@pytest.fixture
def server(open_workspace: OpenWorkspace) -> WorkspaceServer:
    """A workspace with something to try."""
    suggestion = Suggestion(label="A request", about="One GPU", command="/gpu 1 h100 2h")
    return open_workspace(suggestions=(suggestion,))


def picture() -> bytes:
    """A PNG that is higher than the page."""
    file = io.BytesIO()
    matplotlib.image.imsave(file, np.zeros((1200, 900, 3)), format="png")
    return file.getvalue()


def distance_from_bottom(page: Page) -> float:
    return float(
        page.locator(".scroller").evaluate("it => it.scrollHeight - it.scrollTop - it.clientHeight")
    )


@pytest.mark.parametrize("size", [None, PHONE], ids=["desktop", "phone"])
def test_the_newest_stays_in_sight_when_a_picture_has_come(
    server: WorkspaceServer, look_at: LookAt, size: dict[str, int] | None
) -> None:
    page = look_at(server.base_url, **({} if size is None else {"viewport": size}))
    expect(page.get_by_test_id("composer")).to_be_enabled()
    client_of(server).files_upload_v2(
        channel=GENERAL, content=picture(), filename="map.png", title="Map of the cluster"
    )
    shown = page.get_by_test_id("file").locator("img")
    expect(shown).to_be_visible()
    expect(shown).to_have_js_property("complete", value=True)
    page.wait_for_function(
        "() => { const it = document.querySelector('.scroller');"
        " return it.scrollHeight > it.clientHeight &&"
        " it.scrollHeight - it.scrollTop - it.clientHeight < 2; }"
    )
    assert distance_from_bottom(page) < 2


def test_the_time_beside_a_message_that_follows_another_does_not_lie_on_it(
    server: WorkspaceServer, look_at: LookAt
) -> None:
    page = look_at(server.base_url)
    expect(page.get_by_test_id("composer")).to_be_enabled()
    bot = client_of(server)
    for text in ("the first", "the second"):
        bot.chat_postMessage(channel=GENERAL, text=text)
    second = page.get_by_test_id("message").filter(has_text="the second")
    second.hover()
    time = second.locator(".time")
    expect(time).to_have_text(re.compile(r"^\d{1,2}:\d{2}$"))
    beside, said = time.bounding_box(), second.get_by_test_id("message-text").bounding_box()
    assert beside is not None
    assert said is not None
    assert beside["x"] + beside["width"] <= said["x"]


def test_whoever_says_something_needs_no_welcome_any_more(
    server: WorkspaceServer, look_at: LookAt
) -> None:
    page = look_at(f"{server.base_url}/?person=U0BEN")
    expect(page.get_by_test_id("suggestion-0")).to_be_visible()
    page.get_by_test_id("composer").fill("hello all")
    page.get_by_test_id("send").click()
    expect(page.get_by_test_id("message").filter(has_text="hello all")).to_be_visible()
    expect(page.get_by_test_id("suggestion-0")).to_have_count(0)
    page.reload()
    expect(page.get_by_test_id("welcome-open")).to_have_text("One thing to try ▸")
