"""What is shown of one request: its card, its line in a queue, its story."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress

from bot.asks import Nearness
from bot.grants import flavor_of, nodes_of
from bot.leases import longer
from bot.places import Domain
from bot.prospects import Prospect
from bot.terms import Terms, level_word
from bot.views import Boost, CardView, QueueRow, write_shape
from scheduler.aging import since
from scheduler.byhand import UNTOLD, Hand, Held
from scheduler.engine import Engine
from scheduler.layout import MODEL_LABEL, PROVISION_LABEL
from scheduler.model import (
    GPU,
    Admission,
    Explanation,
    FlavorName,
    Seconds,
    TopologyMode,
    TopologyRequest,
    Workload,
    WorkloadId,
)
from scheduler.standing import EngineError
from storage.records import Request, Transition
from storage.states import RequestState


def card_of(
    request: Request,
    terms: Terms,
    at: Seconds,
    explanation: Explanation | None = None,
    domain: Domain = (),
    prospect: Prospect | None = None,
    boost: Boost | None = None,
) -> CardView:
    """Everything the card of a request shows at one moment."""
    workload = request.workload
    first = workload.pod_sets[0]
    holding = request.held if request.state.holding else None
    queue = holding.queue if holding is not None else workload.queue
    return CardView(
        request=request.id,
        name=workload.name,
        owner=workload.owner,
        team=workload.team,
        pool=terms.pool(queue),
        queue=queue,
        priority=workload.priority_class,
        asked_priority=None if workload.asked_class is None else workload.asked_class.value,
        preemptible=workload.preemptible,
        spend=terms.spend(workload.queue),
        model=model_of(request, terms),
        pods=_pods(workload, holding),
        gpus_per_pod=first.requests.get(GPU, 0),
        gpus=workload.gpus if holding is None else holding.gpus(workload),
        asked=workload.gpus,
        given_back=0 if holding is None else request.granted - request.gpus,
        least=_least(workload),
        provision=first.node_selector.get(PROVISION_LABEL, ""),
        state=request.state,
        at=at,
        created=request.created.timestamp(),
        queued=since(workload),
        started=request.started.timestamp() if request.started else None,
        lease=workload.duration,
        lease_ends=request.lease_ends.timestamp() if request.lease_ends else None,
        ended=request.changed.timestamp() if request.state.final else None,
        nodes=nodes_of(holding, request) if holding is not None else (),
        flavor=flavor_of(holding) if holding is not None else None,
        explanation=explanation,
        ended_by=request.ended_by,
        attempt=request.attempt,
        text=request.text,
        topology=_asked_topology(first.topology),
        domain=domain,
        longer=longer(request, terms) if holding is not None else None,
        prospect=prospect,
        recipe=request.recipe,
        to_back=_goes_to_back(request),
        boost=boost,
        parts=_parts(workload, holding),
    )


def _goes_to_back(request: Request) -> bool:
    """Whether it is being stopped by hand for nobody: then it counts as asked for at that time."""
    if request.state is not RequestState.PREEMPTING or request.admission is None:
        return False
    began = request.started.timestamp() if request.started else request.admission.at
    return request.workload.created > began


def _pods(workload: Workload, holding: Admission | None) -> int:
    """Pods that it has, or asks for while it has none."""
    parts = workload.pod_sets if holding is None else holding.assignments
    return sum(part.count for part in parts)


def _parts(workload: Workload, holding: Admission | None) -> tuple[tuple[int, int], ...]:
    """Pods and the GPUs of each, where there are several kinds of them."""
    each = {one.name: one.requests.get(GPU, 0) for one in workload.pod_sets}
    parts = workload.pod_sets if holding is None else holding.assignments
    found = tuple((part.count, each.get(part.name, 0)) for part in parts)
    return found if len({gpus for _, gpus in found}) > 1 else ()


def _least(workload: Workload) -> int:
    """GPUs of the smallest start that would do; 0 where only the whole does."""
    if all(pods.min_count is None for pods in workload.pod_sets):
        return 0
    parts = workload.pod_sets
    return sum((part.min_count or part.count) * part.requests.get(GPU, 0) for part in parts)


def _asked_topology(asked: TopologyRequest | None) -> str:
    """What was asked about nearness, in the grammar's own words."""
    if asked is None:
        return ""
    if asked.level is None:
        return "" if asked.slices else Nearness.SPREAD.value
    required = asked.mode is TopologyMode.REQUIRED
    nearness = Nearness.SAME if required else Nearness.PREFER
    return f"{nearness.value} {level_word(asked.level)}"


def model_of(request: Request, terms: Terms) -> str:
    """The GPU model it asked for, or got, or would be given first."""
    asked = request.workload.pod_sets[0].node_selector.get(MODEL_LABEL)
    if asked is not None:
        return asked
    if request.admission is not None:
        flavors = request.admission.assignments[0].flavors
        if GPU in flavors:
            return terms.layout.flavor(FlavorName(flavors[GPU])).model
    return terms.models[0] if terms.models else ""


def boost_of(engine: Engine, terms: Terms, workload: Workload, *, lifted: bool) -> Boost | None:
    """The priority that somebody gave it by hand, if any; `lifted` if `workload` has it already."""
    by = engine.in_force().boosts.get(workload.id)
    if by is None:
        return None
    counts = workload.priority + (0 if lifted else by)
    classes = {value: str(name) for name, value in terms.layout.priorities.items()}
    order = engine.in_force().orders.get(Held(Hand.BOOST, workload.id), UNTOLD)
    priority = classes.get(counts, str(workload.priority_class))
    return Boost(priority=priority, by=order.by, until=order.until)


def explain_all(engine: Engine, request_ids: Iterable[str], now: Seconds) -> dict[str, Explanation]:
    """Why requests wait, by id; those that the engine does not have waiting are left out."""
    survey = engine.survey(now)
    found = {}
    for request_id in request_ids:
        with suppress(EngineError):  # storage was read a moment earlier or later
            found[request_id] = survey.explain(WorkloadId(request_id))
    return found


def queue_row(
    workload: Workload,
    why: Explanation,
    now: Seconds,
    person_id: str,
    boost: Boost | None = None,
) -> QueueRow:
    """A waiting request's line in its queue."""
    return QueueRow(
        position=why.position,
        request=workload.id,
        name=workload.name,
        owner=workload.owner,
        team=workload.team,
        gpus=workload.gpus,
        shape=write_shape((one.count, one.requests.get(GPU, 0)) for one in workload.pod_sets),
        priority=workload.priority_class,
        waited=max(0.0, now - since(workload)),
        reason=why.verdict.reason,
        figures=why.verdict.figures,
        mine=workload.owner == person_id,
        boost=boost,
    )


def story_of(lines: Iterable[Transition]) -> tuple[tuple[float, str, str, str], ...]:
    """What happened to a request, oldest first: moment, state, reason code, actor."""
    return tuple((line.at.timestamp(), str(line.after), line.reason, line.actor) for line in lines)


OPEN_FIRST = (
    RequestState.RUNNING,
    RequestState.ADMITTED,
    RequestState.PREEMPTING,
    RequestState.EVICTING,
    RequestState.STOPPING,
    RequestState.WAITING,
)
"""The order in which a person's open requests are listed."""
