"""The map over the real socket: asked for in the channel, shown in the channel."""

from __future__ import annotations

import os
import re

import httpx
import pytest
from playwright.sync_api import expect

from tests.bot.house import ADA
from tests.e2e.rig import GENERAL, Rig, eventually
from tests.fixtures_browser import LookAt


def test_the_map_is_posted_as_a_picture_that_says_what_it_shows(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    rig.command(ada, "/gpu 2 nodes h100 4h name llama-sft")
    ada.say(GENERAL, "/gpu map team")
    message = rig.wait_for(ada, "wholly free")
    (file,) = message["files"]
    assert file["mimetype"] == "image/png"
    assert "16 of 64 GPUs in use" in file["alt_txt"]
    content = httpx.get(rig.server.base_url + file["url_private"]).content
    assert content.startswith(b"\x89PNG")


def test_a_mention_in_a_thread_is_answered_there(rig: Rig) -> None:
    ada = rig.visitor(ADA)
    rig.command(ada, "/gpu 1 h100 4h name alone")
    card = rig.wait_for(ada, "alone")
    ada.say(GENERAL, "@gpubot map", thread_ts=card["ts"])
    found = eventually(
        lambda: [m for m in ada.thread(GENERAL, card["ts"]) if m.get("files")], seconds=20.0
    )
    assert len(found) == 1


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_the_page_shows_the_map(rig: Rig, look_at: LookAt) -> None:
    page = look_at(f"{rig.server.base_url}/?person={ADA.id}")
    page.get_by_test_id("composer").fill("/gpu map")
    page.get_by_test_id("send").click()
    picture = page.get_by_test_id("file").get_by_role("img")
    said = re.compile("^Map of the cluster by pool: 8 nodes")
    expect(picture).to_have_attribute("alt", said, timeout=20_000)
    loaded = "image => image.complete && image.naturalWidth > 600"
    eventually(lambda: picture.evaluate(loaded), seconds=20.0)
    if (folder := os.environ.get("GPUBOT_SHOTS")) is not None:
        page.screenshot(path=f"{folder}/map-page.png")
