"""A layout written as manifests reads back equal."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from scheduler.layout import (
    BorrowWithin,
    Cohort,
    FairStrategy,
    Flavor,
    Fungibility,
    Layout,
    Limits,
    LocalQueue,
    Options,
    Order,
    Preference,
    Queue,
    Reclaim,
    ResourceGroup,
    Search,
    Strategy,
    UsageRules,
    Within,
)
from scheduler.manifests.reading import read_manifests
from scheduler.manifests.writing import write_manifests
from scheduler.model import (
    GPU,
    CohortName,
    FlavorName,
    Priority,
    QueueName,
    ResourceName,
    Spend,
    Taint,
    TaintEffect,
    TeamName,
    Toleration,
)
from scheduler.policy import compile_policy, load_policy
from scheduler.routing import Ask, Route, route

DEPLOY = Path(__file__).parents[3] / "deploy"
RESOURCES = (GPU, ResourceName("cpu"), ResourceName("memory"))
WEIGHTS = st.sampled_from((0.0, 0.1, 0.5, 1.0, 2.0, 3.25))


def read_back(layout: Layout) -> Layout:
    """Through the very text that a person would apply."""
    text = yaml.safe_dump_all(write_manifests(layout), sort_keys=False)
    manifests = read_manifests([("policy.yaml", list(yaml.safe_load_all(text)))])
    assert manifests.problems == ()
    return manifests.layout


@pytest.mark.parametrize("name", ["policy.yaml", "policy-flat.yaml"])
def test_the_shipped_policies_go_to_kueue_and_back(name: str) -> None:
    """With and without lanes by priority."""
    layout = compile_policy(load_policy((DEPLOY / name).read_text(encoding="utf-8"), name))
    assert read_back(layout) == layout


def test_people_write_the_same_in_both_layouts() -> None:
    """Whatever is asked for finds a queue of the same pool."""
    lanes, flat = (
        compile_policy(load_policy((DEPLOY / name).read_text(encoding="utf-8"), name))
        for name in ("policy.yaml", "policy-flat.yaml")
    )
    for spend, preemptible, priority, pods in product(Spend, (True, False), Priority, (1, 4)):
        ask = Ask(
            team=TeamName("nlp"),
            spend=spend,
            preemptible=preemptible,
            priority=priority,
            pods=pods,
            gpus_per_pod=8,
            model="h100",
        )
        routes = [route(layout, ask) for layout in (lanes, flat)]
        pools = {found.pool for found in routes if isinstance(found, Route)}
        assert len(pools) == 1, f"{ask}: {routes}"


LIMITS = st.builds(
    Limits,
    nominal=st.integers(0, 10**15),
    borrowing=st.none() | st.integers(0, 10**12),
    lending=st.none() | st.integers(0, 10**12),
)


@st.composite
def flavors(draw: st.DrawFn, name: str) -> Flavor:
    effect = draw(st.sampled_from((TaintEffect.NO_SCHEDULE, TaintEffect.NO_EXECUTE)))
    taint = Taint(key="spot", value=draw(st.sampled_from(("", "true"))), effect=effect)
    value = draw(st.sampled_from((None, "", "true")))
    return Flavor(
        name=FlavorName(name),
        node_labels={"pool": name},
        taints=draw(st.sampled_from(((), (taint,)))),
        tolerations=draw(st.sampled_from(((), (Toleration(key="spot", value=value),)))),
        levels=draw(
            st.sampled_from(((), ("kubernetes.io/hostname",), ("x.io/block", "x.io/rack")))
        ),
        model=draw(st.sampled_from(("", "h100"))),
        weight=draw(st.sampled_from((0.5, 1.0))),
    )


@st.composite
def layouts(draw: st.DrawFn) -> Layout:
    names = draw(st.sampled_from((("a",), ("a", "b"), ("b", "a", "c"))))
    made = tuple(draw(flavors(name)) for name in names)
    cohorts = (
        Cohort(name=CohortName("root"), weight=draw(WEIGHTS)),
        Cohort(
            name=CohortName("part"),
            parent=CohortName("root"),
            quotas=draw(quotas(names, RESOURCES[:1])),
        ),
    )
    queues = tuple(draw(a_queue(f"q{number}", names)) for number in range(draw(st.integers(1, 3))))
    local = LocalQueue(name="ml", namespace="team", queue=queues[0].name, weight=draw(WEIGHTS))
    return Layout(
        flavors=made,
        queues=queues,
        cohorts=cohorts,
        local_queues=draw(st.sampled_from(((), (local,)))),
        usage=draw(st.none() | st.just(UsageRules(half_life=3600.0, interval=60.0))),
        fair_sharing=draw(st.none() | st.just((FairStrategy.INITIAL,))),
        options=draw(st.sampled_from((Options(), Options(claims=False)))),
    )


@st.composite
def quotas(
    draw: st.DrawFn, names: tuple[str, ...], resources: tuple[ResourceName, ...]
) -> dict[tuple[FlavorName, ResourceName], Limits]:
    return {(FlavorName(name), r): draw(LIMITS) for name in names for r in resources}


@st.composite
def a_queue(draw: st.DrawFn, name: str, names: tuple[str, ...]) -> Queue:
    resources = draw(st.sampled_from((RESOURCES[:1], RESOURCES)))
    reclaim = draw(st.sampled_from(Reclaim))
    borrow = None
    if reclaim is not Reclaim.NEVER:
        borrow = draw(st.sampled_from((None, BorrowWithin(), BorrowWithin(max_priority=3))))
    return Queue(
        name=QueueName(name),
        cohort=draw(st.sampled_from((CohortName("root"), CohortName("part")))),
        groups=(ResourceGroup(resources=resources, flavors=tuple(map(FlavorName, names))),),
        quotas=draw(quotas(names, resources)),
        strategy=draw(st.sampled_from(Strategy)),
        order=draw(st.sampled_from(Order)),
        within=draw(st.sampled_from(Within)),
        reclaim=reclaim,
        borrow_within=borrow,
        fungibility=Fungibility(
            when_can_borrow=draw(st.sampled_from(Search)),
            when_can_preempt=draw(st.sampled_from(Search)),
            preference=draw(st.sampled_from(Preference)),
        ),
        weight=draw(WEIGHTS),
        protected_from=draw(st.sampled_from((None, 9))),
        strict_per_flavor=draw(st.booleans()),
    )


@settings(max_examples=40, suppress_health_check=[HealthCheck.too_slow])
@given(layouts())
def test_any_layout_goes_to_kueue_and_back(layout: Layout) -> None:
    assert read_back(layout) == layout
