"""Plays a conformance case: manifests, a timeline, and the engine cycle by cycle.

A case is what `scheduler.manifests` reads, with a first document of kind `Case` that has the
clock, the settings and the events. Without one, the documents are played as they stand: one
instant, default settings. The answer has the form of the cases' `.expect.json` files.

The rules of a run:
- a cycle takes no time; after each, everything that was decided is seen at once: admitted
  workloads run, preempted ones are gone and wait again at their old place;
- events of the same instant are applied together, in their order; samples of usage that are
  due come before them; then the engine runs to rest;
- at rest means that nobody is active, or that a cycle changed nothing and left the queues as
  they already were since something was last admitted or preempted.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from fractions import Fraction
from typing import Any, NotRequired, TypedDict

from scheduler import kueue
from scheduler.engine import Engine
from scheduler.events import (
    ConsumptionRestored,
    Evicted,
    Finished,
    NodeObserved,
    QueuePaused,
    Restored,
    Submitted,
)
from scheduler.layout import HOSTNAME, Layout
from scheduler.manifests.problems import Problem
from scheduler.manifests.reading import Consumed, Manifests, flatten, read_manifests
from scheduler.model import Admission, Decisions, Node, NodeName, Seconds, Workload, WorkloadId
from scheduler.quantities import CPU, write_exact

CYCLES_AT_MOST = 200
"""More cycles than any case needs to come to rest."""


class CaseError(Exception):
    """A case that cannot be played at all."""


class DomainAnswer(TypedDict):
    """Pods in one domain of the topology."""

    values: list[str]
    count: int


class PodSetAnswer(TypedDict):
    """What a pod set got."""

    name: str
    count: int
    flavors: dict[str, str]
    domains: NotRequired[list[DomainAnswer]]


class WorkloadAnswer(TypedDict):
    """Where a workload stands at the end."""

    state: str
    queue: str
    podSets: NotRequired[list[PodSetAnswer]]
    message: NotRequired[str]


class PreemptionAnswer(TypedDict):
    """Who was stopped for whom, and by which rule."""

    workload: str
    by: str
    reason: str
    at: NotRequired[int]


class CycleAnswer(TypedDict):
    """A cycle in which something happened."""

    admitted: list[str]
    preempted: list[str]
    at: NotRequired[int]


class Answer(TypedDict):
    """The whole of an `.expect.json` file."""

    case: str
    workloads: dict[str, WorkloadAnswer]
    preemptions: list[PreemptionAnswer]
    cycles: list[CycleAnswer]
    usage: NotRequired[dict[str, dict[str, str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One event of the timeline; `at` is in seconds after the start."""

    at: Seconds
    submit: str = ""
    finish: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """A case, read. `problems` are those of its manifests."""

    name: str
    family: str
    now: Seconds
    steps: tuple[Step, ...]
    manifests: Manifests
    problems: tuple[Problem, ...]


def read_case(
    files: Sequence[tuple[str, Sequence[object]]], name: str, family: str, now: Seconds
) -> Case:
    """Read a case from the documents of one or more files, given as (file, documents).

    Name, family and clock stand in where no document says them. Raises CaseError if there is
    nothing to play.
    """
    heads: list[tuple[str, Mapping[str, Any]]] = []
    rest: list[tuple[str, Sequence[object]]] = []
    for source, documents in files:
        flat = list(flatten(documents))
        heads += [(source, d) for d in flat if isinstance(d, Mapping) and is_head(d)]
        rest.append((source, [d for d in flat if not is_head(d)]))
    source, head = heads[0] if heads else (files[0][0] if files else name, {})
    if len(heads) > 1:
        raise CaseError(f"{source} has more than one Case document")
    if not any(documents for _, documents in rest):
        raise CaseError(f"{source} has no manifests")
    metadata = head.get("metadata")
    settings, remarks = kueue.check_settings(head.get("settings") or {}, source, "Case")
    manifests = read_manifests(rest, settings)
    case = Case(
        name=str(metadata.get("name", name)) if isinstance(metadata, Mapping) else name,
        family=str(head.get("family", family)),
        now=_read_moment(head["now"], source) if "now" in head else now,
        steps=_read_steps(head.get("events"), source),
        manifests=manifests,
        problems=(*remarks, *manifests.problems),
    )
    known = {workload.name for workload in manifests.waiting}
    strange = tuple(
        Problem(
            source, "Case", "events", f"submits {step.submit}, which is no Workload that counts"
        )
        for step in case.steps
        if step.submit and step.submit not in known
    )
    return replace(case, problems=(*case.problems, *strange))


