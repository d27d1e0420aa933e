"""The loop: what is decided is stored, then done; what is reported is taken in once."""

from __future__ import annotations

import pytest

from bot.clusters.base import ClusterUnreachable, EndKind, Gone
from bot.views import NotReady
from scheduler.model import WorkloadId
from storage.errors import StoreUnavailable
from storage.records import Audience
from storage.states import RequestState as S
from tests.bot.house import ADA, BEN, LEA, NODES, START_DELAY, STOP_TIME, House

GRACE = 120.0


def test_a_request_is_admitted_and_runs(house: House) -> None:
    request = house.ask(gpus=8)
    assert house.state(request) is S.WAITING
    house.step()
    assert house.state(request) is S.ADMITTED
    assert sum(house.holds().values()) == 8
    house.step(START_DELAY)
    assert house.state(request) is S.RUNNING
    assert [line.reason for line in house.story(request)] == [
        "submitted",
        "admitted",
        "pods-ready",
    ]


def test_an_admission_is_told_to_channel_and_thread_and_the_card_is_drawn(house: House) -> None:
    request = house.ask(gpus=8)
    house.step()
    assert house.heard("admitted") == [(Audience.CHANNEL, None), (Audience.THREAD, None)]
    (card,) = house.said("card")
    assert card.notice.key == f"card:{request}"
    house.step(START_DELAY)
    (again,) = house.said("card")
    assert again.revision > card.revision


def test_a_gang_is_placed_whole_or_not_at_all(house: House) -> None:
    first = house.ask(nodes=3)
    second = house.ask(nodes=2)
    house.step()
    assert house.state(first) is S.ADMITTED
    assert house.state(second) is S.WAITING  # 24 of 32 GPUs of the queue's quota are taken
    assert sum(house.holds().values()) == 24


def test_a_waiting_request_is_cancelled_at_once(house: House) -> None:
    house.ask(nodes=4)
    waiting = house.ask(nodes=4)
    house.step()
    house.desk.cancel(ADA.id, waiting, key=house.key())
    house.step()
    assert house.state(waiting) is S.CANCELLED
    assert not house.knows(waiting)


def test_a_running_request_gives_its_gpus_back_only_when_its_pods_are_gone(house: House) -> None:
    request = house.ask(gpus=8)
    house.step()
    house.step(START_DELAY)
    house.desk.release(ADA.id, request, key=house.key())
    house.step()
    assert house.state(request) is S.STOPPING
    assert sum(house.holds().values()) == 8
    house.step(STOP_TIME)
    assert house.state(request) is S.RELEASED
    assert house.holds() == {}
    assert house.request(request).ended_by == ADA.id


@pytest.mark.parametrize("running", [True, False])
def test_the_owner_is_told_who_ended_it_unless_they_did(house: House, running: bool) -> None:
    own, other = house.ask(ADA), house.ask(ADA)
    if running:
        house.step()
    for person, request in ((ADA, own), (LEA, other)):
        house.desk.cancel(person.id, request, key=house.key())
    house.step()
    house.step(STOP_TIME)
    assert house.state(other) is S.CANCELLED
    told = [item.notice for item in house.said("ended") if item.notice.target]
    assert [(n.request, n.target, n.args["by"]) for n in told] == [(other, ADA.id, LEA.id)]


def test_reclaim_tells_owner_thread_oncall_and_channel(house: House) -> None:
    target = house.ask(BEN, nodes=NODES, preemptible=True)
    house.step()
    house.step(START_DELAY)
    preemptor = house.ask(ADA, nodes=4)
    house.step()
    assert house.state(target) is S.PREEMPTING
    assert house.state(preemptor) is S.WAITING
    assert house.heard("preempted") == [(Audience.THREAD, None), (Audience.PERSON, BEN.id)]
    assert house.heard("preempted-group") == [(Audience.ONCALL, None), (Audience.CHANNEL, None)]
    house.step(STOP_TIME)
    house.step()
    assert house.state(preemptor) is S.ADMITTED
    assert house.state(target) is S.WAITING
    assert house.heard("requeued") == [(Audience.THREAD, None)]
    assert sum(house.holds().values()) == 32


def test_a_target_goes_back_to_its_old_place(house: House) -> None:
    target = house.ask(BEN, nodes=NODES, preemptible=True)
    house.step()
    created = house.request(target).workload.created
    house.ask(ADA, nodes=4)
    house.step(60)
    house.step(STOP_TIME)
    assert house.request(target).state is S.WAITING
    assert house.request(target).workload.created == created


def test_the_same_news_twice_changes_nothing(house: House) -> None:
    request = house.ask(gpus=8)
    house.step()
    house.step(START_DELAY)
    decision = house.request(request).decision
    house.desk.release(ADA.id, request, key=house.key())
    house.step()
    house.step(STOP_TIME)
    gone = Gone(
        workload=WorkloadId(request),
        decision=decision,
        kind=EndKind.STOPPED,
        at=house.clock.now(),
    )
    house.cluster._events += [gone, gone]
    before = (house.story(request), len(house.said()))
    house.step()
    assert (house.story(request), len(house.said())) == before


