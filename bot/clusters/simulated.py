"""The simulated cluster behind the port: pods in memory, and a journal that outlives us.

What was running when the bot was killed goes on and ends, in the time of the bot's
world, while nobody looks: the next `observe` or `poll` finds it done.

A decision is an attempt's name: a `Start` of an attempt that holds capacity does
nothing, one of an attempt that is over tells its end again (the loop may have missed it),
and a `Stop` of an attempt that never came tells it as stopped and keeps it from coming. A
`Replace` is only done to an attempt that holds capacity.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from contextlib import nullcontext
from pathlib import Path
from types import TracebackType
from typing import Self

from bot.clusters.base import (
    Action,
    ClusterEvent,
    ClusterUnreachable,
    Cordon,
    EndKind,
    Gone,
    NodeFailed,
    NodeSeen,
    Observation,
    Observed,
    PodsLost,
    PodsState,
    Remark,
    Replace,
    Start,
    Started,
    Stop,
)
from bot.clusters.journal import (
    CordonEntry,
    EndEntry,
    Entry,
    FailEntry,
    Journal,
    OutageEntry,
    ReplaceEntry,
    StartEntry,
    StopEntry,
    read_journal,
    rewrite_journal,
)
from scheduler.model import Node, NodeName, Seconds, WorkloadId
from scheduler.simulation.cluster import SimulatedNodes
from scheduler.simulation.gangs import (
    GangGone,
    GangHurt,
    GangReady,
    GangState,
    Happening,
    NodeChanged,
    Outage,
)

_ENDS_KEPT = 20_000
"""Ends remembered through a restart; older ones are long since known to the loop."""


class SimulatedCluster:
    """A `Cluster` in memory, with its journal at `path` (None: it forgets when it goes).

    `start_delay` and `stop_time` are how long pods take to be ready and to stop. While
    `unreachable` is set, every call raises ClusterUnreachable and time goes on inside.
    Raises JournalBroken when the journal cannot be read.
    """

    def __init__(
        self,
        nodes: Iterable[Node],
        *,
        path: Path | None = None,
        start_delay: Seconds = 0.0,
        stop_time: Seconds = 0.0,
    ) -> None:
        self.unreachable = False
        self._ends: dict[str, Gone] = {}
        self._events: list[ClusterEvent] = []
        self._outages: list[OutageEntry] = []
        self._cordons: dict[NodeName, CordonEntry] = {}
        entries = () if path is None else read_journal(path)
        self._nodes = SimulatedNodes(
            nodes,
            start_delay=start_delay,
            stop_time=stop_time,
            mendable=True,
            now=min((entry.at for entry in entries), default=0.0),
        )
        self._live: dict[str, list[Entry]] = {}
        for entry in entries:
            self._redo(entry)
        self._journal: Journal | None = None
        if path is not None:
            rewrite_journal(path, self._compacted())
            self._journal = Journal(path)

    def find_pod(self, namespace: str, name: str) -> None:
        """There are no pods but those of requests."""
        del namespace, name

    def outside(self, nodes: Iterable[NodeName]) -> None:
        """There are no pods but those of requests."""
        del nodes

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def hear(self, on_news: Callable[[], None]) -> None:
        """Nothing: it has news only when it is asked."""
        del on_news

    def close(self) -> None:
        """Let go of the journal file."""
        if self._journal is not None:
            self._journal.close()

    # ---- the port

    def observe(self, now: Seconds) -> Observation:
        """Every node and every gang that holds capacity; `poll` goes on from here."""
        self._reach(now)
        self._events.clear()
        gangs = tuple(
            Observed(
                workload=gang.workload.id,
                state=PodsState(gang.state.value),
                admission=gang.admission,
                decision=gang.attempt,
                missing=gang.missing() if gang.state is GangState.BROKEN else (),
            )
            for gang in self._nodes.gangs()
        )
        return Observation(nodes=self._nodes.nodes(), workloads=gangs, at=self._nodes.now)

    def poll(self, now: Seconds) -> tuple[ClusterEvent, ...]:
        """What happened since the last `poll` or `observe`, in order."""
        self._reach(now)
        events, self._events = self._events, []
        return tuple(events)

    def apply(self, action: Action, now: Seconds) -> None:
        """Carry out one decision; it is on disk when this returns."""
        self._reach(now)
        if isinstance(action, Cordon):
            self._cordon(action)
            return
        over = self._ends.get(action.decision)
        if over is not None:
            self._events.append(over)
        elif isinstance(action, Start):
            if action.decision not in self._live:
                self._do(StartEntry(at=self._nodes.now, action=action))
        elif isinstance(action, Replace):
            if action.decision in self._live:
                self._do(ReplaceEntry(at=self._nodes.now, action=action))
        elif action.decision in self._live:
            self._do(StopEntry(at=self._nodes.now, action=action))
        else:
            self._do(
                EndEntry(
                    at=self._nodes.now,
                    workload=action.workload,
                    decision=action.decision,
                    end=EndKind.STOPPED,
                )
            )

    def apply_all(self, actions: Sequence[Action], now: Seconds) -> None:
        """Carry out several decisions with one sync; they are on disk when this returns."""
        with nullcontext() if self._journal is None else self._journal.one_sync():
            for action in actions:
                self.apply(action, now)

    def remark(self, remarks: Sequence[Remark]) -> None:
        """Say nothing: there are no objects to say it on."""

    # ---- the script

    def fail_gang(self, workload: WorkloadId, *, after: Seconds, now: Seconds) -> None:
        """Let a gang that holds capacity fail once it has been ready for `after` seconds."""
        self._pass(now)
        self._do(FailEntry(at=self._nodes.now, workload=workload, after=after))

    def fail_node(self, outage: Outage, now: Seconds) -> None:
        """Let a node fail, and return if `outage.until` says so."""
        self._pass(now)
        self._do(
            OutageEntry(at=self._nodes.now, node=outage.node, fails=outage.at, until=outage.until)
        )

    # ---- how it works

    def _cordon(self, action: Cordon) -> None:
        """Note it only where it changes something: the loop asks for it at each start."""
        node = next((one for one in self._nodes.nodes() if one.name == action.node), None)
        if node is not None and node.schedulable is action.closed:
            self._do(CordonEntry(at=self._nodes.now, action=action))

    def _reach(self, now: Seconds) -> None:
        self._pass(now)
        if self.unreachable:
            raise ClusterUnreachable("the simulated cluster was told to be out of reach")

    def _pass(self, now: Seconds) -> None:
        """Let time pass; a clock that was set back stands still until it has caught up."""
        for happening in self._nodes.advance(max(now, self._nodes.now)):
            self._tell(happening)

    def _do(self, entry: Entry) -> None:
        if self._journal is not None:
            self._journal.add(entry)
        self._redo(entry)

    def _redo(self, entry: Entry) -> None:
        """The effect of an entry, now or when the journal is read again."""
        self._pass(entry.at)
        if isinstance(entry, StartEntry):
            action = entry.action
            self._live[action.decision] = [entry]
            self._nodes.start(
                action.workload,
                action.admission,
                action.decision,
                at=self._nodes.now,
                run_for=action.run_for,
            )
        elif isinstance(entry, StopEntry):
            stop: Stop = entry.action
            if stop.decision in self._live:
                self._live[stop.decision].append(entry)
            self._nodes.stop(stop.workload, stop.decision, grace=stop.grace, at=self._nodes.now)
        elif isinstance(entry, ReplaceEntry):
            repair = entry.action
            if repair.decision in self._live:
                self._live[repair.decision].append(entry)
            self._nodes.mend(repair.workload, repair.admission, repair.decision, at=self._nodes.now)
        elif isinstance(entry, EndEntry):
            self._note_end(entry.workload, entry.decision, entry.end, entry.at)
        elif isinstance(entry, FailEntry):
            gang = self._nodes.gang(entry.workload)
            if gang is not None:
                self._live[gang.attempt].append(entry)
                self._nodes.fail(entry.workload, after=entry.after, at=self._nodes.now)
        elif isinstance(entry, CordonEntry):
            self._redo_cordon(entry)
        else:
            self._outages.append(entry)
            self._nodes.script(Outage(entry.node, entry.fails, entry.until))
        self._pass(self._nodes.now)

    def _redo_cordon(self, entry: CordonEntry) -> None:
        cordon = entry.action
        self._cordons.pop(cordon.node, None)
        if cordon.closed:
            self._cordons[cordon.node] = entry
        self._nodes.cordon(cordon.node, closed=cordon.closed, at=self._nodes.now)

    def _tell(self, happening: Happening) -> None:
        if isinstance(happening, GangReady):
            self._events.append(
                Started(workload=happening.workload, decision=happening.attempt, at=happening.at)
            )
        elif isinstance(happening, GangGone):
            end = EndKind(happening.end.value)
            self._note_end(happening.workload, happening.attempt, end, happening.at)
        elif isinstance(happening, GangHurt):
            self._events.append(
                PodsLost(
                    workload=happening.workload,
                    decision=happening.attempt,
                    node=happening.node,
                    at=happening.at,
                )
            )
        elif isinstance(happening, NodeChanged):
            self._events.append(NodeSeen(node=happening.node, at=happening.at))
        else:
            self._events.append(NodeFailed(name=happening.node, at=happening.at))

    def _note_end(self, workload: WorkloadId, decision: str, end: EndKind, at: Seconds) -> None:
        gone = Gone(workload=workload, decision=decision, kind=end, at=at)
        self._ends[decision] = gone
        self._live.pop(decision, None)
        self._events.append(gone)

    def _compacted(self) -> list[Entry]:
        """The fewest entries that bring back the same cluster, in order of time."""
        entries: list[Entry] = [
            EndEntry(at=end.at, workload=end.workload, decision=end.decision, end=end.kind)
            for end in list(self._ends.values())[-_ENDS_KEPT:]
        ]
        oldest = min((live[0].at for live in self._live.values()), default=self._nodes.now)
        # What broke a gang that is still there has to break it again.
        entries += [out for out in self._outages if out.until is None or out.until > oldest]
        entries += list(self._cordons.values())
        entries += [entry for live in self._live.values() for entry in live]
        return sorted(entries, key=lambda entry: entry.at)
