"""Plays a scenario file: a small cluster, what happens to it, and what must be decided.

A job is written `a1 2x8 A` (2 pods of 8 GPUs for queue A; `1x4+1x8` a leader of 4 and a worker
of 8), followed by any of `p9`
(priority), `@n1+n2` (already placed there, one pod each), `guaranteed` (not preemptible),
`for=600` (it says how long it runs, in seconds), `model=b300`, `team=x`, `user=x`, `min=2` (pods
it would start with),
`overflow=q1,q2`, `cpu=4` (each pod), `required=rack` and `preferred=rack`. Listed order is
submission order. `levels` names the topology from coarse to fine, down to `host`; a node says
its value for each coarser one.
Times are seconds from the start of the file; each job and each step take one, a step with
`later` so many.

Each step makes its events happen and runs one cycle; `expect` names what that cycle
admitted, preempted (target: preemptor; `rules`: by which rule, at which level of the tree),
repaired and evicted, for whom room is kept, from when on and where (`reserved`), why those who
wait wait, where pods are, in which order a queue stands, when those who wait are likely to start
(`forecast`, null for never as far as is known) and when the engine next has something to do by
itself (`alarm`). `late` and `unplaced` were not whole in time, so many times in a row, by their own
fault or for want of room. `lapse` are those whose lease is over, which protects them no more;
`gone-for-good` are nodes whose pods are lost, `stuck` those who were told to stop and do not. A
step that is `undecided` runs no cycle.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from scheduler.engine import Engine
from scheduler.events import (
    Checkpointed,
    Counted,
    Evicted,
    Finished,
    NodeLost,
    NodeObserved,
    NodeRemoved,
    QueuePaused,
    QueueResumed,
    Restored,
    Stuck,
    Submitted,
    Unprotected,
    UsageRestored,
    Withdrawn,
)
from scheduler.invariants import check_invariants
from scheduler.layout import (
    HOSTNAME,
    Aging,
    BackfillRules,
    BorrowWithin,
    Flavor,
    Options,
    Order,
    Queue,
    Reclaim,
    ResourceGroup,
    Strategy,
    UsageRules,
    Within,
)
from scheduler.model import (
    GPU,
    Admission,
    FlavorName,
    NodeName,
    PodSetAssignment,
    ResourceName,
    RestCause,
    TopologyMode,
    TopologyRequest,
    Usage,
    Workload,
    WorkloadId,
)
from scheduler.rest import rest_after
from tests.scheduler.builders import a_cohort, a_flavor, a_layout, a_node, a_queue, a_workload

FOLDER = Path(__file__).parents[1] / "scenarios"
QUEUE_KEYS = {
    "quota", "max", "lending", "cohort", "reclaim", "within", "borrow_within", "order", "strategy",
    "min_runtime", "min_runtime_own", "aging", "fair_users", "backfill", "within_from", "lapses",
}  # fmt: skip
STEP_KEYS = {
    "submit", "gone", "finish", "withdraw", "fail", "node", "lose", "later", "expect", "pause",
    "resume", "checkpoint", "alive", "gone-for-good", "undecided", "lapse", "late", "unplaced",
    "stuck",
}  # fmt: skip
EXPECT_KEYS = {
    "admitted", "preempted", "waiting", "where", "figures", "rules", "flips", "order", "alarm",
    "repaired", "evicted", "reserved", "forecast",
}  # fmt: skip


def paths() -> list[Path]:
    """Every scenario, by name."""
    return sorted(FOLDER.glob("*.yaml"))


class Scenario:
    """One file being played."""

    def __init__(self, path: Path) -> None:
        self.doc: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.now = 0.0
        self.engine = Engine(
            a_layout(
                *[
                    _queue(name, spec or {}, self._models())
                    for name, spec in self.doc["queues"].items()
                ],
                cohorts=tuple(
                    a_cohort(name, spec.get("parent"), spec.get("quota", 0))
                    for name, spec in self.doc.get("cohorts", {}).items()
                ),
                flavors=self._models(),
                usage=_usage(self.doc.get("usage")),
                options=Options(**self.doc.get("options", {})),
            )
        )
        self._observe(self.doc["cluster"])
        for team, hours in self.doc.get("used", {}).items():
            self.engine.apply(UsageRestored(usage=Usage(team=team, chip_hours=hours, at=self.now)))
        for text in self.doc.get("running", []):
            self._run(text)

    def play(self) -> None:
        """Every step in turn."""
        for number, step in enumerate(self.doc["steps"], start=1):
            assert set(step) <= STEP_KEYS, f"step {number} has unknown keys"
            self._happen(step)
            expect = step.get("expect", {})
            assert set(expect) <= EXPECT_KEYS, f"step {number} expects unknown things"
            if not step.get("undecided"):
                self._decide(expect, f"step {number}")
            self._look(expect, f"step {number}")
            if not step.get("undecided"):
                again = self.engine.cycle(self.now)
                assert not again, f"step {number}: a second cycle at rest decides {again}"

    def _models(self) -> tuple[Flavor, ...]:
        nodes = self.doc["cluster"].values()
        models = dict.fromkeys(
            n.get("model", "h100") if isinstance(n, dict) else "h100" for n in nodes
        )
        levels = tuple(_label(level) for level in self.doc.get("levels", ["host"]))
        return tuple(a_flavor(name, levels=levels) for name in models)

    def _observe(self, nodes: dict[str, Any]) -> None:
        for name, spec in nodes.items():
            shape = spec if isinstance(spec, dict) else {"gpus": spec}
            outside = shape.get("outside", 0)
            node = a_node(
                name,
                shape["gpus"] - outside,
                model=shape.get("model", "h100"),
                outside={GPU: outside},
                ready=shape.get("ready", True),
                schedulable=shape.get("schedulable", True),
            )
            levels = {_label(level): shape[level] for level in ("block", "rack") if level in shape}
            node = replace(node, labels={**node.labels, **levels})
            self.engine.apply(NodeObserved(node=node))

    def _job(self, text: str) -> tuple[Workload, list[str]]:
        self.now += 1
        name, size, queue, *rest = text.split()
        sizes = [tuple(map(int, one.split("x"))) for one in size.split("+")]
        more: dict[str, Any] = {}
        nodes: list[str] = []
        for word in rest:
            if word.startswith("@"):
                nodes = word[1:].split("+")
            else:
                more |= _said(word)
        wish, extra = more.pop("topology", None), more.pop("extra", {})
        workload = a_workload(name, queue, *sizes[0], created=self.now, **more)
        pod_sets = tuple(
            replace(
                workload.pod_sets[0],
                name="main" if number == 0 else f"more-{number}",
                count=count,
                requests={GPU: gpus, **extra},
                topology=wish,
            )
            for number, (count, gpus) in enumerate(sizes)
        )
        return replace(workload, pod_sets=pod_sets), nodes

    def _run(self, text: str) -> None:
        """Somebody who runs at the start: where the file says, or where the engine puts him."""
        workload, nodes = self._job(text)
        if not nodes:
            self.engine.apply(Submitted(workload=workload))
            assert [a.workload for a in self.engine.cycle(self.now).admissions] == [workload.id]
            return
        model = workload.pod_sets[0].node_selector.get("gpubot.dev/model", "h100")
        assignment = PodSetAssignment(
            name="main",
            count=len(nodes),
            flavors={GPU: FlavorName(model)},
            nodes=tuple((NodeName(node), 1) for node in sorted(nodes)),
        )
        admission = Admission(
            workload=workload.id, queue=workload.queue, assignments=(assignment,), at=self.now
        )
        self.engine.apply(Restored(workload=workload, admission=admission))

    def _happen(self, step: dict[str, Any]) -> None:
        self.now += step.get("later", 1)
        for text in step.get("submit", []):
            self.engine.apply(Submitted(workload=self._job(text)[0]))
        gone = step.get("gone", [])
        for one in self.engine.leaving() if gone == "all" else gone:
            self.engine.apply(Evicted(workload=WorkloadId(one), at=self.now))
        for one in step.get("fail", []):
            self.engine.apply(Evicted(workload=WorkloadId(one), at=self.now, own_failure=True))
        for cause in (RestCause.LATE, RestCause.UNPLACED):
            for one, tries in step.get(cause.value, {}).items():
                self._send_back(one, cause, tries)
        for one in step.get("finish", []):
            self.engine.apply(Finished(workload=WorkloadId(one), at=self.now))
        for one in step.get("withdraw", []):
            self.engine.apply(Withdrawn(workload=WorkloadId(one), at=self.now))
        for one in step.get("lose", []):
            self.engine.apply(NodeRemoved(node=NodeName(one)))
        for one in step.get("gone-for-good", []):
            self.engine.apply(NodeLost(node=NodeName(one)))
        self._observe(step.get("node", {}))
        self._change(step)

    def _send_back(self, one: str, cause: RestCause, tries: int) -> None:
        rest = rest_after(self.engine.layout.readiness, cause, tries, self.now)
        own = cause is RestCause.LATE
        self.engine.apply(
            Evicted(workload=WorkloadId(one), at=self.now, own_failure=own, rest=rest)
        )

    def _change(self, step: dict[str, Any]) -> None:
        """What happens to those who go on running, and to queues."""
        for one in step.get("checkpoint", []):
            self.engine.apply(Checkpointed(workload=WorkloadId(one), at=self.now))
        for one, nodes in step.get("alive", {}).items():
            self._count(one, nodes)
        for one in step.get("lapse", []):
            self.engine.apply(Unprotected(workload=WorkloadId(one)))
        for one in step.get("stuck", []):
            self.engine.apply(Stuck(workload=WorkloadId(one)))
        for queue in step.get("pause", []):
            self.engine.apply(QueuePaused(queue=queue))
        for queue in step.get("resume", []):
            self.engine.apply(QueueResumed(queue=queue))

    def _count(self, one: str, nodes: dict[str, int]) -> None:
        """Of somebody's first pod set, only these pods per node are alive."""
        admission = next(a for w, a in self.engine.running() if w.id == one)
        left = replace(
            admission.assignments[0],
            count=sum(nodes.values()),
            nodes=tuple((NodeName(name), count) for name, count in sorted(nodes.items())),
        )
        alive = (left, *admission.assignments[1:])
        self.engine.apply(Counted(workload=WorkloadId(one), alive=alive, at=self.now))

    def _decide(self, expect: dict[str, Any], at: str) -> None:
        """One cycle, and what it must decide."""
        decisions = self.engine.cycle(self.now)
        check_invariants(self.engine)
        assert [a.workload for a in decisions.admissions] == expect.get("admitted", []), at
        preempted = {p.target: p.preemptor for p in decisions.preemptions}
        assert preempted == expect.get("preempted", {}), at
        repaired = {r.workload: _spots(r.admission) for r in decisions.repairs}
        assert repaired == expect.get("repaired", {}), at
        assert [e.workload for e in decisions.evictions] == expect.get("evicted", []), at
        rules = {p.target: [p.rule.value, p.level] for p in decisions.preemptions}
        assert expect.get("rules", {}).items() <= rules.items(), at
        assert [list(flip.pair) for flip in decisions.flips] == expect.get("flips", []), at

    def _look(self, expect: dict[str, Any], at: str) -> None:
        """What must be seen, without a decision."""
        if "alarm" in expect:
            assert self.engine.next_alarm() == expect["alarm"], at
        for queue, ids in expect.get("order", {}).items():
            assert [w.id for w in self.engine.pending(queue)] == ids, at
        for one, reason in expect.get("waiting", {}).items():
            verdict = self.engine.explain(WorkloadId(one), self.now).verdict
            assert verdict.reason.value == reason, f"{at}: {one}: {verdict}"
        for one, figures in expect.get("figures", {}).items():
            found = self.engine.explain(WorkloadId(one), self.now).verdict.figures
            assert figures.items() <= found.items(), f"{at}: {one}: {found}"
        for one, start in expect.get("forecast", {}).items():
            told = self.engine.forecast(WorkloadId(one), self.now)
            assert told.likely == start, f"{at}: {one}: {told}"
        if "reserved" in expect:
            kept = {
                one.workload: {"at": one.at, "nodes": list(one.nodes)}
                for one in self.engine.reservations()
            }
            assert kept == expect["reserved"], at
        for one, nodes in expect.get("where", {}).items():
            admission = next(a for w, a in self.engine.running() if w.id == one)
            assert _spots(admission) == nodes, f"{at}: {one}"


