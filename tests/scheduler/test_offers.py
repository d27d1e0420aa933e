"""Changes with which work would start sooner: each really starts when it is said to."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

from hypothesis import given
from hypothesis import strategies as st

from scheduler.events import Submitted
from scheduler.forecast import Reach
from scheduler.layout import BackfillRules, Reclaim
from scheduler.model import Workload
from scheduler.offers import OFFERS_AT_MOST, STEP, OfferKind, Variant
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload
from tests.scheduler.test_forecast import HOUR, Play, a_busy_world
from tests.scheduler.worlds import workloads


def a_variant(kind: OfferKind, workload: Workload) -> Variant:
    return Variant(kind=kind, workload=workload)


def a_cluster() -> Cluster:
    """Three nodes: 4 GPUs of one are free now, all of it in an hour, the rest in three."""
    cluster = Cluster(a_layout(a_queue("a", 24), a_queue("b", 0)), *map(a_node, ("n1", "n2", "n3")))
    cluster.start(a_workload("half", "a", gpus=4, duration=HOUR), later=0.0)
    cluster.start(a_workload("two", "a", gpus=8, duration=3 * HOUR), later=0.0)
    cluster.start(a_workload("three", "a", gpus=8, duration=3 * HOUR), later=0.0)
    return cluster


def test_fewer_gpus_that_are_free_start_at_once() -> None:
    cluster = a_cluster()
    asked = a_workload("new", "a", 2, 8, created=1000.0)
    found = cluster.engine.consider(
        asked,
        cluster.now,
        [
            a_variant(OfferKind.FEWER_GPUS, a_workload("new", "a", gpus=8, created=1000.0)),
            a_variant(OfferKind.FEWER_GPUS, a_workload("new", "a", gpus=4, created=1000.0)),
        ],
    )
    assert found.forecast.likely == 1000.0 + 3 * HOUR
    said = [(offer.variant.workload.gpus, offer.start) for offer in found.offers]
    assert said == [(4, 1000.0), (8, 1000.0 + HOUR)]
    assert cluster.running() == ["half", "three", "two"]


def test_at_the_same_time_the_smaller_change_comes_first_and_three_are_enough() -> None:
    cluster = a_cluster()
    asked = a_workload("new", "a", gpus=8, created=1000.0)
    kinds = (OfferKind.FEWER_GPUS, OfferKind.SPLIT, OfferKind.SPOT, OfferKind.OTHER_MODEL)
    variants = [
        a_variant(kind, a_workload("new", "a", gpus=gpus, created=1000.0))
        for kind, gpus in zip(kinds, (1, 2, 3, 4), strict=True)
    ]
    offers = cluster.engine.counter_offers(asked, cluster.now, variants)
    assert [offer.variant.workload.gpus for offer in offers] == [4, 3, 2]
    assert len(offers) == OFFERS_AT_MOST


def test_who_changes_more_has_to_start_sooner_than_others_of_its_kind() -> None:
    cluster = a_cluster()
    asked = a_workload("new", "a", 2, 8, created=1000.0)
    variants = [
        a_variant(OfferKind.FEWER_GPUS, a_workload("new", "a", gpus=gpus, created=1000.0))
        for gpus in (2, 3, 4, 8, 7)
    ]
    lease = replace(asked, duration=60.0)
    shorter = [a_variant(OfferKind.SHORTER_LEASE, replace(lease, duration=d)) for d in (9.0, 60.0)]
    offers = cluster.engine.counter_offers(asked, cluster.now, [*variants, *shorter])
    assert [(o.variant.workload.gpus, o.start) for o in offers] == [
        (4, 1000.0),
        (8, 1000.0 + HOUR),
    ]


def test_nothing_is_offered_that_starts_no_sooner() -> None:
    cluster = a_cluster()
    asked = a_workload("new", "a", gpus=8, created=1000.0)
    alike = a_variant(OfferKind.PREEMPTIBLE, replace(asked, preemptible=False))
    assert cluster.engine.counter_offers(asked, cluster.now, [alike]) == ()


def test_for_who_starts_at_once_there_is_nothing_to_offer() -> None:
    cluster = a_cluster()
    asked = a_workload("new", "a", gpus=4, created=1000.0)
    smaller = a_variant(OfferKind.FEWER_GPUS, a_workload("new", "a", gpus=1, created=1000.0))
    found = cluster.engine.consider(asked, cluster.now, [smaller])
    assert (found.forecast.reason, found.offers) == (Reach.NOW, ())


def test_who_could_never_start_is_offered_what_could() -> None:
    cluster = a_cluster()
    asked = a_workload("new", "a", 4, 8, created=1000.0)
    smaller = a_variant(OfferKind.FEWER_GPUS, a_workload("new", "a", gpus=4, created=1000.0))
    huge = a_variant(OfferKind.SPLIT, a_workload("new", "a", 9, 4, created=1000.0))
    found = cluster.engine.consider(asked, cluster.now, [smaller, huge])
    assert found.forecast.reason is Reach.NEVER
    assert [offer.variant for offer in found.offers] == [smaller]


def test_one_that_waits_already_may_be_asked_about() -> None:
    cluster = a_cluster()
    asked = a_workload("new", "a", 2, 8, created=1000.0)
    cluster.submit(asked)
    cluster.cycle()
    smaller = a_variant(OfferKind.FEWER_GPUS, a_workload("new", "a", gpus=4, created=1000.0))
    offers = cluster.engine.counter_offers(asked, cluster.now, [smaller])
    assert [offer.start for offer in offers] == [1000.0]
    assert cluster.waiting() == ["new"]


def test_a_variant_may_have_others_stopped() -> None:
    cluster = Cluster(
        a_layout(a_queue("own", 8, reclaim=Reclaim.ANY), a_queue("guest", 0)), a_node("n1")
    )
    cluster.start(a_workload("loan", "guest", gpus=8, duration=HOUR), later=0.0)
    asked = a_workload("new", "guest", gpus=8, created=1000.0)
    own = a_variant(OfferKind.OTHER_MODEL, a_workload("new", "own", gpus=8, created=1000.0))
    assert [o.start for o in cluster.engine.counter_offers(asked, cluster.now, [own])] == [1000.0]


def test_a_shorter_lease_goes_ahead_of_a_reservation() -> None:
    layout = a_layout(a_queue("a", 16, backfill=BackfillRules(after=60.0, least=16)))
    cluster = Cluster(layout, a_node("n1"), a_node("n2"))
    cluster.start(a_workload("hour", "a", gpus=8, duration=HOUR), later=0.0)
    cluster.submit(a_workload("hero", "a", 2, 8, created=1000.0, duration=HOUR))
    cluster.cycle()
    cluster.cycle(later=100.0)
    assert [one.workload for one in cluster.engine.reservations()] == ["hero"]
    asked = a_workload("new", "a", gpus=8, created=1100.0, duration=2 * HOUR)
    shorter = a_variant(OfferKind.SHORTER_LEASE, replace(asked, duration=HOUR / 2))
    found = cluster.engine.consider(asked, cluster.now, [shorter])
    assert found.forecast.likely == 1000.0 + 2 * HOUR
    assert [(offer.variant, offer.start) for offer in found.offers] == [(shorter, cluster.now)]


@given(st.data())
def test_an_offer_starts_when_it_is_said_to(data: st.DataObject) -> None:
    world = a_busy_world(data.draw)
    engine, now = world.engine, world.now
    asked = replace(data.draw(workloads(world.number)), duration=60.0, created=now)
    variants = [
        a_variant(
            data.draw(st.sampled_from(list(OfferKind))),
            replace(data.draw(workloads(world.number)), duration=60.0, created=now),
        )
        for _ in range(4)
    ]
    found = engine.consider(asked, now, variants)
    assert len(found.offers) <= OFFERS_AT_MOST
    for one, other in combinations(found.offers, 2):
        if one.variant.kind is other.variant.kind:
            more, less = one.variant.workload.gpus, other.variant.workload.gpus
            assert abs(less - asked.gpus) <= abs(more - asked.gpus)
    starts = [offer.start for offer in found.offers]
    assert starts == sorted(starts)
    for offer in found.offers:
        if found.forecast.likely is not None:
            assert offer.start <= found.forecast.likely - STEP
        if offer.replayed:
            fork = engine.fork()
            fork.apply(Submitted(workload=offer.variant.workload))
            assert Play(fork, now).out()[asked.id] == offer.start
