"""From what a person asked to a workload the engine can take, or the reason why not.

Everything a person may not have, or nobody could ever have, is found here, before a row
is written: nothing is created half.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from rapidfuzz import process

from bot.asks import SHORTEST_LEASE, Ask, Nearness, Provision, Together
from bot.terms import NAME_AT_MOST, Terms
from bot.views import RefusalCode, Refused
from scheduler import routing
from scheduler.model import (
    GPU,
    Figure,
    LimitKind,
    PodSet,
    Priority,
    Refusal,
    Seconds,
    TeamName,
    TopologyMode,
    TopologyRequest,
    Workload,
    WorkloadId,
)
from storage.records import Person, Role

UNNAMED = WorkloadId("R-0")  # stands for a request that has no id yet
GPUS_AT_MOST = 1_000_000  # beyond any cluster: a slip of the finger, not a request
_NEAR_ENOUGH = 60  # of 100


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """One request of the background load: nobody's in particular, charged to `ask.team`."""

    owner: str
    ask: Ask
    run_for: Seconds


def near(word: str, words: Iterable[str]) -> tuple[str, ...]:
    """Up to three known words that look like `word`, the likeliest first."""
    found = process.extract(word.lower(), sorted(set(words)), limit=3, score_cutoff=_NEAR_ENOUGH)
    return tuple(name for name, _, _ in found)


def refuse(code: RefusalCode, near: tuple[str, ...] = (), **args: Figure) -> Refused:
    """A refusal with its numbers and names."""
    return Refused(code=code, args=args, near=near)


def never_fits(refusal: Refusal) -> Refused:
    """The engine's "could never start", as the desk says it."""
    return Refused(
        code=RefusalCode.NEVER_FITS,
        args={"where": refusal.where, "asked": refusal.asked, "most": refusal.most},
        limit=refusal.limit,
    )


def named(workload: Workload, request_id: str) -> Workload:
    """The same workload under its id."""
    return dataclasses.replace(workload, id=WorkloadId(request_id))


def team_of(ask: Ask, person: Person, terms: Terms) -> TeamName | Refused:
    """The team that is charged: the one named, or the person's first."""
    mine = [TeamName(team) for team in person.teams if team in terms.teams]
    if ask.team is None:
        if mine:
            return mine[0]
        return refuse(RefusalCode.NO_TEAM, person=person.id)
    asked = TeamName(ask.team.lower())
    if asked not in terms.teams:
        return refuse(
            RefusalCode.UNKNOWN_TEAM, near(asked, terms.teams) or tuple(mine), team=ask.team
        )
    if asked not in mine and person.role is not Role.ADMIN:
        return refuse(RefusalCode.NOT_YOUR_TEAM, tuple(mine), team=ask.team)
    return asked


def shape_of(ask: Ask, node_gpus: int) -> tuple[int, int] | Refused:
    """Pods and GPUs of each pod."""
    numbers = (ask.gpus, ask.nodes, ask.pods, ask.gpus_per_pod)
    given = [number for number in numbers if number is not None]
    if not given or any(not 0 < number <= GPUS_AT_MOST for number in given):
        wrong = next((number for number in given if not 0 < number <= GPUS_AT_MOST), 0)
        return refuse(RefusalCode.NOT_A_SIZE, asked=wrong)
    if ask.nodes is not None:
        return ask.nodes, node_gpus
    if ask.pods is not None and ask.gpus_per_pod is not None:
        return ask.pods, ask.gpus_per_pod
    return _split(ask.gpus or 0, node_gpus)


def _split(gpus: int, node_gpus: int) -> tuple[int, int] | Refused:
    split = routing.split_gpus(gpus, node_gpus)
    if not isinstance(split, routing.Uneven):
        return split
    sizes = [str(size) for size in (split.below, split.above) if size]
    if split.even is not None:
        sizes.append(f"{split.even[0]}x{split.even[1]}")
    return refuse(RefusalCode.NOT_DIVISIBLE, tuple(sizes), asked=gpus, node=node_gpus)


def plan(ask: Ask, person: Person, terms: Terms, now: Seconds) -> Workload | Refused:
    """The workload of an ask, under no id yet, or the first thing that is wrong with it."""
    team = team_of(ask, person, terms)
    if isinstance(team, Refused):
        return team
    shape = shape_of(ask, terms.node_gpus())
    if isinstance(shape, Refused):
        return shape
    trouble = _small_print(ask, person, terms)
    if trouble is not None:
        return trouble
    asked = routing.Ask(
        team=team,
        spend=ask.spend,
        preemptible=ask.preemptible or ask.provision is Provision.SPOT,  # its provider may stop it
        priority=ask.priority or Priority.MEDIUM,
        pods=shape[0],
        gpus_per_pod=shape[1],
        model=model_of(ask, terms),
        provision=ask.provision,
    )
    found = routing.route(terms.layout, asked)
    if isinstance(found, Refusal):
        return never_fits(found)
    topology = topology_of(ask.topology, asked.model, found, terms)
    if isinstance(topology, Refused):
        return topology
    lease = ask.duration or terms.lease_default(found.queue)
    most = terms.lease_most(found.queue)
    if lease is not None and most is not None and lease > most:
        return Refused(
            code=RefusalCode.LEASE_TOO_LONG,
            args={"asked": lease, "most": most, "pool": terms.pool(found.queue)},
            limit=LimitKind.LEASE,
        )
    least = least_pods(ask, shape)
    if isinstance(least, Refused):
        return least
    workload = _workload(ask, person, asked, found, lease, now)
    pods = tuple(
        dataclasses.replace(pods, topology=topology, min_count=least) for pods in workload.pod_sets
    )
    return dataclasses.replace(workload, pod_sets=pods)


