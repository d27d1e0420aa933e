"""What ends and is removed before anybody looks: how it ended is not lost."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.clusters.kubernetes.connection import Connection
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.grouping import create
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.serving import keep_state
from tests.bot.clusters.kubernetes.world import TEAM, wait_until
from tests.kube.samples import part
from tests.kube.server import ApiServer

ENDS = [(0, S.FINISHED), (1, S.FAILED)]
PODS = f"/api/v1/namespaces/{TEAM}/pods"


@pytest.fixture
def with_job_sets(api: ApiServer, tmp_path: Path) -> Iterator[KubeHouse]:
    """A bot where JobSet is installed."""
    api.serve_job_sets()
    made = KubeHouse(api, tmp_path)
    made.step()
    yield made
    made.close()


def remove_pods(house: KubeHouse, *names: str, grace: int = 0) -> None:
    for name in names:
        house.person.delete(f"{PODS}/{name}", {"gracePeriodSeconds": grace})


def end(house: KubeHouse, code: int) -> None:
    """Its pods end, the controllers hear of it, and what is to go after a ttl of 0 goes."""
    house.finish_pods(exit_code=code)
    house.settle()
    house.api.advance(1.0)
    house.settle()


@pytest.mark.parametrize(("code", "state"), ENDS)
def test_a_job_that_is_removed_as_soon_as_it_has_ended(
    house: KubeHouse, code: int, state: S
) -> None:
    house.create_job("train", pods=2, ttlSecondsAfterFinished=0, backoffLimit=0)
    house.run(3)
    end(house, code)
    assert not house.pods()
    house.run(4)
    assert house.state("train") is state
    assert house.desk.status("U0ADA").cluster.used == 0  # type: ignore[union-attr]


def test_a_job_that_runs_and_goes_between_two_looks(house: KubeHouse) -> None:
    house.create_job("train", pods=2, ttlSecondsAfterFinished=0)
    house.step()  # it is let go
    house.settle()
    house.let_pods_run()
    house.step()  # its pods pass the gate
    house.settle()
    house.let_pods_run()
    end(house, 0)
    assert not house.pods()
    house.run(3)
    assert house.state("train") is S.FINISHED


def test_a_job_whose_removal_was_not_heard_of(house: KubeHouse) -> None:
    """Its end was: then the watch had a gap."""
    house.create_job("train", pods=2)
    house.run(3)
    house.finish_pods()
    house.settle()
    house.api.drop_watches(broken=True)
    house.delete_job("train")
    house.api.compact()
    house.settle()
    wait_until(lambda: all(one.trouble is None for one in house.cluster.watchers), "the watches")
    house.run(4)
    assert house.state("train") is S.FINISHED


def test_a_job_that_is_deleted_when_all_has_succeeded_but_before_that_was_said(
    house: KubeHouse,
) -> None:
    house.create_job("train", pods=2)
    house.run(3)
    admin = Connection(lambda: house.api.client("admin"))
    path = f"/apis/batch/v1/namespaces/{TEAM}/jobs/train"
    house.finish_pods()
    admin.patch(f"{path}/status", {"status": {"succeeded": 2, "completedIndexes": "0,1"}})
    house.delete_job("train")
    house.run(4)
    assert house.state("train") is S.FINISHED


@pytest.mark.parametrize(("code", "state"), ENDS)
def test_a_job_set_that_is_removed_as_soon_as_it_has_ended(
    with_job_sets: KubeHouse, code: int, state: S
) -> None:
    house = with_job_sets
    house.create_job_set("train", part("leader", pods=1, gpus=8), part("worker", pods=2, gpus=8))
    house.run(4)
    assert house.state("train") is S.RUNNING
    end(house, code)
    house.delete_job_set("train")
    house.settle()
    house.run(4)
    assert house.state("train") is state


def test_what_is_deleted_while_it_runs_was_released(house: KubeHouse) -> None:
    house.create_job("train", pods=2, ttlSecondsAfterFinished=0)
    house.run(3)
    house.delete_job("train")
    house.run(4)
    assert house.state("train") is S.RELEASED


@pytest.mark.parametrize(("code", "state"), ENDS)
def test_a_pod_that_is_removed_as_soon_as_it_has_ended(
    house: KubeHouse, code: int, state: S
) -> None:
    house.create_pod("a", 8, team="nlp")
    house.run(3)
    house.finish_pods(exit_code=code)
    remove_pods(house, "a")
    house.run(3)
    assert house.state("a") is state


@pytest.mark.parametrize(("code", "state"), ENDS)
def test_a_group_whose_pods_are_removed_as_soon_as_they_have_ended(
    house: KubeHouse, code: int, state: S
) -> None:
    create(house, {"a": 8, "b": 8})
    house.run(4)
    assert house.state("g") is S.RUNNING
    house.api.kubelet.finish(f"{TEAM}/a")
    house.api.kubelet.finish(f"{TEAM}/b", exit_code=code)
    remove_pods(house, "a", "b")
    house.run(4)
    assert house.state("g") is state


def test_a_group_of_which_one_pod_is_removed_and_one_is_there_has_finished(
    house: KubeHouse,
) -> None:
    create(house, {"a": 8, "b": 8})
    house.run(4)
    house.finish_pods()
    remove_pods(house, "a")
    house.run(4)
    assert house.state("g") is S.FINISHED


@pytest.mark.parametrize("code", [0, 1])
@pytest.mark.parametrize("seen", [False, True])
def test_a_pod_that_is_deleted_while_it_runs_was_released_however_it_takes_that(
    house: KubeHouse, code: int, *, seen: bool
) -> None:
    house.create_pod("a", 8, team="nlp")
    house.run(3)
    house.person.delete(f"{PODS}/a", {"gracePeriodSeconds": 30})
    house.api.kubelet.finish(f"{TEAM}/a", exit_code=code)
    house.hear()
    if seen:
        house.control.step()
    house.run(4)
    assert house.state("a") is S.RELEASED


def test_a_replica_that_fails_and_is_made_anew_has_failed(house: KubeHouse) -> None:
    keep_state(house, 1, more={}, team="nlp")
    house.run(4)
    first = house.request("index-0")
    assert first.state is S.RUNNING
    house.api.kubelet.finish(f"{TEAM}/index-0", exit_code=1)
    remove_pods(house, "index-0")
    house.settle()
    house.run(4)
    with house.store.read() as view:
        ended = view.requests.get(first.id)
    assert ended is not None
    assert ended.state is S.FAILED
    assert house.request("index-0").id != first.id
