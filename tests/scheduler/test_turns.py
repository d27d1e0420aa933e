"""Users of a team take turns, and who waited too long is not overtaken."""

from __future__ import annotations

from scheduler.layout import Aging, Layout, UsageRules
from scheduler.turns import UserLedger, account_of
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload, names

HOUR = 3600.0


def turns(*, half_life: float | None = None) -> Layout:
    usage = None if half_life is None else UsageRules(half_life=half_life, interval=60.0)
    return a_layout(a_queue("A", 8, fair_users=True), usage=usage)


def test_two_users_of_a_team_are_two_accounts() -> None:
    ada, ben = (a_workload("w", "A", team="nlp", owner=owner) for owner in ("ada", "ben"))
    assert account_of(ada) != account_of(ben)
    assert account_of(ada) == account_of(a_workload("x", "A", team="nlp", owner="ada"))


def test_without_memory_only_what_is_held_now_counts() -> None:
    ledger, work = UserLedger(turns()), a_workload("w", "A", 2, 4, owner="ada")
    ledger.hold(work, 1, 0.0)
    ledger.now = 1e6
    assert ledger.score(account_of(work)) == 8.0
    ledger.hold(work, -1, 1e6)
    assert ledger.score(account_of(work)) == 0.0


def test_what_was_held_fades_by_half_in_a_half_life() -> None:
    ledger, work = UserLedger(turns(half_life=HOUR)), a_workload("w", "A", 1, 8, owner="ada")
    ledger.hold(work, 1, 0.0)
    ledger.hold(work, -1, HOUR)
    ledger.now = HOUR
    after_an_hour = ledger.score(account_of(work))
    assert after_an_hour == 4.0, "held for one half-life, it is half of what is held for ever"
    ledger.now = 2 * HOUR
    assert ledger.score(account_of(work)) == 2.0


def test_a_policy_without_turns_counts_nobody() -> None:
    ledger, work = UserLedger(a_layout(a_queue("A", 8))), a_workload("w", "A", 1, 8)
    ledger.hold(work, 1, 0.0)
    assert ledger.score(account_of(work)) == 0.0


def test_a_copy_counts_for_itself() -> None:
    ledger, work = UserLedger(turns()), a_workload("w", "A", 1, 8)
    copied = ledger.copy()
    copied.hold(work, 1, 0.0)
    assert (ledger.score(account_of(work)), copied.score(account_of(work))) == (0.0, 8.0)


def test_who_holds_nothing_goes_before_who_asked_first() -> None:
    cluster = Cluster(turns(), a_node("n"))
    cluster.submit(
        *(a_workload(f"ada{i}", "A", 1, 4, owner="ada", created=1.0 + i) for i in range(3))
    )
    cluster.submit(a_workload("ben", "A", 1, 4, owner="ben", created=9.0))
    assert cluster.waiting() == ["ada0", "ben", "ada1", "ada2"], "as they would start one by one"
    assert names(cluster.cycle().admissions) == ["ada0", "ben"]
    cluster.finish("ben")
    cluster.submit(a_workload("ben2", "A", 1, 4, owner="ben", created=10.0))
    assert names(cluster.cycle(1.0).admissions) == ["ben2"]


def test_priority_comes_before_turns() -> None:
    cluster = Cluster(turns(), a_node("n"))
    cluster.start(a_workload("ada0", "A", 1, 4, owner="ada"))
    cluster.submit(a_workload("ben", "A", 1, 4, owner="ben", created=1.0))
    cluster.submit(a_workload("ada1", "A", 1, 4, owner="ada", created=2.0, priority=1))
    assert names(cluster.cycle().admissions) == ["ada1"]


def test_who_was_raised_and_finds_no_room_is_not_overtaken_by_smaller_work() -> None:
    for hold, started in ((False, ["small"]), (True, [])):
        rule = Aging(after=60.0, every=60.0, step=1, most=1, hold=hold)
        cluster = Cluster(a_layout(a_queue("A", 8, aging=rule)), a_node("n"))
        cluster.start(a_workload("first", "A", 1, 4))
        cluster.submit(a_workload("large", "A", 1, 8, created=cluster.now))
        cluster.cycle()
        cluster.cycle(61.0)
        cluster.submit(a_workload("small", "A", 1, 4, created=cluster.now))
        assert names(cluster.cycle().admissions) == started