def least_pods(ask: Ask, shape: tuple[int, int]) -> int | Refused | None:
    """The pods of the smallest start that would do; None where only the whole does.

    It is counted as the size is, but starts in whole pods.
    """
    pods, each = shape
    if ask.minimum is None:
        return None
    least = ask.minimum * (1 if ask.gpus is not None else each)
    if least % each == 0 and least <= pods * each:
        return None if least == pods * each else least // each
    sizes = tuple(str(n * each) for n in (least // each, least // each + 1) if 0 < n < pods)
    return refuse(RefusalCode.NO_SMALLER_START, sizes, pods=pods, per_pod=each, asked=least)


LEADER_AND_WORKERS = 2  # pod sets
TOGETHER = "together"
_MODES = {Nearness.SAME: TopologyMode.REQUIRED, Nearness.PREFER: TopologyMode.PREFERRED}
_NODE_WORDS = ("host", "hostname", "machine")


def topology_of(
    wanted: Together | None, model: str | None, found: routing.Route, terms: Terms
) -> TopologyRequest | Refused | None:
    """The engine's demand for `same rack`, by the levels of the flavors that could be given."""
    if wanted is None:
        return None
    if wanted.level is None:
        return TopologyRequest()
    levels = terms.levels(terms.flavors((found.queue, *found.overflow), model))
    word = wanted.level.lower()
    by_label = {label.lower(): label for label in levels.values()}
    for spelling in (word, word.removesuffix("s"), "node" if word in _NODE_WORDS else word):
        label = levels.get(spelling) or by_label.get(spelling)
        if label is not None:
            return TopologyRequest(mode=_MODES[wanted.nearness], level=label)
    likely = near(word, levels)
    rest = (level for level in levels if level not in likely)
    return refuse(
        RefusalCode.UNKNOWN_LEVEL,
        (*likely, *rest),
        level=wanted.level,
        pool=terms.pool(found.queue),
    )


def laid(
    pod_sets: Sequence[PodSet], asked: TopologyRequest | None, known: Collection[str]
) -> tuple[PodSet, ...]:
    """The pod sets of one gang, and where each shall lie.

    A leader, one pod, lies in the domain of its workers if both can run on the same nodes; other
    pod sets lie in one domain each. What of a pod set has to share a domain goes on to do so, if
    the level is one of those that are `known`.
    """
    if asked is not None and asked.level is not None and len(pod_sets) == LEADER_AND_WORKERS:
        one, other = pod_sets
        if min(one.count, other.count) == 1 and one.node_selector == other.node_selector:
            asked = dataclasses.replace(asked, group=TOGETHER)
    return tuple(dataclasses.replace(one, topology=_with(one, asked, known)) for one in pod_sets)


def _with(
    pods: PodSet, asked: TopologyRequest | None, known: Collection[str]
) -> TopologyRequest | None:
    own = () if pods.topology is None else pods.topology.slices
    slices = tuple(one for one in own if one.level in known)
    if not slices:
        return asked
    return dataclasses.replace(asked or TopologyRequest(), slices=slices)


def model_of(ask: Ask, terms: Terms) -> str | None:
    """The policy's spelling of the GPU model asked for; None for any."""
    if ask.model is None:
        return None
    spellings = {model.lower(): model for model in terms.models}
    return spellings.get(ask.model.lower())


def _small_print(ask: Ask, person: Person, terms: Terms) -> Refused | None:
    """What else can be wrong: model, priority, name."""
    if ask.model is not None and model_of(ask, terms) is None:
        found = near(ask.model, terms.models) or terms.models
        return refuse(RefusalCode.UNKNOWN_MODEL, found, model=ask.model)
    had = terms.provisions(model_of(ask, terms))
    if ask.provision is not None and ask.provision not in had:
        return refuse(RefusalCode.NO_PROVISION, had, provision=ask.provision, model=ask.model or "")
    allowed = terms.priorities(person.role)
    if ask.priority is not None and ask.priority not in allowed:
        names = tuple(str(priority) for priority in allowed)
        return refuse(RefusalCode.PRIORITY_NOT_ALLOWED, names, priority=str(ask.priority))
    if ask.name is not None and len(ask.name) > NAME_AT_MOST:
        return refuse(RefusalCode.NAME_TOO_LONG, length=len(ask.name), most=NAME_AT_MOST)
    if ask.duration is not None and ask.duration < SHORTEST_LEASE:
        return refuse(RefusalCode.LEASE_TOO_SHORT, asked=ask.duration, least=SHORTEST_LEASE)
    return None


def _workload(
    ask: Ask,
    person: Person,
    asked: routing.Ask,
    found: routing.Route,
    lease: Seconds | None,
    now: Seconds,
) -> Workload:
    pods = PodSet(
        count=asked.pods,
        requests={GPU: asked.gpus_per_pod},
        node_selector=found.node_selector,
    )
    return Workload(
        id=UNNAMED,
        team=asked.team,
        owner=person.id,
        queue=found.queue,
        overflow=found.overflow,
        priority_class=asked.priority,
        priority=found.priority,
        created=now,
        pod_sets=(pods,),
        preemptible=asked.preemptible,
        duration=lease,
        name=ask.name or "",
    )
