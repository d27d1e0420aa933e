"""A policy file: what is refused, where the error points, and what a good one compiles to."""

from __future__ import annotations

from pathlib import Path

import pytest

from scheduler.layout import (
    Aging,
    BackfillRules,
    FairStrategy,
    MoveBounds,
    Order,
    Reclaim,
    Strategy,
    Within,
    build_nodes,
)
from scheduler.matching import tolerates
from scheduler.model import GPU, FlavorName, Priority, QueueName, TaintEffect, Toleration
from scheduler.policy import PolicyError, compile_policy, load_policy, with_teams

POLICY = Path(__file__).parents[2] / "deploy" / "policy.yaml"

SMALL = """\
version: 1
priorities: {low: 1, medium: 2, high: 3, critical: 4}
usage: {half_life: 7d, sampling_interval: 5m}
flavors:
  h100:
    model: h100
    node_labels: {gpubot.dev/model: h100}
nodes:
  - {name: a, count: 2, gpus: 8}
teams:
  nlp: {gpus: 8}
cohorts:
  company: {}
  best-effort: {parent: company}
pools:
  team:
    lease: {default: 8h, max: 7d}
    grace: 5m
    queues:
      - name: team-{team}
        cohort: company
        quota: {h100: {nominal: team, borrowing: 0}}
        reclaim: any
  shared:
    lease: {default: 8h, max: 7d}
    grace: 0s
    after_lease: unprotect
    queues:
      - name: shared
        cohort: company
        quota: {h100: 8}
        order: usage
        within: lower-priority
        preempts_from: critical
routing:
  - {preemptible: false, queue: "team-{team}", overflow: [shared]}
  - {queue: shared}
"""


def broken(old: str, new: str) -> PolicyError:
    """The error for SMALL with one piece replaced."""
    assert SMALL.count(old) >= 1
    with pytest.raises(PolicyError) as caught:
        load_policy(SMALL.replace(old, new, 1), "policy.yaml")
    return caught.value


CASES = {
    "a level twice": (
        "    model: h100\n",
        "    model: h100\n    levels: [rack, rack, kubernetes.io/hostname]\n",
        "flavors.h100.levels",
        "each level once",
    ),
    "levels that end above the nodes": (
        "    model: h100\n",
        "    model: h100\n    levels: [gpubot.dev/rack]\n",
        "flavors.h100.levels",
        "end with kubernetes.io/hostname",
    ),
    "unknown key": ("    grace: 5m", "    grase: 5m", "pools.team.grase", "did you mean grace"),
    "unknown top key": ("teams:\n", "teems:\n", "teems", "did you mean teams"),
    "wrong type": ("gpus: 8}\ncohorts", "gpus: many}\ncohorts", "teams.nlp.gpus", "integer"),
    "fraction of a GPU": ("gpus: 8}\ncohorts", "gpus: 7.5}\ncohorts", "teams.nlp.gpus", "integer"),
    "negative quota": ("gpus: 8}\ncohorts", "gpus: -8}\ncohorts", "teams.nlp.gpus", "greater"),
    "unknown cohort": (
        "cohort: company\n        quota: {h100: 8}",
        "cohort: compny\n        quota: {h100: 8}",
        "pools.shared.queues.0.cohort",
        "did you mean company",
    ),
    "unknown flavor": ("quota: {h100: 8}", "quota: {h1000: 8}", "quota.h1000", "did you mean h100"),
    "unknown queue": (
        "{queue: shared}",
        "{queue: sharde}",
        "routing.1.queue",
        "did you mean shared",
    ),
    "unknown overflow": ("[shared]", "[elsewhere]", "routing.0.overflow.0", "no queue is called"),
    "circle": ("company: {}", "company: {parent: best-effort}", "cohorts.company.parent", "circle"),
    "unknown parent": ("{parent: company}", "{parent: firm}", "cohorts.best-effort.parent", "firm"),
    "duplicate queue": (
        "- name: shared",
        "- name: team-nlp",
        "pools.shared.queues.0.name",
        "twice",
    ),
    "duplicate key": (
        "  nlp: {gpus: 8}",
        "  nlp: {gpus: 8}\n  nlp: {gpus: 9}",
        "teams.nlp",
        "twice",
    ),
    "zero half-life": ("half_life: 7d", "half_life: 0s", "usage.half_life", "greater than 0"),
    "no half-life": ("half_life: 7d, ", "", "usage.half_life", "missing"),
    "NaN weight": ("    model: h100\n", "    model: h100\n    weight: .nan\n", "weight", "finite"),
    "negative weight": (
        "    model: h100\n",
        "    model: h100\n    weight: -1\n",
        "weight",
        "greater",
    ),
    "odd duration": ("grace: 5m", "grace: five", "pools.team.grace", "length of time"),
    "true for a duration": ("grace: 5m", "grace: yes", "pools.team.grace", "length of time"),
    "lease order": ("{default: 8h, max: 7d}", "{default: 8d, max: 7d}", "lease", "longer"),
    "odd word": ("reclaim: any", "reclaim: sometimes", "reclaim", "never"),
    "missing class": ("critical: 4", "urgent: 4", "priorities", "low"),
    "falling priorities": ("high: 3", "high: 1", "priorities", "rise"),
    "no pools": (SMALL[SMALL.index("pools:") : SMALL.index("routing:")], "", "pools", "missing"),
    "a pool without queues": (
        SMALL[SMALL.index("    queues:\n      - name: team") : SMALL.index("  shared:\n    lease")],
        "    queues: []\n",
        "pools.team.queues",
        "at least 1",
    ),
    "team quota in a shared queue": ("{h100: 8}", "{h100: team}", "nominal", "{team}"),
    "borrowing threshold without reclaim": (
        "within: lower-priority",
        "borrow_within: {max_priority: 3}",
        "pools.shared.queues.0",
        "reclaim",
    ),
    "name with a blank": ("name: shared", "name: my queue", "name", "no name"),
    "no version": ("version: 1\n", "", "version", "missing"),
    "another version": ("version: 1", "version: 7", "version", "1"),
    "two groups of nodes of one name": (
        "gpus: 8}\nteams",
        "gpus: 8}\n  - {name: a, count: 1, gpus: 8}\nteams",
        "nodes.1.name",
        "twice",
    ),
    "no nodes in a group": ("count: 2", "count: 0", "nodes.0.count", "greater"),
    "a number for a key": ("  nlp: {gpus: 8}", "  7: {gpus: 8}", "teams", "must be a word"),
    "a date where a number belongs": ("count: 2", "count: 2026-01-01", "nodes.0.count", "integer"),
}


