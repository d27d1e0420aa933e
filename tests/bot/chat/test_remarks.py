"""Notices as people read them outside of Slack."""

from __future__ import annotations

import pytest

from bot import notices
from bot.chat.markup import Markup, date, say
from bot.chat.remarks import remark, unadorned
from bot.chat.words import words_for

ADMITTED = notices.AdmittedArgs(
    request="R-1042",
    name="llama <sft>",
    owner="U1",
    team="nlp",
    pool="shared-multi",
    flavor="h100-reserved",
    gpus=16,
    nodes=(("n1", 8), ("n2", 8)),
    until=1_700_000_000.0,
    waited=3600.0,
)


def test_an_admission_reads_as_one_line_without_markup() -> None:
    said = remark(ADMITTED, {"U1": "Ann & Co"}.__getitem__)
    assert said == (
        "Admitted · R-1042 · 16 GPUs · llama <sft>. Ann & Co (team nlp) has 16 GPUs of "
        "h100-reserved on 2 nodes: n1 (8) and n2 (8), until 2023-11-14 22:13 UTC. Pool "
        "shared-multi; it waited 1 h."
    )


def test_it_can_be_said_in_another_language() -> None:
    said = remark(ADMITTED, {"U1": "Ann"}.__getitem__, words_for("zh"))
    assert "R-1042" in said
    assert "2023-11-14 22:13 UTC" in said


def test_what_a_person_typed_reads_as_it_was_typed() -> None:
    text = say("*It* is `{name}`\nuntil {at}", name="a <!date^1^x|y> b", at=date(0.0))
    assert unadorned(Markup(text)) == "It is `a <!date^1^x|y> b` until 1970-01-01 00:00 UTC"


def test_of_a_kind_that_is_of_no_object_nothing_is_said() -> None:
    with pytest.raises(ValueError, match="card"):
        remark(notices.CardArgs(request="R-1"), str)
