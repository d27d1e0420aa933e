"""The policy that ships: what it routes where, and that work starts under it."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.engine import Engine
from scheduler.events import NodeObserved, Submitted
from scheduler.layout import Layout, build_nodes
from scheduler.model import Priority, Refusal, Spend, TeamName, Workload
from scheduler.policy import compile_policy, load_policy, with_teams
from scheduler.routing import Ask, Route, route
from tests.scheduler.builders import Cluster, a_workload

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
    reserved = [n for n in nodes if n.labels["gpubot.dev/provision"] == "reserved"]
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


class Small:
    """The shipped policy on few nodes, with quotas of the same proportions."""

    def __init__(self) -> None:
        text = POLICY.read_text(encoding="utf-8")
        for old, new in {
            "count: 1250": "count: 4",
            "nominal: 1600": "nominal: 8",
            "nominal: 5200": "nominal: 16",
        }.items():
            assert old in text
            text = text.replace(old, new)
        policy = with_teams(load_policy(text, "policy.yaml"), [])
        teams = {name: part.model_copy(update={"gpus": 1}) for name, part in policy.teams.items()}
        self.layout = compile_policy(policy.model_copy(update={"teams": teams}))
        self.cluster = Cluster(self.layout, *build_nodes(self.layout))

    def job(self, name: str, pods: int, gpus: int, **changes: object) -> Workload:
        """A routed request, a minute after the one before."""
        found = routed(self.layout, pods=pods, gpus_per_pod=gpus, **changes)
        preemptible = bool(changes.get("preemptible", False))
        self.cluster.now += 60.0
        return a_workload(
            name,
            found.queue,
            pods,
            gpus,
            priority=found.priority,
            team=str(changes.get("team", "nlp")),
            preemptible=preemptible,
            overflow=found.overflow,
            created=self.cluster.now,
        )

    def fill(self, **changes: object) -> list[str]:
        """Preemptible work on every reserved node, one name a node."""
        jobs = [self.job(f"fill{number}", 1, 8, preemptible=True, **changes) for number in range(4)]
        self.cluster.start(*jobs)
        return [job.id for job in jobs]


def test_opportunistic_work_is_stopped_for_the_owner() -> None:
    small = Small()
    small.fill()
    small.cluster.submit(small.job("multi", 2, 8))
    assert small.cluster.settle() == (["multi"], ["fill3", "fill2"])


def test_single_node_low_is_stopped_before_high() -> None:
    small = Small()
    lows = [small.job(f"low{n}", 1, 8, preemptible=True, priority=Priority.LOW) for n in range(2)]
    highs = [
        small.job(f"high{n}", 1, 8, preemptible=True, priority=Priority.HIGH) for n in range(2)
    ]
    small.cluster.start(*highs, *lows)
    small.cluster.submit(small.job("multi", 2, 8))
    assert small.cluster.settle() == (["multi"], ["low1", "low0"])


def test_the_multi_node_low_lane_stops_single_node_work_whatever_its_class() -> None:
    small = Small()
    small.fill(priority=Priority.HIGH)
    small.cluster.submit(small.job("night", 2, 8, preemptible=True, priority=Priority.LOW))
    assert small.cluster.settle() == (["night"], ["fill3", "fill2"])


def test_medium_multi_node_work_stops_the_multi_node_low_lane() -> None:
    small = Small()
    small.cluster.start(
        small.job("night1", 2, 8, preemptible=True, priority=Priority.LOW),
        small.job("night2", 2, 8, preemptible=True, priority=Priority.LOW),
    )
    small.cluster.submit(small.job("day", 2, 8, preemptible=True))
    assert small.cluster.settle() == (["day"], ["night2"])


def test_single_node_work_stops_no_lane() -> None:
    small = Small()
    small.cluster.start(
        *[small.job(f"n{n}", 2, 8, preemptible=True, priority=Priority.LOW) for n in range(2)]
    )
    small.cluster.submit(small.job("single", 1, 8, preemptible=True, priority=Priority.HIGH))
    assert small.cluster.settle() == ([], [])


def test_only_critical_work_stops_others_in_the_shared_multi_node_pool() -> None:
    small = Small()
    small.cluster.start(small.job("m", 2, 8, priority=Priority.LOW))
    small.cluster.submit(small.job("high", 2, 8, priority=Priority.HIGH))
    assert small.cluster.settle() == ([], [])
    small.cluster.submit(small.job("hero", 2, 8, priority=Priority.CRITICAL))
    assert small.cluster.settle() == (["hero"], ["m"])


def test_guaranteed_work_of_other_pools_is_no_target_of_critical_work() -> None:
    small = Small()
    small.cluster.start(small.job("shared", 1, 8), small.job("m", 2, 8, priority=Priority.CRITICAL))
    small.cluster.submit(small.job("hero", 2, 8, priority=Priority.CRITICAL))
    assert small.cluster.settle() == ([], [])


def test_a_full_team_queue_overflows_before_it_waits() -> None:
    small = Small()
    small.cluster.start(small.job("own", 1, 1), small.job("over", 1, 8))
    queues = {w.id: a.queue for w, a in small.cluster.engine.running()}
    assert queues == {"own": "team-nlp", "over": "shared-single"}


def test_spot_and_flex_start_neither_preempt_nor_are_preempted() -> None:
    small = Small()
    for number in range(48):
        small.cluster.start(small.job(f"s{number}", 1, 8, spend=Spend.HIGH, preemptible=True))
    small.cluster.submit(
        small.job("more", 1, 8, spend=Spend.HIGH, preemptible=True, priority=Priority.CRITICAL)
    )
    assert small.cluster.settle() == ([], [])


OLDER = """
routing:
  - {spend: high, preemptible: true, queue: spot}
  - {spend: high, queue: flex-start}
  - {preemptible: false, size: single, queue: "team-{team}", overflow: [shared-single]}
  - {preemptible: false, queue: shared-multi}
  - {preemptible: true, queue: opportunistic-single}
  - {preemptible: true, queue: spot}
  - {queue: flex-start}
"""


def test_an_older_layout_without_lanes_needs_no_other_labels() -> None:
    text = POLICY.read_text(encoding="utf-8")
    layout = compile_policy(load_policy(text[: text.index("routing:")] + OLDER, "policy.yaml"))
    for pods in (1, 2):
        for priority in Priority:
            found = routed(layout, preemptible=True, pods=pods, priority=priority)
            assert found.queue == "opportunistic-single"
            assert found.priority == layout.priorities[priority]