@pytest.mark.parametrize(("old", "new", "field", "said"), CASES.values(), ids=CASES)
def test_a_mistake_is_named(old: str, new: str, field: str, said: str) -> None:
    error = broken(old, new)
    assert field in error.field
    assert said in error.message
    assert error.example
    assert str(error).startswith(f"policy.yaml:{error.line}: {error.field}")


@pytest.mark.parametrize(
    ("old", "new", "marked"),
    [
        ("    grace: 5m", "    grase: 5m", "grase"),
        ("half_life: 7d", "half_life: 0s", "half_life"),
        ("{h100: 8}", "{h1000: 8}", "h1000"),
        ("{queue: shared}", "{queue: sharde}", "sharde"),
        ("company: {}", "company: {parent: best-effort}", "company: {parent"),
    ],
)
def test_the_line_is_where_the_mistake_is(old: str, new: str, marked: str) -> None:
    error = broken(old, new)
    assert marked in SMALL.replace(old, new, 1).splitlines()[error.line - 1]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "version: [1",
        "a: b: c",
        "\tversion: 1",
        "&a [*a]",
        "x: !!python/object:os.system {}",
        "\x00",
    ],
)
def test_what_is_no_policy_at_all_is_refused(text: str) -> None:
    with pytest.raises(PolicyError):
        load_policy(text, "policy.yaml")


def test_the_shipped_policy_is_read() -> None:
    assert load_policy(POLICY.read_text(encoding="utf-8"), "policy.yaml").teams["nlp"].gpus == 640


def test_a_policy_compiles_into_plain_values() -> None:
    layout = compile_policy(load_policy(SMALL, "policy.yaml"))
    team, shared = layout.queues
    assert (team.name, team.team, team.reclaim) == ("team-nlp", "nlp", Reclaim.ANY)
    assert team.quotas[FlavorName("h100"), GPU].nominal == 8
    assert team.quotas[FlavorName("h100"), GPU].borrowing == 0
    assert (shared.order, shared.within, shared.within_from) == (Order.USAGE, Within.LOWER, 4)
    assert shared.strategy is Strategy.BEST_EFFORT
    assert layout.usage is not None
    assert (layout.usage.half_life, layout.usage.interval) == (604800.0, 300.0)
    assert layout.pool(shared.pool).after_lease == "unprotect"
    assert (team.lapses, shared.lapses) == (False, True)
    assert layout.priorities[Priority.CRITICAL] == 4
    assert [node.name for node in build_nodes(layout)] == ["a-0001", "a-0002"]
    assert layout.models() == ("h100",)


