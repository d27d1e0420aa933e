"""The Lease: who leads, who takes over and when, and what a lost answer or a deletion means."""

from __future__ import annotations

import re

import pytest

from bot.clusters.base import ClusterUnreachable
from bot.clusters.kubernetes.connection import Connection, Json, Refused, Unanswered
from bot.clusters.kubernetes.leader import DURATION, TRUST, GuardedConnection
from bot.leading import NotLeading
from tests.bot.clusters.kubernetes.replicas import LEASE, Hand, candidate, connect
from tests.kube.server import ApiServer


@pytest.fixture(autouse=True)
def _least_rights(api: ApiServer) -> None:
    api.grant_shipped_rights()


def lease(api: ApiServer) -> Json:
    found = Connection(lambda: api.client("admin")).get(LEASE)["spec"]
    assert isinstance(found, dict)
    return found


def test_the_first_leads_and_the_second_looks_on(api: ApiServer) -> None:
    hand = Hand()
    first, second = candidate(api, "a", hand), candidate(api, "b", hand)
    for one in (first, second):
        one.attend()
    assert (first.fence(), first.leader, second.leader) == (1, "a", "a")
    with pytest.raises(NotLeading, match="a leads"):
        second.fence()
    assert lease(api)["holderIdentity"] == "a"


def test_a_renewal_goes_on_by_one_write_and_keeps_the_number(api: ApiServer) -> None:
    hand = Hand()
    first = candidate(api, "a", hand)
    first.attend()
    begun = len(api.requests)
    for _ in range(20):
        hand.now += 2.0
        first.attend()
    assert [(one.method, one.code) for one in api.requests[begun:]] == [("PUT", 200)] * 20
    assert first.fence() == 1
    assert re.fullmatch(r"\S+T\S+\.\d{6}Z", lease(api)["renewTime"])


def test_a_leader_stops_before_another_begins(api: ApiServer) -> None:
    old, new = Hand(), Hand()
    first, second = candidate(api, "a", old), candidate(api, "b", new)
    first.attend()
    second.attend()
    old.now += TRUST
    new.now += TRUST
    with pytest.raises(NotLeading):
        first.fence()
    second.attend()
    assert not second.leads
    new.now += DURATION - TRUST
    second.attend()
    assert second.fence() == 2
    first.attend()
    assert first.deposed.is_set()
    assert first.leader == "b"
    new.now += DURATION
    old.now += 10 * DURATION
    first.attend()
    assert not first.leads  # whoever was deposed starts afresh, as another process


def test_renewals_of_the_other_are_seen_as_life(api: ApiServer) -> None:
    hand = Hand()
    first, second = candidate(api, "a", hand), candidate(api, "b", hand)
    for _ in range(30):
        first.attend()
        second.attend()
        hand.now += 5.0
    assert not second.leads
    assert first.fence() == 1


@pytest.mark.parametrize("method", ["PUT", "POST"])
def test_an_answer_that_was_lost_does_not_cost_the_lead(api: ApiServer, method: str) -> None:
    hand = Hand()
    first = candidate(api, "a", hand)
    if method == "PUT":
        first.attend()
    api.faults.lose_answer(method, path="leases")
    with pytest.raises(ClusterUnreachable):
        first.attend()
    hand.now += 2.0
    first.attend()
    assert first.fence() == (1 if method == "PUT" else 2)
    hand.now += TRUST - 1.0
    assert first.leads
    assert not first.deposed.is_set()


def test_without_the_api_server_nobody_leads_and_the_same_goes_on(api: ApiServer) -> None:
    hand = Hand()
    first = candidate(api, "a", hand)
    first.attend()
    api.down()
    hand.now += TRUST + 1.0
    with pytest.raises(ClusterUnreachable):
        first.attend()
    with pytest.raises(NotLeading, match="nobody leads"):
        first.fence()
    api.up()
    first.attend()
    assert first.fence() == 1
    assert not first.deposed.is_set()


def test_giving_up_lets_another_begin_at_once(api: ApiServer) -> None:
    hand = Hand()
    first, second = candidate(api, "a", hand), candidate(api, "b", hand)
    first.attend()
    second.attend()
    first.stop()
    with pytest.raises(NotLeading):
        first.fence()
    second.attend()
    assert second.fence() == 2


def test_a_container_that_starts_again_in_its_pod_does_not_wait_for_itself(
    api: ApiServer,
) -> None:
    candidate(api, "a", Hand()).attend()
    again = candidate(api, "a", Hand())
    again.attend()
    assert again.fence() == 2


def test_a_lease_that_was_deleted_goes_on_from_what_storage_has_seen(api: ApiServer) -> None:
    hand = Hand()
    first = candidate(api, "a", hand, floor=41)
    first.attend()
    assert first.fence() == 42
    Connection(lambda: api.client("admin")).delete(LEASE, {})
    second = candidate(api, "b", hand, floor=42)
    second.attend()
    assert second.fence() == 43
    first.attend()
    assert first.deposed.is_set()


def test_only_one_of_many_takes_a_lease_that_is_free(api: ApiServer) -> None:
    hand = Hand()
    many = [candidate(api, f"bot-{number}", hand) for number in range(5)]
    gone = candidate(api, "gone", hand)
    gone.attend()
    for one in many:
        one.attend()
    hand.now += DURATION
    late = many[3]
    api.faults.before(many[1].attend, "PUT", path="leases")
    late.attend()
    assert [one.who for one in many if one.leads] == ["bot-1"]


def test_a_change_is_told_once(api: ApiServer) -> None:
    hand, told = Hand(), list[bool]()
    first = candidate(api, "a", hand)
    first.on_change = lambda: told.append(first.leads)
    first.attend()
    first.attend()
    hand.now += TRUST
    first.attend()  # late, but nobody took it
    assert told[0] is True
    assert first.leads


def test_its_thread_takes_the_lead_and_gives_it_back(api: ApiServer) -> None:
    first = candidate(api, "a", Hand())
    first.start()
    assert first.leads
    first.stop()
    assert not lease(api).get("holderIdentity")


def test_nothing_is_written_while_another_leads(api: ApiServer) -> None:
    hand = Hand()
    first, second = candidate(api, "a", hand), candidate(api, "b", hand)
    for one in (first, second):
        one.attend()
    by_first, by_second = (GuardedConnection(connect(api), one) for one in (first, second))
    path = "/api/v1/nodes"
    begun = len(api.requests)
    for write in (by_second.post, by_second.put, by_second.patch, by_second.delete):
        with pytest.raises(NotLeading, match="a leads"):
            write(path, {})
    assert len(api.requests) == begun
    assert len(by_second.get(path)["items"]) == 6
    with pytest.raises(Refused):  # sent, but the bot has no right to make nodes
        by_first.post(path, {})
    hand.now += TRUST
    with pytest.raises(Unanswered, match="not sure who leads"):
        by_first.post(path, {})


def test_no_way_to_write_goes_past_the_guard() -> None:
    ways = {name for name in vars(Connection) if not name.startswith("_")}
    assert ways <= vars(GuardedConnection).keys()
