"""Counts of pods and slices by domain, against counting by hand."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.counting import Counts, Demand, count_pods, room_of
from scheduler.domains import Domains, draw_domains

GPUS, PODS = 1, 0
LEVELS = ("rack", "host")


def racks(*sizes: int) -> Domains:
    """Racks with so many hosts, host columns in order."""
    hosts = [(f"r{rack}", f"h{host}") for rack, size in enumerate(sizes) for host in range(size)]
    return draw_domains(LEVELS, [(path, path[1], column) for column, path in enumerate(hosts)])


def counts(domains: Domains, free: list[int], demand: Demand) -> Counts:
    return Counts(domains, demand, {GPUS: np.array(free, dtype=np.int64)})


def gang(pods: int, each: int, *, slice_size: int = 1, slice_level: int = 1) -> Demand:
    return Demand(pods, ((GPUS, each),), 0, slice_level, slice_size)


def test_every_resource_bounds_the_pods_of_a_leaf() -> None:
    room = {GPUS: np.array([8, 8, -2]), PODS: np.array([1, 9, 9])}
    assert count_pods(room, ((GPUS, 2), (PODS, 1))).tolist() == [1, 4, 0]
    assert room[GPUS].tolist() == [8, 8, -2], "what is free is only looked at"


def test_pieces_of_two_hosts_hold_no_pod_together() -> None:
    found = counts(racks(2, 1), [7, 7, 8], gang(2, 8))
    assert found.at(1).pods.tolist() == [0, 0, 1]
    assert found.at(0).pods.tolist() == [0, 1]


def test_slices_are_counted_where_they_have_to_share_a_domain() -> None:
    in_racks = counts(racks(3, 1), [1, 1, 1, 2], gang(4, 1, slice_size=2, slice_level=0))
    assert in_racks.at(0).slices.tolist() == [1, 1]
    on_hosts = counts(racks(3, 1), [1, 1, 1, 2], gang(4, 1, slice_size=2, slice_level=1))
    assert on_hosts.at(0).slices.tolist() == [0, 1]


def test_an_inner_layer_counts_in_whole_multiples_only() -> None:
    demand = Demand(8, ((GPUS, 1),), 0, 0, 4, inner={1: 2})
    found = counts(racks(3), [3, 3, 1], demand)
    assert found.at(0).pods.tolist() == [4], "two pairs; single pods on three hosts are none"
    assert found.at(0).slices.tolist() == [1]


def test_nodes_that_are_not_allowed_hold_nothing() -> None:
    found = Counts(racks(2), gang(2, 1), {GPUS: np.array([4, 4])}, np.array([True, False]))
    assert found.at(0).pods.tolist() == [4]


def test_a_leader_costs_what_it_costs_where_that_is_least() -> None:
    demand = Demand(3, ((GPUS, 4),), 0, 1, leader=((GPUS, 1),))
    found = counts(racks(2, 1), [8, 5, 0], demand)
    rack = found.at(0)
    assert rack.pods.tolist() == [3, 0]
    assert rack.pods_beside.tolist() == [3, 0], "beside the one pod of the second host is room"
    assert rack.leads is not None
    assert rack.leads.tolist() == [True, False]


def test_room_is_the_least_of_several_views_and_none_of_what_no_node_has() -> None:
    domains = racks(2)
    now, later = np.array([[1, 1], [8, 2]]), np.array([[1, 1], [4, 6]])
    room = room_of([now, later], domains, [((GPUS, 1), (7, 1))])
    assert {row: free.tolist() for row, free in room.items()} == {GPUS: [4, 2], 7: [0, 0]}


@given(
    st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=3),
    st.integers(1, 4),
    st.integers(1, 3),
    st.sampled_from([0, 1]),
)
def test_counts_are_those_of_counting_one_by_one(
    free: list[list[int]], each: int, size: int, slice_level: int
) -> None:
    domains = racks(*(len(hosts) for hosts in free))
    demand = gang(size * 2, each, slice_size=size, slice_level=slice_level)
    found = counts(domains, [host for hosts in free for host in hosts], demand).at(0)
    for rack, hosts in enumerate(free):
        pods = [host // each for host in hosts]
        assert found.pods[rack] == sum(pods)
        slices = sum(pods) // size if slice_level == 0 else sum(p // size for p in pods)
        assert found.slices[rack] == slices


@given(st.lists(st.integers(0, 9), min_size=1, max_size=4), st.integers(1, 4), st.integers(1, 4))
def test_beside_a_leader_is_the_best_that_is_left_over_all_its_places(
    hosts: list[int], each: int, lead: int
) -> None:
    demand = Demand(1, ((GPUS, each),), 0, 1, leader=((GPUS, lead),))
    found = counts(racks(len(hosts)), hosts, demand).at(0)
    places = [
        sum((free - lead * (at == leader)) // each for at, free in enumerate(hosts))
        for leader in range(len(hosts))
        if hosts[leader] >= lead
    ]
    assert found.leads is not None
    assert bool(found.leads[0]) == bool(places)
    assert found.pods_beside[0] == max(places, default=0)
