"""Selectors, affinity, taints and tolerations, as Kubernetes has them."""

from __future__ import annotations

import pytest

from scheduler.matching import lets_in, meets, tolerates
from scheduler.model import GPU, Operator, PodSet, Requirement, Taint, TaintEffect, Toleration
from tests.scheduler.builders import a_node

LABELS = {"zone": "a", "cards": "8", "name": "x"}
SPOT = Taint(key="spot", value="yes", effect=TaintEffect.NO_SCHEDULE)


def demand(key: str, operator: Operator, *values: str) -> Requirement:
    return Requirement(key=key, operator=operator, values=values)


@pytest.mark.parametrize(
    ("one", "holds"),
    [
        (demand("zone", Operator.IN, "a", "b"), True),
        (demand("zone", Operator.IN, "b"), False),
        (demand("missing", Operator.IN, "a"), False),
        (demand("zone", Operator.NOT_IN, "b"), True),
        (demand("zone", Operator.NOT_IN, "a"), False),
        (demand("missing", Operator.NOT_IN, "a"), True),
        (demand("zone", Operator.EXISTS), True),
        (demand("missing", Operator.EXISTS), False),
        (demand("missing", Operator.DOES_NOT_EXIST), True),
        (demand("zone", Operator.DOES_NOT_EXIST), False),
        (demand("cards", Operator.GREATER, "7"), True),
        (demand("cards", Operator.GREATER, "8"), False),
        (demand("cards", Operator.LESS, "9"), True),
        (demand("cards", Operator.LESS, "8"), False),
        (demand("name", Operator.GREATER, "7"), False),
        (demand("cards", Operator.LESS, "many"), False),
        (demand("missing", Operator.GREATER, "0"), False),
        (demand("cards", Operator.GREATER), False),
    ],
    ids=lambda one: (
        f"{one.key} {one.operator} {one.values}" if isinstance(one, Requirement) else ""
    ),
)
def test_each_operator_looks_at_one_label(one: Requirement, *, holds: bool) -> None:
    assert meets(LABELS, (one,)) is holds


def test_all_demands_of_an_alternative_must_be_met() -> None:
    zone, cards = demand("zone", Operator.IN, "a"), demand("cards", Operator.LESS, "8")
    assert meets(LABELS, (zone,))
    assert not meets(LABELS, (zone, cards))
    assert meets(LABELS, ())


@pytest.mark.parametrize(
    ("toleration", "matches"),
    [
        (Toleration(key="spot", value="yes"), True),
        (Toleration(key="spot"), True),
        (Toleration(key=""), True),
        (Toleration(key="spot", value="no"), False),
        (Toleration(key="other"), False),
        (Toleration(key="spot", effect=TaintEffect.NO_SCHEDULE), True),
        (Toleration(key="spot", effect=TaintEffect.NO_EXECUTE), False),
    ],
)
def test_a_toleration_without_key_value_or_effect_matches_any(
    toleration: Toleration, *, matches: bool
) -> None:
    assert tolerates((toleration,), SPOT) is matches


def test_a_taint_that_only_asks_to_be_avoided_keeps_nobody_out() -> None:
    assert tolerates((), Taint(key="old", value="", effect=TaintEffect.PREFER_NO_SCHEDULE))


def test_a_node_lets_pods_in_by_selector_one_alternative_and_every_taint() -> None:
    node = a_node("n", labels=LABELS, taints=(SPOT,))
    allowed = (Toleration(key="spot"),)
    alternatives = ((demand("zone", Operator.IN, "b"),), (demand("cards", Operator.EXISTS),))
    pods = PodSet(count=1, requests={GPU: 1}, node_selector={"zone": "a"}, affinity=alternatives)
    assert lets_in(node, pods, allowed)
    assert not lets_in(node, pods, ())
    elsewhere = PodSet(count=1, requests={GPU: 1}, node_selector={"zone": "b"})
    assert not lets_in(node, elsewhere, allowed)
    nowhere = PodSet(count=1, requests={GPU: 1}, affinity=alternatives[:1])
    assert not lets_in(node, nowhere, allowed)
    two = a_node("n", labels=LABELS, taints=(SPOT, Taint(key="x", value="", effect=SPOT.effect)))
    assert not lets_in(two, pods, allowed)
