"""What differs between two answers to a case, in words."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from typing import Any

from scheduler.quantities import QuantityError, read_exact

TOLERANCE = Fraction(1, 10**6)
"""Usage may differ by this much: the original rounds down at each step."""


def compare(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> tuple[str, ...]:
    """Every difference between our answer and the expected one; nothing if they agree.

    Why a workload waits is left to `compare_messages`.
    """
    differences = [*_compare_workloads(ours["workloads"], theirs["workloads"])]
    for part in ("preemptions", "cycles"):
        differences += _compare_lists(part, list(ours[part]), list(theirs[part]))
    differences += _compare_usage(ours.get("usage") or {}, theirs.get("usage") or {})
    return tuple(differences)


def compare_messages(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> tuple[str, ...]:
    """Where the two give another reason for waiting. Expected reasons are only coarse."""
    return tuple(
        f"{name}: message is {mine.get('message')}, expected {other.get('message')}"
        for name, mine in sorted(ours["workloads"].items())
        if (other := theirs["workloads"].get(name)) is not None
        and other.get("state") == mine.get("state")
        and other.get("message") != mine.get("message")
    )


def _compare_workloads(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*ours, *theirs}):
        if name not in ours or name not in theirs:
            yield f"{name} is only in {'the expected answer' if name in theirs else 'ours'}"
            continue
        mine, other = ours[name], theirs[name]
        for field in ("state", "queue", "podSets"):
            if mine.get(field) != other.get(field):
                yield f"{name}: {field} is {mine.get(field)}, expected {other.get(field)}"


def _compare_lists(part: str, ours: list[Any], theirs: list[Any]) -> Iterator[str]:
    for number in range(max(len(ours), len(theirs))):
        mine = ours[number] if number < len(ours) else "missing"
        other = theirs[number] if number < len(theirs) else "none more"
        if mine != other:
            yield f"{part}[{number}] is {mine}, expected {other}"


def _compare_usage(ours: Mapping[str, Any], theirs: Mapping[str, Any]) -> Iterator[str]:
    for name in sorted({*ours, *theirs}):
        mine, other = ours.get(name) or {}, theirs.get(name) or {}
        for resource in sorted({*mine, *other}):
            try:
                gap = read_exact(mine.get(resource, 0)) - read_exact(other.get(resource, 0))
            except QuantityError as error:
                yield f"usage of {name}: {error}"
                continue
            if abs(gap) > TOLERANCE:
                yield (
                    f"usage of {name}: {resource} is {mine.get(resource)}, "
                    f"expected {other.get(resource)}"
                )
