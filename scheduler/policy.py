"""The policy file: read it, say precisely what is wrong with it, compile it.

`load_policy` turns text into a checked `Policy`; `compile_policy` turns that into the
`Layout` the engine works by. Every mistake is a `PolicyError` that names file, line and
field, and shows how it would be right.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping, Sequence

from pydantic import ValidationError

from scheduler import layout as plain
from scheduler.layout import HOSTNAME, Layout, Limits
from scheduler.model import (
    GPU,
    PODS,
    CohortName,
    FlavorName,
    PoolName,
    QueueName,
    ResourceName,
    Taint,
    TeamName,
    Toleration,
)
from scheduler.policy_courtesy import courtesy_of
from scheduler.policy_examples import EXAMPLES
from scheduler.policy_marks import Marked, Path, PolicyError, read_marked
from scheduler.policy_schema import (
    FlavorPart,
    IdlePart,
    NodesPart,
    Policy,
    PoolPart,
    QueuePart,
    Quotas,
    ReclaimWord,
    RulePart,
    SearchWord,
    ShareWord,
    StrategyWord,
    TaintPart,
    TeamPart,
    WithinWord,
)
from scheduler.rest import Readiness

__all__ = ["Policy", "PolicyError", "compile_policy", "load_policy", "with_teams"]

TEAM = "{team}"
PODS_PER_NODE = 110

_WITHIN = {
    WithinWord.NEVER: plain.Within.NEVER,
    WithinWord.LOWER: plain.Within.LOWER,
    WithinWord.LOWER_OR_NEWER: plain.Within.LOWER_OR_NEWER,
}
_RECLAIM = {
    ReclaimWord.NEVER: plain.Reclaim.NEVER,
    ReclaimWord.LOWER: plain.Reclaim.LOWER,
    ReclaimWord.ANY: plain.Reclaim.ANY,
}
_SHARES = {
    ShareWord.FINAL: plain.FairStrategy.FINAL,
    ShareWord.INITIAL: plain.FairStrategy.INITIAL,
}
_SEARCH = {
    SearchWord.MAY_STOP: plain.Search.MAY_STOP,
    SearchWord.TRY_NEXT: plain.Search.TRY_NEXT,
}
_PREFER = {
    "borrowing": plain.Preference.BORROWING_OVER_PREEMPTION,
    "preemption": plain.Preference.PREEMPTION_OVER_BORROWING,
}


def load_policy(text: str, source: str) -> Policy:
    """Read and check a policy. Raises PolicyError; `source` names the file in it."""
    marked = read_marked(text, source)
    if not isinstance(marked.value, dict):
        raise marked.error((), "a policy is a mapping of its parts", "version: 1")
    try:
        policy = Policy.model_validate(marked.value)
    except ValidationError as error:
        raise _first_error(marked, error) from None
    _check_meaning(marked, policy)
    return policy


def with_teams(policy: Policy, names: Iterable[str], *, keep: bool = True) -> Policy:
    """The policy with more teams, the team pool's GPUs divided evenly among all.

    What does not divide goes one GPU each to the first by name. With `keep` off, only
    `names` are teams.
    """
    teams = sorted({*(policy.teams if keep else ()), *names})
    total = sum(team.gpus for team in policy.teams.values())
    share, rest = divmod(total, len(teams)) if teams else (0, 0)
    parts = {
        name: TeamPart(
            gpus=share + (number < rest),
            weight=policy.teams[name].weight if name in policy.teams else 1.0,
            budgets=policy.teams[name].budgets if name in policy.teams else {},
        )
        for number, name in enumerate(teams)
    }
    return policy.model_copy(update={"teams": parts})


def compile_policy(policy: Policy) -> Layout:
    """The plain values that the engine works by."""
    return Layout(
        flavors=tuple(_flavor(name, part) for name, part in policy.flavors.items()),
        cohorts=tuple(
            plain.Cohort(
                name=CohortName(name),
                parent=None if part.parent is None else CohortName(part.parent),
                quotas=_limits(part.quota, None),
                weight=part.weight,
            )
            for name, part in policy.cohorts.items()
        ),
        queues=tuple(
            queue
            for pool_name, pool in policy.pools.items()
            for part in pool.queues
            for queue in _queues(policy, PoolName(pool_name), part)
        ),
        pools=tuple(_pool(name, part) for name, part in policy.pools.items()),
        teams=tuple(
            plain.Team(
                name=TeamName(name),
                weight=part.weight,
                budgets={**policy.budgets, **part.budgets},
                monthly_gpu_hours=part.monthly_gpu_hours,
            )
            for name, part in policy.teams.items()
        ),
        rules=tuple(_rule(part) for part in policy.routing),
        priorities=policy.priorities,
        target_waits=policy.target_wait,
        usage=plain.UsageRules(
            half_life=policy.usage.half_life, interval=policy.usage.sampling_interval
        ),
        fair_sharing=None
        if policy.fair_sharing is None
        else tuple(_SHARES[word] for word in policy.fair_sharing),
        node_groups=tuple(_node_group(part) for part in policy.nodes),
        options=_options(policy),
        readiness=Readiness(**policy.readiness.model_dump()),
    )


def _flavor(name: str, part: FlavorPart) -> plain.Flavor:
    return plain.Flavor(
        name=FlavorName(name),
        node_labels=part.node_labels,
        taints=_taints(part.taints),
        tolerations=tuple(
            Toleration(key=one.key, value=one.value, effect=one.effect) for one in part.tolerations
        ),
        levels=tuple(part.levels),
        model=part.model,
        provision=part.provision,
        weight=part.weight,
    )


def _options(policy: Policy) -> plain.Options:
    return plain.Options(
        balanced=policy.placement.balanced,
        defragment=policy.placement.defragment,
        moves=plain.MoveBounds(
            per_hour=policy.placement.moves_per_hour,
            hours_per_gpu=policy.placement.hours_per_gpu,
        ),
        by_cost=policy.preemption.by_cost,
        flips_at_most=policy.preemption.flips_at_most,
        evictions=plain.EvictionBounds(
            per_cycle=policy.preemption.evictions_per_cycle,
            per_hour=policy.preemption.evictions_per_hour,
        ),
    )


def _pool(name: str, part: PoolPart) -> plain.Pool:
    return plain.Pool(
        name=PoolName(name),
        lease_default=part.lease.default,
        lease_max=part.lease.max,
        grace=part.grace,
        after_lease=part.after_lease,
        idle=_idle(part.idle),
    )


def _idle(part: IdlePart | None) -> plain.IdleRule | None:
    if part is None:
        return None
    return plain.IdleRule(
        below=part.below / 100,
        after=part.after,
        answer=part.answer,
        keep=part.keep,
        then=part.then,
    )


def _rule(part: RulePart) -> plain.Rule:
    return plain.Rule(
        queue=part.queue,
        overflow=tuple(part.overflow),
        spend=part.spend,
        preemptible=part.preemptible,
        size=part.size,
        classes=None if part.priority is None else tuple(part.priority),
        priorities=part.priorities,
    )


def _node_group(part: NodesPart) -> plain.NodeGroup:
    capacity = {ResourceName(name): amount for name, amount in part.resources.items()}
    return plain.NodeGroup(
        name=part.name,
        count=part.count,
        capacity={PODS: PODS_PER_NODE, GPU: part.gpus, **capacity},
        labels=part.labels,
        taints=_taints(part.taints),
        levels=tuple(part.levels.items()),
    )


def _queues(policy: Policy, pool: PoolName, part: QueuePart) -> list[plain.Queue]:
    if TEAM not in part.name:
        return [_queue(policy, pool, part, None)]
    return [_queue(policy, pool, part, team) for team in policy.teams]


def _queue(policy: Policy, pool: PoolName, part: QueuePart, team: str | None) -> plain.Queue:
    numbers = policy.priorities
    resources = dict.fromkeys(r for by_resource in part.quota.values() for r in by_resource)
    threshold = part.borrow_within
    courtesy = courtesy_of(policy.pools[pool], part)
    return plain.Queue(
        name=QueueName(part.name.replace(TEAM, team or "")),
        pool=pool,
        cohort=None if part.cohort is None else CohortName(part.cohort),
        groups=(
            plain.ResourceGroup(
                resources=tuple(ResourceName(name) for name in resources),
                flavors=tuple(FlavorName(name) for name in part.quota),
            ),
        ),
        quotas=_limits(part.quota, policy.teams[team].gpus if team else None),
        strategy=plain.Strategy.BEST_EFFORT
        if part.strategy is StrategyWord.BEST_EFFORT
        else plain.Strategy.STRICT,
        strict_per_flavor=part.strategy is StrategyWord.STRICT_PER_FLAVOR,
        order=part.order,
        within=_WITHIN[part.within],
        reclaim=_RECLAIM[part.reclaim],
        borrow_within=None
        if threshold is None
        else plain.BorrowWithin(max_priority=threshold.max_priority),
        fungibility=plain.Fungibility(
            when_can_borrow=_SEARCH[part.fungibility.when_can_borrow],
            when_can_preempt=_SEARCH[part.fungibility.when_can_preempt],
            preference=_PREFER[part.fungibility.prefer],
        ),
        weight=part.weight,
        team=None if team is None else TeamName(team),
        within_from=None if part.preempts_from is None else numbers[part.preempts_from],
        protected_from=None if part.protected_until is None else numbers[part.protected_until],
        min_runtime=courtesy.min_runtime,
        min_runtime_own=courtesy.min_runtime_own,
        aging=courtesy.aging,
        fair_users=courtesy.fair_users,
        backfill=courtesy.backfill,
        lapses=policy.pools[pool].after_lease is plain.AfterLease.UNPROTECT,
    )


def _limits(quota: Quotas, team_gpus: int | None) -> dict[plain.FlavorResource, Limits]:
    return {
        (FlavorName(flavor), ResourceName(resource)): Limits(
            nominal=part.nominal if isinstance(part.nominal, int) else team_gpus or 0,
            borrowing=part.borrowing,
            lending=part.lending,
        )
        for flavor, by_resource in quota.items()
        for resource, part in by_resource.items()
    }


def _taints(parts: Sequence[TaintPart]) -> tuple[Taint, ...]:
    return tuple(Taint(key=p.key, value=p.value, effect=p.effect) for p in parts)


# -- what is wrong ---------------------------------------------------------------------


def _example(path: Path) -> str:
    """How the nearest field that we know would be right."""
    words = [str(part) for part in path]
    return next((EXAMPLES[word] for word in reversed(words) if word in EXAMPLES), "version: 1")


def _first_error(marked: Marked, error: ValidationError) -> PolicyError:
    """The topmost mistake; an unknown key before what may only follow from it."""
    found = []
    for detail in error.errors(include_url=False, include_context=False):
        path: Path = tuple(part for part in detail["loc"] if part != "[key]")
        if detail["type"] == "extra_forbidden":
            found.append((0, marked.line(path), path, _unknown_key(path)))
        elif detail["type"] == "missing":
            found.append((1, marked.line(path), path, "is missing"))
        else:
            said = detail["msg"].removeprefix("Value error, ")
            given = detail["input"]
            shown = f", not {given!r}" if isinstance(given, str | int | float | bool) else ""
            found.append((1, marked.line(path), path, f"{said}{shown}"))
    _, _, path, message = min(found, key=lambda entry: entry[:2])
    return marked.error(path, message, _example(path))


def _unknown_key(path: Path) -> str:
    key = str(path[-1])
    close = difflib.get_close_matches(key, list(EXAMPLES), n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    return f"there is no such key here{hint}"


def _check_meaning(marked: Marked, policy: Policy) -> None:
    """Names must mean something, and the cohorts must form a tree."""
    names = _check_queues(marked, policy)
    _check_cohorts(marked, policy)
    for number, rule in enumerate(policy.routing):
        at: Path = ("routing", number)
        _known(marked, (*at, "queue"), rule.queue, names, "queue")
        for place, name in enumerate(rule.overflow):
            _known(marked, (*at, "overflow", place), name, names, "queue")
    for name, flavor in policy.flavors.items():
        if flavor.levels[-1:] != [HOSTNAME] or len(set(flavor.levels)) != len(flavor.levels):
            raise marked.error(
                ("flavors", name, "levels"),
                f"must name each level once, from coarse to fine, and end with {HOSTNAME}",
                f"levels: [gpubot.dev/rack, {HOSTNAME}]",
            )
    groups: dict[str, int] = {}
    for number, nodes in enumerate(policy.nodes):
        if nodes.name in groups:
            raise marked.error(
                ("nodes", number, "name"), f"{nodes.name} is given twice", "name: h100-b"
            )
        groups[nodes.name] = number


def _check_queues(marked: Marked, policy: Policy) -> list[str]:
    """Check every queue. Returns their names as written."""
    names: list[str] = []
    compiled: set[str] = set()
    for pool_name, pool in policy.pools.items():
        for number, queue in enumerate(pool.queues):
            at: Path = ("pools", pool_name, "queues", number)
            mine = [queue.name]
            if TEAM in queue.name:
                mine = [queue.name.replace(TEAM, team) for team in policy.teams]
            for name in mine:
                if name in compiled:
                    raise marked.error((*at, "name"), f"{name} is given twice", "name: shared-b")
                compiled.add(name)
            names.append(queue.name)
            if queue.cohort is not None:
                _known(marked, (*at, "cohort"), queue.cohort, policy.cohorts, "cohort")
            elif any(p.borrowing or p.lending for r in queue.quota.values() for p in r.values()):
                raise marked.error(
                    (*at, "quota"), "limits on lending need a cohort", "cohort: company"
                )
            _check_quota(marked, (*at, "quota"), queue.quota, policy, per_team=TEAM in queue.name)
    return names


def _check_quota(
    marked: Marked, at: Path, quota: Quotas, policy: Policy, *, per_team: bool
) -> None:
    resources = None
    for flavor, by_resource in quota.items():
        _known(marked, (*at, flavor), flavor, policy.flavors, "flavor")
        if resources is not None and set(by_resource) != resources:
            message = "must give the same resources as the flavors before it"
            raise marked.error((*at, flavor), message, EXAMPLES["quota"])
        resources = set(by_resource)
        for resource, part in by_resource.items():
            if part.nominal == "team" and not per_team:
                message = "team needs a queue for each team, with {team} in its name"
                raise marked.error((*at, flavor, resource, "nominal"), message, "nominal: 64")


def _check_cohorts(marked: Marked, policy: Policy) -> None:
    for name, cohort in policy.cohorts.items():
        at: Path = ("cohorts", name)
        if cohort.parent is not None:
            _known(marked, (*at, "parent"), cohort.parent, policy.cohorts, "cohort")
        _check_quota(marked, (*at, "quota"), cohort.quota, policy, per_team=False)
    for name in policy.cohorts:
        seen = [name]
        while (parent := policy.cohorts[seen[-1]].parent) is not None:
            if parent in seen:
                circle = " -> ".join([*seen, parent])
                at = ("cohorts", name, "parent")
                raise marked.error(at, f"cohorts in a circle: {circle}", "parent: company")
            seen.append(parent)


def _known(
    marked: Marked, at: Path, name: str, known: Mapping[str, object] | Sequence[str], kind: str
) -> None:
    if name in known:
        return
    close = difflib.get_close_matches(name, list(known), n=1)
    hint = f"; did you mean {close[0]}?" if close else ""
    some = ", ".join(list(known)[:5]) or "none are given"
    example = (
        _example(at) if not close else _example(at).split(":", maxsplit=1)[0] + f": {close[0]}"
    )
    raise marked.error(at, f"no {kind} is called {name}{hint} (there are: {some})", example)
