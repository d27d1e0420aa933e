"""Wholly free nodes by domain, kept step by step and counted anew."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler.model import GPU, Node, NodeName
from scheduler.simulation.wholeness import LevelStanding, Wholeness

LEVELS = ("block", "rack")


def node(name: str, gpus: int = 8, **labels: str) -> Node:
    return Node(name=NodeName(name), labels=labels, capacity={GPU: gpus})


def test_a_domain_is_wholly_free_only_with_its_last_node() -> None:
    rack = Wholeness(("rack",))
    nodes = [node("a", rack="r1"), node("b", rack="r1")]
    for one in nodes:
        rack.add(one)
    rack.change(nodes[0], 8, free=True)
    assert rack.standing() == (LevelStanding(level="rack", domains=1, whole_free=0, largest=8),)
    rack.change(nodes[1], 8, free=True)
    assert rack.standing() == (LevelStanding(level="rack", domains=1, whole_free=1, largest=16),)


def test_a_new_node_that_is_not_free_spoils_its_domain() -> None:
    rack = Wholeness(("rack",))
    first = node("a", rack="r1")
    rack.add(first)
    rack.change(first, 8, free=True)
    rack.add(node("b", rack="r1"))
    assert rack.standing()[0].whole_free == 0


def test_racks_of_the_same_name_in_two_blocks_are_two() -> None:
    levels = Wholeness(LEVELS)
    levels.add(node("a", block="b1", rack="r1"))
    levels.add(node("b", block="b2", rack="r1"))
    assert [one.domains for one in levels.standing()] == [2, 2]


def test_nodes_without_a_label_take_no_part() -> None:
    levels = Wholeness(LEVELS)
    stray = node("a", block="b1")
    levels.add(stray)
    levels.change(stray, 8, free=True)
    assert levels.standing() == ()


@given(
    st.lists(st.tuples(st.integers(0, 1), st.integers(0, 2), st.integers(1, 8)), min_size=1),
    st.lists(st.integers(0, 50), max_size=60),
)
def test_step_by_step_and_counted_anew_agree(
    drawn: list[tuple[int, int, int]], toggles: list[int]
) -> None:
    levels = Wholeness(LEVELS)
    nodes = [
        node(f"n{number}", gpus, block=f"b{block}", rack=f"r{rack}")
        for number, (block, rack, gpus) in enumerate(drawn)
    ]
    for one in nodes:
        levels.add(one)
    free: set[int] = set()
    for toggle in toggles:
        which = toggle % len(nodes)
        free ^= {which}
        levels.change(nodes[which], nodes[which].capacity[GPU], free=which in free)
    for depth, standing in enumerate(levels.standing(), start=1):
        domains: dict[tuple[str, ...], list[int]] = {}
        for number, one in enumerate(nodes):
            domains.setdefault(tuple(one.labels[x] for x in LEVELS[:depth]), []).append(number)
        assert standing.domains == len(domains)
        assert standing.whole_free == sum(free.issuperset(them) for them in domains.values())
        assert standing.largest == max(
            sum(nodes[x].capacity[GPU] for x in them if x in free) for them in domains.values()
        )