def test_a_flavor_says_what_all_work_on_it_puts_up_with() -> None:
    line = "tolerations: [{key: example.com/spot}, {key: b, value: x, effect: NoExecute}]"
    taint = "taints: [{key: example.com/spot, value: 'true'}]"
    text = SMALL.replace("    model: h100\n", f"    model: h100\n    {taint}\n    {line}\n", 1)
    (flavor, *_) = compile_policy(load_policy(text, "x.yaml")).flavors
    assert flavor.tolerations == (
        Toleration(key="example.com/spot"),
        Toleration(key="b", value="x", effect=TaintEffect.NO_EXECUTE),
    )
    assert all(tolerates(flavor.tolerations, one) for one in flavor.taints)


def test_unknown_names_are_key_errors() -> None:
    layout = compile_policy(load_policy(SMALL, "policy.yaml"))
    with pytest.raises(KeyError):
        layout.queue(QueueName("nowhere"))


def test_quota_of_several_resources() -> None:
    text = SMALL.replace(
        "{h100: 8}", "{h100: {nvidia.com/gpu: {nominal: 8}, cpu: {nominal: 64000}}}"
    )
    shared = compile_policy(load_policy(text, "policy.yaml")).queues[1]
    assert shared.groups[0].resources == ("nvidia.com/gpu", "cpu")


def test_more_teams_divide_the_team_pool_evenly() -> None:
    policy = with_teams(load_policy(SMALL, "policy.yaml"), ["b", "a", "b"])
    assert {name: part.gpus for name, part in policy.teams.items()} == {"a": 3, "b": 3, "nlp": 2}
    queues = [queue.name for queue in compile_policy(policy).queues]
    assert queues == ["team-a", "team-b", "team-nlp", "shared"]


def test_a_trace_may_bring_its_own_teams_only() -> None:
    policy = with_teams(load_policy(SMALL, "policy.yaml"), ["a", "b"], keep=False)
    assert {name: part.gpus for name, part in policy.teams.items()} == {"a": 4, "b": 4}


def test_nodes_of_a_rack_share_its_label() -> None:
    text = SMALL.replace("count: 2, gpus: 8", "count: 4, gpus: 8, levels: {gpubot.dev/rack: 2}")
    nodes = build_nodes(compile_policy(load_policy(text, "policy.yaml")))
    assert [n.labels["gpubot.dev/rack"] for n in nodes] == ["a-rack-001"] * 2 + ["a-rack-002"] * 2


def test_fair_sharing_is_switched_in_the_file() -> None:
    text = SMALL + "fair_sharing: [final-share, initial-share]\n"
    layout = compile_policy(load_policy(text, "policy.yaml"))
    assert layout.fair_sharing == (FairStrategy.FINAL, FairStrategy.INITIAL)
    assert compile_policy(load_policy(SMALL, "policy.yaml")).fair_sharing is None


def test_balanced_placement_is_off_unless_asked_for() -> None:
    assert not compile_policy(load_policy(SMALL, "policy.yaml")).options.balanced
    text = f"{SMALL}placement: {{balanced: true}}\n"
    assert compile_policy(load_policy(text, "policy.yaml")).options.balanced


def test_work_is_moved_only_where_the_file_says_so() -> None:
    assert not compile_policy(load_policy(SMALL, "policy.yaml")).options.defragment
    text = f"{SMALL}placement: {{defragment: true}}\n"
    assert compile_policy(load_policy(text, "policy.yaml")).options.defragment


def test_moves_are_bounded_by_the_policy() -> None:
    assert compile_policy(load_policy(SMALL, "policy.yaml")).options.moves == MoveBounds()
    text = f"{SMALL}placement: {{defragment: true, moves_per_hour: 5, hours_per_gpu: 0.5}}\n"
    found = compile_policy(load_policy(text, "policy.yaml")).options.moves
    assert found == MoveBounds(per_hour=5, hours_per_gpu=0.5)


@pytest.mark.parametrize("bound", ["moves_per_hour: 0", "hours_per_gpu: 0", "hours_per_gpu: .inf"])
def test_a_bound_that_allows_nothing_or_all_is_refused(bound: str) -> None:
    with pytest.raises(PolicyError, match=bound.split(":", maxsplit=1)[0]):
        load_policy(f"{SMALL}placement: {{{bound}}}\n", "policy.yaml")


def test_courtesies_are_off_unless_asked_for() -> None:
    layout = compile_policy(load_policy(SMALL, "policy.yaml"))
    assert not layout.options.by_cost
    assert layout.options.flips_at_most is None
    assert layout.teams[0].budgets == {}
    for queue in layout.queues:
        assert (queue.min_runtime, queue.min_runtime_own) == (0.0, 0.0)
        assert queue.aging is None
        assert not queue.fair_users
        assert queue.backfill is None


