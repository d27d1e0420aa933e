"""Every door, with requests as Slack builds them, dispatched in-process."""

from __future__ import annotations

import dataclasses
import json
import logging
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from bot.chat.actions import ActionId
from bot.chat.discreet import discreet_logger, redact
from bot.views import NotReady, RefusalCode, Refused
from scheduler.model import LimitKind
from storage.records import Person, Role
from storage.states import RequestState
from tests.bot.chat import saying
from tests.bot.chat.room import BOT, GPU, Room, request_value
from tests.bot.chat.slack_rules import check_blocks


def test_a_command_is_acknowledged_and_answered_privately(room: Room) -> None:
    assert room.command("16 h100 8h").status == 200
    (answer,) = room.said("respond")
    assert answer["response_type"] == "ephemeral"
    assert "R-2001" in answer["text"]
    check_blocks(answer["blocks"])
    assert room.desk.asks[0][0] == saying.ANN
    assert room.desk.asks[0][2] == GPU


def test_the_acknowledgement_does_not_wait_for_the_desk(room: Room) -> None:
    gate = threading.Event()
    room.desk.before = lambda: assert_passed(gate)
    assert room.command("16 h100 8h").status == 200
    assert room.slack.of("respond") == []
    gate.set()
    assert "R-2001" in room.said("respond")[0]["text"]


def assert_passed(gate: threading.Event) -> None:
    assert gate.wait(10)


def test_one_delivery_three_times_is_one_request_and_one_answer(room: Room) -> None:
    body = room.command_body("16 h100 8h", trigger="1.2.3")
    room.send(body)
    room.said("respond")
    for retry in (1, 2):
        room.send(body, retry=retry)
    room.quiet()
    assert len(room.slack.of("respond")) == 1
    assert len(room.desk.asks) == 1


def test_a_retry_that_is_the_only_delivery_is_obeyed(room: Room) -> None:
    said = {"type": "app_mention", "user": saying.ANN, "channel": GPU, "ts": "5.1"}
    body = room.event({**said, "text": f"<@{BOT}> 16 h100 8h"})
    assert room.send(body, retry=1).status == 200
    assert "R-2001" in room.said("chat.postMessage")[0]["text"]


def test_a_repeated_order_gets_the_first_result_when_no_answer_went_out(room: Room) -> None:
    body = room.command_body("16 h100 8h", trigger="1.2.3")
    room.slack.errors["respond"] = ["no_text"]
    room.send(body)
    room.said("respond")
    room.once.seen.clear()
    room.send(body, retry=1)
    assert "R-2001" in room.said("respond", count=2)[-1]["text"]
    assert len(room.desk.asks) == 1


def test_a_mistake_is_private_and_shows_the_place(room: Room) -> None:
    room.mention("16 h100 8")
    (answer,) = room.said("chat.postEphemeral")
    assert "        ^" in answer["text"]
    assert answer["user"] == saying.ANN
    assert room.desk.asks == []


def test_a_refusal_is_private_and_suggests(room: Room) -> None:
    room.mention("4 h1000 2h")
    assert "`h100`" in room.said("chat.postEphemeral")[0]["text"]


def test_a_mention_in_a_thread_is_answered_there_and_knows_its_request(room: Room) -> None:
    room.slack.parents["3.3"] = {
        "ts": "3.3",
        "metadata": {"event_type": "gpubot", "event_payload": {"keys": ["card:R-1042"]}},
    }
    room.mention("why", thread_ts="3.3")
    (answer,) = room.said("chat.postMessage")
    assert answer["thread_ts"] == "3.3"
    assert "R-1042" in answer["text"]


def test_a_direct_message_is_answered_in_place(room: Room) -> None:
    said = {"type": "message", "channel_type": "im", "channel": "D0ANN", "user": saying.ANN}
    room.send(room.event({**said, "ts": "1.1", "text": "status"}))
    (answer,) = room.said("chat.postMessage")
    assert answer["channel"] == "D0ANN"
    assert "thread_ts" not in answer


