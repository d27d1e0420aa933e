"""The page speaks the language of whoever is at it, and puts them into a form's first field."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect

from bot.cli.demo import SUGGESTIONS
from bot.workspace.server import WorkspaceServer
from tests.bot.workspace.rehearsal import rehearsal
from tests.fixtures_browser import PHONE, LookAt
from tests.fixtures_workspace import OpenWorkspace, connected

STATIC = Path(__file__).parents[3] / "bot" / "workspace" / "static"
MEI = "U0MEI"


def tables() -> dict[str, set[str]]:
    """The keys of each language."""
    text = (STATIC / "words.js").read_text(encoding="utf-8")
    found = {}
    for language in ("en", "zh"):
        body = text[text.index(f"  {language}: {{") :].split("\n  },")[0]
        bare = re.sub(r'"(?:[^"\\]|\\.)*"', '""', body)
        found[language] = set(re.findall(r"(\w+): \"\"", bare))
    return found


def test_each_language_has_all_that_the_page_says() -> None:
    english, chinese = tables()["en"], tables()["zh"]
    assert english == chinese
    said: set[str] = set()
    for script in sorted(STATIC.glob("*.js")):
        text = script.read_text(encoding="utf-8")
        for call in re.findall(r"\bt\(([^()]*(?:\([^()]*\))?[^()]*)\)", text):
            said |= set(re.findall(r'"(\w+)"', call.split("{")[0]))
    assert {"welcome", "beginning", "sure"} - said == {"welcome"}
    assert said - english == set()


@pytest.fixture
def server(open_workspace: OpenWorkspace) -> WorkspaceServer:
    """A workspace with the demo's things to try."""
    return open_workspace(suggestions=SUGGESTIONS)


@pytest.fixture
def submitted(server: WorkspaceServer) -> Iterator[list[dict[str, Any]]]:
    """The rehearsal app, connected."""
    values: list[dict[str, Any]] = []
    with connected(server, rehearsal(server, values)):
        yield values


@pytest.mark.browser
@pytest.mark.usefixtures("submitted")
@pytest.mark.parametrize("size", [None, PHONE], ids=["desktop", "phone"])
def test_the_page_speaks_the_language_of_its_person(
    server: WorkspaceServer, look_at: LookAt, size: dict[str, int] | None
) -> None:
    options = {} if size is None else {"viewport": size}
    page = look_at(f"{server.base_url}/?person={MEI}", **options)
    expect(page.get_by_test_id("welcome")).to_contain_text("第一次来？")
    expect(page.get_by_test_id("suggestion-0")).to_contain_text("小请求")
    expect(page.get_by_test_id("suggestion-0")).to_contain_text("/gpu 4卡 h100 2小时")
    expect(page.get_by_test_id("composer")).to_have_attribute(
        "placeholder", "发消息到 #gpu-resources"
    )
    expect(page.get_by_test_id("send")).to_have_attribute("aria-label", "发送")
    expect(page.locator("html")).to_have_attribute("lang", "zh")
    assert page.title() == "gpubot · 本地工作区"
    if size is not None:
        page.get_by_test_id("menu").click()
    expect(page.get_by_test_id("presence")).to_have_text("gpubot 在线")
    page.get_by_test_id("person-switch").click()
    page.get_by_test_id("person-U0ADA").click()
    expect(page.get_by_test_id("suggestion-0")).to_contain_text("A small request")
    expect(page.get_by_test_id("presence")).to_have_text("gpubot is online")
    expect(page.locator("html")).to_have_attribute("lang", "en")


@pytest.mark.browser
@pytest.mark.usefixtures("submitted")
def test_a_form_begins_in_its_first_field_also_after_a_reload(
    server: WorkspaceServer, look_at: LookAt
) -> None:
    page = look_at(f"{server.base_url}/?person=U0ADA")
    page.get_by_test_id("composer").fill("/gpu")
    page.get_by_test_id("composer").press("Enter")
    modal = page.get_by_test_id("modal")
    expect(modal).to_be_visible()
    first = modal.locator(".modal-body").locator("input, select, textarea").first
    expect(first).to_be_focused()
    page.reload()
    expect(modal).to_be_visible()
    expect(first).to_be_focused()
