"""Nodes that fail, shrink and are cordoned: gangs are mended or requeued, and people hear of it."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.clusters.base import NodeSeen, PodsLost
from bot.control.sweeps import CapacityCheck
from bot.views import StatusView
from scheduler.model import GPU, NodeName, WorkloadId
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.house import ADA, ANA, BEN, NODES, START_DELAY, STOP_TIME, House


class Killed(BaseException):
    """Stands for kill -9: nothing in the bot may catch it."""


def running(house: House, **ask: object) -> str:
    """A request that runs."""
    request = house.ask(**ask)  # type: ignore[arg-type]  # passed on as it is
    house.step()
    house.step(START_DELAY)
    assert house.state(request) is S.RUNNING
    return request


def nodes_of(house: House, request: str) -> set[str]:
    admission = house.request(request).admission
    assert admission is not None
    return {str(node) for a in admission.assignments for node, _ in a.nodes}


def test_a_lost_node_is_replaced_and_the_rest_is_untouched(house: House) -> None:
    request = running(house, nodes=4)
    before, decision = nodes_of(house, request), house.request(request).decision
    house.fail("h100-0002")
    house.step(1)
    after = nodes_of(house, request)
    assert after == before - {"h100-0002"} | {"h100-0005"}
    assert house.holds() == dict.fromkeys(after, 8)
    stored = house.request(request)
    assert (stored.state, stored.decision) == (S.RUNNING, decision)
    line = house.story(request)[-1]
    assert (line.before, line.after, line.reason) == (S.RUNNING, S.RUNNING, "repaired")
    assert line.details["lost"] == ["h100-0002"]
    assert line.details["to"] == ["h100-0005"]
    assert house.heard("repaired") == [(Audience.THREAD, None)]
    assert house.heard("requeued") == []


def test_the_replacement_comes_before_anything_new(house: House) -> None:
    request = running(house, nodes=4)
    running(house, person=BEN, gpus=8)
    running(house, person=BEN, gpus=8)
    third = house.ask(ADA, gpus=8)
    fourth = house.ask(ADA, gpus=8)
    house.fail("h100-0001")
    house.step(1)
    assert house.state(request) is S.RUNNING
    assert sum(house.holds().values()) <= (NODES - 1) * 8
    states = [house.state(third), house.state(fourth)]
    assert states == [S.ADMITTED, S.WAITING]


def test_without_another_node_the_whole_gang_waits_at_its_old_place(house: House) -> None:
    request = running(house, nodes=4)
    for _ in range(2):
        running(house, person=BEN, gpus=8)
        running(house, gpus=8)
    later = house.ask(nodes=4)
    house.step()
    created = house.request(request).workload.created
    house.fail("h100-0001")
    house.step(1)
    assert house.state(request) is S.EVICTING
    house.step(STOP_TIME)
    assert house.state(request) is S.WAITING
    assert house.request(request).workload.created == created
    assert [line.reason for line in house.story(request)[-2:]] == ["node-lost", "node-lost"]
    (told,) = house.said("requeued")
    assert told.notice.args["cause"] == "node-lost"
    assert told.notice.args["position"] == 1
    assert house.state(later) is S.WAITING


def test_on_call_hears_once_of_a_node_and_of_everybody_on_it(house: House) -> None:
    first, second = running(house, gpus=4), running(house, gpus=4)
    assert nodes_of(house, first) == nodes_of(house, second)
    (node,) = nodes_of(house, first)
    house.fail(node)
    house.step(1)
    house.step(1)
    assert house.heard("node-failed") == [(Audience.ONCALL, None)]
    (told,) = house.said("node-failed")
    hit = told.notice.args["hit"]
    assert isinstance(hit, list)
    assert {one["request"]: bool(one["to"]) for one in hit} == {first: True, second: True}
    assert told.notice.args["node"] == node


def test_pods_lost_on_a_sound_node_are_put_back_without_touching_others(house: House) -> None:
    first, second = running(house, gpus=4), running(house, gpus=4)
    (node,) = nodes_of(house, first)
    lost = PodsLost(
        workload=WorkloadId(first),
        decision=house.request(first).decision,
        node=NodeName(node),
        at=house.clock.now(),
    )
    house.cluster._events.append(lost)
    house.step(1)
    assert [line.reason for line in house.story(first)][-1] == "repaired"
    assert [line.reason for line in house.story(second)][-1] == "pods-ready"


def test_a_cordoned_node_takes_nobody_new_and_what_runs_goes_on(house: House) -> None:
    request = running(house, gpus=4)
    (name,) = nodes_of(house, request)
    node = house.control.read(lambda engine: engine.node(NodeName(name)))
    assert node is not None
    cordoned = dataclasses.replace(node, schedulable=False)
    house.cluster._events.append(NodeSeen(node=cordoned, at=house.clock.now()))
    house.step(1)
    other = house.ask(gpus=4)
    house.step(1)
    assert house.state(request) is S.RUNNING
    assert nodes_of(house, other) != {name}
    house.cluster._events.append(NodeSeen(node=node, at=house.clock.now()))
    third = house.ask(gpus=4)
    house.step(1)
    assert nodes_of(house, request) | nodes_of(house, other) >= nodes_of(house, third)


def test_a_node_that_shrinks_below_what_it_holds_is_named_once(house: House) -> None:
    request = running(house, gpus=8)
    (name,) = nodes_of(house, request)
    node = house.control.read(lambda engine: engine.node(NodeName(name)))
    assert node is not None
    small = dataclasses.replace(node, capacity={**node.capacity, GPU: 6})
    house.cluster._events.append(NodeSeen(node=small, at=house.clock.now()))
    house.step(1)
    (doubt,) = house.control.read(lambda engine: engine.doubts())
    assert (doubt.node, doubt.excess) == (name, 2)
    for person, seen in ((ANA, (doubt,)), (ADA, ())):
        view = house.desk.status(person.id)
        assert isinstance(view, StatusView)
        assert view.doubts == seen
    check = CapacityCheck()
    for _ in range(2):
        house.control.propose(check)
    house.control.propose(CapacityCheck())  # as after a restart
    assert house.state(request) is S.RUNNING
    (told,) = house.said("overfull")
    assert told.notice.args == {
        "kind": "overfull",
        "node": name,
        "resource": str(GPU),
        "excess": 2,
    }
    other = house.ask(gpus=8)
    house.step(1)
    assert nodes_of(house, other) != {name}


@pytest.mark.parametrize("call", range(1, 9))
@pytest.mark.parametrize("full", [False, True])
def test_a_crash_at_any_write_of_a_repair_or_an_eviction_converges(
    house: House, call: int, full: bool
) -> None:
    request = running(house, nodes=4)
    if full:
        for _ in range(2):
            running(house, person=BEN, gpus=8)
            running(house, gpus=8)
    house.fail("h100-0001")
    Saboteur(house, call)
    try:
        for _ in range(3):
            house.step(STOP_TIME)
    except Killed:
        pass
    house.restart()
    for _ in range(4):
        house.step(STOP_TIME)
    state = S.WAITING if full else S.RUNNING
    assert house.state(request) is state
    reasons = [line.reason for line in house.story(request)]
    assert reasons.count("repaired") == (0 if full else 1)
    assert len(house.said("repaired")) == (0 if full else 1)
    assert len(house.said("requeued")) == (1 if full else 0)
    assert len(house.said("node-failed")) == 1
    check(house)
    assert all(len(gang.missing()) == 0 for gang in house.cluster._nodes.gangs())


class Saboteur:
    """Kills the bot before or after the n-th write to store or cluster."""

    def __init__(self, house: House, call: int) -> None:
        self.left, self.before = (call + 1) // 2, call % 2 == 1
        self._wrap(house.control, "_commit")
        self._wrap(house.cluster, "apply_all")

    def _wrap(self, owner: object, name: str) -> None:
        real = getattr(owner, name)

        def call(*args: object) -> object:
            self.left -= 1
            if self.left == 0 and self.before:
                raise Killed
            result = real(*args)
            if self.left == 0:
                raise Killed
            return result

        setattr(owner, name, call)


def check(house: House) -> None:
    """Invariants 1, 2 and 6 as far as they can be seen from outside."""
    nodes = house.cluster._nodes
    assert nodes.partial_gangs == 0
    assert nodes.over_commitments == 0
    assert all(gpus <= 8 for gpus in house.holds().values())
    keys = [item.notice.key for item in house.said()]
    assert len(keys) == len(set(keys))
    for gang in nodes.gangs():
        if gang.state in {"starting", "running"}:
            assert gang.missing() == ()


ACTS = st.lists(
    st.tuples(
        st.sampled_from(
            ["small", "gang", "night", "fail", "fail", "blink", "release", "pass", "crash", "die"]
        ),
        st.integers(0, NODES - 1),
    ),
    min_size=4,
    max_size=20,
)


@given(acts=ACTS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_invariants_1_2_and_6_through_failing_nodes_and_crashes(
    acts: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Whatever fails: gangs are whole or broken and mended, nodes never overfull, all is told."""
    house = House(Path(tmp_path_factory.mktemp("house")))
    asked: list[str] = []
    house.step()
    for act, number in acts:
        _do(house, act, number, asked)
        check(house)
    house.restart()
    for _ in range(8):
        house.step(max(STOP_TIME, START_DELAY))
        check(house)
    for gang in house.cluster._nodes.gangs():
        assert gang.missing() == ()
        stored = house.request(gang.workload.id)
        assert (stored.decision, stored.admission) == (gang.attempt, gang.admission)
    there = {gang.workload.id for gang in house.cluster._nodes.gangs()}
    assert {r for r in asked if house.state(r).holding} == there
    for request in asked:
        repairs = [line for line in house.story(request) if line.reason == "repaired"]
        told = [i for i in house.said("repaired") if i.notice.request == request]
        assert len(repairs) == len(told)
    house.close()


def _do(house: House, act: str, number: int, asked: list[str]) -> None:
    node = f"h100-{number + 1:04}"
    asks: dict[str, dict[str, object]] = {
        "small": {"person": ADA, "gpus": number + 1},
        "gang": {"person": BEN, "nodes": 2 + number % 3},
        "night": {"person": BEN, "nodes": NODES - number % 4, "preemptible": True},
    }
    if act in asks:
        asked.append(house.ask(**asks[act]))  # type: ignore[arg-type]  # as `running` does
    elif act == "release" and asked:
        house.desk.release("U0ANA", asked[number % len(asked)], key=house.key())
    elif act in {"fail", "blink"}:
        house.fail(node, back_after=60.0 if act == "fail" else 0.5)
    elif act == "pass":
        house.clock.advance(START_DELAY * (number + 1))
    elif act in {"crash", "die"}:
        _die(house, number + 1 if act == "die" else None)
    house.step(1)


def _die(house: House, call: int | None) -> None:
    """Crash now, or at a write."""
    if call is not None:
        Saboteur(house, call)
        try:
            for _ in range(4):
                house.step(STOP_TIME)
        except Killed:
            pass
    house.restart()