@pytest.mark.parametrize(
    "event",
    [
        {"bot_id": "B0OTHER", "user": "U0OTHER"},
        {"bot_id": "B0BOT", "user": BOT},
        {"subtype": "message_changed"},
        {"subtype": "message_deleted"},
        {"subtype": "channel_join", "user": saying.ANN},
        {"channel_type": "channel", "channel": GPU, "user": saying.ANN},
    ],
)
def test_what_is_not_for_us_is_left_alone(room: Room, event: dict[str, Any]) -> None:
    base = {"type": "message", "channel_type": "im", "channel": "D0ANN", "ts": "1.1"}
    assert room.send(room.event({**base, "text": "16 h100 8h", **event})).status == 200
    room.quiet()
    assert room.slack.of("chat.postMessage", "chat.postEphemeral") == []
    assert room.desk.asks == []


def test_the_bare_command_opens_the_form_once(room: Room) -> None:
    body = room.command_body("", trigger="7.7")
    room.send(body)
    (opened,) = room.said("views.open")
    room.send(body, retry=1)
    room.quiet()
    assert len(room.slack.of("views.open")) == 1
    assert opened["trigger_id"] == "7.7"
    check_blocks(opened["view"]["blocks"], 100)


def test_a_request_without_a_size_opens_the_form_filled_in(room: Room) -> None:
    room.command("request a100 6h preemptible team vision")
    (opened,) = room.said("views.open")
    blocks = {block["block_id"]: block["element"] for block in opened["view"]["blocks"]}
    assert "initial_value" not in blocks["size"]
    assert blocks["lease"]["initial_value"] == "6h"
    assert blocks["model"]["initial_option"]["value"] == "a100"
    assert blocks["team"]["initial_option"]["value"] == "vision"
    room.mention("request a100 6h")
    assert "How many GPUs?" in room.said("chat.postEphemeral")[0]["text"]


def test_a_form_that_comes_too_late_becomes_help(room: Room) -> None:
    room.slack.errors["views.open"] = ["expired_trigger_id"]
    room.command("")
    assert "/gpu 16 h100 8h" in room.said("respond")[0]["text"]


def test_zero_gpus_in_the_form_is_an_error_on_that_field(room: Room) -> None:
    response = room.submit_form(size="0", lease="8h")
    answer = json.loads(response.body)
    assert answer["response_action"] == "errors"
    assert set(answer["errors"]) == {"size"}
    assert room.desk.asks == []


def test_a_word_in_a_field_is_told_what_that_field_takes(room: Room) -> None:
    errors = json.loads(room.submit_form(size="zero", lease="soon").body)["errors"]
    assert errors["size"].startswith("I do not understand zero here. How many GPUs?")
    assert errors["lease"].startswith("I do not understand soon here. How long?")
    assert all("priority" not in said for said in errors.values())


def test_what_the_desk_refuses_stays_in_the_form_each_at_its_field(room: Room) -> None:
    code = RefusalCode
    room.desk.wrong = (
        Refused(code=code.LEASE_TOO_LONG, args={"asked": 864000.0, "most": 604800.0}),
        Refused(code=code.NOT_DIVISIBLE, args={"asked": 12, "node": 8}, near=("8", "16")),
        Refused(code=code.NOT_YOUR_TEAM, args={"team": "rl"}, near=("nlp",)),
    )
    response = room.submit_form(size="12", lease="10d", team="rl", name="x" * 61)
    errors = json.loads(response.body)["errors"]
    assert set(errors) == {"size", "lease", "team", "name"}
    assert errors["size"] == (
        "12 GPUs do not fill whole nodes of 8, and work on several nodes gets whole ones. "
        "Ask for 8 or 16."
    )
    assert errors["lease"] == "10 d is too long: a lease may be at most 7 d. Say 7d."
    assert "nlp" in errors["team"]
    assert room.desk.examined[0].gpus == 12
    room.quiet()
    assert room.desk.asks == []
    assert room.slack.of("chat.postEphemeral") == []


