"""Named nodes for whole gangs: pod sets that see each other, leaders, and the largest domain."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler.gangs import (
    Largest,
    demand_of,
    find_largest,
    find_places,
    group,
    is_plain,
    placed_by,
    solve,
)
from scheduler.layout import HOSTNAME
from scheduler.model import GPU, PodSet, Slice, TopologyMode, TopologyRequest
from scheduler.state import State
from scheduler.topology import Places
from tests.scheduler.builders import H100, Cluster, a_flavor, a_layout, a_node, a_queue

RACK = "example.com/rack"
REQUIRED, PREFERRED = TopologyMode.REQUIRED, TopologyMode.PREFERRED
LEVELS = (RACK, HOSTNAME)


def state_of(*free: int) -> State:
    """Nodes with so many GPUs, in racks of two."""
    nodes = [
        a_node(f"n{i}", gpus, labels={**a_node(f"n{i}").labels, RACK: f"r{i // 2}"})
        for i, gpus in enumerate(free)
    ]
    layout = a_layout(a_queue("A", 1000), flavors=(a_flavor(levels=LEVELS),))
    state = Cluster(layout, *nodes).engine._state
    state.settle()
    return state


def pods(
    count: int, gpus: int, topology: TopologyRequest | None = None, name: str = "main"
) -> PodSet:
    return PodSet(name=name, count=count, requests={GPU: gpus}, topology=topology)


def near(mode: TopologyMode, *, group_name: str | None = None) -> TopologyRequest:
    return TopologyRequest(mode=mode, level=RACK, group=group_name)


def places(state: State, *sets: PodSet) -> Places | None:
    """Where the pod sets go with everything free."""
    return find_places(state, sets, [{GPU: H100}] * len(sets), state.books)


def test_pod_sets_see_those_before_them_and_leave_nothing_taken_behind() -> None:
    state = state_of(8, 4)
    found = places(state, pods(1, 4, name="x"), pods(1, 8, name="y"))
    assert found == ((("n1", 1),), (("n0", 1),))
    before = state.future.space.free.copy()
    assert places(state, pods(1, 8, name="x"), pods(1, 8, name="y")) is None
    assert (state.future.space.free == before).all()


def test_a_gang_that_must_share_a_rack_lies_in_one_and_one_that_prefers_it_may_not() -> None:
    state = state_of(8, 1, 8, 1)
    assert places(state, pods(2, 8, near(REQUIRED))) is None
    assert places(state, pods(2, 8, near(PREFERRED))) == ((("n0", 1), ("n2", 1)),)
    assert places(state_of(8, 1, 8, 8), pods(2, 8, near(PREFERRED))) == ((("n2", 1), ("n3", 1)),)


def test_a_leader_lies_with_its_workers_whichever_is_named_first() -> None:
    leader = pods(1, 1, near(REQUIRED, group_name="g"), name="leader")
    workers = pods(2, 4, near(REQUIRED, group_name="g"), name="workers")
    assert group([leader, workers]) == [(1, 0)]
    assert group([workers, leader]) == [(0, 1)]
    found = places(state_of(4, 4, 4, 5), leader, workers)
    assert found == ((("n3", 1),), (("n2", 1), ("n3", 1))), "the first rack has no room for it"


def test_pod_sets_without_a_common_name_are_placed_one_by_one() -> None:
    assert group([pods(1, 1), pods(2, 1)]) == [(0,), (1,)]
    named = near(REQUIRED, group_name="g")
    assert group([pods(2, 1, named), pods(2, 1, named)]) == [(0,), (1,)], "neither is a leader"


def test_only_pods_without_a_demand_on_the_topology_are_plain() -> None:
    assert is_plain(pods(2, 1))
    assert is_plain(pods(2, 1, TopologyRequest()))
    assert not is_plain(pods(2, 1, near(PREFERRED)))
    assert not is_plain(pods(2, 1, TopologyRequest(slices=(Slice(level=RACK, size=2),))))


def test_a_demand_that_makes_no_sense_is_none() -> None:
    flavor, shape = a_flavor(levels=LEVELS), ((1, 1),)

    def sensible(count: int, *slices: Slice, level: str | None = None) -> bool:
        asked = TopologyRequest(
            mode=REQUIRED if level else TopologyMode.UNCONSTRAINED, level=level, slices=slices
        )
        return demand_of(pods(count, 1, asked), flavor, shape) is not None

    assert sensible(4, Slice(level=RACK, size=2))
    assert not sensible(3, Slice(level=RACK, size=2)), "slices must divide the pods"
    assert not sensible(4, Slice(level="nowhere", size=2))
    assert not sensible(4, level="nowhere")
    assert not sensible(4, Slice(level=RACK, size=2), level=HOSTNAME), "slices wider than the level"
    assert sensible(8, Slice(level=RACK, size=4), Slice(level=HOSTNAME, size=2))
    assert not sensible(8, Slice(level=RACK, size=4), Slice(level=HOSTNAME, size=3))
    assert not sensible(8, Slice(level=HOSTNAME, size=4), Slice(level=RACK, size=2))


def test_the_largest_domain_is_named_with_what_it_could_take() -> None:
    state = state_of(8, 0, 8, 8, 8)

    def largest(wanted: PodSet) -> Largest | None:
        return find_largest(state.nodes, state.flavors[H100], [wanted], [state.future.space])

    assert largest(pods(3, 8, near(REQUIRED))) == Largest(level=RACK, domain="r1", pods=2)
    assert largest(pods(3, 8, near(PREFERRED))) is None, "it need not share one"
    assert largest(pods(3, 8)) is None


def test_pods_lie_on_the_flavor_of_their_first_resource_that_has_places() -> None:
    quota_only = a_flavor("quota", levels=())
    layout = a_layout(a_queue("A", 8), flavors=(a_flavor(), quota_only))
    state = Cluster(layout, a_node("n")).engine._state
    assert placed_by(state, pods(1, 1), {GPU: H100}) == H100
    assert placed_by(state, pods(1, 1), {GPU: quota_only.name}) is None


_SETS = st.lists(st.tuples(st.integers(1, 3), st.integers(1, 8)), min_size=1, max_size=3)


@given(st.lists(st.integers(0, 8), min_size=1, max_size=6), _SETS)
def test_whatever_is_found_fits_and_is_whole(free: list[int], sets: list[tuple[int, int]]) -> None:
    state = state_of(*free)
    wanted = [pods(count, gpus, name=f"s{i}") for i, (count, gpus) in enumerate(sets)]
    found = solve(state, wanted, [{GPU: H100}] * len(wanted), [state.future.space])
    if found is None:
        return
    used = [0] * len(free)
    for one, lie in zip(wanted, found, strict=True):
        assert sum(count for _, count in lie) == one.count
        for node, count in lie:
            used[int(node[1:])] += count * one.requests[GPU]
    assert all(mine <= most for mine, most in zip(used, free, strict=True))