def is_head(document: object) -> bool:
    """Whether a document is the first one of a case."""
    return isinstance(document, Mapping) and document.get("kind") == "Case"


def _read_moment(text: object, source: str) -> Seconds:
    try:
        moment = text if isinstance(text, datetime) else datetime.fromisoformat(str(text))
    except ValueError as error:
        raise CaseError(f"{source}: now: {error}") from error
    if moment.tzinfo is None:
        raise CaseError(f"{source}: now lacks a time zone; right would end in Z")
    return moment.timestamp()


def _read_steps(part: object, source: str) -> tuple[Step, ...]:
    if part is None:
        return ()
    if not isinstance(part, list):
        raise CaseError(f"{source}: events: is not a list")
    return tuple(_read_step(step, source) for step in part)


def _read_step(step: object, source: str) -> Step:
    right = "right would be {at: 60, submit: name}"
    if not isinstance(step, Mapping) or not set(step) <= {"at", "submit", "finish"}:
        raise CaseError(f"{source}: events: {step!r} cannot be understood; {right}")
    at = step.get("at")
    if isinstance(at, bool) or not isinstance(at, (int, float)) or not math.isfinite(at) or at < 0:
        raise CaseError(f"{source}: events: {step!r} has no time; {right}")
    return Step(at=at, submit=str(step.get("submit", "")), finish=str(step.get("finish", "")))


@dataclass(slots=True)
class Play:
    """A case while it is played."""

    case: Case
    layout: Layout
    engine: Engine
    names: dict[WorkloadId, str]
    ids: dict[str, WorkloadId]
    nodes: dict[NodeName, Node]
    later: dict[str, Workload]
    finished: dict[WorkloadId, Admission] = field(default_factory=dict)
    preemptions: list[PreemptionAnswer] = field(default_factory=list)
    cycles: list[CycleAnswer] = field(default_factory=list)


def play_case(case: Case) -> Answer:
    """Play a case to its end. Raises CaseError if it never comes to rest."""
    return _answer(play_on(case))


def play_on(case: Case) -> Play:
    """A case that has been played to its end, with its engine at rest."""
    play = _set_up(case)
    play.engine.sample_due(case.now)
    _run_to_rest(play, case.now)
    for now in _instants(play):
        while (due := play.engine.next_sample()) is not None and due <= now:
            play.engine.sample_due(due)
            _run_to_rest(play, due)
        _apply_steps(play, now)
        _run_to_rest(play, now)
    return play


def _set_up(case: Case) -> Play:
    manifests = case.manifests
    layout = replace(
        manifests.layout,
        queues=tuple(sorted(manifests.layout.queues, key=lambda queue: queue.name)),
        cohorts=tuple(sorted(manifests.layout.cohorts, key=lambda cohort: cohort.name)),
    )
    engine = Engine(layout)
    for node in manifests.nodes:
        engine.apply(NodeObserved(node=node))
    workloads = [*manifests.waiting, *(workload for workload, _ in manifests.running)]
    submitted = {step.submit for step in case.steps if step.submit}
    play = Play(
        case=case,
        layout=layout,
        engine=engine,
        names={workload.id: workload.name for workload in workloads},
        ids={workload.name: workload.id for workload in workloads},
        nodes={node.name: node for node in manifests.nodes},
        later={w.name: w for w in manifests.waiting if w.name in submitted},
    )
    for workload, admission in sorted(manifests.running, key=lambda pair: pair[0].id):
        engine.apply(Restored(workload=workload, admission=admission))
    for workload in sorted(manifests.waiting, key=lambda workload: workload.id):
        if workload.name not in play.later:
            engine.apply(Submitted(workload=workload))
    for local in layout.local_queues:
        past = manifests.consumed.get(local.team)
        if past is None:
            past = Consumed(amounts={}, at=case.now)
        engine.apply(
            ConsumptionRestored(
                team=local.team,
                amounts={name: float(amount) for name, amount in past.amounts.items()},
                at=past.at or case.now,
            )
        )
    for queue in manifests.paused:
        engine.apply(QueuePaused(queue=queue))
    return play


def _instants(play: Play) -> Sequence[Seconds]:
    return sorted({play.case.now + step.at for step in play.case.steps})