@pytest.mark.parametrize(
    ("code", "limit", "field"),
    [
        (RefusalCode.NEVER_FITS, LimitKind.QUEUE, "size"),
        (RefusalCode.NEVER_FITS, LimitKind.BUDGET, "priority"),
        (RefusalCode.NEVER_FITS, None, "size"),
        (RefusalCode.LEASE_TOO_SHORT, None, "lease"),
        (RefusalCode.UNKNOWN_MODEL, None, "model"),
        (RefusalCode.PRIORITY_NOT_ALLOWED, None, "priority"),
        (RefusalCode.NAME_TOO_LONG, None, "name"),
        (RefusalCode.UNKNOWN_LEVEL, None, "size"),  # this form has no such field
    ],
)
def test_every_refusal_has_a_field(
    room: Room, code: RefusalCode, limit: LimitKind | None, field: str
) -> None:
    room.desk.wrong = (Refused(code=code, args={}, limit=limit),)
    response = room.submit_form(
        size="8", lease="8h", team="nlp", model="h100", priority="low", name="x"
    )
    errors = json.loads(response.body)["errors"]
    assert list(errors) == [field]
    assert errors[field]


def test_who_has_no_team_is_told_so_instead_of_filling_in_a_form(room: Room) -> None:
    room.desk.offered = dataclasses.replace(saying.CHOICES, teams=())
    room.command("")
    assert "not in a team yet" in room.said("respond")[0]["text"]
    assert room.slack.of("views.open") == []


def test_a_duplicate_that_overtakes_the_first_leaves_the_answer_to_it(room: Room) -> None:
    room.app.listener_runner.listener_executor = workers = ThreadPoolExecutor(max_workers=2)
    both, gate = threading.Barrier(2), threading.Event()

    def wait_for_the_duplicate() -> None:
        both.wait(10)
        assert_passed(gate)

    room.desk.before = wait_for_the_duplicate
    body = room.command_body("16 h100 8h", trigger="1.2.3")
    room.send(body)
    both.wait(10)  # the first is at the desk
    room.desk.before = lambda: None
    room.send(body, retry=1)
    workers.submit(lambda: None).result(timeout=10)  # the duplicate was before this one
    gate.set()
    workers.shutdown()
    (answer,) = room.slack.of("respond")
    assert answer["text"].startswith("Your request is R-2001: ")
    assert "It went into line" in answer["text"]
    assert len(room.desk.asks) == 1


def test_words_do_not_stop_what_runs_until_the_button_is_pressed(room: Room) -> None:
    room.desk.cards["R-1042"] = saying.RUNNING
    room.command("cancel R-1042")
    question = room.said("respond")[0]
    assert "Cancelling it stops everything it runs" in question["text"]
    assert room.desk.cards["R-1042"].state.holding
    (button,) = question["blocks"][-1]["elements"]
    assert button["confirm"]["title"]["text"] == "Cancel R-1042?"
    room.press(button["action_id"], button["value"])
    done = room.said("respond", count=2)[1]
    assert "R-1042 is cancelled" in done["text"]
    assert done["replace_original"] is True
    assert room.desk.cards["R-1042"].state is RequestState.CANCELLED


def test_a_question_about_what_runs_is_private_even_in_a_thread(room: Room) -> None:
    room.desk.cards["R-1042"] = saying.RUNNING
    room.mention("cancel R-1042", thread_ts="1.1")
    (question,) = room.said("chat.postEphemeral")
    assert question["user"] == saying.ANN
    assert room.slack.of("chat.postMessage") == []


def test_the_form_twice_is_one_request_and_one_answer(room: Room) -> None:
    for _ in range(2):
        assert room.submit_form(size="16", lease="8h", model="h100").status == 200
    room.quiet()
    assert len(room.desk.asks) == 1
    assert len(room.slack.of("chat.postEphemeral")) == 1


