"""Replicas that are not ready in time: each successor is another request, of the same template."""

from __future__ import annotations

from scheduler.model import Rest, WaitReason, WorkloadId
from storage.records import Audience, OutboxItem, Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import (
    STATEFUL_SETS,
    deploy,
    keep_state,
    new_image,
    open_requests,
    scale,
)
from tests.bot.clusters.kubernetes.test_ready import READY_WITHIN, RULES
from tests.bot.house import LEA


def be_late(house: KubeHouse) -> None:
    """Whatever was let go does not get its image, until it is given up."""
    house.run(3, pods=False)
    for where in house.api.kubelet.startable():
        house.api.kubelet.hold_up(where, "ImagePullBackOff")
    house.settle()
    house.step(READY_WITHIN)
    house.run(3, pods=False)


def rests(house: KubeHouse) -> list[Rest | None]:
    return [one.workload.rest for one in open_requests(house)]


def waiting(house: KubeHouse) -> list[Request]:
    return [one for one in open_requests(house) if one.state is S.WAITING]


def held(house: KubeHouse) -> list[OutboxItem]:
    """What was told of what is held."""
    return [one for one in house.said("requeued") if one.notice.args.get("what")]


def test_the_successor_of_a_late_replica_rests_and_is_held_in_the_end(house: KubeHouse) -> None:
    deploy(house, 1)
    for tries in range(1, RULES.tries):
        be_late(house)
        (rest,) = rests(house)
        assert rest is not None
        assert (rest.tries, rest.most) == (tries, RULES.tries)
        pause = RULES.backoff * 2 ** (tries - 1)
        assert rest.until is not None
        assert pause - 5.0 <= rest.until - house.clock.now() <= pause
        house.step(rest.until - house.clock.now() - 1.0)
        assert [one.state for one in open_requests(house)] == [S.WAITING]
        house.step(1.0)
        assert [one.state for one in open_requests(house)] == [S.ADMITTED]
    assert held(house) == []
    be_late(house)
    house.step(10 * RULES.longest)
    house.run(2, pods=False)
    (one,) = open_requests(house)
    assert one.state is S.WAITING
    verdict = house.control.read(lambda e: e.explain(WorkloadId(one.id), house.clock.now())).verdict
    assert verdict.reason is WaitReason.RESTING
    assert "until" not in verdict.figures


def test_a_template_is_held_once_for_all_of_its_replicas(house: KubeHouse) -> None:
    deploy(house, 3, preemptible="true")
    be_late(house)
    assert [rest and rest.tries for rest in rests(house)] == [1, 1, 1]
    house.step(RULES.backoff)
    be_late(house)
    assert [rest and rest.until for rest in rests(house)] == [None] * 3
    audiences = [one.notice.audience for one in held(house)]
    assert sorted(audiences) == [Audience.PERSON, Audience.THREAD]
    (told,) = [one for one in held(house) if one.notice.audience is Audience.PERSON]
    assert told.notice.target == LEA.id
    requests = len(house.requests())
    house.step(10 * RULES.longest)
    be_late(house)
    assert len(house.requests()) == requests


def test_a_held_template_stays_so_after_a_restart_and_for_who_comes_later(
    house: KubeHouse,
) -> None:
    deploy(house, 2)
    for _ in range(2):
        be_late(house)
        house.step(RULES.backoff)
    house.restart()
    house.step()
    scale(house, 3)
    house.run(3, pods=False)
    assert [one.state for one in open_requests(house)] == [S.WAITING] * 3
    assert [rest and rest.until for rest in rests(house)] == [None] * 3


def test_another_template_is_tried_at_once(house: KubeHouse) -> None:
    deploy(house, 2)
    for _ in range(2):
        be_late(house)
        house.step(RULES.backoff)
    assert len(held(house)) == 2
    new_image(house)
    house.run(8)
    assert [one.state for one in open_requests(house)] == [S.RUNNING] * 2


def test_that_one_is_ready_ends_the_count(house: KubeHouse) -> None:
    deploy(house, 1)
    for _ in range(RULES.tries - 1):
        be_late(house)
        (rest,) = rests(house)
        assert rest is not None
        assert rest.until is not None
        house.step(rest.until - house.clock.now())
    house.run(3)
    (one,) = open_requests(house)
    assert one.state is S.RUNNING
    scale(house, 0)
    house.run(4)
    scale(house, 1)
    be_late(house)
    assert [rest and rest.tries for rest in rests(house)] == [1]


def test_while_others_run_a_late_one_is_tried_again_and_again(house: KubeHouse) -> None:
    deploy(house, 2, preemptible="true")
    house.run(4)
    scale(house, 3)
    for _ in range(2 * RULES.tries):
        be_late(house)
        (rest,) = [one.workload.rest for one in waiting(house)]
        assert rest is not None
        assert rest.until is not None
        assert rest.most is None
        house.step(rest.until - house.clock.now())
    assert held(house) == []


def test_who_waits_rests_with_those_who_were_late(house: KubeHouse) -> None:
    deploy(house, 8, preemptible="true")
    house.run(3, pods=False)
    late = [one.id for one in waiting(house)]
    assert len(late) == 2  # there is room for six
    be_late(house)
    now = {one.id: one.workload.rest for one in waiting(house)}
    assert all(now[one] is not None for one in late)
    house.step(RULES.backoff)
    assert [one.state for one in open_requests(house)].count(S.ADMITTED) == 6


def test_of_a_stateful_set_the_same_holds(house: KubeHouse) -> None:
    keep_state(house, 1, more={"podManagementPolicy": "Parallel"})
    for _ in range(RULES.tries):
        be_late(house)
        house.step(RULES.longest)
    assert [rest and (rest.tries, rest.until) for rest in rests(house)] == [(RULES.tries, None)]
    scale(house, 2, f"{STATEFUL_SETS}/index")
    house.run(3, pods=False)
    assert [one.state for one in open_requests(house)] == [S.WAITING] * 2
