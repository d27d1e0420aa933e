"""The cluster and the teams at a glance, from the engine's running totals."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence

from bot.overview import ClusterView, GangView, LevelView, PoolView
from bot.terms import Terms, level_word
from bot.views import TeamShare
from scheduler.doubts import NodeDoubt
from scheduler.engine import Engine
from scheduler.figures import ClusterFigures
from scheduler.model import QueueName, Seconds, TeamName
from storage.records import Person, Role


def cluster_view(engine: Engine, terms: Terms, now: Seconds) -> ClusterView:
    """The cluster in numbers, pool by pool in the policy's order."""
    figures = engine.figures()
    wanted: Counter[str] = Counter()
    for workload in engine.pending():
        wanted[terms.pool(workload.queue)] += workload.gpus
    nominal: Counter[str] = Counter()
    for queue in terms.layout.queues:
        nominal[queue.pool] += terms.nominal(queue.name)
    pools = tuple(
        PoolView(
            pool=pool.pool,
            nominal=nominal[pool.pool],
            used=pool.used,
            borrowed=max(0, pool.used - nominal[pool.pool]),
            running=pool.running,
            pending=pool.pending,
            pending_gpus=wanted[pool.pool],
        )
        for pool in figures.pools
    )
    return ClusterView(
        gpus=figures.gpus,
        used=figures.used,
        free=figures.free,
        stranded=figures.stranded,
        nodes=figures.nodes,
        whole_free_nodes=figures.whole_free_nodes,
        unready_nodes=figures.unready_nodes,
        running=figures.running,
        pending=figures.pending,
        gangs=_gangs(figures, terms),
        pools=pools,
        at=now,
        levels=tuple(
            LevelView(
                kind=flavor.flavor,
                level=level_word(one.level),
                domains=one.domains,
                whole_free=one.whole_free,
                largest=one.largest,
            )
            for flavor in figures.flavors
            for one in flavor.levels
        ),
    )


def _gangs(figures: ClusterFigures, terms: Terms) -> tuple[GangView, ...]:
    """What is free on whole nodes, in the policy's order of model and provision."""
    whole: Counter[tuple[str, str]] = Counter()
    kinds = {flavor.name: (flavor.model, flavor.provision) for flavor in terms.layout.flavors}
    for flavor in figures.flavors:
        whole[kinds[flavor.flavor]] += flavor.free - flavor.stranded
    return tuple(
        GangView(model=model, provision=provision, gpus=gpus)
        for (model, provision), gpus in whole.items()
        if gpus
    )


def team_shares(
    engine: Engine, terms: Terms, teams: Sequence[str], now: Seconds
) -> tuple[TeamShare, ...]:
    """How some teams stand: GPUs in use, guaranteed GPUs, and rank by decayed chip-hours."""
    used: Counter[str] = Counter()
    for workload, admission in engine.running():
        used[workload.team] += admission.gpus(workload)
    hours = dict.fromkeys(terms.teams, 0.0)
    hours.update((usage.team, usage.chip_hours) for usage in engine.usage(now))
    ranked = sorted(hours, key=lambda team: (hours[team], team))
    return tuple(
        TeamShare(
            team=team,
            used=used[team],
            nominal=terms.team_nominal(TeamName(team)),
            chip_hours=hours[TeamName(team)],
            rank=ranked.index(TeamName(team)) + 1,
            teams=len(ranked),
        )
        for team in teams
        if team in hours
    )


def used_by_queue(engine: Engine) -> Counter[QueueName]:
    """GPUs that each queue is charged with."""
    used: Counter[QueueName] = Counter()
    for workload, admission in engine.running():
        used[admission.queue] += admission.gpus(workload)
    return used


def doubts_for(person: Person) -> Callable[[Engine], tuple[NodeDoubt, ...]]:
    """How to read what is odd about the nodes, for those who can mend it; nothing for others."""
    if person.role not in {Role.ADMIN, Role.ONCALL}:
        return lambda _: ()
    return lambda engine: engine.doubts()
