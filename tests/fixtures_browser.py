"""Debian's Chromium, driven by Playwright; no browser is downloaded.

Use from a conftest: `from tests.fixtures_browser import browser, look_at`, and mark tests
with `@pytest.mark.browser`. Without Chromium they are skipped, unless GPUBOT_TEST_REQUIRE
names `browser`.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, sync_playwright

CHROMIUM = Path("/usr/bin/chromium")
REQUIRE = "GPUBOT_TEST_REQUIRE"
ARGUMENTS = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
DESKTOP = {"width": 1280, "height": 800}
PHONE = {"width": 375, "height": 812}

LookAt = Callable[..., Page]


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """One headless Chromium for a module."""
    if not CHROMIUM.exists():
        if "browser" in os.environ.get(REQUIRE, ""):
            pytest.fail(f"{CHROMIUM} is missing and {REQUIRE} asks for it")
        pytest.skip(f"{CHROMIUM} is missing")
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=str(CHROMIUM), args=[*ARGUMENTS])
        yield chromium
        chromium.close()


@pytest.fixture
def look_at(browser: Browser) -> Iterator[LookAt]:
    """Open pages in windows of their own; a script error on any of them fails the test.

    `tolerate` is a pattern of errors that are meant to happen.
    """
    contexts: list[BrowserContext] = []
    problems: list[str] = []

    def look(url: str, *, tolerate: str = "$^", **options: Any) -> Page:
        def note(text: str) -> None:
            if not re.search(tolerate, text):
                problems.append(text)

        context = browser.new_context(**{"viewport": DESKTOP, "locale": "en-US", **options})
        context.set_default_timeout(15_000)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: note(str(error)))
        page.on(
            "console",
            lambda message: note(message.text) if message.type == "error" else None,
        )
        page.goto(url)
        return page

    yield look
    for context in contexts:
        context.close()
    assert not problems, problems
