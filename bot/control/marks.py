"""What the labels and annotations of an object of people's ask for."""

from __future__ import annotations

import enum
import re
from collections.abc import Mapping, Sequence
from typing import TypeVar

from bot.asks import Ask, Nearness, Together
from bot.clusters.base import Wanted
from bot.control.families import LABEL, read_count
from bot.plans import refuse
from bot.terms import NAME_AT_MOST, Terms
from bot.views import RefusalCode, Refused
from scheduler.layout import MODEL_LABEL
from scheduler.model import GPU, PodSet, Priority, Seconds, Spend

GROUP, GROUP_SIZE = "PodGroup", "group-size"  # a kind of object, and the label it needs
TOPOLOGY = "topology"
EXCLUSIVE = "exclusive-topology"  # by the cluster: the node label of which each replica has a value

_SPAN = re.compile(r"(\d+(?:\.\d+)?)([mhdw])")
_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 604800.0}
_NEAR = re.compile(r"(same|prefer)[ -](\S+)")
_E = TypeVar("_E", bound=enum.Enum)


def read_ask(wanted: Wanted, terms: Terms, *, guaranteed: bool | None = None) -> Ask | Refused:
    """What the labels and the template ask for, or the first label that cannot be read.

    Of several pod sets it is routed as if all pods were as the largest of them. `guaranteed` says
    of a replica whether it is one of those that are; None where its family promises nothing.
    """
    marks = wanted.marks
    first, *others = largest_first(wanted.pod_sets)
    preemptible = marks.get("preemptible", "false")
    if preemptible not in {"true", "false"}:
        return bad_mark("preemptible", preemptible, ("true", "false"))
    if LABEL in marks and read_count(marks[LABEL]) is None:
        return bad_mark(LABEL, marks[LABEL], ("0", "2"))
    size = marks.get(GROUP_SIZE, "")
    if wanted.ref.kind == GROUP and not read_count(size):
        return bad_mark(GROUP_SIZE, size, ("2", "4"))
    spend = _member(Spend, "spend", marks.get("spend", Spend.LOW))
    if isinstance(spend, Refused):
        return spend
    priority = _member(Priority, "priority", marks.get("priority", Priority.MEDIUM))
    if isinstance(priority, Refused):
        return priority
    lease = read_lease(marks["lease"]) if "lease" in marks else None
    if "lease" in marks and lease is None:
        return bad_mark("lease", marks["lease"], ("90m", "8h", "2d"))
    near = _read_topology(marks, terms)
    if isinstance(near, Refused):
        return near
    return Ask(
        pods=first.count + sum(pods.count for pods in others),
        gpus_per_pod=first.requests.get(GPU, 0),
        model=first.node_selector.get(MODEL_LABEL),
        duration=lease,
        preemptible=preemptible == "true" if guaranteed is None else not guaranteed,
        spend=spend,
        priority=priority,
        team=marks.get("team"),
        name=wanted.ref.name[:NAME_AT_MOST],
        text=f"{wanted.ref.kind} {wanted.ref.namespace}/{wanted.ref.name}",
        topology=near,
    )


def _read_topology(marks: Mapping[str, str], terms: Terms) -> Together | Refused | None:
    """`same-rack`, `prefer block` or `spread`, a hyphen or a space between the words.

    Where nothing is said, a replica that is to have a domain of its own lies in one, if the policy
    knows that level.
    """
    levels = terms.levels()
    if TOPOLOGY not in marks:
        exclusive = marks.get(EXCLUSIVE)
        known = exclusive in levels.values()
        return Together(Nearness.SAME, exclusive) if known else None
    said = marks[TOPOLOGY].strip().lower()
    if said == Nearness.SPREAD:
        return Together(Nearness.SPREAD)
    found = _NEAR.fullmatch(said)
    if found is None:
        right = (*(f"{Nearness.SAME}-{level}" for level in levels), str(Nearness.SPREAD))
        return bad_mark(TOPOLOGY, marks[TOPOLOGY], right)
    return Together(Nearness(found[1]), found[2])


def read_lease(text: str) -> Seconds | None:
    """`8h`, `90m`, `2d` or `1d12h` in seconds; None for anything else."""
    if not re.fullmatch(f"(?:{_SPAN.pattern})+", text):
        return None
    return sum(float(number) * _UNITS[unit] for number, unit in _SPAN.findall(text))


def largest_first(pod_sets: Sequence[PodSet]) -> tuple[PodSet, ...]:
    """By GPUs of each pod, the most first, then by name."""
    return tuple(sorted(pod_sets, key=lambda pods: (-pods.requests.get(GPU, 0), pods.name)))


def _member(members: type[_E], label: str, text: str) -> _E | Refused:
    try:
        return members(text)
    except ValueError:
        return bad_mark(label, text, tuple(str(one.value) for one in members))


def bad_mark(label: str, value: str, right: tuple[str, ...]) -> Refused:
    return refuse(RefusalCode.BAD_MARK, right, label=f"gpubot.dev/{label}", value=value[:63])