def test_a_form_answer_outside_the_channel_comes_as_a_direct_message(room: Room) -> None:
    room.slack.errors["chat.postEphemeral"] = ["user_not_in_channel"]
    room.submit_form(size="16", lease="8h")
    assert room.said("chat.postMessage")[0]["channel"] == saying.ANN


def test_buttons_ask_the_desk(room: Room) -> None:
    room.press(ActionId.WHY, request_value())
    assert "3rd in line" in room.said("respond")[0]["text"]
    room.press(ActionId.CANCEL, request_value())
    assert "R-1042 is cancelled" in room.said("respond", count=2)[1]["text"]
    room.press(ActionId.CANCEL, request_value())
    assert "already ended" in room.said("respond", count=3)[2]["text"]


def test_another_persons_button_is_refused_privately(room: Room) -> None:
    room.press(ActionId.CANCEL, request_value(), user=saying.BOB)
    (answer,) = room.said("respond")
    assert answer["response_type"] == "ephemeral"
    assert "somebody else" in answer["text"]
    assert room.desk.cards["R-1042"].state == "waiting"


@pytest.mark.parametrize(
    ("action", "value"),
    [
        (ActionId.CANCEL, "R-1042"),
        (ActionId.CANCEL, ""),
        (ActionId.CANCEL, '{"v":2,"request":"R-1042"}'),
        (ActionId.CANCEL, '{"v":1,"request":"R-1042; drop"}'),
        (ActionId.CANCEL, '{"v":1,"request":"R-1042","as":"U0BOB"}'),
        (ActionId.NEXT, '{"v":1,"page":0}'),
        ("gpubot.extend", '{"v":1,"request":"R-1042"}'),
        ("gpubot.cancel.all", '{"v":1,"request":"R-1042"}'),
    ],
)
def test_an_old_or_forged_button_changes_nothing(room: Room, action: str, value: str) -> None:
    room.press(action, value)
    (answer,) = room.said("respond")
    assert "older message" in answer["text"]
    assert room.desk.cards["R-1042"].state == "waiting"


def test_paging_replaces_the_list(room: Room) -> None:
    room.press(ActionId.NEXT, json.dumps({"v": 1, "what": "nlp", "page": 3}))
    (answer,) = room.said("respond")
    assert answer["replace_original"] is True
    assert "Page 3 of 40" in answer["text"]


def test_the_home_tab_is_published_and_kept_fresh(room: Room) -> None:
    opened = {"type": "app_home_opened", "user": saying.ANN, "tab": "home", "channel": "D0ANN"}
    room.send(room.event(opened))
    (published,) = room.said("views.publish")
    assert published["user_id"] == saying.ANN
    check_blocks(published["view"]["blocks"], 100)
    home: dict[str, Any] = {
        "response_url": None,
        "channel": None,
        "view": {"type": "home", "id": "V9"},
    }
    room.press(ActionId.CANCEL, request_value(), **home)
    assert len(room.said("views.publish", count=2)) == 2
    assert "R-1042 is cancelled" in room.said("chat.postMessage")[0]["text"]
    room.press(ActionId.REFRESH, '{"v":1}', **home)
    assert len(room.said("views.publish", count=3)) == 3


def test_rejected_blocks_become_words(room: Room) -> None:
    room.slack.errors["chat.postMessage"] = ["invalid_blocks"]
    room.mention("status")
    first, second = room.said("chat.postMessage", count=2)
    assert first["blocks"]
    assert not second.get("blocks")
    assert second["text"] == first["text"]


