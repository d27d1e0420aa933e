"""A request told as an ask again, and how a workload that was changed differs from before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypeVar

from bot.asks import Ask, Change, Nearness, Provision, Together
from bot.fields import FieldChange, FieldName, Value
from bot.terms import Terms, level_word
from bot.views import write_shape
from scheduler.lapse import own
from scheduler.layout import MODEL_LABEL, PROVISION_LABEL
from scheduler.model import GPU, PodSet, Priority, Seconds, Spend, TopologyMode, Workload

T = TypeVar("T")
_CLASSES = tuple(Priority)


def ask_of(workload: Workload, terms: Terms, text: str = "") -> Ask:
    """The ask that leads to this workload, in pods of so many GPUs.

    Where they are of several shapes, as if all were as the first.
    """
    workload = own(workload)
    pods = workload.pod_sets[0]
    return Ask(
        pods=sum(one.count for one in workload.pod_sets),
        gpus_per_pod=_each(pods),
        model=pods.node_selector.get(MODEL_LABEL),
        duration=workload.duration,
        preemptible=workload.preemptible,
        spend=Spend(terms.spend(workload.queue)),
        priority=workload.asked_class or workload.priority_class,
        team=workload.team,
        name=workload.name or None,
        text=text,
        topology=nearness_of(pods),
        minimum=pods.min_count,
        provision=provision_of(pods),
    )


def provision_of(pods: PodSet) -> Provision | None:
    """How its nodes shall be had, if that was asked."""
    asked = pods.node_selector.get(PROVISION_LABEL)
    return Provision(asked) if asked in set(Provision) else None


def difference(before: Ask, after: Ask) -> Change:
    """What an ask changes of another; both in pods. What is taken back is named all the same."""
    sized = (before.pods, before.gpus_per_pod) != (after.pods, after.gpus_per_pod)
    spread = Together(Nearness.SPREAD) if before.topology else None
    return Change(
        pods=after.pods if sized else None,
        gpus_per_pod=after.gpus_per_pod if sized else None,
        model=_new(before.model, after.model),
        duration=_new(before.duration, after.duration),
        preemptible=_new(before.preemptible, after.preemptible),
        spend=_new(before.spend, after.spend),
        priority=_new(before.priority, after.priority),
        team=_new(before.team, after.team),
        name=_new(before.name, after.name),
        topology=_new(before.topology, after.topology or spread),
        minimum=_new(before.minimum, after.minimum),
        provision=_new(before.provision, after.provision),
    )


def _new(before: T, after: T) -> T | None:
    return None if before == after else after


def nearness_of(pods: PodSet) -> Together | None:
    """What was asked about nearness, in people's words."""
    asked = pods.topology
    if asked is None:
        return None
    if asked.level is None:
        return None if asked.slices else Together(Nearness.SPREAD)
    required = asked.mode is TopologyMode.REQUIRED
    return Together(Nearness.SAME if required else Nearness.PREFER, level_word(asked.level))


def changes_of(before: Workload, after: Workload, terms: Terms) -> tuple[FieldChange, ...]:
    """What differs, field by field in the order of `FieldName`."""
    old, new = dict(_fields(before, terms)), dict(_fields(after, terms))
    return tuple(
        FieldChange(field=field, before=old[field], after=new[field])
        for field in FieldName
        if field in old and old[field] != new[field]
    )


def _fields(workload: Workload, terms: Terms) -> Iterator[tuple[FieldName, Value]]:
    ask = ask_of(workload, terms)
    near = ask.topology
    yield FieldName.SIZE, write_shape((pods.count, _each(pods)) for pods in workload.pod_sets)
    yield FieldName.MINIMUM, None if ask.minimum is None else f"{ask.minimum}×{ask.gpus_per_pod}"
    yield FieldName.MODEL, ask.model
    yield FieldName.LEASE, ask.duration
    yield FieldName.PREEMPTIBLE, ask.preemptible
    yield FieldName.PRIORITY, str(ask.priority)
    yield FieldName.SPEND, str(ask.spend)
    yield FieldName.PROVISION, None if ask.provision is None else ask.provision.value
    yield (
        FieldName.TOPOLOGY,
        None if near is None else " ".join(filter(None, (near.nearness.value, near.level))),
    )
    yield FieldName.TEAM, str(workload.team)
    yield FieldName.NAME, workload.name or None
    yield FieldName.OWNER, workload.owner


def demands_more(
    before: Workload, after: Workload, terms: Terms, *, may_raise: bool = False
) -> bool:
    """Whether somebody behind it in line could lose by the change.

    More or larger pods, a longer lease, nearer nodes, a higher class (unless `may_raise`),
    protection, another GPU model or team, or cheaper capacity than before.
    """
    old, new = before.pod_sets[0], after.pod_sets[0]
    models = (old.node_selector.get(MODEL_LABEL), new.node_selector.get(MODEL_LABEL))
    return any(
        (
            after.gpus > before.gpus,
            _each(new) > _each(old),
            _least(new) > _least(old),
            _long(after.duration) > _long(before.duration),
            _tightness(new, terms) > _tightness(old, terms),
            _rank(after) > _rank(before) and not may_raise,
            before.preemptible and not after.preemptible,
            terms.spend(before.queue) == Spend.HIGH and terms.spend(after.queue) != Spend.HIGH,
            models[0] != models[1],
            provision_of(new) not in (None, provision_of(old)),
            before.team != after.team,
        )
    )


def _each(pods: PodSet) -> int:
    return pods.requests.get(GPU, 0)


def _least(pods: PodSet) -> int:
    return (pods.count if pods.min_count is None else pods.min_count) * _each(pods)


def _long(lease: Seconds | None) -> Seconds:
    return float("inf") if lease is None else lease


def _rank(workload: Workload) -> int:
    return _CLASSES.index(workload.priority_class)


def _tightness(pods: PodSet, terms: Terms) -> tuple[int, int]:
    """How much is demanded of nearness: required before preferred, finer levels before coarser."""
    asked = pods.topology
    if asked is None or asked.level is None or asked.mode is TopologyMode.UNCONSTRAINED:
        return (0, 0)
    levels = list(terms.levels().values())
    depth = levels.index(asked.level) if asked.level in levels else len(levels)
    return (2 if asked.mode is TopologyMode.REQUIRED else 1, depth)
