"""`KubernetesCluster`: the port of `bot.clusters.base` over a mirror, a fleet and a writer.

Nothing here waits for the API server. `poll` derives what to tell from what has changed in the
mirror; `apply` keeps in mind what was decided and hands the write to the writer. What is in
mind and not yet written is done again by the loop after a restart, and what was written stands
in annotations, so both together lose nothing.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence

from bot.clusters.base import (
    Action,
    ClusterEvent,
    ClusterUnreachable,
    Cordon,
    EndKind,
    Gone,
    Observation,
    Observed,
    PodsState,
    Remark,
    Replace,
    SeenPod,
    Start,
    Stop,
    Taken,
    Unwanted,
)
from bot.clusters.kubernetes.belonging import Belonging
from bot.clusters.kubernetes.claims import NO_CLAIMS, Claims
from bot.clusters.kubernetes.connection import Connection, Refused
from bot.clusters.kubernetes.facts import JOB_SET
from bot.clusters.kubernetes.fleet import PATIENCE, Fleet
from bot.clusters.kubernetes.foreign import foreign_in
from bot.clusters.kubernetes.gangs import (
    Gang,
    end_of,
    gang_on,
    is_later,
    is_ready,
    ref_of,
    slots_of,
)
from bot.clusters.kubernetes.groups import GROUP, POD
from bot.clusters.kubernetes.holds import Holds
from bot.clusters.kubernetes.jobs import CHANGED, JobGangs
from bot.clusters.kubernetes.jobsets import JobSetGangs
from bot.clusters.kubernetes.mirror import Changes, Mirror, request_of_hold
from bot.clusters.kubernetes.outside import seen_pod
from bot.clusters.kubernetes.pods import PodGangs
from bot.clusters.kubernetes.remarks import Remarks
from bot.clusters.kubernetes.starts import each_of, gang_of, is_beside, is_hold
from bot.clusters.kubernetes.templates import Templates
from bot.clusters.kubernetes.waiting import Asked, is_at_gate
from bot.clusters.kubernetes.watched import watchers_of
from bot.clusters.kubernetes.watching import Pace
from bot.clusters.kubernetes.writing import CONFLICT, Writer
from scheduler.layout import Layout
from scheduler.model import NodeName, Seconds

SILENT_AT_MOST = 150.0  # seconds: a watch is heard of each minute, a broken one found after 90
ASKED_AGAIN = 60.0  # seconds after which the end of a gang is asked for once more
STUCK_AT_MOST = 30.0  # seconds without any write getting through, while some are to be sent
_CHANGED = frozenset({404, CONFLICT, CHANGED})  # it is another than was decided on: decide anew
_FOR_GOOD = frozenset({EndKind.FINISHED, EndKind.FAILED, EndKind.LEFT})  # it is not tried again
_ENDS_KEPT = 20_000  # so that a decision which is over is not carried out again


class KubernetesCluster:
    """A `Cluster`. Call `start` before use and `close` at the end. `bot` is whose marks count."""

    def __init__(
        self,
        connection: Connection,
        layout: Layout,
        *,
        templates: Templates | None = None,
        patience: Seconds = PATIENCE,
        pace: Pace | None = None,
        bot: str = "",
        claims: Claims = NO_CLAIMS,
    ) -> None:
        self._bot = bot
        self.mirror = Mirror(bot, claims)
        self.writer = Writer()
        self.remarks = Remarks(connection, self.mirror)
        self.watchers = watchers_of(connection, self.mirror, pace)
        self._by_object: dict[str, Gang] = {}
        self._belonging = Belonging(self.mirror, self._by_object)
        whose = self._belonging
        self.fleet = Fleet(self.mirror, whose.uncounted, whose.granted, patience, layout.flavors)
        self._templates = templates
        self._ready_in = layout.readiness.ready_in
        self._lock = threading.RLock()
        self._gangs: dict[str, Gang] = {}
        self._ends: OrderedDict[str, Gone] = OrderedDict()
        self._events: list[ClusterEvent] = []
        self._touched: set[NodeName] = set()
        self._again: set[str] = set()
        self._later: set[str] = set()  # what is to be looked at again the time after
        self._unmarked: set[str] = set()  # adopted pods that do not show it yet
        self._refused: list[tuple[str, Refused]] = []
        self._jobs = JobGangs(connection, self.mirror, self.writer, self.fleet)
        self._job_sets = JobSetGangs(connection, self.mirror, self.writer, self.fleet)
        self._holds = Holds(connection, self.mirror, self.writer, self.fleet, whose.strangers)
        self._pods = PodGangs(
            connection, self.mirror, self.writer, self.fleet, layout.readiness.ready_in
        )
        self._asked = Asked(self.mirror, self._pods)

    def start(self, seconds: float = 60.0) -> bool:
        """Begin to watch; whether everything was listed in time."""
        for watcher in self.watchers:
            watcher.start()
        end = time.monotonic() + seconds
        return all(watcher.wait(max(0.0, end - time.monotonic())) for watcher in self.watchers)

    def close(self) -> None:
        """End watching and writing."""
        for watcher in self.watchers:
            watcher.stop()
        self.writer.stop()
        self.remarks.stop()

    def hear(self, on_news: Callable[[], None]) -> None:
        """Have something called whenever there may be something to poll."""
        self.mirror.hear(on_news)

    def find_pod(self, namespace: str, name: str) -> SeenPod | None:
        """A pod, whoever's it is, as it was last heard of. From any thread."""
        with self.mirror.lock:
            pod = self.mirror.pod_named(namespace, name)
            return None if pod is None else seen_pod(pod, self._belonging.whose(pod))

    def vacancies(self) -> Mapping[str, Sequence[Seconds]]:
        """Since when GPUs of holds have been without a pod, by request. From any thread."""
        with self.mirror.lock:
            return {gang.workload: gang.vacant for gang in self._gangs.values() if gang.vacant}

    def outside(self, nodes: Iterable[NodeName]) -> tuple[SeenPod, ...]:
        """The GPU pods on some nodes that no request stands for. From any thread."""
        with self.mirror.lock:
            found = [seen_pod(pod, None) for pod in self._belonging.strangers(nodes)]
        return tuple(sorted(found, key=lambda pod: (pod.where, pod.ref.uid)))

    # ---- the port

    def observe(self, now: Seconds) -> Observation:
        """Everything there is; `poll` goes on from here."""
        with self._lock, self.mirror.lock:
            self._check()
            self.mirror.take_changes()
            self._events.clear()
            self._touched.clear()
            self._asked.forget()
            self.fleet.recall(now)  # which nodes are lost decides which gangs hold something
            self._find_gangs(now)
            nodes = self.fleet.all()  # what gangs hold is not counted as others'
            found = [self._observed(gang) for gang in self._gangs.values()]
            jobs = frozenset(work.uid for work in self.mirror.works()) | self.mirror.units()
            self._again = {*jobs, *self.mirror.owners_of(is_at_gate), *self.mirror.holds()}
            return Observation(
                nodes=nodes,
                workloads=tuple(sorted(found, key=lambda one: (one.workload, one.decision))),
                at=now,
                objects=jobs.union(
                    self.mirror.pods.items, self.mirror.expected(), self.mirror.outlasting()
                ),
                foreign=foreign_in(self.mirror, self._bot),
            )

    def poll(self, now: Seconds) -> tuple[ClusterEvent, ...]:
        """What happened since the last `poll` or `observe`."""
        with self._lock, self.mirror.lock:
            self.carry_on(now)
            events, self._events = self._events, []
            return tuple(events)

    def carry_on(self, now: Seconds) -> None:
        """Take in what changed and do what follows of itself; `poll` tells it."""
        with self._lock, self.mirror.lock:
            self._check()
            self._stop_due(now)
            self._hear_refusals(now)
            changes = self.mirror.take_changes()
            self._again.update(self._pods.overdue(now))
            for uid in sorted(changes.jobs):
                self._adopt(uid)  # before its pods are taken for others'
            before = (set(self.fleet.failed), self.fleet.dead)
            nodes = list(self.fleet.news(changes.nodes | self._touched, now))
            self._touched.clear()
            lost = (self.fleet.failed ^ before[0]) | (self.fleet.dead ^ before[1])
            self._look_at(changes, lost, now)
            self._again |= self._later
            self._asked.doubt(*self._later)
            self._later.clear()
            self._events += nodes
            if self._touched:  # what ended just now gives its nodes back
                self._events += self.fleet.news(self._touched, now)
                self._touched.clear()
            self._events.sort(key=lambda event: isinstance(event, Taken))  # they say how nodes are

    def apply(self, action: Action, now: Seconds) -> None:
        """Carry out one decision."""
        self.apply_all((action,), now)

    def apply_all(self, actions: Sequence[Action], now: Seconds) -> None:
        """Keep decisions in mind and send what they need, in the order they come."""
        with self._lock, self.mirror.lock:
            self._check()
            for action in actions:
                match action:
                    case Cordon():
                        self._cordon(action)
                    case Start():
                        self._start(action, now)
                    case Stop():
                        self._stop(action, now)
                    case Replace():
                        self._replace(action)

    def remark(self, remarks: Sequence[Remark]) -> None:
        """Say something on objects as Events, behind everything else."""
        self.remarks.put(remarks)

    # ---- what is known

    def _check(self) -> None:
        """Raises ClusterUnreachable when the mirror, or what was written, may be out of date."""
        for watcher in self.watchers:
            if watcher.trouble is not None:
                raise ClusterUnreachable(f"{watcher.path}: {watcher.trouble}")
            if watcher.silent > SILENT_AT_MOST:
                raise ClusterUnreachable(
                    f"{watcher.path}: nothing was heard for {watcher.silent:.0f} s"
                )
        if self.writer.stuck > STUCK_AT_MOST:
            raise ClusterUnreachable(f"no write got through for {self.writer.stuck:.0f} s")

    def _find_gangs(self, now: Seconds) -> None:
        """Take up the gangs that hold something by what their objects say, drop those that end."""
        for gang in tuple(self._gangs.values()):
            work = self.mirror.work(gang.ref.uid)
            if work is not None and is_later(work, gang):  # another has led since
                del self._gangs[gang.decision], self._by_object[gang.ref.uid]
                continue
            over = self._kind(gang).look(gang, [], now)
            if over is not None:  # told when it is asked for again
                self._end(gang, over, now)
        self._events.clear()
        for job in self.mirror.works():
            if job.uid in self._by_object or job.decision in self._ends:
                continue
            found = gang_on(job, self._bot)
            if found is not None:
                pods = self.mirror.pods_of(job.uid)
                stands = found.made is not None and job.end is None  # also suspended: it is to go
                if stands or end_of(job, pods, self.fleet.away(pods), EndKind.STOPPED) is None:
                    self._keep(found)

    def _observed(self, gang: Gang) -> Observed:
        pods = self.mirror.pods_of(gang.ref.uid) or self._pods.pods_of(gang)
        gang.saved, gang.told, gang.bereft = None, None, False
        # What is not under way was done, or dropped while another led: then it is sent again.
        gang.pinned = {uid: node for uid, node in gang.pinned.items() if self.writer.busy(uid)}
        gang.hurt = {node for node in gang.nodes if not self.fleet.usable(node)}
        gang.running = is_ready(gang, pods) if not is_hold(gang) else not gang.hurt
        if gang.stop_at is not None or gang.stopping:
            state = PodsState.STOPPING
        elif gang.hurt:
            state = PodsState.BROKEN
        else:
            state = PodsState.RUNNING if gang.running else PodsState.STARTING
        return Observed(
            workload=gang.workload,
            state=state,
            admission=gang.admission,
            decision=gang.decision,
            missing=tuple(sorted(gang.hurt)) if state is PodsState.BROKEN else (),
        )

    def _look_at(self, changes: Changes, lost: set[NodeName], now: Seconds) -> None:
        named = changes.jobs | changes.units | self._unmarked
        changed = named | changes.owners | self._again
        changed |= {uid for uid, gang in self._by_object.items() if is_beside(gang, changes.nodes)}
        self._again = set()
        if lost:
            changed |= {uid for uid, gang in self._by_object.items() if gang.nodes & lost}
        for uid in sorted(changed):
            self._adopt(uid)
            gang = self._by_object.get(uid)
            if gang is None:
                self._expel(uid, now)
                self._events += self._asked.news(uid, now, named=uid in named)
                continue
            left, bereft = gang.left, gang.bereft
            end = self._kind(gang).look(gang, self._events, now)
            if gang.left is not left:
                self._touched |= gang.nodes
            if end is not None:
                self._end(gang, end, now)
                vain = end not in _FOR_GOOD and self._pods.wanted(uid, now) is None
                if vain or self.mirror.work(uid) is not None:  # it is not to be tried first
                    self._events += self._asked.news(uid, now, named=False)
            elif gang.bereft:
                self._again.add(uid)
                if uid in named or not bereft:
                    self._events.append(Unwanted(uid=uid, at=now))
        self._unmarked = {
            uid
            for uid in self._unmarked
            if uid in self._by_object and not self.mirror.pods_of_unit(uid)
        }

    def _expel(self, uid: str, now: Seconds) -> None:
        """Nothing that was let go stays where no gang stands for it any more."""
        self._pods.expel(uid, None)
        request = request_of_hold(uid)
        if request is not None:
            self._holds.expel(request)
            self._events += self._holds.unredeemed(request, now)

    def _adopt(self, uid: str) -> None:
        """An object that we had made is there: its gang goes by its uid from now on."""
        job = self.mirror.jobs.items.get(uid)
        gang = self._by_object.get(job.decision or "") if job is not None else None
        if gang is not None and gang.made is not None and job is not None:
            del self._by_object[gang.ref.uid]
            gang.ref = ref_of(job)
            self._by_object[uid] = gang
            self._touched |= gang.nodes

    # ---- what is done

    def _start(self, action: Start, now: Seconds) -> None:
        if self._told_again(action):
            return
        if action.decision in self._gangs:
            self._recall_grant(self._gangs[action.decision], action)
            return
        gang = gang_of(action, self._templates, self._bot)
        other = self._by_object.get(gang.ref.uid)
        if other is not None:  # what its object says of its decision is not what was decided
            del self._gangs[other.decision]
        self._keep(gang)
        self._again.add(gang.ref.uid)
        kind = self._kind(gang)
        if isinstance(kind, JobGangs):
            end = kind.start(gang, self._refuse)
            gang.since = now  # also what cannot be written is not waited for without end
        else:
            end = kind.start(gang)
            if gang.ref.adopted:
                self._unmarked.add(gang.ref.uid)
        if end is not None:
            if gang.ref.adopted:  # nobody was ever told that it is wanted
                self._events.append(Unwanted(uid=gang.ref.uid, at=now))
            self._end(gang, end, now)

    def _kind(self, gang: Gang) -> JobGangs | Holds | PodGangs:
        if gang.ref.kind in {POD, GROUP}:
            return self._pods
        if is_hold(gang):
            return self._holds
        return self._job_sets if gang.ref.kind == JOB_SET else self._jobs

    def _stop(self, action: Stop, now: Seconds) -> None:
        if self._told_again(action):
            return
        gang = self._gangs.get(action.decision) or self._recall(action)
        if gang is None:  # it never came, and must not come any more
            gone = Gone(
                workload=action.workload, decision=action.decision, kind=EndKind.STOPPED, at=now
            )
            self._remember(gone)
            self._ask_later(action)
            return
        self._recall_grant(gang, action.begun)
        self._kind(gang).stop(gang, action.grace, now)
        self._again.add(gang.ref.uid)

    def _recall_grant(self, gang: Gang, start: Start | None) -> None:
        """What each pod was granted; what was given back before we were there is others'."""
        if start is not None:
            gang.each = each_of(start)
        gang.give_back(None if start is None else start.kept)
        self._touched |= gang.nodes

    def _recall(self, stop: Stop) -> Gang | None:
        """A gang of pods that were let go before we were there, which is to be stopped."""
        if stop.begun is None:
            return None
        gang = gang_of(stop.begun, self._templates, self._bot)
        kind = self._kind(gang)
        if not kind.has_begun(gang):
            return None
        self._keep(gang)
        return gang

    def _replace(self, action: Replace) -> None:
        gang = self._gangs.get(action.decision)
        if gang is None or action.admission.repairs <= gang.admission.repairs:
            return
        self._touched |= gang.nodes | set(slots_of(action.admission))
        self._kind(gang).replace(gang, action.admission)
        self._again.add(gang.ref.uid)

    def _cordon(self, action: Cordon) -> None:
        """The API server's nodes are never written: what is closed by hand, we keep in mind."""
        (self.fleet.closed.add if action.closed else self.fleet.closed.discard)(action.node)
        self._touched.add(action.node)

    def _stop_due(self, now: Seconds) -> None:
        for gang in self._gangs.values():
            late = gang.since is not None and now - gang.since >= self._ready_in
            if gang.stopping:
                self._insist(gang, now)
                if gang.made is not None and not gang.seen:  # nothing may ever be heard of it
                    self._again.add(gang.ref.uid)
            elif gang.stop_at is not None and gang.stop_at <= now:
                self._kind(gang).suspend(gang)
                self._again.add(gang.ref.uid)  # there may be nothing left to write
            elif gang.stop_at is None and late:
                kind = self._kind(gang)
                self._events += () if isinstance(kind, Holds) else kind.give_up(gang, now)
                self._again.add(gang.ref.uid)
                self._touched |= gang.nodes

    def _insist(self, gang: Gang, now: Seconds) -> None:
        """Ask again for the end of a gang that does not come: that was refused, or lost."""
        gang.asked = now if gang.asked is None else gang.asked
        if now - gang.asked < ASKED_AGAIN or any(
            map(self.writer.busy, self._belonging.about(gang))
        ):
            return
        gang.asked = now
        kind = self._kind(gang)
        if isinstance(kind, JobGangs):
            kind.insist(gang)
        else:
            kind.suspend(gang)

    # ---- keeping count

    def _told_again(self, action: Start | Stop) -> bool:
        """Whether a decision is over; its end is told once more, for it may have been missed."""
        over = self._ends.get(action.decision)
        if over is not None and over not in self._events:
            self._events.append(over)
            self._ask_later(action)
        return over is not None

    def _ask_later(self, action: Start | Stop) -> None:
        """Look what an object wants when the end of its gang has been told: before, it is lost."""
        start = action.begun if isinstance(action, Stop) else action
        if start is not None and start.ref is not None:
            self._later.add(start.ref.uid)

    def _keep(self, gang: Gang) -> None:
        self._gangs[gang.decision] = gang
        self._by_object[gang.ref.uid] = gang
        self._touched |= gang.nodes

    def _end(self, gang: Gang, kind: EndKind, now: Seconds) -> None:
        self._gangs.pop(gang.decision, None)
        if self._by_object.get(gang.ref.uid) is gang:
            del self._by_object[gang.ref.uid]
        self._touched |= gang.nodes
        self._again.add(gang.ref.uid)
        self._asked.doubt(gang.ref.uid)
        self._remember(Gone(workload=gang.workload, decision=gang.decision, kind=kind, at=now))

    def _remember(self, gone: Gone) -> None:
        self._ends[gone.decision] = gone
        self._events.append(gone)
        while len(self._ends) > _ENDS_KEPT:
            self._ends.popitem(last=False)

    def _refuse(self, decision: str, why: Refused) -> None:
        """A write was refused for good: called from the writer's threads."""
        with self.mirror.lock:
            self._refused.append((decision, why))
        self.mirror.tell()

    def _hear_refusals(self, now: Seconds) -> None:
        refused, self._refused = self._refused, []
        for decision, why in refused:
            gang = self._gangs.get(decision)
            if gang is not None and not gang.seen:
                changed = gang.made is None and why.status in _CHANGED
                self._end(gang, EndKind.STOPPED if changed else EndKind.FAILED, now)
