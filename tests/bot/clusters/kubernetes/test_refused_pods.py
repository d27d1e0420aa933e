"""Pods that the cluster refuses to make: a quota, a policy or a webhook of their namespace."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from scheduler.model import WaitReason
from storage.states import RequestState as S
from tests.bot.clusters.kubernetes.house import KubeHouse
from tests.bot.clusters.kubernetes.test_ready import READY_WITHIN, RULES, why
from tests.kube.cluster import Cluster, Request
from tests.kube.documents import Json
from tests.kube.kinds import POD
from tests.kube.samples import part
from tests.kube.statuses import Refusal


@contextmanager
def quota(house: KubeHouse, pods: int = 0) -> Iterator[None]:
    """No more pods than so many."""

    def check(cluster: Cluster, request: Request, new: Json, old: Json | None) -> None:
        del new
        if request.target.kind is POD and old is None and len(cluster.store.all(POD)) >= pods:
            raise Refusal(403, "Forbidden", "pods is forbidden: exceeded quota: gpus")

    house.api.cluster.validators.append(check)
    yield
    house.api.cluster.validators.remove(check)


def be_late(house: KubeHouse) -> None:
    house.run(3)
    house.step(READY_WITHIN)
    house.run(3)


@pytest.mark.parametrize("made", [0, 1])
def test_it_is_told_and_held_after_the_usual_tries(house: KubeHouse, made: int) -> None:
    with quota(house, made):
        house.create_job("train", pods=2, gpus=8)
        for tries in range(1, RULES.tries + 1):
            be_late(house)
            assert house.state("train") is S.WAITING
            reason, figures = why(house, "train")
            assert reason is WaitReason.RESTING
            assert (figures["cause"], figures["tries"]) == ("unmade", tries)
            house.step(RULES.longest)
    assert "until" not in why(house, "train")[1]
    assert {one.notice.args["cause"] for one in house.said("requeued")} == {"unmade"}
    (held,) = [one for one in house.said("requeued") if one.notice.target is not None]
    assert held.notice.target == house.request("train").workload.owner
    house.step(10 * RULES.longest)
    assert house.state("train") is S.WAITING


def test_it_goes_on_when_the_namespace_allows_it(house: KubeHouse) -> None:
    with quota(house):
        house.create_job("train", pods=2, gpus=8)
        be_late(house)
    house.step(RULES.longest)
    house.run(3)
    assert house.state("train") is S.RUNNING


def test_tries_in_vain_of_its_own_fault_count_together(house: KubeHouse) -> None:
    with quota(house):
        house.create_job("train", pods=2, gpus=8)
        be_late(house)
        house.step(RULES.backoff)
        be_late(house)
    house.step(RULES.longest)
    house.run(3, pods=False)  # now they are made, and are not ready
    house.step(READY_WITHIN)
    house.run(2, pods=False)
    figures = why(house, "train")[1]
    assert (figures["cause"], figures["tries"]) == ("late", 3)


def test_job_sets_are_the_same(house: KubeHouse) -> None:
    house.api.serve_job_sets()
    house.restart()
    house.step()
    with quota(house, 1):
        house.create_job_set("train", part("leader", gpus=4), part("workers", pods=2))
        be_late(house)
    assert why(house, "train")[1]["cause"] == "unmade"


def test_a_gang_whose_failed_pods_are_still_to_come_anew_is_late_itself(house: KubeHouse) -> None:
    house.create_job("train", pods=2, gpus=8)
    house.run(3, pods=False)
    house.step(READY_WITHIN - 1.0)
    (first, _) = sorted(house.api.kubelet.startable())
    house.api.kubelet.finish(first, exit_code=1)
    house.settle()
    house.step(1.0)  # its successor comes after ten
    house.settle()
    house.run(1, pods=False)
    assert why(house, "train")[1]["cause"] == "late"


def test_a_controller_that_has_not_looked_yet_is_no_fault_of_the_job(house: KubeHouse) -> None:
    house.create_job("train", pods=2, gpus=8)
    house.settle()
    house.control.step()
    assert house.state("train") is S.ADMITTED
    assert house.cluster.writer.wait(20.0)
    house.hear()
    house.control.step()
    house.clock.advance(READY_WITHIN)  # its controller stands still meanwhile
    house.control.step()
    house.run(3)
    assert {one.notice.args["cause"] for one in house.said("requeued")} == {"unplaced"}
