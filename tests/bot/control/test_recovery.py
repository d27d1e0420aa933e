"""After a crash at any point: nothing lost, nothing done twice, nothing said twice."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from bot.asks import Change
from bot.clusters.base import Start, Stop
from bot.control.sweeps import sample_usage
from scheduler.model import (
    GPU,
    Admission,
    FlavorName,
    NodeName,
    PodSet,
    PodSetAssignment,
    QueueName,
    TeamName,
    Usage,
    Workload,
    WorkloadId,
)
from scheduler.policy import compile_policy, load_policy
from storage.records import OutboxState
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, NODES, POLICY, START_DELAY, STOP_TIME, House


class Killed(BaseException):
    """Stands for kill -9: nothing in the bot may catch it."""


def test_what_waits_waits_again_in_the_same_order(house: House) -> None:
    house.ask(nodes=4)
    second, third = house.ask(nodes=4), house.ask(nodes=4)
    house.step()
    house.restart()
    house.step()
    pending = house.control.read(lambda engine: [w.id for w in engine.pending()])
    assert pending == [second, third]


def test_a_queue_that_the_policy_lacks_by_now_takes_its_requests_with_it(house: House) -> None:
    runs, waits = house.ask(nodes=4), house.ask(nodes=4)
    house.step()
    house.step(START_DELAY)
    assert (house.state(runs), house.state(waits)) == (S.RUNNING, S.WAITING)
    renamed = POLICY.replace("shared-multi", "shared-large")
    house._layout = compile_policy(load_policy(renamed, "renamed.yaml"))
    house.restart()
    house.step()
    assert house.state(waits) is S.CANCELLED
    house.step(STOP_TIME + 601.0)
    house.step()
    assert house.state(runs) is S.CANCELLED
    assert [line.reason for line in house.story(runs)][-1] == "queue-gone"
    assert house.holds() == {}
    other = house.ask(nodes=4)
    house.step()
    assert house.state(other) is S.ADMITTED


def test_an_order_that_was_stored_is_carried_out_after_the_restart(house: House) -> None:
    request = house.ask(gpus=8)
    house.restart()
    house.step()
    assert house.state(request) is S.ADMITTED


def test_a_change_that_was_stored_is_carried_out_after_the_restart(house: House) -> None:
    first = house.ask(nodes=4)
    waits = house.ask(nodes=4)
    house.step()
    house.desk.edit(ADA.id, waits, Change(nodes=3), key="change")
    house.restart()
    house.step()
    assert house.request(waits).workload.gpus == 24
    assert house.control.read(lambda engine: [w.id for w in engine.pending()]) == [waits]
    house.desk.release(ADA.id, first, key="release")
    house.step(601.0)
    house.step(STOP_TIME)
    house.step()
    assert house.state(waits) is S.ADMITTED


def test_what_was_admitted_but_not_started_is_started(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: object) -> None:
        raise Killed

    request = house.ask(gpus=8)
    monkeypatch.setattr(house.cluster, "apply_all", die)
    with pytest.raises(Killed):
        house.step()
    assert house.state(request) is S.ADMITTED
    assert house.holds() == {}
    house.restart()
    house.step()
    assert sum(house.holds().values()) == 8
    assert len(house.said("admitted")) == 2


def test_an_end_that_was_seen_but_not_stored_is_told_again(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = house.ask(gpus=8)
    house.step()
    house.step(START_DELAY)
    house.desk.release(ADA.id, request, key=house.key())
    house.step()

    def die(*_: object) -> None:
        raise Killed

    monkeypatch.setattr(house.control, "_commit", die)
    with pytest.raises(Killed):
        house.step(STOP_TIME)
    house.restart()
    house.step()
    house.step()
    assert house.state(request) is S.RELEASED


def test_a_target_that_was_told_to_stop_is_stopped_and_requeued(house: House) -> None:
    target = house.ask(BEN, nodes=NODES, preemptible=True)
    house.step()
    preemptor = house.ask(ADA, nodes=4)
    house.step()
    assert house.state(target) is S.PREEMPTING
    house.restart()
    house.step()
    house.step(STOP_TIME)
    house.step()
    assert house.state(target) is S.WAITING
    assert house.state(preemptor) is S.ADMITTED
    assert len(house.said("preempted-group")) == 2


def test_pods_that_nobody_decided_are_stopped(house: House) -> None:
    stray = WorkloadId("R-9000")
    pods = PodSet(count=1, requests={GPU: 8})
    workload = Workload(
        id=stray,
        team=TeamName("nlp"),
        owner="U0ADA",
        queue=QueueName("team-nlp"),
        created=house.clock.now(),
        pod_sets=(pods,),
    )
    admission = Admission(
        workload=stray,
        queue=QueueName("team-nlp"),
        assignments=(
            PodSetAssignment(
                name="main",
                count=1,
                flavors={GPU: FlavorName("reserved-h100")},
                nodes=((NodeName("h100-0001"), 1),),
            ),
        ),
        at=house.clock.now(),
    )
    now = house.clock.now()
    house.cluster.apply(Start(workload=workload, admission=admission, decision="R-9000/1"), now)
    house.restart()
    house.step()
    house.step(STOP_TIME)
    assert house.gangs() == []


def test_pods_of_a_request_that_waits_are_stopped_before_it_starts_again(house: House) -> None:
    request = house.ask(BEN, nodes=NODES, preemptible=True)
    house.step()
    stored = house.request(request)
    house.step(START_DELAY)
    with house.store.write() as work:  # as if an eviction was noted while the pods lived on
        work.requests.move(
            request, S.WAITING, at=stored.changed, actor="gpubot", reason="pods-lost"
        )
    house.restart()
    house.step()
    assert sum(house.holds().values()) == NODES * 8
    house.step(STOP_TIME)
    house.step()
    assert house.request(request).attempt == 2
    assert sum(house.holds().values()) == NODES * 8


def test_a_queue_that_the_policy_lost_ends_what_waits_in_it(house: House) -> None:
    request = house.ask(gpus=8)
    stored = house.request(request)
    with house.store.write() as work:
        moved = dataclasses.replace(stored.workload, queue=QueueName("team-gone"))
        work.requests.amend(request, workload=moved)
        work.events.mark([event.id for event in work.events.unhandled()], stored.changed)
    house.restart()
    house.step()
    assert house.state(request) is S.CANCELLED
    assert len(house.said("ended")) == 1


def test_usage_survives(house: House) -> None:
    house.ask(gpus=8)
    house.step()
    house.clock.advance(3600)
    house.control.propose(sample_usage)
    before = {str(u.team): u.chip_hours for u in _usage(house)}
    house.restart()
    house.step()
    after = {str(u.team): u.chip_hours for u in _usage(house)}
    assert before["nlp"] > 7.5
    assert after == pytest.approx(before)


def _usage(house: House) -> list[Usage]:
    return list(house.control.read(lambda engine: engine.usage(house.clock.now())))


ACTS = st.lists(
    st.tuples(
        st.sampled_from(["small", "gang", "night", "cancel", "release", "pass", "crash", "die"]),
        st.integers(0, 7),
    ),
    min_size=4,
    max_size=24,
)


class Saboteur:
    """Kills the bot at the n-th call of the store's or the cluster's writing methods."""

    def __init__(self, house: House, after: int) -> None:
        self.left = after
        self._wrap(house.control, "_commit", before=bool(after % 2))
        self._wrap(house.cluster, "apply_all", before=bool(after % 3))

    def _wrap(self, owner: object, name: str, *, before: bool) -> None:
        real = getattr(owner, name)

        def call(*args: object) -> object:
            self.left -= 1
            if self.left == 0 and before:
                raise Killed
            result = real(*args)
            if self.left == 0:
                raise Killed
            return result

        setattr(owner, name, call)


@given(acts=ACTS)
@settings(max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_invariant_6_whatever_is_decided_is_stored_and_said_once(
    acts: list[tuple[str, int]], tmp_path_factory: pytest.TempPathFactory
) -> None:
    """Random orders, crashes between any two writes: nothing lost, nothing announced twice."""
    house = House(Path(tmp_path_factory.mktemp("house")))
    asked: list[str] = []
    house.step()
    for act, number in acts:
        _do(house, act, number, asked)
        _check(house, asked)
    house.restart()
    for _ in range(4):
        house.step(STOP_TIME)
    _check(house, asked)
    stuck = [r for r in asked if house.state(r) in {S.PREEMPTING, S.STOPPING, S.ADMITTED}]
    house.step(START_DELAY)
    house.step(START_DELAY)
    assert [r for r in stuck if house.state(r) in {S.PREEMPTING, S.STOPPING, S.ADMITTED}] == []
    house.close()


def _do(house: House, act: str, number: int, asked: list[str]) -> None:
    if act == "small":
        asked.append(house.ask(ADA, gpus=number + 1))
    elif act == "gang":
        asked.append(house.ask(BEN, nodes=2 + number % 3))
    elif act == "night":
        asked.append(house.ask(BEN, nodes=NODES - number % 4, preemptible=True))
    elif act == "crash":
        house.restart()
    elif act == "die":
        Saboteur(house, number + 1)
        try:
            for _ in range(4):
                house.step(STOP_TIME)
        except Killed:
            pass
        house.restart()
    elif act == "pass":
        house.clock.advance(START_DELAY * (number + 1))
    elif asked:
        order = house.desk.cancel if act == "cancel" else house.desk.release
        order("U0ANA", asked[number % len(asked)], key=house.key())
    house.step(1)


def _check(house: House, asked: list[str]) -> None:
    with house.store.read() as view:
        stored = {r: view.requests.get(r) for r in asked}
        items = view.outbox.items(*OutboxState)
        stories = {r: view.transitions.of(r) for r in asked}
    assert all(stored.values())
    keys = [item.notice.key for item in items]
    assert len(keys) == len(set(keys))
    for request_id, story in stories.items():
        admissions = [line for line in story if line.after is S.ADMITTED]
        told = [k for k in keys if k.startswith(f"admitted:{request_id}/") and "channel" in k]
        assert len(told) == len(admissions)
        assert len({line.decision for line in admissions}) == len(admissions)
    _check_gangs(house)


def _check_gangs(house: House) -> None:
    """Every gang in the cluster is whole, and no node holds more than it has."""
    for _, admission in house.gangs():
        for assignment in admission.assignments:
            assert sum(pods for _, pods in assignment.nodes) == assignment.count
    assert all(gpus <= 8 for gpus in house.holds().values())


def test_a_stop_is_repeated_until_it_is_done(house: House) -> None:
    request = house.ask(gpus=8)
    house.step()
    house.desk.cancel(ADA.id, request, key=house.key())
    house.step()
    decision = house.request(request).decision
    house.cluster.apply(
        Stop(workload=WorkloadId(request), decision=decision, grace=0), house.clock.now()
    )
    house.restart()
    house.step()
    house.step(STOP_TIME)
    house.step()
    assert house.state(request) is S.CANCELLED
    assert len(house.said("ended")) == 1
