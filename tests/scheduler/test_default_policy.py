"""The policy that ships: what it routes where, and that work starts under it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.engine import Engine
from scheduler.events import NodeObserved, Submitted
from scheduler.layout import Layout, build_nodes
from scheduler.model import Priority, Refusal, Spend, TeamName, Workload
from scheduler.policy import compile_policy, load_policy
from scheduler.routing import Ask, Route, route
from tests.scheduler.builders import a_workload

POLICY = Path(__file__).parents[2] / "deploy" / "policy.yaml"


@pytest.fixture(scope="module")
def layout() -> Layout:
    return compile_policy(load_policy(POLICY.read_text(encoding="utf-8"), "deploy/policy.yaml"))


def routed(layout: Layout, **changes: object) -> Route:
    ask = {
        "team": TeamName("nlp"),
        "spend": Spend.LOW,
        "preemptible": False,
        "priority": Priority.MEDIUM,
        "pods": 1,
        "gpus_per_pod": 8,
    }
    found = route(layout, Ask(**{**ask, **changes}))  # type: ignore[arg-type]
    assert isinstance(found, Route)
    return found


def test_it_describes_ten_thousand_reserved_gpus_all_of_them_given_out(layout: Layout) -> None:
    nodes = build_nodes(layout)
    reserved = [n for n in nodes if n.labels["gpubot.io/provision"] == "reserved"]
    assert len(reserved) == 1250
    assert (
        sum(q.quotas[p].nominal for q in layout.queues for p in q.quotas if p[0] == "reserved-h100")
        == 10_000
    )


@pytest.mark.parametrize(
    ("changes", "queue"),
    [
        ({}, "team-nlp"),
        ({"pods": 2}, "shared-multi"),
        ({"preemptible": True}, "opportunistic-single"),
        ({"preemptible": True, "pods": 2, "priority": Priority.LOW}, "opportunistic-multi-low"),
        ({"preemptible": True, "pods": 2}, "opportunistic-multi"),
        ({"spend": Spend.HIGH}, "flex-start"),
        ({"spend": Spend.HIGH, "preemptible": True}, "spot"),
        ({"model": "a100"}, "flex-start"),
        ({"model": "a100", "preemptible": True}, "spot"),
        ({"model": "h100"}, "team-nlp"),
    ],
)
def test_three_labels_and_the_size_decide_the_queue(
    layout: Layout, changes: dict[str, object], queue: str
) -> None:
    assert routed(layout, **changes).queue == queue


def test_a_team_overflows_to_the_shared_single_node_queue(layout: Layout) -> None:
    assert routed(layout).overflow == ("shared-single",)


def test_an_unknown_model_is_refused(layout: Layout) -> None:
    ask = Ask(
        team=TeamName("nlp"), spend=Spend.LOW, preemptible=False, priority=Priority.LOW,
        pods=1, gpus_per_pod=1, model="b900",
    )  # fmt: skip
    assert isinstance(route(layout, ask), Refusal)


def test_one_of_each_kind_starts(layout: Layout) -> None:
    engine = Engine(layout)
    for node in build_nodes(layout):
        engine.apply(NodeObserved(node=node))
    kinds: list[dict[str, object]] = [{}, {"pods": 4}, {"preemptible": True}, {"spend": Spend.HIGH}]
    for number, changes in enumerate(kinds):
        found = routed(layout, **changes)
        pods = changes.get("pods", 1)
        assert isinstance(pods, int)
        engine.apply(Submitted(workload=_like(found, f"w{number}", pods)))
    assert len(engine.cycle(100.0).admissions) == len(kinds)


def _like(found: Route, name: str, pods: int) -> Workload:
    return a_workload(name, found.queue, pods, 8, priority=found.priority, team="nlp")