def test_a_broken_desk_gives_an_id_that_is_in_the_log(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("the disk is full; token=xoxb-123-secret")

    room.desk.before = broken
    with caplog.at_level(logging.ERROR):
        room.command("16 h100 8h", trigger="4242.secret.trigger")
        (answer,) = room.said("respond")
    fault = answer["text"].split("`")[1]
    assert len(fault) == 8
    assert fault in caplog.text
    assert "the disk is full" in caplog.text
    for secret in ("xoxb-123", "4242.secret", "/respond/secret", "verification-secret"):
        assert secret not in caplog.text


def test_a_fault_is_told_directly_where_the_place_it_was_asked_in_is_closed(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    def broken() -> None:
        raise RuntimeError("boom")

    room.desk.before = broken
    room.slack.errors["chat.postEphemeral"] = ["fatal_error"]
    with caplog.at_level(logging.ERROR):
        room.mention("status")
        (answer,) = room.said("chat.postMessage")
    assert answer["channel"] == saying.ANN
    assert answer["text"].split("`")[1] in caplog.text


def test_an_engine_that_is_not_there_yet_is_no_fault(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    def starting() -> None:
        raise NotReady

    room.desk.before = starting
    room.command("status")
    assert "only just started" in room.said("respond")[0]["text"]
    assert "fault" not in caplog.text


def test_nothing_secret_reaches_a_log_even_when_everything_is_logged(
    room: Room, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    room.command("16 h100 8h", trigger="4242.secret.trigger")
    room.said("respond")
    log = discreet_logger("gpubot.chat")
    log.debug("body: %s", room.command_body("x", trigger="4242.secret.trigger"))
    log.debug('{"trigger_id":"4242.secret.trigger","ssl":1}')
    log.debug("connect wss://wss-primary.slack.com/link/?ticket=secret-ticket")
    ours = [r for r in caplog.records if r.name.startswith(("gpubot", "slack_bolt", "slack_sdk"))]
    assert any(record.name.startswith("slack_sdk") for record in ours)
    text = "\n".join(record.getMessage() for record in ours)
    assert "trigger_id" in text
    for secret in ("4242.secret", "/respond/secret", "verification-secret", "xoxb-test", "ticket="):
        assert secret not in text


@pytest.mark.parametrize(
    "line",
    [
        "token xoxb-12-34-abc",
        "xapp-1-A0-1-ff",
        "{'trigger_id': '1.2.s3cret'}",
        '"response_url":"https://hooks.slack.com/commands/T/1/s3cret"',
        "https://hooks.slack.com/actions/T0/1/s3cret",
        "wss://cerberus-xxxx.lb.slack-msgs.com/?ticket=s3cret",
        "Authorization: Bearer-s3cret",
    ],
)
def test_secrets_are_hidden(line: str) -> None:
    shown = redact(line)
    for secret in ("s3cret", "34-abc", "1-A0"):
        assert secret not in shown
    assert "[hidden]" in shown


def test_a_person_without_a_name_is_shown_by_id() -> None:
    people = saying.VOICE.people
    assert people.name("U0NOBODY") == "U0NOBODY"
    assert people.mention("trace <user>") == "trace &lt;user&gt;"
    assert Person(id="U0NOBODY", name="").name == ""


def test_everybody_is_answered_in_their_own_language(room: Room) -> None:
    room.command("我的", user=saying.CAT)
    room.command("我的", user=saying.ANN)
    room.command("16 h100 8", user=saying.CAT)
    room.quiet()
    chinese, english, mistake = (call["text"] for call in room.slack.of("respond"))
    assert chinese.startswith("*你的请求*")
    assert english.startswith("*Yours*")
    assert "没有单位" in mistake


def test_only_admins_are_shown_what_admins_may_say(room: Room) -> None:
    room.command("help", user=saying.ANN)
    room.desk.roles[saying.ANN] = Role.ADMIN
    room.command("help", user=saying.ANN)
    room.quiet()
    plain, admin = (call["text"] for call in room.slack.of("respond"))
    assert "/gpu pause" not in plain
    assert "/gpu pause" in admin


def test_the_form_and_home_speak_the_language_of_who_opens_them(room: Room) -> None:
    room.command("申请", user=saying.CAT)
    room.send(room.event({"type": "app_home_opened", "user": saying.CAT, "tab": "home"}))
    room.quiet()
    (opened,) = room.slack.of("views.open")
    assert opened["view"]["title"]["text"] == "申请 GPU"
    (published,) = room.slack.of("views.publish")
    assert "你的请求" in json.dumps(published["view"], ensure_ascii=False)