def _apply_steps(play: Play, now: Seconds) -> None:
    for step in play.case.steps:
        if play.case.now + step.at != now:
            continue
        if (workload := play.later.pop(step.submit, None)) is not None:
            play.engine.apply(Submitted(workload=replace(workload, created=now)))
        running = {workload.id: admission for workload, admission in play.engine.running()}
        ended = play.ids.get(step.finish)
        if ended is not None and ended in running:
            play.finished[ended] = running[ended]
            play.engine.apply(Finished(workload=ended, at=now))


def _run_to_rest(play: Play, now: Seconds) -> None:
    seen = set()
    for _ in range(CYCLES_AT_MOST):
        key = play.engine.unrest()
        if key is None or key in seen:
            return
        seen.add(key)
        decisions = play.engine.step(now)
        if not decisions:
            continue
        seen.clear()
        _note_cycle(play, decisions, now)
        for preemption in decisions.preemptions:
            play.engine.apply(Evicted(workload=preemption.target, at=now))
    raise CaseError(f"{play.case.name} does not come to rest")


def _note_cycle(play: Play, decisions: Decisions, now: Seconds) -> None:
    names = play.names
    noted = [
        PreemptionAnswer(workload=names[p.target], by=names[p.preemptor], reason=p.rule.value)
        for p in decisions.preemptions
    ]
    noted.sort(key=lambda one: one["workload"])
    cycle = CycleAnswer(
        admitted=sorted(names[admission.workload] for admission in decisions.admissions),
        preempted=[one["workload"] for one in noted],
    )
    if play.case.steps:
        cycle["at"] = round(now - play.case.now)
        for one in noted:
            one["at"] = cycle["at"]
    play.preemptions += noted
    play.cycles.append(cycle)


def _answer(play: Play) -> Answer:
    workloads: dict[str, WorkloadAnswer] = {}
    for workload in play.engine.pending():
        message = play.engine.last_word(workload.id)
        workloads[workload.name] = WorkloadAnswer(
            state="pending", queue=workload.queue, message=message
        )
    for workload, admission in play.engine.running():
        workloads[workload.name] = _granted(play, "admitted", admission)
    for ended, admission in play.finished.items():
        workloads[play.names[ended]] = _granted(play, "finished", admission)
    answer = Answer(
        case=play.case.name,
        workloads=dict(sorted(workloads.items())),
        preemptions=play.preemptions,
        cycles=play.cycles,
    )
    if play.layout.usage is not None:
        answer["usage"] = _usage(play)
    return answer


def _usage(play: Play) -> dict[str, dict[str, str]]:
    """What every LocalQueue is charged with; resources that it never used are left out."""
    names = [local.name for local in play.layout.local_queues]
    used = {}
    for local in sorted(play.layout.local_queues, key=lambda local: (local.namespace, local.name)):
        label = local.name if names.count(local.name) == 1 else local.team
        past = play.case.manifests.consumed.get(local.team)
        used[label] = {
            str(name): write_exact(Fraction(amount) / (1000 if name == CPU else 1))
            for name, amount in play.engine.consumed(local.team).items()
            if amount or (past is not None and name in past.amounts)
        }
    return used


def _granted(play: Play, state: str, admission: Admission) -> WorkloadAnswer:
    pod_sets = []
    for assignment in admission.assignments:
        one = PodSetAnswer(
            name=assignment.name,
            count=assignment.count,
            flavors={str(r): str(f) for r, f in sorted(assignment.flavors.items())},
        )
        if assignment.nodes:
            one["domains"] = _domains(play, admission, assignment.nodes)
        pod_sets.append(one)
    return WorkloadAnswer(state=state, queue=admission.queue, podSets=pod_sets)


def _domains(
    play: Play, admission: Admission, nodes: Sequence[tuple[NodeName, int]]
) -> list[DomainAnswer]:
    """Domains in the order of their full path of level values."""
    flavors = {flavor for part in admission.assignments for flavor in part.flavors.values()}
    found_levels = [f.levels for f in play.layout.flavors if f.name in flavors and f.levels]
    levels = found_levels[0] if found_levels else (HOSTNAME,)
    found = []
    for name, count in nodes:
        labels = play.nodes[name].labels if name in play.nodes else {}
        path = [labels.get(level, "") for level in levels] if labels else name.split("/")[-1:]
        if not labels and levels[-1] != HOSTNAME:
            path = name.split("/")[1:]
        values = path[-1:] if levels[-1] == HOSTNAME else path
        found.append((path, DomainAnswer(values=values, count=count)))
    return [domain for _, domain in sorted(found, key=lambda pair: pair[0])]
