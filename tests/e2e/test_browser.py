"""The newcomer's journey in headless Chromium, with the real bot behind the page."""

from __future__ import annotations

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect

from bot.chat.actions import Input
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, START_DELAY, STOP_TIME
from tests.e2e.rig import SECONDS, Rig, eventually
from tests.fixtures_browser import PHONE, LookAt

pytestmark = [pytest.mark.browser, pytest.mark.xdist_group("browser")]


def _say(page: Page, text: str) -> None:
    page.get_by_test_id("composer").fill(text)
    page.get_by_test_id("send").click()


def _card(page: Page, name: str, state: str) -> Locator:
    """The public card of a request: its own message in the channel, not a private answer."""
    return (
        page.get_by_test_id("message")
        .filter(has_text=name)
        .filter(has_text=state)
        .filter(has_text="Asked")
    )


def _reach(rig: Rig, name: str, state: S) -> None:
    """Wait until the request of that name is stored in `state`."""

    def there() -> bool:
        with rig.house.store.read() as view:
            found = [r.state for r in view.requests.find() if r.workload.name == name]
        return found == [state]

    eventually(there, seconds=SECONDS)


def test_ask_by_command_and_by_form_cancel_and_see_a_preemption(
    rig: Rig, look_at: LookAt, tmp_path: Path
) -> None:
    page = look_at(f"{rig.server.base_url}/?person={BEN.id}")
    _say(page, "/gpu 8 nodes h100 12h preemptible name night")
    expect(_card(page, "night", "Starting")).to_be_visible()
    _reach(rig, "night", S.ADMITTED)
    rig.pass_time(START_DELAY)
    expect(_card(page, "night", "Running")).to_be_visible()

    ada = look_at(f"{rig.server.base_url}/?person={ADA.id}")
    _say(ada, "/gpu 4 nodes h100 8h name hero")
    expect(_card(ada, "hero", "Waiting")).to_be_visible()
    rig.pass_time(STOP_TIME)
    _reach(rig, "hero", S.ADMITTED)
    rig.pass_time(START_DELAY)
    expect(_card(ada, "hero", "Running")).to_be_visible()
    expect(_card(ada, "hero", "Waiting")).to_have_count(0)  # the same card, drawn again
    expect(_card(page, "night", "Waiting")).to_be_visible()

    oncall = look_at(f"{rig.server.base_url}/?person=U0OLI")
    oncall.get_by_test_id("channel-gpu-oncall").click()
    notice = oncall.get_by_test_id("message").filter(has_text="Preemption")
    expect(notice).to_have_count(1)
    for word in ("night", "hero", "Ben Okafor", "Ada Moreau", "shared-multi"):
        expect(notice).to_contain_text(word)
    expect(notice.locator(".mention-me").first).to_have_text("@gpu-oncall")

    page.get_by_test_id("dm-gpubot").click()
    expect(page.get_by_test_id("message").filter(has_text="hero").first).to_be_visible()
    for name, shown in (("channel", ada), ("oncall", oncall), ("owner", page)):
        shown.screenshot(path=tmp_path / f"{name}.png")


def test_the_form_asks_and_a_waiting_request_is_cancelled(rig: Rig, look_at: LookAt) -> None:
    page = look_at(f"{rig.server.base_url}/?person={ADA.id}", viewport=PHONE)
    _say(page, "/gpu")
    modal = page.get_by_test_id("modal")
    modal.get_by_test_id(f"field-{Input.SIZE}").fill("0")
    modal.get_by_test_id(f"field-{Input.NAME}").fill("from-the-form")
    modal.get_by_test_id("modal-submit").click()
    expect(modal.get_by_test_id("input-error").first).to_be_visible()
    modal.get_by_test_id(f"field-{Input.SIZE}").fill("2 nodes")
    modal.get_by_test_id("modal-submit").click()
    expect(modal).to_have_count(0)
    _reach(rig, "from-the-form", S.ADMITTED)
    rig.pass_time(START_DELAY)
    expect(_card(page, "from-the-form", "Running")).to_be_visible()

    _say(page, "/gpu 4 nodes h100 8h name too-much")
    waiting = _card(page, "too-much", "Waiting")
    # Offers come a moment later and move the buttons, so that the mouse may hit another.
    expect(waiting.get_by_role("button", name="Take").first).to_be_visible()
    waiting.get_by_role("button", name="Cancel").click()
    page.get_by_test_id("confirm-ok").click()
    expect(_card(page, "too-much", "Cancelled")).to_be_visible()
    _reach(rig, "too-much", S.CANCELLED)
