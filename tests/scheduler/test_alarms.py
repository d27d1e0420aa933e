"""Alarms: what is due rings once and in order, and who is gone keeps nobody awake."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from scheduler.alarms import Alarms
from scheduler.model import WorkloadId

W1, W2 = WorkloadId("w1"), WorkloadId("w2")


def test_without_alarms_nothing_is_due() -> None:
    alarms = Alarms()
    assert alarms.next({W1}) is None
    assert alarms.due(1e9) == ((), ())


def test_the_same_alarm_set_twice_rings_once() -> None:
    alarms = Alarms()
    for _ in range(2):
        alarms.for_realm(3, 10.0)
        alarms.for_workload(W1, 10.0)
    assert alarms.due(10.0) == ((3,), (W1,))
    assert alarms.due(10.0) == ((), ())


def test_an_alarm_that_has_rung_can_be_set_again() -> None:
    alarms = Alarms()
    alarms.for_realm(0, 10.0)
    alarms.due(10.0)
    alarms.for_realm(0, 10.0)
    assert alarms.due(10.0) == ((0,), ())


def test_the_next_alarm_is_one_that_concerns_somebody() -> None:
    alarms = Alarms()
    alarms.for_workload(W1, 5.0)
    alarms.for_workload(W2, 7.0)
    alarms.for_realm(0, 9.0)
    assert alarms.next({W1, W2}) == 5.0
    assert alarms.next({W2}) == 7.0
    assert alarms.next(()) == 9.0, "an alarm of a realm concerns whoever is there"


def test_a_copy_rings_by_itself() -> None:
    alarms = Alarms()
    alarms.for_realm(0, 5.0)
    copied = alarms.copy()
    assert copied.due(5.0) == ((0,), ())
    assert alarms.next(()) == 5.0


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4), st.integers(0, 20))))
def test_everything_rings_once_at_its_time_or_at_the_first_look_after_it(
    drawn: list[tuple[bool, int, int]],
) -> None:
    alarms = Alarms()
    for of_realm, key, at in drawn:
        if of_realm:
            alarms.for_realm(key, float(at))
        else:
            alarms.for_workload(WorkloadId(f"w{key}"), float(at))
    rung: set[tuple[bool, int, int]] = set()
    for now in range(0, 21, 3):
        realms, workloads = alarms.due(float(now))
        assert list(realms) == sorted(realms)
        assert list(workloads) == sorted(workloads)
        due = {one for one in drawn if one[2] <= now} - rung
        assert set(realms) == {key for of_realm, key, _ in due if of_realm}
        assert set(workloads) == {f"w{key}" for of_realm, key, _ in due if not of_realm}
        rung |= due
