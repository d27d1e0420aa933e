"""Priority budgets of a team, as a person meets them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bot.views import RefusalCode, Refused, StatusView
from scheduler.layout import Team
from scheduler.model import LimitKind, Priority, TeamName
from tests.bot.house import ADA, LEA, House, an_ask, small_layout


@pytest.fixture
def tight(tmp_path: Path) -> Iterator[House]:
    """A house where team nlp may have 8 GPUs with high and 8 with medium priority."""
    budgets = {Priority.HIGH: 8, Priority.MEDIUM: 8, Priority.LOW: 8}
    teams = (Team(name=TeamName("nlp"), budgets=budgets), Team(name=TeamName("vision")))
    house = House(tmp_path, replace(small_layout(), teams=teams))
    house.step()
    yield house
    house.close()


def test_a_used_up_budget_gives_the_next_lower_class_and_says_so(tight: House) -> None:
    first = tight.ask(ADA, gpus=8, priority=Priority.HIGH)
    tight.step()
    second = tight.ask(ADA, gpus=8, priority=Priority.HIGH)
    assert tight.request(first).workload.priority_class is Priority.HIGH
    assert tight.request(first).workload.asked_class is None
    lowered = tight.request(second).workload
    assert (lowered.priority_class, lowered.asked_class) == (Priority.MEDIUM, Priority.HIGH)
    assert lowered.priority == 200


def test_with_all_budgets_used_up_it_is_refused_with_what_is_left(tight: House) -> None:
    for _ in range(2):
        tight.ask(ADA, gpus=8, priority=Priority.HIGH)
        tight.step()
    tight.ask(ADA, gpus=4, priority=Priority.LOW)
    tight.step()
    refused = tight.desk.submit(ADA.id, an_ask(gpus=8, priority=Priority.HIGH), key="more")
    assert isinstance(refused, Refused)
    assert (refused.code, refused.limit) == (RefusalCode.NEVER_FITS, LimitKind.BUDGET)
    assert refused.args["most"] == 4


def test_the_lower_class_outlives_a_restart(tight: House) -> None:
    tight.ask(ADA, gpus=8, priority=Priority.HIGH)
    tight.step()
    second = tight.ask(ADA, gpus=8, priority=Priority.HIGH)
    tight.step()
    tight.restart()
    tight.step()
    assert tight.request(second).workload.asked_class is Priority.HIGH


def test_other_teams_have_their_own_budgets(tight: House) -> None:
    tight.ask(ADA, gpus=8, priority=Priority.HIGH)
    tight.step()
    other = tight.ask(ADA, gpus=8, priority=Priority.HIGH, team="vision")
    assert tight.request(other).workload.priority_class is Priority.HIGH


def test_a_used_up_class_is_not_offered_and_the_answer_and_status_say_so(tight: House) -> None:
    assert "high" in tight.desk.choices(LEA.id).priorities
    tight.ask(ADA, gpus=8, priority=Priority.HIGH)
    tight.step()
    assert tight.desk.choices(LEA.id).priorities == ("low", "medium", "critical")
    assert "high" in tight.desk.choices(ADA.id).priorities  # vision has no budget: no limit
    second = tight.ask(ADA, gpus=8, priority=Priority.HIGH)
    tight.step()
    card = tight.desk.card(second)
    assert (card.priority, card.asked_priority) == ("medium", "high")
    status = tight.desk.status(ADA.id, "nlp")
    assert isinstance(status, StatusView)
    assert [(one.priority, one.has, one.most) for one in status.budgets] == [
        (Priority.HIGH, 8, 8),
        (Priority.MEDIUM, 8, 8),
        (Priority.LOW, 0, 8),
    ]
