"""Jobs as gangs: how one starts, stops, is mended, and what is seen of it.

A gang on one node starts by one write. On several nodes its pods appear behind our gate, and
each is sent to the node of its rank as soon as all are there: ranks that are neighbours are
neighbours in the network, and a lost node can be replaced while the others wait.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping, Sequence

from bot.clusters.base import ClusterEvent, EndKind, Outgrown, PodsLost, Started
from bot.clusters.kubernetes import names, patches
from bot.clusters.kubernetes.additions import Additions, write_additions
from bot.clusters.kubernetes.connection import Connection, Json, Refused
from bot.clusters.kubernetes.facts import MAIN, PodFacts
from bot.clusters.kubernetes.fleet import Fleet
from bot.clusters.kubernetes.gangs import (
    Gang,
    Whereabouts,
    decision_of,
    end_of,
    form_of,
    is_ready,
    path_of,
    places_for,
    read_grant,
    ref_of,
    slots_of,
    standing,
)
from bot.clusters.kubernetes.lateness import ending_of, given_up, refusals
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.progress import is_on, news_of
from bot.clusters.kubernetes.search import Search
from bot.clusters.kubernetes.sending import PodSender
from bot.clusters.kubernetes.works import JobFacts, WorkFacts
from bot.clusters.kubernetes.writing import CONFLICT, Write, Writer
from scheduler.model import Admission, NodeName, Seconds

log = logging.getLogger(__name__)

CHANGED = 410  # our own word, as a status, for "it is no longer what was decided on"


Refuse = Callable[[str, Refused], None]
"""Hears of the decision whose write was refused for good."""


class JobGangs:
    """Carries out decisions about Jobs, under the lock of whoever calls."""

    def __init__(
        self, connection: Connection, mirror: Mirror, writer: Writer, fleet: Fleet
    ) -> None:
        self._connection, self._mirror, self._writer = connection, mirror, writer
        self._search = Search(connection, mirror, writer)
        self._fleet = fleet
        self._sender = PodSender(connection, mirror, writer, fleet)

    def start(self, gang: Gang, refuse: Refuse) -> EndKind | None:
        """Let a gang go, unless that is done already; how it ended if it has."""
        if gang.made is not None:
            return self._make(gang, gang.made, refuse)
        job = self._mirror.work(gang.ref.uid)
        if job is None:
            return None if self.has_begun(gang) else EndKind.STOPPED
        if job.decision == gang.decision:
            gang.seen = True
            pods = self._mirror.pods_of(job.uid)
            gang.stopping = job.suspended
            return end_of(job, pods, self._fleet.dead, EndKind.STOPPED)
        if self._runs(gang, job):
            gang.seen = True
            return None
        obstacle = self._obstacle(gang, job)
        if obstacle is not None:
            return obstacle

        self._writer.put(
            Write(
                about=gang.ref.uid,
                what=f"start {gang.decision}",
                send=lambda: self._send_start(gang),
                refused=lambda why: refuse(gang.decision, why),
            )
        )
        return None

    def has_begun(self, gang: Gang) -> bool:
        """Whether it has pods although we see no object: that is gone, or has left our care."""
        pods = standing(self._mirror.pods_of(gang.ref.uid), self._fleet.dead)
        let_go = any(decision_of(pod) == gang.decision for pod in pods)
        gang.seen = let_go and self._mirror.work(gang.ref.uid) is None
        return gang.seen

    def _send_start(self, gang: Gang) -> None:
        """Send it about the object as it is now, unless that is another than was decided on."""
        if gang.stopping:  # meanwhile it was given up
            return
        now = self._mirror.work(gang.ref.uid)
        if now is None:
            raise Refused(404, "NotFound", "it is no more")
        if now.decision == gang.decision:
            return
        if form_of(now) != gang.ref.form or now.end is not None or not now.suspended:
            raise Refused(CHANGED, "Changed", "it is another than was decided on")
        self._write_start(gang, now)

    def _runs(self, gang: Gang, job: WorkFacts) -> bool:
        """Whether it was let go although its object does not say so: its pods do."""
        pods = self._mirror.pods_of(job.uid)
        mine = (pod.annotations.get(names.DECISION) == gang.decision for pod in pods)
        return not job.suspended and any(mine)

    def _obstacle(self, gang: Gang, job: WorkFacts) -> EndKind | None:
        """Why a gang cannot start after all, as the end that it has come to."""
        if not all(map(self._fleet.ready, gang.nodes)):
            return EndKind.LOST
        if form_of(job) != gang.ref.form or not job.suspended:
            return EndKind.STOPPED
        return None if _fits(gang, job) else EndKind.FAILED

    def _make(self, gang: Gang, body: Json, refuse: Refuse) -> EndKind | None:
        """Create what a request asks for, unless it is there."""
        if not all(map(self._fleet.ready, gang.nodes)):
            return EndKind.LOST
        patches.place(
            body, gang, self._host(gang), self._fleet.tolerations(gang.admission.assignments)
        )
        path = f"/apis/batch/v1/namespaces/{gang.ref.namespace}/jobs"

        def send() -> None:
            if gang.stopping:  # meanwhile it was given up
                return
            try:
                self._connection.post(path, body)
            except Refused as error:
                if error.status != CONFLICT:  # 409: an earlier try was done
                    raise
                self._search.look_for(gang)

        self._writer.put(
            Write(
                about=gang.decision,
                what=f"make {gang.decision}",
                send=send,
                refused=lambda why: refuse(gang.decision, why),
            )
        )
        return None

    def stop(self, gang: Gang, grace: Seconds, now: Seconds) -> None:
        """Have a gang stopped when its grace is over; at once where nothing runs of it."""
        if gang.stop_at is not None or gang.stopping:
            return
        pods = standing(self._mirror.pods_of(gang.ref.uid), self._fleet.dead)
        gang.stop_at = now + grace if any(pod.ready for pod in pods) else now
        if gang.announced is not None:  # before the bot came back
            gang.stop_at = min(gang.stop_at, gang.announced)
        if gang.stop_at > now:
            self._send(gang, "announce", patches.announce_stop(gang.ref.uid, gang.stop_at))
        else:
            self.suspend(gang)

    def suspend(self, gang: Gang) -> None:
        """Take all of its pods away; what we made goes with them."""
        gang.stopping = True
        if gang.made is not None:
            self._delete(gang)
            return
        self._suspend(gang)

    def _suspend(self, gang: Gang) -> None:
        body = patches.stop_job(gang.ref.uid)

        def send() -> None:
            """Where its start never got through, the answer is the only sign of that."""
            answer = self._connection.patch(path_of(gang.ref), body)
            marks = answer["metadata"].get("annotations") or {}
            if marks.get(names.DECISION) != gang.decision and not gang.seen:
                gang.unbegun = True
                self._mirror.note(gang.ref.uid)

        self._put(gang, "suspend", send)

    def insist(self, gang: Gang) -> None:
        """Ask once more for the end of a gang, where its object does not show that it was heard."""
        job = self._mirror.work(gang.ref.uid)
        if job is None or job.end is not None or job.deleting:
            return
        if gang.made is not None or not job.suspended:
            self.suspend(gang)

    def replace(self, gang: Gang, admission: Admission) -> None:
        """Have its gated pods sent to the nodes of another grant from now on.

        A pod on a node that was left is deleted, or its successor would not come: it stays in
        view until its kubelet says that it has ended.
        A template that names the node is for that node alone: such a gang is stopped whole. So is
        one of whose pods some are on their way to a node that was left: they go to no other, and
        to delete them would count as failures of theirs; and one that gets no pod in the place of
        one which a lost node keeps.
        """
        if not self._is_mendable(gang) or self._strays(gang, admission):
            gang.ending = EndKind.LOST
            self.suspend(gang)
            return
        gang.admission, gang.left, gang.told = admission, None, None
        gang.hurt.clear()
        gang.running = False
        self._send(gang, "mend", patches.change_grant(gang))
        for pod in self._mirror.pods_of(gang.ref.uid):
            if pod.node is not None and pod.node not in gang.nodes and not pod.terminating:
                self._sender.remove(pod)

    def _is_mendable(self, gang: Gang) -> bool:
        """Whether others can take the place of the pods that it has on lost nodes."""
        job = self._mirror.work(gang.ref.uid)
        kept = (
            pod.occupies and self._fleet.keeps(pod.node)
            for pod in self._mirror.pods_of(gang.ref.uid)
            if pod.node is not None
        )
        return self._host(gang) is None and not (job is not None and job.after_end and any(kept))

    def _strays(self, gang: Gang, admission: Admission) -> bool:
        """Whether a pod was let go to a node that is not of another grant, and is not there yet."""
        nodes = set(slots_of(admission))
        hosts = {None, *map(self._fleet.host, nodes)}
        going = (
            pod
            for pod in self._mirror.pods_of(gang.ref.uid)
            if pod.node is None and not pod.finished and not pod.terminating
        )
        return any(
            gang.pinned[pod.uid] not in nodes
            if pod.gated and pod.uid in gang.pinned
            else not pod.gated and pod.host not in hosts
            for pod in going
        )

    def look(self, gang: Gang, events: list[ClusterEvent], now: Seconds) -> EndKind | None:
        """Tell what is new of a gang and send pods on their way; how it ended if it has."""
        job = self._mirror.work(gang.ref.uid) or self._last_of(gang)
        pods = self._mirror.pods_of(gang.ref.uid)
        if job is None or (job.deleting and gang.seen and job.end is None):
            return self._look_without(gang, pods)
        if job.decision != gang.decision and not gang.seen:
            return gang.ending if gang.unbegun else None
        gang.seen, gang.object = True, None
        if gang.made is not None and job.suspended and job.end is None:
            self._clear(gang)
            return None
        if job is not gang.last:
            self._keep_marks(gang, job)
        gang.ordered = job.ordered
        end = end_of(job, pods, self._fleet.dead, gang.ending)
        if end is EndKind.FINISHED and not gang.running:  # it was quicker than our look
            events.append(Started(workload=gang.workload, decision=gang.decision, at=now))
        events += refusals(gang, pods, end, now)
        if end is not None or job.suspended:
            return end
        self._learn(job, pods)
        self._find_lost(gang, events, now)
        if not gang.stopping and not gang.hurt:
            self._send_pods(gang, pods)
        ready = is_ready(gang, pods) or is_on(gang, job, pods)
        gang.since = None if ready or gang.hurt else (gang.since or now)
        if job.closing or (gang.running and not job.once and gang.places):  # its pods come and go
            gang.since = None
        if not gang.running and not gang.hurt and ready:
            gang.running = True
            events.append(Started(workload=gang.workload, decision=gang.decision, at=now))
        events += news_of(gang, job, pods, now)
        events += _growth(gang, job, pods, now)
        return None

    def _clear(self, gang: Gang) -> None:
        """Delete what we made and others suspended, and could resume beside what comes next."""
        if not gang.stopping:
            self.suspend(gang)

    def _learn(self, job: WorkFacts, pods: Sequence[PodFacts]) -> None:
        """Have what pods ask for beyond their templates planned with when it is asked for anew."""
        said = {pods.name: pods.requests for pods in job.pod_sets}
        for pod in pods:
            part = MAIN if pod.part is None else pod.part[0]
            known = said.get(part)
            if known is not None and any(a > known.get(n, 0) for n, a in pod.requests.items()):
                self._mirror.learn(job.uid, part, pod.requests)

    def _find_lost(self, gang: Gang, events: list[ClusterEvent], now: Seconds) -> None:
        events += self._losses(gang, now)

    def _losses(self, gang: Gang, now: Seconds) -> Iterator[PodsLost]:
        """Tell of the nodes that it has lost; each once."""
        for node in sorted({*gang.places} - gang.hurt):
            if not self._fleet.usable(node):
                gang.hurt.add(node)
                gang.running = False
                yield PodsLost(
                    workload=gang.workload,
                    decision=gang.decision,
                    node=node,
                    at=now,
                    mendable=self._is_mendable(gang),
                )

    def _last_of(self, gang: Gang) -> WorkFacts | None:
        """Its object, where that had ended and was removed before we looked (by its `ttl`, say)."""
        last = self._mirror.last_of(gang.ref.uid)
        if last is not None and last.decision == gang.decision:
            gang.last = last
        return gang.last

    def _keep_marks(self, gang: Gang, job: WorkFacts) -> None:
        """Whoever changes what we wrote on an object does not change what was decided."""
        if gang.added is None and gang.made is None:
            told = job.annotations.get(names.PINNED)
            gang.added = told or write_additions(self._additions_in(gang, job))
        marks = patches.marks_of(gang)
        del marks[names.GRANT]  # the same may be written in several ways
        same = read_grant(job.annotations.get(names.GRANT)) == gang.admission
        lacking = marks.items() - job.annotations.items()
        if same and not lacking:
            return
        if not self._writer.busy(gang.ref.uid):
            if {name for name, _ in lacking} != {names.SEAL}:  # what we make has no uid before
                log.warning("what stood on %s %s was changed: written again", job.kind, job.name)
            self._send(gang, "mark", patches.mark_again(gang))

    def _look_without(self, gang: Gang, pods: tuple[PodFacts, ...]) -> EndKind | None:
        """How a gang whose object is not there has ended, or is still to begin."""
        if gang.made is not None and not gang.seen:
            if gang.object is Whereabouts.LEFT and not gang.stopping:
                return EndKind.LEFT
            written = not self._writer.busy(gang.decision)
            return gang.ending if gang.stopping and written else None
        there = standing(pods, self._fleet.dead)
        goes_on = there and gang.stop_at is None and not gang.stopping
        if goes_on and gang.object is not Whereabouts.GONE:
            self._search.ask(gang)
            return EndKind.LEFT if gang.object is Whereabouts.LEFT else None
        told, gang.bereft = gang.bereft, True
        if gang.made is not None and not gang.stopping:  # its owner has deleted it
            gang.ending = EndKind.FINISHED
        return gang.ending if told and not there else None

    def give_up(self, gang: Gang, now: Seconds) -> Iterator[ClusterEvent]:
        """Stop a gang that was not whole in time; why, and which nodes hold it up."""
        pods = self._mirror.pods_of(gang.ref.uid)
        gang.ending = ending_of(gang, self._mirror.work(gang.ref.uid), pods)
        yield from given_up(gang, pods, now)
        self.suspend(gang)

    def _send_pods(self, gang: Gang, pods: tuple[PodFacts, ...]) -> None:
        begun = any(decision_of(pod) == gang.decision for pod in pods)  # then it was whole
        gang.whole = gang.whole or begun
        places = self._places(gang, pods)
        alive = [pod for pod in pods if not pod.finished and not pod.terminating]
        gang.whole = gang.whole or len(alive) >= len(gang.slots)
        there = {pod.uid for pod in alive}
        gang.pinned = {uid: node for uid, node in gang.pinned.items() if uid in there}
        for pod in alive:
            node = places.get(pod.uid)
            if node is not None:
                gang.pinned[pod.uid] = node
                self._sender.let_go(gang, pod, node)

    def _places(self, gang: Gang, pods: tuple[PodFacts, ...]) -> dict[str, NodeName]:
        """Where gated pods go, by uid; nothing until the gang is whole."""
        return places_for(gang, pods, self._hosts(gang))

    def _hosts(self, gang: Gang) -> dict[str, NodeName]:
        return {self._fleet.host(node): node for node in gang.nodes}

    def _delete(self, gang: Gang) -> None:
        """Delete what we made. Whether it came is not known before it is heard of: it is read."""
        path = path_of(gang.ref)

        def send() -> None:
            uid = gang.ref.uid
            if uid == gang.decision:
                folder, _, name = path.rpartition("/")
                found = self._connection.get(folder, fieldSelector=f"metadata.name={name}")
                metas = [one["metadata"] for one in found.get("items") or ()]
                ours = [one for one in metas if _decided(one) == gang.decision]
                if not ours:
                    return  # it never came, or somebody else's has that name
                uid = ours[0]["uid"]
            options = {"propagationPolicy": "Background", "preconditions": {"uid": uid}}
            try:
                self._connection.delete(path, options)
            except Refused as error:
                if error.status != CONFLICT:  # 409: it is gone, and another has its name
                    raise

        self._writer.put(Write(about=gang.decision, what=f"delete {gang.decision}", send=send))

    def _write_start(self, gang: Gang, job: WorkFacts) -> None:
        if not isinstance(job, JobFacts):
            raise TypeError(f"not a Job: {job.kind}")
        host, more = self._host(gang), self._fleet.tolerations(gang.admission.assignments)
        added = patches.added_to(job.shape, host, more)
        gang.added = write_additions({MAIN: added})
        self._connection.patch(path_of(gang.ref), patches.start_job(gang, job, host, added))

    def _additions_in(self, gang: Gang, job: WorkFacts) -> Mapping[str, Additions]:
        """What was added to its templates, where somebody has taken away what told it."""
        if not isinstance(job, JobFacts):
            raise TypeError(f"not a Job: {job.kind}")
        more = self._fleet.tolerations(gang.admission.assignments)
        return {MAIN: patches.found_in(job.shape, self._host(gang), more, gang.homes)}

    def _host(self, gang: Gang) -> str | None:
        """The host that its template names: that of a gang that lies on one node."""
        nodes = sorted(gang.nodes)
        return self._fleet.host(nodes[0]) if len(nodes) == 1 else None

    def _send(self, gang: Gang, what: str, body: Json) -> None:
        self._put(gang, what, lambda: self._connection.patch(path_of(gang.ref), body))

    def _put(self, gang: Gang, what: str, send: Callable[[], object]) -> None:
        self._writer.put(Write(about=gang.ref.uid, what=f"{what} {gang.decision}", send=send))


def _decided(meta: Json) -> str | None:
    """The decision that an object as it was sent says it is of."""
    found = (meta.get("annotations") or {}).get(names.DECISION)
    return None if found is None else str(found)


def _growth(
    gang: Gang, job: WorkFacts, pods: Sequence[PodFacts], now: Seconds
) -> Iterator[Outgrown]:
    """Tell how many pods it was granted and has, where those beyond the grant wait at the gate."""
    alive = [pod for pod in pods if not pod.finished and not pod.terminating]
    late = [pod for pod in alive if pod.gated and pod.uid not in gang.pinned]
    many = len(alive) if gang.running and late and len(alive) > len(gang.places) else 0
    grown, gang.grown = gang.grown, many
    if many and many != grown:
        granted = len(gang.places)
        yield Outgrown(ref=ref_of(job), granted=granted, pods=many, at=now)


def _fits(gang: Gang, job: WorkFacts) -> bool:
    """Whether a grant is for the very pods that will come: any others would have no room."""
    granted = {part.name: part.count for part in gang.admission.assignments}
    if granted == {pods.name: pods.count for pods in job.pod_sets}:
        return True
    log.error("%s is not for the pods of %s %s: not started", gang.decision, job.kind, job.name)
    return False