def test_a_target_that_is_gone_twice_is_requeued_once(house: House) -> None:
    target = house.ask(BEN, nodes=NODES, preemptible=True)
    house.step()
    house.ask(ADA, nodes=4)
    house.step()
    gone = Gone(
        workload=WorkloadId(target),
        decision=house.request(target).decision,
        kind=EndKind.STOPPED,
        at=house.clock.now(),
    )
    house.step(STOP_TIME)
    house.cluster._events += [gone, gone]
    house.step()
    assert [line.after for line in house.story(target)].count(S.WAITING) == 2
    assert len(house.said("requeued")) == 1
    assert house.control.health().failures == 0


def test_news_of_an_earlier_grant_does_not_end_the_present_one(house: House) -> None:
    request = house.ask(BEN, nodes=NODES, preemptible=True)
    house.step()
    first = house.request(request).decision
    other = house.ask(ADA, nodes=4)
    house.step(GRACE)
    house.step(STOP_TIME)
    house.desk.cancel(ADA.id, other, key=house.key())
    house.step(60)
    house.step(STOP_TIME)
    house.step()
    assert house.state(request) is S.ADMITTED
    stale = Gone(
        workload=WorkloadId(request), decision=first, kind=EndKind.FINISHED, at=house.clock.now()
    )
    house.cluster._events.append(stale)
    house.step()
    assert house.state(request) is S.ADMITTED


def test_an_unreachable_cluster_stops_all_deciding(house: House) -> None:
    house.cluster.unreachable = True
    request = house.ask(gpus=8)
    house.step()
    assert house.state(request) is S.WAITING
    assert house.control.health().cluster_trouble is not None
    house.cluster.unreachable = False
    house.control._resume_at = 0.0  # the pause before the next try is over
    house.step()
    assert house.state(request) is S.ADMITTED


def test_what_could_not_be_done_is_done_before_anything_else(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise ClusterUnreachable("no answer")

    request = house.ask(gpus=8)
    with monkeypatch.context() as broken:
        broken.setattr(house.cluster, "apply_all", refuse)
        house.step()
    assert house.state(request) is S.ADMITTED
    assert house.holds() == {}
    house.control._resume_at = 0.0
    house.step()
    assert sum(house.holds().values()) == 8


def test_nothing_is_done_when_it_cannot_be_stored(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise StoreUnavailable("disk full")

    request = house.ask(gpus=8)
    with monkeypatch.context() as broken:
        broken.setattr(house.store, "write", refuse)
        with pytest.raises(StoreUnavailable):
            house.step()
    assert house.state(request) is S.WAITING
    assert house.holds() == {}
    with pytest.raises(NotReady):
        house.control.read(lambda engine: engine.figures())
    house.step()  # the engine is built anew, and the order is still there
    assert house.state(request) is S.ADMITTED
    assert len(house.said("admitted")) == 2


def test_a_step_that_was_given_up_does_nothing_more(
    house: House, monkeypatch: pytest.MonkeyPatch
) -> None:
    request = house.ask(gpus=8)
    poll = house.cluster.poll

    def hang_until_given_up(now: float) -> object:
        house.control.give_up()
        return poll(now)

    with monkeypatch.context() as slow:
        slow.setattr(house.cluster, "poll", hang_until_given_up)
        house.step()
    assert house.state(request) is S.WAITING
    house.step()
    assert house.state(request) is S.ADMITTED


def test_the_reader_sees_only_what_is_stored(house: House) -> None:
    request = house.ask(gpus=8)
    house.step()
    running = house.control.read(lambda engine: [w.id for w, _ in engine.running()])
    assert running == [request]
    assert house.state(request).holding


def test_who_starts_and_is_stopped_in_one_cycle_is_stopped(house: House) -> None:
    """A team's second request asks back what a best-effort gang was lent a moment before."""
    first = house.ask(ADA, gpus=8)
    second = house.ask(ADA, gpus=8)
    lent = house.ask(BEN, nodes=NODES - 1, preemptible=True)
    house.step()
    assert [line.after for line in house.story(lent)][-2:] == [S.ADMITTED, S.PREEMPTING]
    house.step(STOP_TIME)
    house.step()
    assert [house.state(one) for one in (first, second, lent)] == [
        S.ADMITTED,
        S.ADMITTED,
        S.WAITING,
    ]


def test_whoever_wants_to_know_hears_of_each_new_engine(house: House) -> None:
    heard: list[bool] = []
    house.control.on_engine = lambda: heard.append(house.control.health().ready)
    house.step()
    assert heard == []
    house.control.renew()
    house.step()
    assert heard == [True]
