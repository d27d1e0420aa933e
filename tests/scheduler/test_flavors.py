"""The flavor of each resource: labels, taints, order, fungibility, what earlier pod sets took."""

from __future__ import annotations

import pytest

from scheduler.flavors import Desk, Menu, Mode, admits, assign, menu
from scheduler.layout import (
    Fungibility,
    Layout,
    Limits,
    Options,
    Preference,
    Queue,
    ResourceGroup,
    Search,
)
from scheduler.model import (
    GPU,
    FlavorName,
    PodSet,
    ResourceName,
    Taint,
    Toleration,
    TopologyMode,
    TopologyRequest,
    Workload,
)
from scheduler.quota import QuotaTree
from tests.scheduler.builders import MODEL, a_flavor, a_layout, a_queue, a_workload

CPU = ResourceName("cpu")
FAST, SLOW = FlavorName("fast"), FlavorName("slow")


class FlavorSearch:
    """One search in queue A of a layout; `used` is charged to queues first."""

    def __init__(
        self,
        *queues: Queue,
        used: dict[int, dict[int, int]] | None = None,
        victims: dict[int, Mode] | None = None,
        options: Options | None = None,
    ) -> None:
        flavors = (a_flavor("fast"), a_flavor("slow"))
        self.layout: Layout = a_layout(*queues, flavors=flavors, options=options)
        self.tree = QuotaTree(self.layout)
        self.usage = self.tree.empty()
        for queue, amounts in (used or {}).items():
            self.tree.charge(self.usage, queue, tuple(amounts.items()))
        self.victims = victims or {}

    def menu(self, workload: Workload) -> Menu:
        return menu(self.layout, self.tree, self.layout.queues[0], workload)

    def __call__(
        self, workload: Workload
    ) -> tuple[Mode, int, list[dict[ResourceName, FlavorName]]]:
        desk = Desk(
            self.tree,
            self.usage,
            0,
            self.layout.queues[0],
            lambda column, _: (self.victims.get(column, Mode.NO_CANDIDATES), 0),
        )
        found = assign(desk, self.menu(workload))
        return found.mode, found.level, found.flavors


def both(name: str = "A", fast: int = 8, slow: int = 8, **more: object) -> Queue:
    return a_queue(name, {"fast": fast, "slow": slow}, **more)  # type: ignore[arg-type]


def test_the_first_flavor_that_fits_is_taken() -> None:
    assert FlavorSearch(both())(a_workload("w", "A", 1, 8)) == (Mode.FIT, 0, [{GPU: FAST}])


def test_the_next_is_taken_when_the_first_is_full() -> None:
    search = FlavorSearch(both(cohort=None), used={0: {0: 4}})
    assert search(a_workload("w", "A", 1, 8))[2] == [{GPU: SLOW}]


def test_a_node_selector_chooses_the_flavor() -> None:
    assert FlavorSearch(both())(a_workload("w", "A", 1, 8, model="slow"))[2] == [{GPU: SLOW}]


def test_no_flavor_for_an_unknown_label() -> None:
    search = FlavorSearch(both())
    assert search.menu(a_workload("w", "A", model="none")).impossible
    assert search(a_workload("w", "A", model="none"))[0] is Mode.NO_FIT


def test_more_than_there_could_ever_be_does_not_fit() -> None:
    assert FlavorSearch(both(cohort=None))(a_workload("w", "A", 2, 8))[0] is Mode.NO_FIT


@pytest.mark.parametrize(
    ("borrow", "expected"), [(Search.MAY_STOP, (1, FAST)), (Search.TRY_NEXT, (0, SLOW))]
)
def test_whether_borrowing_ends_the_search(
    borrow: Search, expected: tuple[int, FlavorName]
) -> None:
    rules = Fungibility(when_can_borrow=borrow)
    search = FlavorSearch(both(fast=0, fungibility=rules), both("bank"))
    mode, level, flavors = search(a_workload("w", "A", 1, 8))
    assert (mode, level, flavors[0][GPU]) == (Mode.FIT, *expected)


@pytest.mark.parametrize(
    ("preempt", "expected"),
    [(Search.MAY_STOP, (Mode.RECLAIM, FAST)), (Search.TRY_NEXT, (Mode.FIT, SLOW))],
)
def test_whether_preempting_ends_the_search(
    preempt: Search, expected: tuple[Mode, FlavorName]
) -> None:
    rules = Fungibility(when_can_preempt=preempt)
    search = FlavorSearch(
        both(fungibility=rules, cohort=None), used={0: {0: 8}}, victims={0: Mode.RECLAIM}
    )
    mode, _, flavors = search(a_workload("w", "A", 1, 8))
    assert (mode, flavors[0][GPU]) == expected


def test_reclaiming_is_better_than_stopping_own_work() -> None:
    search = FlavorSearch(
        both(cohort=None),
        used={0: {0: 8, 1: 8}},
        victims={0: Mode.PREEMPT, 1: Mode.RECLAIM},
    )
    assert search(a_workload("w", "A", 1, 8))[2] == [{GPU: SLOW}]