def test_room_is_kept_where_the_file_says_so() -> None:
    pool = "    grace: 0s\n    backfill: {after: 2h, least: 64}\n"
    text = SMALL.replace("    grace: 0s\n", pool, 1)
    layout = compile_policy(load_policy(text, "policy.yaml"))
    rules = BackfillRules(after=7200.0, least=64, most=1, patience=None)
    assert layout.queue(QueueName("shared")).backfill == rules
    assert layout.queue(QueueName("team-nlp")).backfill is None
    own = "        order: usage\n        backfill: {after: 30m, at_once: 2, patience: 1d}\n"
    text = text.replace("        order: usage\n", own, 1)
    layout = compile_policy(load_policy(text, "policy.yaml"))
    rules = BackfillRules(after=1800.0, least=1, most=2, patience=86400.0)
    assert layout.queue(QueueName("shared")).backfill == rules


def test_a_queue_may_say_otherwise_than_its_pool() -> None:
    pool = "    min_runtime: 30m\n    aging: {after: 12h, every: 1h, step: 10, most: 90}\n"
    queue = "        min_runtime_own_queue: 5m\n        fair_users: true\n"
    text = SMALL.replace("    grace: 0s\n", f"    grace: 0s\n{pool}", 1)
    layout = compile_policy(load_policy(text, "policy.yaml"))
    shared = layout.queue(QueueName("shared"))
    assert (shared.min_runtime, shared.min_runtime_own) == (1800.0, 1800.0)
    assert shared.aging == Aging(after=43200.0, every=3600.0, step=10, most=90)
    assert layout.queue(QueueName("team-nlp")).min_runtime == 0.0
    text = text.replace("        order: usage\n", f"        order: usage\n{queue}", 1)
    own = compile_policy(load_policy(text, "policy.yaml")).queue(QueueName("shared"))
    assert (own.min_runtime, own.min_runtime_own) == (1800.0, 300.0)
    assert own.fair_users


def test_a_teams_own_budget_goes_before_everybodys() -> None:
    text = SMALL.replace("{gpus: 8}", "{gpus: 8, budgets: {critical: 4}}", 1)
    text += "budgets: {critical: 16, high: 32}\npreemption: {by_cost: true, flips_at_most: 2}\n"
    layout = compile_policy(load_policy(text, "policy.yaml"))
    assert layout.teams[0].budgets == {Priority.CRITICAL: 4, Priority.HIGH: 32}
    assert layout.options.by_cost
    assert layout.options.flips_at_most == 2


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("min_runtime: soon", "pools.shared.min_runtime"),
        ("min_runtime: -1", "pools.shared.min_runtime"),
        ("min_runtime_own_queue: 2d", "pools.shared.min_runtime_own_queue"),
        ("aging: {after: 1h, every: 0s, step: 1, most: 2}", "pools.shared.aging"),
        ("aging: {after: 1h, every: 1h, step: 5, most: 2}", "pools.shared.aging"),
        ("aging: {after: 1h, every: 1h, step: 5}", "pools.shared.aging"),
        ("fair_users: perhaps", "pools.shared.fair_users"),
        ("backfill: true", "pools.shared.backfill"),
        ("backfill: {after: 0s}", "pools.shared.backfill.after"),
        ("backfill: {least: 64}", "pools.shared.backfill.after"),
        ("backfill: {after: 2h, least: 0}", "pools.shared.backfill.least"),
        ("backfill: {after: 2h, at_once: many}", "pools.shared.backfill.at_once"),
        ("backfill: {after: 2h, patience: -1}", "pools.shared.backfill.patience"),
    ],
)
def test_a_courtesy_that_makes_no_sense_is_refused(line: str, field: str) -> None:
    error = broken("    grace: 0s\n", f"    grace: 0s\n    {line}\n")
    assert error.field.startswith(field)
    assert error.line == 27
    assert error.example


@pytest.mark.parametrize(
    ("line", "field"),
    [
        ("preemption: {flips_at_most: 0}", "preemption.flips_at_most"),
        ("preemption: {by_cost: 1}", "preemption.by_cost"),
        ("budgets: {critical: -1}", "budgets.critical"),
        ("budgets: {urgent: 8}", "budgets.urgent"),
    ],
)
def test_an_option_for_all_that_makes_no_sense_is_refused(line: str, field: str) -> None:
    error = broken("routing:\n", f"{line}\nrouting:\n")
    assert error.field.startswith(field)
    assert error.example.partition(":")[0] in field
