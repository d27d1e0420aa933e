"""Order inside a queue, parking by shape, overflow, and strict queues."""

from __future__ import annotations

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from scheduler.flavors import Menu
from scheduler.layout import Order, Strategy
from scheduler.model import TeamName, Workload
from scheduler.pending import PendingQueue, Shape, order_key, shape_of
from tests.scheduler.builders import a_queue, a_workload

NO_MENU = Menu(groups=((),))


def no_usage(_: TeamName) -> float:
    return 0.0


class Line:
    """A pending queue with the bookkeeping that the engine's state does."""

    def __init__(self, **more: object) -> None:
        self.queue = PendingQueue(a_queue("A", 8, **more))  # type: ignore[arg-type]
        self.shapes: dict[str, Shape] = {}

    def add(self, *workloads: Workload, home: Shape | None = None) -> None:
        for workload in workloads:
            shape = self.queue.shape(shape_of(workload), home, NO_MENU, workload)
            self.queue.add(workload, shape)
            self.shapes[workload.id] = shape

    def park(self, one: str) -> None:
        self.shapes[one].parked = True
        self.queue.fresh = False

    def head(self, usage: Mapping[str, float] | None = None) -> str | None:
        self.queue.fresh = False
        first = self.queue.head(no_usage if usage is None else lambda team: usage[team])
        return None if first is None else first[0][2]

    def all(self, usage: Mapping[str, float] | None = None) -> list[str]:
        return list(self.queue.keys(no_usage if usage is None else lambda team: usage[team]))


def test_priority_comes_before_age_and_age_before_id() -> None:
    line = Line()
    line.add(
        a_workload("d", "A", created=1),
        a_workload("c", "A", created=1),
        a_workload("b", "A", created=0, priority=1),
        a_workload("a", "A", created=9, priority=5),
    )
    assert line.all() == ["a", "b", "c", "d"]


def test_usage_comes_before_priority_where_the_queue_says_so() -> None:
    line = Line(order=Order.USAGE)
    line.add(
        a_workload("rich", "A", team="x", priority=9),
        a_workload("poor", "A", team="y", priority=1),
    )
    assert line.all({"x": 10.0, "y": 0.0}) == ["poor", "rich"]
    assert line.head({"x": 10.0, "y": 0.0}) == "poor"
    assert line.head({"x": 10.0, "y": 20.0}) == "rich"


def test_equal_usage_goes_by_priority_across_teams() -> None:
    line = Line(order=Order.USAGE)
    line.add(a_workload("a", "A", team="x", priority=1), a_workload("b", "A", team="y", priority=2))
    assert line.head({"x": 1.0, "y": 1.0}) == "b"


def test_a_parked_shape_takes_its_like_with_it_and_lets_others_pass() -> None:
    line = Line()
    line.add(
        a_workload("big1", "A", 1, 8, created=1),
        a_workload("big2", "A", 1, 8, created=2),
        a_workload("small", "A", 1, 1, created=3),
    )
    line.park("big1")
    assert line.head() == "small"
    line.add(a_workload("big0", "A", 1, 8, created=0))
    assert line.head() == "small"
    assert line.all() == ["big0", "big1", "big2", "small"]


def test_another_priority_is_another_shape() -> None:
    line = Line()
    line.add(a_workload("low", "A", created=1), a_workload("high", "A", created=2, priority=1))
    line.park("high")
    assert line.head() == "low"


def test_a_release_brings_back_what_is_worth_trying() -> None:
    line = Line()
    line.add(a_workload("a", "A", 1, 8), a_workload("b", "A", 1, 1))
    line.park("a")
    line.park("b")
    assert line.head() is None
    line.queue.unpark(lambda shape: shape is line.shapes["b"])
    assert line.head() == "b"
    line.queue.unpark(lambda _: True)
    assert line.head() == "a"


def test_a_guest_counts_only_while_its_home_is_parked() -> None:
    home, guests = Line(), Line()
    traveller = a_workload("t", "A")
    home.add(traveller)
    guests.add(traveller, home=home.shapes["t"])
    assert guests.head() is None
    home.park("t")
    assert guests.head() == "t"
    assert guests.all() == []


def test_a_strict_queue_shows_only_its_first() -> None:
    line = Line(strategy=Strategy.STRICT)
    line.add(a_workload("a", "A", 1, 8), a_workload("b", "A", 1, 1, created=1))
    assert line.head() == "a"


def test_a_paused_queue_has_no_head() -> None:
    line = Line()
    line.add(a_workload("a", "A"))
    line.queue.paused = True
    assert line.head() is None
    assert line.all() == ["a"]


def test_the_owner_and_the_lease_do_not_make_a_shape() -> None:
    one = a_workload("a", "A", owner="x", duration=60.0, team="t")
    other = a_workload("b", "A", owner="y", duration=99.0, team="u", created=5.0)
    assert shape_of(one) == shape_of(other)
    assert shape_of(one) != shape_of(a_workload("c", "A", model="h100"))


@given(
    entries=st.lists(
        st.tuples(st.integers(0, 2), st.integers(0, 3), st.sampled_from((1, 2, 8))),
        min_size=1,
        max_size=20,
    ),
    leave=st.sets(st.integers(0, 19)),
)
def test_the_order_is_the_sorted_order_whatever_joins_and_leaves(
    entries: list[tuple[int, int, int]], leave: set[int]
) -> None:
    line = Line()
    everybody = [
        a_workload(f"w{number:02d}", "A", 1, gpus, priority=priority, created=float(created))
        for number, (priority, created, gpus) in enumerate(entries)
    ]
    line.add(*everybody)
    stay = []
    for number, workload in enumerate(everybody):
        if number in leave:
            line.queue.remove(workload, line.shapes[workload.id])
        else:
            stay.append(workload)
    assert line.all() == [w.id for w in sorted(stay, key=order_key)]
    assert line.queue.count == line.queue.at_home == len(stay)
    assert line.head() == next(iter(line.all()), None)
