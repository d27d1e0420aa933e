"""Pods that run outside our care: who may make a request of one, and what it is charged to.

A pod belongs to the person that its annotation `gpubot.dev/owner` names, and to the team after
which its namespace is called. Its owner may adopt it, everybody of the team where no owner is
named, the team's lead, and admins. What a controller keeps is not adopted pod by pod.
"""

from __future__ import annotations

import dataclasses

from bot.asks import Ask
from bot.clock import moment
from bot.clusters.base import SeenPod
from bot.control.adopting import NODE, grant
from bot.desk.office import Office
from bot.desk.submission import new_request
from bot.plans import UNNAMED, named, plan, refuse
from bot.refusals import read_refusal, write_refusal
from bot.rights import leads
from bot.views import RefusalCode, Refused, Submitted
from scheduler.model import GPU, PodSet, ResourceName, Workload
from storage.records import EventKind, Json, Person, Role, Source
from storage.states import RequestState
from storage.work import Work


class Adopting(Office):
    """Making requests of pods that run already."""

    def adopt(
        self,
        person_id: str,
        where: str,
        *,
        key: str,
        lease: float | None = None,
        team: str | None = None,
        preemptible: bool = False,
        channel: str | None = None,
    ) -> Submitted | Refused:
        """Make a request of the pod `namespace/name`, which goes on where it runs."""
        person = self._directory.person(person_id)
        with self._store.read() as view:
            answer = view.inbox.answer(key)
        if answer is not None:
            return self._answered_with(answer, decided=True, again=True)
        pod = self._find(where)
        wish = Ask(
            pods=1,
            gpus_per_pod=0 if isinstance(pod, Refused) else pod.gpus,
            duration=lease,
            team=team,
            preemptible=preemptible,
            text=f"adopt {where}",
        )
        planned = pod if isinstance(pod, Refused) else self._plan_pod(person, pod, wish)
        event: int | None = None
        if isinstance(pod, Refused):
            answer = self._remembered(key, pod)
        elif isinstance(planned, Refused):
            answer = self._remembered(key, planned)
        else:
            answer, event = self._ordered(person_id, pod, planned, key, wish.text, channel)
        decided = event is None or self._carried_out(event)
        return self._answered_with(answer, decided=decided, again=False)

    def _remembered(self, key: str, refused: Refused) -> Json:
        """Store why nothing was done; the answer of whoever was first."""
        with self._store.write() as work:
            if not work.inbox.first(key, self._wall()):
                return work.inbox.answer(key) or write_refusal(refused)
            answer = write_refusal(refused)
            work.inbox.remember(key, answer)
            return answer

    def _ordered(
        self,
        person_id: str,
        pod: SeenPod,
        planned: Workload,
        key: str,
        text: str,
        channel: str | None,
    ) -> tuple[Json, int | None]:
        """Store the request with its order; the answer, and the order if it is ours."""
        now = self._control.clock.now()
        with self._store.write() as work:
            if not work.inbox.first(key, self._wall()):
                return work.inbox.answer(key) or write_refusal(refuse(RefusalCode.LOOKING)), None
            known = _holder(work, pod.ref.uid)
            if known is not None:
                taken = write_refusal(refuse(RefusalCode.POD_TAKEN, where=pod.where, request=known))
                work.inbox.remember(key, taken)
                return taken, None
            request_id = work.requests.next_id()
            request = new_request(planned, request_id, text, Source.CLUSTER, now)
            work.requests.add(dataclasses.replace(request, ref=pod.ref, channel=channel))
            order = {NODE: pod.node}
            event = work.events.add(EventKind.ADOPT, request_id, person_id, moment(now), order)
            answer = {"request": request_id}
            work.inbox.remember(key, answer)
            return answer, event.id

    def _answered_with(self, answer: Json, *, decided: bool, again: bool) -> Submitted | Refused:
        if "refused" in answer:
            return read_refusal(answer)
        card = self.card(str(answer["request"]))
        if card.state is RequestState.CANCELLED and not card.attempt:
            return refuse(  # the quota went to somebody else in that moment
                RefusalCode.POD_WITHOUT_QUOTA,
                where=card.text.removeprefix("adopt "),
                team=card.team,
                queue=card.queue,
                gpus=card.gpus,
            )
        return Submitted(card=card, decided=decided, again=again)

    def _find(self, where: str) -> SeenPod | Refused:
        """The pod that is meant, if one could adopt it."""
        namespace, _, name = where.partition("/")
        if self._control.outside(()) is None:
            return refuse(RefusalCode.NOTHING_TO_ADOPT, where=where)
        pod = self._control.find_pod(namespace, name)
        if pod is None:
            return refuse(RefusalCode.NO_SUCH_POD, where=where)
        if pod.request is not None:
            return refuse(RefusalCode.POD_TAKEN, where=where, request=pod.request)
        if not pod.gpus:
            return refuse(RefusalCode.POD_WITHOUT_GPUS, where=where)
        if not pod.runs:
            return refuse(RefusalCode.POD_NOT_RUNNING, where=where)
        if pod.keeper is not None:
            kind, keeper = pod.keeper
            return refuse(RefusalCode.POD_KEPT, where=where, kind=kind, name=keeper)
        return pod

    def _plan_pod(self, person: Person, pod: SeenPod, wish: Ask) -> Workload | Refused:
        """The workload of a pod, if it is this person's to adopt and its team has the quota."""
        space = pod.ref.namespace
        if not _may_adopt(person, pod):
            return refuse(RefusalCode.POD_NOT_YOURS, where=pod.where, namespace=space)
        mine = space in self._terms.teams and (leads(person, space) or space in person.teams)
        ask = dataclasses.replace(wish, team=wish.team or (space if mine else None))
        now = self._control.clock.now()
        planned = plan(ask, person, self._terms, now)
        if isinstance(planned, Refused):
            return planned
        owner = pod.owner if pod.owner and self._directory.knows(pod.owner) else person.id
        pods = PodSet(count=1, requests=dict(pod.requests))
        planned = dataclasses.replace(
            planned, owner=owner, name=pod.ref.name[:60], pod_sets=(pods,)
        )
        node = pod.node
        trial = named(planned, UNNAMED)
        granted = node and self._look(lambda engine: grant(engine, trial, node, now))
        if granted is None or node is None:
            return refuse(
                RefusalCode.POD_WITHOUT_QUOTA,
                where=pod.where,
                team=planned.team,
                queue=planned.queue,
                gpus=pod.requests.get(ResourceName(GPU), 0),
            )
        return planned


def _may_adopt(person: Person, pod: SeenPod) -> bool:
    """See the module."""
    if person.role is Role.ADMIN or pod.owner == person.id:
        return True
    if pod.ref.namespace not in person.teams:
        return False
    return pod.owner is None or person.role is Role.LEAD


def _holder(work: Work, uid: str) -> str | None:
    """The open request that stands for a pod already."""
    found = work.requests.for_objects([uid]).get(uid)
    return None if found is None or found.state.final else found.id
