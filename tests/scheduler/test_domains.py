"""Domains in order: every domain of every level is a slice of the leaves."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from scheduler.domains import Domains, draw_domains

LEVELS = ("block", "rack", "host")
LEAVES = st.lists(
    st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 9)),
    min_size=1,
    max_size=12,
    unique=True,
)


def drawn(leaves: list[tuple[str, str, int]]) -> Domains:
    return draw_domains(
        LEVELS,
        [((b, r, str(h)), f"{b}{r}{h}", column) for column, (b, r, h) in enumerate(leaves)],
    )


def test_leaves_are_ordered_by_level_values_whatever_order_they_were_seen_in() -> None:
    domains = drawn([("b", "x", 1), ("a", "y", 2), ("a", "x", 9)])
    assert domains.paths == (("a", "x", "9"), ("a", "y", "2"), ("b", "x", "1"))
    assert domains.columns.tolist() == [2, 1, 0]
    assert [domains.size(level) for level in range(3)] == [2, 3, 3]


def test_racks_of_the_same_name_in_two_blocks_are_two() -> None:
    domains = drawn([("a", "x", 1), ("b", "x", 1)])
    assert domains.size(1) == 2
    assert [domains.path(1, d) for d in range(2)] == [("a", "x"), ("b", "x")]


def test_a_domain_that_is_not_there_is_not_found() -> None:
    assert drawn([("a", "x", 1)]).find(("a", "y")) is None


@given(LEAVES)
def test_a_path_finds_its_leaves_and_each_leaf_its_holder(
    leaves: list[tuple[str, str, int]],
) -> None:
    domains = drawn(leaves)
    assert domains.find(()) == (0, len(leaves))
    for level in range(len(LEVELS)):
        for domain in range(domains.size(level)):
            path = domains.path(level, domain)
            span = domains.find(path)
            assert span is not None
            inside = range(*span)
            assert all(domains.paths[leaf][: level + 1] == path for leaf in inside)
            assert all(domains.holder(level, leaf) == domain for leaf in inside)
            others = set(range(len(leaves))) - set(inside)
            assert all(domains.paths[leaf][: level + 1] != path for leaf in others)


@given(LEAVES, st.data())
def test_sums_go_to_the_domain_above_and_children_are_those_below(
    leaves: list[tuple[str, str, int]], data: st.DataObject
) -> None:
    domains = drawn(leaves)
    values = np.array(
        data.draw(st.lists(st.integers(0, 9), min_size=len(leaves), max_size=len(leaves)))
    )
    of_racks = domains.sums(1, values)
    of_blocks = domains.sums(0, of_racks)
    for level, sums in ((1, of_racks), (0, of_blocks)):
        for domain, total in enumerate(sums.tolist()):
            span = domains.find(domains.path(level, domain))
            assert span is not None
            assert total == values[span[0] : span[1]].sum()
    for block in range(domains.size(0)):
        mine = domains.children(0, [block]).tolist()
        assert [domains.path(1, rack)[:1] for rack in mine] == [domains.path(0, block)] * len(mine)
    assert domains.children(0, range(domains.size(0))).tolist() == list(range(domains.size(1)))
