"""StatefulSets: ordinals that come one after another, under names that stay."""

from __future__ import annotations

import pytest

from storage.records import Request
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import (
    STATEFUL_SETS,
    counts,
    family,
    images,
    keep_state,
    new_image,
    open_requests,
    scale,
    stop,
)
from tests.bot.clusters.kubernetes.world import TEAM
from tests.bot.house import LEA

INDEX = f"{STATEFUL_SETS}/index"


def by_name(house: KubeHouse) -> dict[str, Request]:
    """The open request of each ordinal."""
    return {one.workload.name: one for one in open_requests(house)}


def test_the_next_ordinal_is_a_request_when_the_one_before_it_is_ready(house: KubeHouse) -> None:
    keep_state(house, 3, more={})
    house.run(2, pods=False)
    assert list(by_name(house)) == ["index-0"]
    assert counts(house) == (0, 0)
    house.let_pods_run()
    house.run(1, pods=False)
    assert list(by_name(house)) == ["index-0", "index-1"]
    house.run(6)
    running = by_name(house)
    assert list(running) == ["index-0", "index-1", "index-2"]
    assert [one.state for one in running.values()] == [S.RUNNING, S.RUNNING, S.WAITING]
    assert {one.head for one in running.values()} == {running["index-0"].id}
    (card,) = house.said("card")
    assert card.notice.request == running["index-0"].id
    assert (family(house).kind, family(house).name, counts(house)) == (
        "StatefulSet",
        "index",
        (2, 1),
    )


def test_in_parallel_all_are_asked_for_at_once(house: KubeHouse) -> None:
    keep_state(house, 4, more={"podManagementPolicy": "Parallel"}, guaranteed="1")
    house.run(1)
    assert list(by_name(house)) == [f"index-{rank}" for rank in range(4)]
    house.run(4)
    assert counts(house) == (4, 0)
    kept = [one.workload.name for one in open_requests(house) if not one.workload.preemptible]
    assert kept == ["index-0"]


def test_scaled_down_the_highest_ordinals_give_their_gpus_back(house: KubeHouse) -> None:
    keep_state(house, 3, more={"podManagementPolicy": "Parallel"}, preemptible="true")
    house.run(4)
    assert counts(house) == (3, 0)
    scale(house, 1, INDEX)
    house.run(5)
    assert list(by_name(house)) == ["index-0"]
    status = house.desk.status(LEA.id)
    assert status.cluster.used == 8  # type: ignore[union-attr]
    scale(house, 2, INDEX)
    house.run(4)
    assert list(by_name(house)) == ["index-0", "index-1"]
    assert len(house.said("card")) == 1


def test_a_stopped_ordinal_comes_back_under_its_name_when_the_old_pod_is_gone(
    house: KubeHouse,
) -> None:
    keep_state(house, 2, more={})
    house.run(6)
    before = by_name(house)
    stop(house, before["index-0"].id)
    after = by_name(house)
    assert list(after) == ["index-1", "index-0"]
    assert after["index-1"].id == before["index-1"].id
    assert after["index-0"].id != before["index-0"].id
    old, new = before["index-0"].ref, after["index-0"].ref
    assert old is not None
    assert new is not None
    assert (old.name, old.uid != new.uid) == (new.name, True)
    assert counts(house) == (2, 0)
    assert len(house.said("card")) == 1


def test_a_rolling_update_goes_from_the_highest_ordinal_down(house: KubeHouse) -> None:
    keep_state(house, 2, more={}, guaranteed="1")
    house.run(6)
    before = by_name(house)
    new_image(house, INDEX)
    seen: list[tuple[int, int]] = []
    order: list[str] = []
    for _ in range(12):
        house.run(1)
        seen.append((family(house).total, family(house).guaranteed))
        order += [
            one.workload.name
            for one in open_requests(house)
            if one.id not in {old.id for old in before.values()} and one.workload.name not in order
        ]
    assert order == ["index-1", "index-0"]
    assert set(images(house).values()) == {"example.com/serve:2"}
    assert counts(house) == (2, 0)
    assert {total for total, _ in seen} <= {2, 3}  # one that is gone still ends for a moment
    assert seen[-1] == (2, 1)
    assert len(house.said("card")) == 1
    assert len(house.requests()) == 4


def test_on_delete_a_new_template_reaches_whom_somebody_deletes(house: KubeHouse) -> None:
    keep_state(house, 2, more={"updateStrategy": {"type": "OnDelete"}})
    house.run(6)
    before = by_name(house)
    new_image(house, INDEX)
    house.run(4)
    assert by_name(house) == before
    house.person.delete(f"/api/v1/namespaces/{TEAM}/pods/index-0", {})
    house.run(5)
    assert images(house) == {"index-0": "example.com/serve:2", "index-1": "example.com/train:1"}
    after = by_name(house)
    assert after["index-1"] == before["index-1"]
    assert after["index-0"].id != before["index-0"].id
    assert (after["index-0"].head, counts(house)) == (before["index-0"].id, (2, 0))


@pytest.mark.parametrize("rounds", range(1, 7))
def test_a_restart_amid_an_update_converges(house: KubeHouse, rounds: int) -> None:
    keep_state(house, 2, more={})
    house.run(6)
    new_image(house, INDEX)
    house.run(rounds)
    house.restart()
    house.run(12)
    assert counts(house) == (2, 0)
    assert set(images(house).values()) == {"example.com/serve:2"}
    assert len(house.requests()) == 4
    assert len(house.said("card")) == 1


def test_an_ordinal_on_a_node_that_is_lost_is_followed_by_another(house: KubeHouse) -> None:
    keep_state(house, 1, more={})
    house.run(4)
    (first,) = open_requests(house)
    (pod,) = house.pods()
    house.api.kubelet.finish(f"{TEAM}/index-0", exit_code=1)
    house.run(5)
    (second,) = open_requests(house)
    assert second.id != first.id
    assert (second.workload.name, second.state, second.head) == ("index-0", S.RUNNING, first.id)
    assert house.pods()[0]["metadata"]["uid"] != pod["metadata"]["uid"]
