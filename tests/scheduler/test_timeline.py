"""An engine played forward: what is due, branches, and spans."""

from __future__ import annotations

from scheduler.model import Basis, WorkloadId
from scheduler.timeline import MOMENTS, TOGETHER, Grain, Quarter, Spent, Start, Timeline
from tests.scheduler.builders import Cluster, a_layout, a_node, a_queue, a_workload


def a_timeline(quarter: Quarter = Quarter.LIKELY) -> Timeline:
    """One node; `one` ends at 1100, and `two` starts then for 50 seconds."""
    cluster = Cluster(a_layout(a_queue("a", 8)), a_node("n1"))
    cluster.start(a_workload("one", "a", gpus=8, duration=100.0), later=0.0)
    cluster.submit(a_workload("two", "a", gpus=8, duration=50.0))
    return Timeline(cluster.engine.fork(learns=False), cluster.now, MOMENTS, quarter)


def test_it_goes_from_end_to_end_until_nothing_is_due() -> None:
    line = a_timeline()
    moments = []
    while line.step():
        moments.append(line.now)
    assert moments == [1100.0, 1150.0]
    assert line.started == {"two": Start(1100.0, 1100.0)}
    assert line.spent.moments == 2


def test_a_branch_goes_its_own_way() -> None:
    line = a_timeline()
    branch = line.branch()
    branch.submit(a_workload("three", "a", gpus=8, duration=10.0, priority=9))
    branch.step()
    assert sorted(branch.started) == ["three"]
    line.step()
    assert sorted(line.started) == ["two"]


def test_who_has_just_started_can_be_put_back() -> None:
    line = a_timeline()
    line.step()
    line.put_back(line.fresh)
    line.submit(a_workload("three", "a", gpus=8, duration=10.0, priority=9))
    assert line.fresh == ("three",)
    line.step()
    assert line.started[WorkloadId("two")] == Start(1110.0, 1110.0)


def test_the_least_certain_end_so_far_is_the_basis() -> None:
    line = a_timeline()
    assert line.basis_at(5000.0) is Basis.DECLARED
    assert not line.vague


def test_a_span_grows_with_what_has_passed() -> None:
    grain = Grain(least=30.0, growth=0.1)
    assert [grain.span(passed) for passed in (0.0, 100.0, 1000.0)] == [30.0, 30.0, 100.0]
    assert MOMENTS.span(1e6) == 0.0


def test_work_counts_cycles_for_more_than_moments() -> None:
    assert Spent(moments=10).work < Spent(moments=10, cycles=1).work
    assert Spent(cycles=1).work < Spent(cycles=1, toil=1_000).work
    assert Start(10.0, 20.0).likely == 15.0


def test_a_crowd_that_ends_at_the_same_time_leaves_in_several_moments_of_it() -> None:
    """So no moment costs more than an effort can bound."""
    many = 2 * TOGETHER + 1
    cluster = Cluster(
        a_layout(a_queue("a", many)), *(a_node(f"n{i}") for i in range(many // 8 + 1))
    )
    for number in range(many):
        cluster.start(a_workload(f"w{number}", "a", gpus=1, duration=100.0), later=0.0)
    line = Timeline(cluster.engine.fork(learns=False), cluster.now, MOMENTS)
    left = []
    while line.step():
        left.append((line.now, len(line.engine.running())))
    assert left == [(1100.0, TOGETHER + 1), (1100.0, 1), (1100.0, 0)]
    assert line.spent.ends == many - 3
    assert line.spent.work >= many
