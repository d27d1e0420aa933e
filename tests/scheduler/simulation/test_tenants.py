"""The policy made for a trace, and where jobs go under a policy of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.layout import Reclaim, build_nodes
from scheduler.model import GPU, FlavorName
from scheduler.policy import compile_policy, load_policy
from scheduler.simulation.tenants import (
    apportion,
    at_load,
    guarded_part,
    layout_for,
    nodes_for,
    pods_for,
    resized,
    routed_tasks,
    sized_policy,
    tasks_for,
    tenant_policy,
)
from scheduler.simulation.traces import TraceJob

POLICY = Path(__file__).parents[3] / "deploy" / "policy.yaml"


def job(tenant: str, gpus: int, duration: float = 100.0, submitted: float = 0.0) -> TraceJob:
    return TraceJob(
        id=f"{tenant}-{gpus}", tenant=tenant, submitted=submitted, duration=duration, gpus=gpus
    )


def test_at_a_load_the_demand_is_that_share_of_the_cluster() -> None:
    jobs = [job("a", 8, 100.0, 50.0), job("b", 4, 200.0, 60.0), job("a", 2, 50.0, 80.0)]
    paced = at_load(jobs, gpus=10, load=0.5)
    span = paced[-1].submitted - paced[0].submitted
    assert sum(one.gpus * one.duration for one in paced) / span == pytest.approx(5.0)
    assert [one.duration for one in paced] == [100.0, 200.0, 50.0]
    assert paced[0].submitted == 50.0
    share = (paced[1].submitted - 50.0) / span
    assert share == pytest.approx(1 / 3)


def test_jobs_of_one_moment_have_no_load() -> None:
    with pytest.raises(ValueError, match="all submitted at once"):
        at_load([job("a", 8)], gpus=8, load=0.5)


def test_each_tenant_has_a_guaranteed_queue_by_its_gpu_time() -> None:
    layout = layout_for([job("a", 8, 300.0), job("b", 8, 100.0)], nodes=10, gpus_per_node=8)
    quotas = {queue.name: queue.quotas[FlavorName("gpu"), GPU].nominal for queue in layout.queues}
    assert quotas == {"a": 60, "b": 20}
    assert {queue.cohort for queue in layout.queues} == {"trace"}
    assert {queue.reclaim for queue in layout.queues} == {Reclaim.ANY}
    assert len(build_nodes(layout)) == 10
    with pytest.raises(ValueError, match="no jobs"):
        layout_for([], nodes=1, gpus_per_node=8)


@given(
    st.dictionaries(st.text(min_size=1, max_size=3), st.floats(0, 1e9), min_size=1, max_size=12),
    st.integers(1, 500),
)
def test_quotas_are_whole_and_add_up_to_the_cluster(demand: dict[str, float], gpus: int) -> None:
    quotas = apportion(demand, gpus)
    assert sum(quotas.values()) == gpus
    assert list(quotas) == sorted(demand)
    assert min(quotas.values()) >= (1 if gpus >= len(demand) else 0)
    larger = sorted(demand, key=lambda tenant: demand[tenant])
    assert quotas[larger[-1]] >= quotas[larger[0]]


@pytest.mark.parametrize(
    ("gpus", "size", "pods", "each"),
    [(1, 8, 1, 1), (8, 8, 1, 8), (32, 8, 4, 8), (12, 8, 2, 6), (13, 8, 13, 1), (3, 2, 3, 1)],
)
def test_gangs_are_split_as_routing_splits_them(gpus: int, size: int, pods: int, each: int) -> None:
    (pod_set,) = pods_for(gpus, size)
    assert (pod_set.count, pod_set.requests) == (pods, {GPU: each})


def test_a_job_joins_its_tenants_queue_when_it_was_submitted() -> None:
    (task,) = tasks_for([job("a", 16, 50.0, submitted=7.0)], gpus_per_node=8)
    assert (task.workload.queue, task.workload.created, task.run_for) == ("a", 7.0, 50.0)
    assert task.workload.preemptible
    assert task.workload.gpus == 16


def test_the_size_of_a_cluster_follows_from_the_demand_and_the_largest_gang() -> None:
    steady = [job("a", 8, 100.0, submitted=float(at)) for at in range(0, 1001, 100)]
    assert nodes_for(steady, gpus_per_node=8) == 2  # 8.8 GPUs of demand at 80 % of 16
    assert nodes_for([*steady, job("a", 64, 1.0, submitted=1000.0)], gpus_per_node=8) == 8


def test_tenants_become_the_teams_of_a_policy_and_are_routed_by_its_rules() -> None:
    policy = load_policy(POLICY.read_text(encoding="utf-8"), "policy.yaml")
    jobs = [job("alpha", 4), job("beta", 16)]
    layout = compile_policy(tenant_policy(policy, jobs))
    assert [team.name for team in layout.teams] == ["alpha", "beta"]
    single, multi = routed_tasks(jobs, layout)
    assert single.workload.queue == "team-alpha"
    assert single.workload.overflow == ("shared-single",)
    assert multi.workload.queue == "shared-multi"
    assert not single.workload.preemptible


def test_a_policy_that_knows_all_tenants_is_left_alone() -> None:
    policy = load_policy(POLICY.read_text(encoding="utf-8"), "policy.yaml")
    assert tenant_policy(policy, [job("nlp", 4), job("bio", 4)]) is policy


def test_tenants_are_guaranteed_what_their_single_node_jobs_need_beside_the_policys_teams() -> None:
    policy = load_policy(POLICY.read_text(encoding="utf-8"), "policy.yaml")
    jobs = [job("alpha", 4, 300.0), job("beta", 1, 400.0), job("beta", 64, 9000.0)]
    sized = sized_policy(policy, jobs, node_gpus=8)
    gpus = {name: part.gpus for name, part in sized.teams.items()}
    assert (gpus["nlp"], gpus["bio"], gpus["alpha"], gpus["beta"]) == (160, 40, 1800, 600)
    assert sum(gpus.values()) == sum(part.gpus for part in policy.teams.values()) == 3200


def test_as_much_of_a_trace_is_guaranteed_as_its_queues_can_hold() -> None:
    policy = load_policy(POLICY.read_text(encoding="utf-8"), "policy.yaml")
    jobs = [job("alpha", 4, 300.0), job("beta", 16, 75.0)]
    layout = compile_policy(sized_policy(policy, jobs, node_gpus=8))
    # Half of 8,000 GPUs is single-node: 80 % of alpha's 2,400 and the shared 1,600 holds 3,200.
    assert guarded_part(layout, jobs, gpus=8000, node_gpus=8) == 0.8
    assert guarded_part(layout, jobs, gpus=100, node_gpus=8) == 1.0
    assert guarded_part(layout, jobs[1:], gpus=8000, node_gpus=8) == 1.0


def test_resizing_changes_the_largest_group_of_nodes_only() -> None:
    layout = compile_policy(load_policy(POLICY.read_text(encoding="utf-8"), "policy.yaml"))
    fresh = resized(layout, nodes=20, gpus_per_node=4)
    sizes = {group.name: (group.count, group.capacity[GPU]) for group in fresh.node_groups}
    assert sizes["h100"] == (20, 4)
    assert sizes["spot-a100"] == (32, 8)
    assert resized(layout, nodes=None, gpus_per_node=None) is layout
