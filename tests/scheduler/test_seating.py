"""Whether a gang has a placement, told from counts that are kept while others come and go."""

from __future__ import annotations

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.gangs import find_places
from scheduler.layout import HOSTNAME
from scheduler.model import GPU, PodSet, TopologyMode, TopologyRequest
from scheduler.seating import Seating
from tests.scheduler.builders import H100, Cluster, a_flavor, a_layout, a_node, a_queue, a_workload

RACK = "example.com/rack"
IN_ONE_RACK = TopologyRequest(mode=TopologyMode.REQUIRED, level=RACK)
CHOSEN = {GPU: H100}


def six_nodes() -> Cluster:
    """Three racks of two nodes."""
    nodes = [
        a_node(f"n{i}", labels={**a_node(f"n{i}").labels, RACK: f"r{i // 2}"}) for i in range(6)
    ]
    layout = a_layout(a_queue("A", 1000), flavors=(a_flavor(levels=(RACK, HOSTNAME)),))
    return Cluster(layout, *nodes)


@settings(max_examples=50, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.tuples(st.integers(1, 3), st.integers(1, 8)), max_size=10),
    st.integers(1, 5),
    st.integers(1, 8),
    st.sampled_from([None, IN_ONE_RACK]),
    st.data(),
)
def test_the_counts_say_what_a_search_for_places_would(
    gangs: list[tuple[int, int]],
    pods: int,
    each: int,
    topology: TopologyRequest | None,
    data: st.DataObject,
) -> None:
    cluster = six_nodes()
    for number, (count, gpus) in enumerate(gangs):
        cluster.submit(a_workload(f"w{number}", "A", count, gpus, created=float(number)))
    cluster.cycle()
    state = cluster.engine._state
    wanted = (PodSet(count=pods, requests={GPU: each}, topology=topology),)
    seating = Seating(state, wanted, [CHOSEN])
    assert seating.exact == (topology is None)
    seating.count()
    there = dict.fromkeys(sorted(state.running), True)
    for _ in range(4):
        found = find_places(state, wanted, [CHOSEN], (state.future,))
        assert seating.suffices() == (found is not None)
        if not there:
            return
        one = data.draw(st.sampled_from(sorted(there)))
        charge = state.running[one].charge
        change = state.future.discharge if there[one] else state.future.charge
        change(charge)
        there[one] = not there[one]
        seating.look(charge.places)


def test_two_pod_sets_need_the_search_because_they_take_room_from_each_other() -> None:
    state = six_nodes().engine._state
    state.settle()
    sets = [PodSet(name=name, count=4, requests={GPU: 8}) for name in ("x", "y")]
    seating = Seating(state, sets, [CHOSEN, CHOSEN])
    seating.count()
    assert not seating.exact
    assert not seating.suffices(), "each alone fits on six nodes, both do not"
