"""Replicas of a Deployment: each a request of its own, and one card and thread for all."""

from __future__ import annotations

import pytest

from bot.asks import Ask
from bot.views import RefusalCode, Refused, Submitted, WhyView
from storage.records import Audience, OutboxState
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import (
    counts,
    deploy,
    family,
    new_image,
    open_requests,
    scale,
    stop,
)
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import ADA, BEN, LEA


def test_each_replica_is_a_request_and_the_autoscaler_keeps_working(house: KubeHouse) -> None:
    deploy(house, 2)
    house.run(5)
    assert counts(house) == (2, 0)
    scale(house, 3)
    house.run(5)
    assert counts(house) == (2, 1)
    scale(house, 1)
    house.run(5)
    assert counts(house) == (1, 0)
    (left,) = open_requests(house)
    assert left.state is S.RUNNING
    assert len(house.pods()) == 1
    assert house.desk.status(LEA.id).cluster.used == 8  # type: ignore[union-attr]


def test_all_replicas_have_one_card_one_post_and_one_thread(house: KubeHouse) -> None:
    deploy(house, 2)
    house.run(5)
    scale(house, 3)
    house.run(5)
    head = house.requests()[0].id
    assert {one.head for one in house.requests()} == {head}
    (card,) = house.said("card")
    assert (card.notice.request, card.notice.key) == (head, f"card:{head}")
    told = [item.notice for item in house.said("replicas")]
    (post,) = [one for one in told if one.audience is Audience.CHANNEL]
    assert len(post.args["started"]) == 2  # type: ignore[arg-type]
    (line,) = [one for one in told if one.audience is Audience.THREAD]
    assert line.args["started"] == post.args["started"]
    assert not house.said("admitted")
    scale(house, 0)
    house.run(5)
    with house.store.read() as view:
        everything = view.outbox.items(*OutboxState)
    assert {item.notice.request for item in everything} == {head}
    assert not house.said("ended")
    assert len(house.said("card")) == 1
    ended = [item.notice.args["ended"] for item in house.said("replicas")]
    assert sum(map(len, ended)) == 3  # type: ignore[arg-type]
    assert counts(house) == (0, 0)


def test_a_family_without_replicas_is_taken_up_again_within_a_day(house: KubeHouse) -> None:
    deploy(house, 1)
    house.run(5)
    head = house.requests()[0].id
    scale(house, 0)
    house.run(5)
    house.pass_time(3600.0)
    scale(house, 1)
    house.run(5)
    (back,) = open_requests(house)
    assert (back.head, counts(house)) == (head, (1, 0))
    scale(house, 0)
    house.run(5)
    house.pass_time(90_000.0)
    scale(house, 1)
    house.run(5)
    (anew,) = open_requests(house)
    assert anew.head == anew.id
    assert len(house.said("card")) == 2


def test_a_rolling_update_loses_neither_count_nor_card(house: KubeHouse) -> None:
    deploy(house, 2)
    house.run(5)
    seen = []
    new_image(house)
    for _ in range(14):
        house.run(1)
        seen.append(family(house).total)
    assert counts(house) in {(2, 0), (2, 1)}
    assert set(seen) <= {2, 3}
    assert len(house.said("card")) == 1


def test_a_stopped_replica_comes_back_as_another_request_of_the_family(house: KubeHouse) -> None:
    deploy(house, 1)
    house.run(5)
    (first,) = open_requests(house)
    stop(house, first.id)
    (second,) = open_requests(house)
    assert (second.head, second.state) == (first.id, S.RUNNING)
    assert second.id != first.id


def test_the_successor_of_a_stopped_replica_waits_at_its_old_place(house: KubeHouse) -> None:
    deploy(house, 6, guaranteed="2")
    house.run(5)
    asked = [house.desk.submit(BEN.id, Ask(gpus=8), key=f"k{number}") for number in range(2)]
    assert all(isinstance(one, Submitted) for one in asked)
    house.run(1)
    stopped = [one for one in house.requests() if one.state is S.PREEMPTING]
    assert len(stopped) == 2
    house.pass_time(10.0)
    house.create_pod("later", 8, team="nlp", preemptible="true")
    house.pass_time(121.0)
    house.run(5)
    waiting = [one for one in open_requests(house) if one.state is S.WAITING]
    names = [one.workload.name for one in waiting]
    assert (len(waiting), names[0]) == (3, "later")
    places = [one.workload.created for one in waiting]
    assert sorted(places[1:]) == sorted(one.workload.created for one in stopped)
    queue = house.desk.queue(LEA.id, "opportunistic")
    assert not isinstance(queue, Refused)
    assert [row.name for row in queue.mine][-1] == "later"
    since = [one.workload.queued for one in waiting[1:]]
    assert since == [one.workload.created + 131.0 for one in waiting[1:]]
    scale(house, 8)
    house.run(3)
    newest = open_requests(house)[-1]
    assert newest.workload.created not in {one.workload.created for one in stopped}


def test_an_eviction_waits_for_its_disruption_budget(house: KubeHouse) -> None:
    deploy(house, 1)
    house.run(5)
    (request,) = open_requests(house)
    house.api.faults.shed("POST", path="eviction", times=2, after=0)
    stop(house, request.id)
    assert request.id not in [one.id for one in open_requests(house)]