def _label(level: str) -> str:
    return HOSTNAME if level == "host" else f"example.com/{level}"


def _spots(admission: Admission) -> dict[str, int]:
    """Pods per node of all pod sets together."""
    spots: dict[str, int] = {}
    for part in admission.assignments:
        for node, pods in part.nodes:
            spots[node] = spots.get(node, 0) + pods
    return spots


def _said(word: str) -> dict[str, Any]:
    """What a word after a job's queue says of it."""
    key, _, value = word.partition("=")
    if key in ("required", "preferred"):
        return {"topology": TopologyRequest(mode=TopologyMode(key), level=_label(value))}
    if not value and word.startswith("p"):
        return {"priority": int(word[1:])}
    known: dict[str, Callable[[str], dict[str, Any]]] = {
        "guaranteed": lambda _: {"preemptible": False},
        "overflow": lambda names: {"overflow": tuple(names.split(","))},
        "for": lambda seconds: {"duration": float(seconds)},
        "model": lambda name: {"model": name},
        "team": lambda name: {"team": name},
        "user": lambda name: {"owner": name},
        "min": lambda pods: {"min_count": int(pods)},
        "cpu": lambda amount: {"extra": {ResourceName("cpu"): int(amount)}},
    }
    return known[key](value)


def _queue(name: str, spec: dict[str, Any], flavors: tuple[Flavor, ...]) -> Queue:
    assert set(spec) <= QUEUE_KEYS, f"queue {name} has unknown keys"
    quota = spec.get("quota", 0)
    nominal = quota if isinstance(quota, dict) else {flavor.name: quota for flavor in flavors}
    borrow = spec.get("borrow_within")
    strategy = spec.get("strategy", "best-effort")
    return a_queue(
        name,
        nominal,
        borrowing=spec["max"] - quota if "max" in spec else None,
        lending=spec.get("lending"),
        cohort=spec.get("cohort", "all"),
        groups=(ResourceGroup(resources=(GPU,), flavors=tuple(FlavorName(f) for f in nominal)),),
        reclaim=Reclaim(spec.get("reclaim", "Any")),
        within=Within(spec.get("within", "LowerPriority")),
        borrow_within=None if borrow is None else BorrowWithin(max_priority=borrow),
        order=Order(spec.get("order", "priority")),
        strategy=Strategy.BEST_EFFORT if strategy == "best-effort" else Strategy.STRICT,
        strict_per_flavor=strategy == "strict-per-flavor",
        min_runtime=spec.get("min_runtime", 0.0),
        min_runtime_own=spec.get("min_runtime_own", spec.get("min_runtime", 0.0)),
        aging=Aging(**spec["aging"]) if "aging" in spec else None,
        fair_users=spec.get("fair_users", False),
        backfill=BackfillRules(**spec["backfill"]) if "backfill" in spec else None,
        within_from=spec.get("within_from"),
        lapses=spec.get("lapses", False),
    )


def _usage(spec: dict[str, float] | None) -> UsageRules | None:
    return (
        None if spec is None else UsageRules(half_life=spec["half_life"], interval=spec["interval"])
    )
