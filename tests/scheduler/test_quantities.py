"""Kubernetes quantities, exactly."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scheduler.model import GPU, ResourceName
from scheduler.quantities import (
    CPU,
    QuantityError,
    read_exact,
    read_quantity,
    write_exact,
    write_quantity,
)

MEMORY = ResourceName("memory")


@pytest.mark.parametrize(
    ("resource", "text", "amount"),
    [
        (CPU, "500m", 500),
        (CPU, "0.1", 100),
        (CPU, 2, 2000),
        (CPU, "1u", 1),
        (CPU, "1.5", 1500),
        (MEMORY, "64Gi", 64 * 2**30),
        (MEMORY, "1.5Ki", 1536),
        (MEMORY, "128M", 128 * 10**6),
        (MEMORY, "1e3", 1000),
        (MEMORY, "1E-3", 1),
        (MEMORY, "1E", 10**18),
        (MEMORY, "0.5", 1),
        (GPU, "8", 8),
        (GPU, "+8", 8),
        (GPU, "8.", 8),
        (GPU, ".5k", 500),
        (GPU, "-3", -3),
        (GPU, "2500m", 3),
    ],
)
def test_a_quantity_is_read_in_base_units_rounded_up(
    resource: ResourceName, text: str | int, amount: int
) -> None:
    assert read_quantity(resource, text) == amount


@pytest.mark.parametrize(
    "text",
    ["", "eight", "8 Gi", "8gi", "1.2.3", "NaN", "inf", "0x8", "8Gib", "--8", "1e", True, "٣"],
)
def test_what_is_no_quantity_is_named(text: str | bool) -> None:
    with pytest.raises(QuantityError):
        read_exact(text)


@pytest.mark.parametrize("text", ["1e30", "10000000000E", "9223372036854775808"])
def test_what_no_machine_can_hold_is_refused(text: str) -> None:
    with pytest.raises(QuantityError, match="larger than any machine"):
        read_quantity(GPU, text)


@given(st.sampled_from((CPU, MEMORY, GPU)), st.integers(0, 2**62))
def test_what_is_written_reads_back(resource: ResourceName, amount: int) -> None:
    text = write_quantity(resource, amount)
    try:
        assert read_quantity(resource, text) == amount
    except QuantityError:
        assert amount // 1000 > 2**50  # cores: a thousandth of the bound is still readable


@given(st.integers(0, 10**15))
def test_nanos_read_back(nanos: int) -> None:
    assert read_exact(write_exact(Fraction(nanos, 10**9))) == Fraction(nanos, 10**9)


def test_fractions_are_cut_at_nanos() -> None:
    assert write_exact(Fraction(1, 3)) == "333333333n"
    assert write_exact(Fraction(5)) == "5"
    assert write_exact(Fraction(0)) == "0"