def test_a_restart_finds_the_family_again(house: KubeHouse) -> None:
    deploy(house, 3)
    house.run(5)
    before = family(house)
    assert (before.running, before.waiting) == (2, 1)
    house.restart()
    house.run(4)
    assert counts(house) == (2, 1)
    assert len(house.requests()) == 3
    scale(house, 4)
    house.run(4)
    assert counts(house) == (2, 2)
    assert len(house.said("card")) == 1


@pytest.mark.parametrize("which", [0, 1])
def test_a_replica_is_not_released_but_its_deployment_scaled(house: KubeHouse, which: int) -> None:
    deploy(house, 2)
    house.run(5)
    replica = house.requests()[which]
    for order in (house.desk.release, house.desk.cancel):
        refused = order(LEA.id, replica.id, key=f"{order.__name__}{which}")
        assert isinstance(refused, Refused)
        assert refused.code is RefusalCode.REPLICA
        assert refused.args["left"] == 1
        assert refused.args["name"] == "chat"
    other = house.desk.release(BEN.id, replica.id, key="ben")
    assert isinstance(other, Refused)
    assert other.code is RefusalCode.NOT_YOURS
    house.run(2)
    assert counts(house) == (2, 0)


def test_the_id_of_a_family_stands_for_it_when_its_first_replica_has_ended(
    house: KubeHouse,
) -> None:
    deploy(house, 1)
    house.run(5)
    head = house.requests()[0]
    stop(house, head.id)
    assert house.request(head.workload.name).state.final
    why = house.desk.why(ADA.id, head.id)
    assert isinstance(why, WhyView)
    assert why.card.opens is not None
    assert [card.request for card in why.card.opens.replicas] == [open_requests(house)[0].id]
    refused = house.desk.extend(LEA.id, head.id, 3600.0, key="longer")
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.REPLICA
    mine = house.desk.mine(LEA.id)
    assert [card.request for card in mine.open] == [head.id]
    assert mine.ended == ()


def test_lists_show_a_family_once_and_the_queue_every_replica(house: KubeHouse) -> None:
    deploy(house, 4)
    house.run(5)
    head = house.requests()[0].id
    status = house.desk.status(LEA.id)
    assert not isinstance(status, Refused)
    assert [card.request for card in status.mine] == [head]
    queue = house.desk.queue(LEA.id)
    assert not isinstance(queue, Refused)
    assert len(queue.mine) == 2
    waits = family(house).first
    assert waits is not None
    assert waits.request == queue.mine[0].request
    when = house.desk.when(ADA.id, head)
    assert not isinstance(when, Refused)
    assert when.card.request == waits.request


def test_the_label_of_guaranteed_replicas_holds_for_the_first_of_each_template(
    house: KubeHouse,
) -> None:
    deploy(house, 4, guaranteed="1")
    house.run(5)
    replicas = house.requests()
    assert [one.workload.preemptible for one in replicas] == [False, True, True, True]
    assert (family(house).guaranteed, counts(house)) == (1, (4, 0))
    new_image(house)
    house.run(20)
    assert counts(house) == (4, 0)
    assert family(house).guaranteed == 1


def test_a_guaranteed_replica_that_is_gone_is_followed_by_a_guaranteed_one(
    house: KubeHouse,
) -> None:
    deploy(house, 3, guaranteed="1")
    house.run(5)
    first = house.requests()[0]
    assert not first.workload.preemptible
    stop(house, first.id)
    assert [one.workload.preemptible for one in open_requests(house)] == [True, True, False]
    named = open_requests(house)[-1].workload.name
    house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/{named}", {})
    house.run(5)
    assert [one.workload.preemptible for one in open_requests(house)] == [True, True, False]
    assert counts(house) == (3, 0)


def test_replicas_that_wait_leave_their_owner_free_to_ask_in_chat(house: KubeHouse) -> None:
    house.desk._waiting_at_most = 1
    deploy(house, 4)
    house.run(5)
    assert counts(house) == (2, 2)
    assert isinstance(house.desk.submit(LEA.id, Ask(gpus=8), key="k1"), Submitted)
    refused = house.desk.submit(LEA.id, Ask(gpus=8), key="k2")
    assert isinstance(refused, Refused)
    assert refused.code is RefusalCode.TOO_MANY_WAITING


def test_a_count_that_is_none_is_refused_once_for_all_replicas(house: KubeHouse) -> None:
    deploy(house, 3, guaranteed="two")
    house.run(5)
    assert house.requests() == []
    (told,) = house.said("not-taken")
    assert told.notice.args["what"] == "Deployment"
    assert told.notice.args["name"] == "chat"
    refusal = told.notice.args["refusal"]
    assert refusal["args"] == {"label": "gpubot.dev/guaranteed", "value": "two"}  # type: ignore[index]


def test_the_newest_above_the_guaranteed_make_room_first(house: KubeHouse) -> None:
    deploy(house, 6, guaranteed="2")
    house.run(5)
    assert counts(house) == (6, 0)
    for number, newest in enumerate(reversed(house.requests()[-2:])):
        asked = house.desk.submit(BEN.id, Ask(gpus=8), key=f"k{number}")
        assert not isinstance(asked, Refused)
        house.run(1)
        assert house.request(newest.workload.name).state is S.PREEMPTING