@pytest.mark.parametrize(
    ("preference", "expected"),
    [
        (Preference.BORROWING_OVER_PREEMPTION, (Mode.FIT, SLOW)),
        (Preference.PREEMPTION_OVER_BORROWING, (Mode.RECLAIM, FAST)),
    ],
)
def test_borrowing_against_preempting(
    preference: Preference, expected: tuple[Mode, FlavorName]
) -> None:
    rules = Fungibility(
        when_can_borrow=Search.TRY_NEXT, when_can_preempt=Search.TRY_NEXT, preference=preference
    )
    search = FlavorSearch(
        both(fast=8, slow=0, fungibility=rules),
        both("bank", fast=0, slow=8),
        used={0: {0: 8}},
        victims={0: Mode.RECLAIM},
    )
    mode, _, flavors = search(a_workload("w", "A", 1, 8))
    assert (mode, flavors[0][GPU]) == expected


def test_a_flavor_without_candidates_is_worse_than_any_that_works() -> None:
    search = FlavorSearch(both(cohort=None), used={0: {0: 8, 1: 8}}, victims={1: Mode.PREEMPT})
    mode, _, flavors = search(a_workload("w", "A", 1, 8))
    assert (mode, flavors[0][GPU]) == (Mode.PREEMPT, SLOW)


def test_earlier_pod_sets_of_the_gang_count() -> None:
    sets = tuple(PodSet(name=name, count=1, requests={GPU: 6}) for name in ("a", "b"))
    search = FlavorSearch(both(cohort=None))
    assert search(a_workload("w", "A", pod_sets=sets))[2] == [{GPU: FAST}, {GPU: SLOW}]


def with_cpu(cpu: int) -> Queue:
    """GPUs and CPUs in one group: a flavor must serve both."""
    return a_queue(
        "A",
        8,
        cohort=None,
        groups=(ResourceGroup(resources=(GPU, CPU), flavors=(FAST, SLOW)),),
        quotas={
            (FAST, GPU): Limits(nominal=8),
            (FAST, CPU): Limits(nominal=cpu),
            (SLOW, GPU): Limits(nominal=8),
            (SLOW, CPU): Limits(nominal=64),
        },
    )


def test_all_resources_of_a_group_come_from_one_flavor() -> None:
    pods = (PodSet(count=1, requests={GPU: 4, CPU: 32}),)
    assert FlavorSearch(with_cpu(16))(a_workload("w", "A", pod_sets=pods))[2] == [
        {GPU: SLOW, CPU: SLOW}
    ]
    assert FlavorSearch(with_cpu(32))(a_workload("w", "A", pod_sets=pods))[2] == [
        {GPU: FAST, CPU: FAST}
    ]


def test_groups_choose_for_themselves() -> None:
    queue = a_queue(
        "A",
        8,
        cohort=None,
        groups=(
            ResourceGroup(resources=(GPU,), flavors=(FAST,)),
            ResourceGroup(resources=(CPU,), flavors=(SLOW,)),
        ),
        quotas={(FAST, GPU): Limits(nominal=8), (SLOW, CPU): Limits(nominal=64)},
    )
    pods = (PodSet(count=1, requests={GPU: 4, CPU: 32}),)
    assert FlavorSearch(queue)(a_workload("w", "A", pod_sets=pods))[2] == [{GPU: FAST, CPU: SLOW}]


def test_a_resource_without_quota_is_ignored_or_forbidden_as_the_options_say() -> None:
    pods = (PodSet(count=1, requests={GPU: 4, CPU: 32}),)
    workload = a_workload("w", "A", pod_sets=pods)
    assert FlavorSearch(both())(workload)[0] is Mode.FIT
    strict = FlavorSearch(both(), options=Options(ignore_uncovered=False))
    assert strict.menu(workload).uncovered == CPU
    assert strict(workload)[0] is Mode.NO_FIT
    nothing = (PodSet(count=1, requests={GPU: 4, CPU: 0}),)
    assert strict(a_workload("w", "A", pod_sets=nothing))[0] is Mode.FIT


ASKS = TopologyRequest(mode=TopologyMode.REQUIRED, level="rack")


@pytest.mark.parametrize(
    ("flavor", "pods", "all_levels", "expected"),
    [
        ({"taints": (Taint(key="spot"),)}, {}, True, False),
        ({"taints": (Taint(key="spot"),)}, {"tolerations": (Toleration(key="spot"),)}, True, True),
        (
            {"taints": (Taint(key="spot"),), "tolerations": (Toleration(key="spot"),)},
            {},
            True,
            True,
        ),
        ({}, {"node_selector": {MODEL: "fast"}}, True, True),
        ({}, {"node_selector": {MODEL: "slow"}}, True, False),
        ({}, {"node_selector": {"disk": "ssd"}}, True, True),
        ({"levels": ()}, {"topology": ASKS}, False, False),
        ({"levels": ("block",)}, {"topology": ASKS}, True, False),
        ({"levels": ("rack", "host")}, {"topology": ASKS}, True, True),
        ({"levels": ("rack",)}, {}, False, False),
        ({"levels": ("rack",)}, {}, True, True),
    ],
)
def test_who_may_take_a_flavor(
    flavor: dict[str, object], pods: dict[str, object], all_levels: bool, expected: bool
) -> None:
    asks = PodSet(count=1, requests={GPU: 1}, **pods)  # type: ignore[arg-type]
    assert admits(a_flavor("fast", **flavor), asks, all_levels=all_levels) is expected
