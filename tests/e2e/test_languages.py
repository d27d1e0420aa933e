"""Two people in one channel, each answered in the language of their Slack."""

from __future__ import annotations

import os

import pytest
from playwright.sync_api import expect

from storage.records import Person
from storage.states import RequestState
from tests.bot.house import ADA, LEA, START_DELAY, STOP_TIME
from tests.e2e.rig import GENERAL, Rig, eventually
from tests.fixtures_browser import LookAt

MEI = Person(id="U0MEI", name="Mei Lin", teams=("nlp",))


@pytest.fixture
def both(rig: Rig) -> Rig:
    rig.house.core.directory.add([MEI])
    return rig


def test_a_line_without_spaces_is_a_request_and_is_answered_in_chinese(both: Rig) -> None:
    mei = both.visitor(MEI)
    answer = both.command(mei, "/gpu 要2节点H100 8小时可抢占 名称 夜间训练")
    assert answer["text"].startswith("你的请求编号是 R-")
    card = both.wait_for(both.visitor(ADA), "夜间训练")
    assert card["text"].split(" · ")[0] in {"*Waiting*", "*Starting*", "*Running*"}


def test_one_channel_two_languages(both: Rig) -> None:
    ada, mei = both.visitor(ADA), both.visitor(MEI)
    assert both.command(mei, "/gpu 帮助 取消")["text"].startswith("*取消* （ `cancel` ）")
    assert both.command(ada, "/gpu 帮助 取消")["text"].startswith("*cancel*")
    slip = both.command(mei, "/gpu 16卡 h100 8小时 可枪占")
    assert "是不是想说 `可抢占`" in slip["text"]


def test_what_a_person_chose_goes_before_their_slack(both: Rig) -> None:
    ada, mei = both.visitor(ADA), both.visitor(MEI)
    assert both.command(ada, "/gpu prefs language zh")["text"].startswith("*你的偏好*")
    assert both.command(ada, "/gpu mine")["text"].startswith("*你的请求*")
    assert both.command(mei, "/gpu 偏好 语言 英文")["text"].startswith("*Your preferences*")
    assert both.command(mei, "/gpu 我的")["text"].startswith("*Yours*")


def test_a_notice_to_one_person_is_in_their_language_and_the_channel_in_its_own(both: Rig) -> None:
    mei, lea = both.visitor(MEI), both.visitor(LEA)
    answer = both.command(mei, "/gpu 1卡 h100 8小时 名称 晚安")
    request = answer["text"].split("：")[0].split()[-1]
    both.pass_time(START_DELAY)
    eventually(lambda: both.house.state(request) is RequestState.RUNNING)
    confirm = both.command(lea, f"/gpu release {request}")
    lea.press(GENERAL, confirm["ts"], "gpubot.release")
    eventually(lambda: both.house.state(request) is RequestState.STOPPING)
    both.pass_time(STOP_TIME)
    direct = both.wait_for(mei, "结束了你的请求", channel=mei.direct())
    assert direct["text"].startswith("*已释放*")
    assert not both.said(lea, "结束了")


@pytest.mark.browser
@pytest.mark.xdist_group("browser")
def test_the_page_shows_the_form_in_chinese(both: Rig, look_at: LookAt) -> None:
    page = look_at(f"{both.server.base_url}/?person={MEI.id}")
    page.get_by_test_id("composer").fill("/gpu 申请 2节点 h100 可抢占")
    page.get_by_test_id("send").click()
    expect(page.get_by_text("你的请求编号是").first).to_be_visible(timeout=20_000)
    page.get_by_test_id("composer").fill("/gpu")
    page.get_by_test_id("send").click()
    expect(page.get_by_text("要多少卡").first).to_be_visible(timeout=20_000)
    if (folder := os.environ.get("GPUBOT_SHOTS")) is not None:
        page.screenshot(path=f"{folder}/form-chinese.png")
