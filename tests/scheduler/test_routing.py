"""Splitting GPUs into pods, and rules whose conditions decide."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.layout import MODEL_LABEL, PROVISION_LABEL, Rule, Size
from scheduler.model import LimitKind, Priority, Refusal, Spend, TeamName
from scheduler.routing import Ask, Route, Uneven, route, split_gpus
from tests.scheduler.builders import a_flavor, a_layout, a_queue


@pytest.mark.parametrize(
    ("gpus", "expected"),
    [(1, (1, 1)), (7, (1, 7)), (8, (1, 8)), (16, (2, 8)), (64, (8, 8))],
)
def test_up_to_a_node_it_is_one_pod_and_then_whole_nodes(
    gpus: int, expected: tuple[int, int]
) -> None:
    assert split_gpus(gpus) == expected


def test_what_does_not_divide_comes_with_its_neighbours_and_an_even_split() -> None:
    assert split_gpus(12) == Uneven(gpus=12, below=8, above=16, even=(2, 6))
    assert split_gpus(20) == Uneven(gpus=20, below=16, above=24, even=(4, 5))
    assert split_gpus(11) == Uneven(gpus=11, below=8, above=16, even=None)


@pytest.mark.parametrize("gpus", [0, -1])
def test_nothing_cannot_be_split(gpus: int) -> None:
    with pytest.raises(ValueError, match="cannot be split"):
        split_gpus(gpus)


@given(gpus=st.integers(1, 5000), node=st.sampled_from((4, 8, 16)))
def test_a_split_never_loses_a_gpu(gpus: int, node: int) -> None:
    found = split_gpus(gpus, node)
    if isinstance(found, Uneven):
        assert found.below < gpus < found.above
        assert found.even is None or (
            found.even[0] * found.even[1] == gpus and found.even[1] <= node
        )
    else:
        assert found[0] * found[1] == gpus


def ask(**changes: object) -> Ask:
    plain = Ask(
        team=TeamName("nlp"),
        spend=Spend.LOW,
        preemptible=False,
        priority=Priority.MEDIUM,
        pods=1,
        gpus_per_pod=8,
    )
    return dataclasses.replace(plain, **changes)  # type: ignore[arg-type]


LAYOUT = dataclasses.replace(
    a_layout(
        a_queue("team-nlp", 8),
        a_queue("multi", 8),
        a_queue("urgent", 8),
        a_queue("other", {"a100": 8}),
        flavors=(a_flavor(), a_flavor("a100")),
    ),
    priorities={Priority.LOW: 1, Priority.MEDIUM: 2, Priority.HIGH: 3, Priority.CRITICAL: 4},
    rules=(
        Rule(queue="urgent", classes=(Priority.CRITICAL,), priorities={Priority.CRITICAL: 99}),
        Rule(queue="team-{team}", size=Size.SINGLE, overflow=("multi", "other", "gone")),
        Rule(queue="multi", size=Size.MULTI),
        Rule(queue="other"),
    ),
)


def test_the_first_rule_that_holds_decides() -> None:
    found = route(LAYOUT, ask(priority=Priority.CRITICAL))
    assert isinstance(found, Route)
    assert (found.queue, found.priority) == ("urgent", 99)


def test_a_class_without_a_number_in_the_lane_has_the_policys() -> None:
    found = route(LAYOUT, ask())
    assert isinstance(found, Route)
    assert (found.queue, found.priority) == ("team-nlp", 2)
    assert found.overflow == ("multi", "other")
    assert found.node_selector == {}


def test_a_model_narrows_queue_overflow_and_nodes() -> None:
    found = route(LAYOUT, ask(model="h100"))
    assert isinstance(found, Route)
    assert (found.queue, found.overflow) == ("team-nlp", ("multi",))
    assert found.node_selector == {"gpubot.dev/model": "h100"}


def test_a_model_that_only_another_queue_has_goes_there() -> None:
    found = route(LAYOUT, ask(model="a100"))
    assert isinstance(found, Route)
    assert found.queue == "other"


def test_a_team_without_a_queue_falls_through_to_the_next_rule() -> None:
    found = route(LAYOUT, ask(team=TeamName("bio")))
    assert isinstance(found, Route)
    assert found.queue == "other"


def test_an_unknown_model_is_refused_with_its_name() -> None:
    found = route(LAYOUT, ask(model="tpu"))
    assert isinstance(found, Refusal)
    assert (found.limit, found.where, found.asked) == (LimitKind.NO_FLAVOR, "tpu", 8)


def test_no_rule_is_a_refusal() -> None:
    found = route(dataclasses.replace(LAYOUT, rules=LAYOUT.rules[1:2]), ask(pods=2))
    assert isinstance(found, Refusal)
    assert found.limit is LimitKind.NO_QUEUE


def test_a_provision_narrows_like_a_model() -> None:
    spot = a_flavor("spot-h100", node_labels={MODEL_LABEL: "h100", PROVISION_LABEL: "spot"})
    layout = dataclasses.replace(
        a_layout(
            a_queue("team-nlp", 8),
            a_queue("spot", {"spot-h100": 8}),
            flavors=(a_flavor(), dataclasses.replace(spot, model="h100")),
        ),
        rules=(Rule(queue="team-{team}", overflow=("spot",)), Rule(queue="spot")),
    )
    found = route(layout, ask(model="h100", provision="spot"))
    assert isinstance(found, Route)
    assert (found.queue, found.overflow) == ("spot", ())
    assert found.node_selector == {MODEL_LABEL: "h100", PROVISION_LABEL: "spot"}
    assert isinstance(route(layout, ask(provision="flex-start")), Refusal)
