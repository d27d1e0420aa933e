"""A set of documents, read: the layout, who waits, who runs, the nodes, and what is wrong.

One odd object never stops the others: it is left out, and so is what depends on it, each
with its own problem.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from scheduler import kueue
from scheduler.layout import (
    HOSTNAME,
    FairStrategy,
    Flavor,
    Layout,
    LocalQueue,
    Options,
    Queue,
    UsageRules,
)
from scheduler.manifests import capacity, work
from scheduler.manifests.capacity import NAMESPACED, Shelf
from scheduler.manifests.problems import ALL_FILES, ManifestError, Problem
from scheduler.model import (
    Admission,
    Node,
    QueueName,
    ResourceName,
    Seconds,
    TeamName,
    Workload,
    WorkloadId,
)
from scheduler.quantities import CPU

PLAIN = Options(claims=False, ignore_uncovered=False, tight=False, wake_neighbours=False)
"""Nothing beyond Kueue."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumed:
    """What a LocalQueue was charged with in the past, in base units, as of `at`."""

    amounts: Mapping[ResourceName, Fraction]
    at: Seconds


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifests:
    """What a set of manifests says. `waiting` and `running` are in the order read.

    `paused` are the queues whose stop policy admits nothing.
    """

    layout: Layout
    waiting: tuple[Workload, ...]
    running: tuple[tuple[Workload, Admission], ...]
    nodes: tuple[Node, ...]
    consumed: Mapping[TeamName, Consumed]
    paused: tuple[QueueName, ...]
    problems: tuple[Problem, ...]


def flatten(documents: Iterable[object]) -> Iterator[object]:
    """Documents one by one, the items of lists among them; empty documents are dropped."""
    for document in documents:
        kind = document.get("kind") if isinstance(document, Mapping) else None
        if isinstance(document, Mapping) and isinstance(kind, str) and kind.endswith("List"):
            yield from flatten(document.get("items") or ())
        elif document is not None:
            yield document


def read_manifests(
    files: Sequence[tuple[str, Sequence[object]]], settings: kueue.Settings | None = None
) -> Manifests:
    """Read parsed documents, given as (file, documents) pairs."""
    shelf = _check_all(files)
    layout = _read_layout(shelf, settings or kueue.Settings())
    nodes = work.read_nodes(shelf)
    _compare(shelf, layout, nodes)
    waiting, running = _read_work(shelf, layout, nodes)
    paused = tuple(
        QueueName(one.metadata.name)
        for _, one in shelf.of(kueue.QueueObject)
        if one.spec.stop_policy != "None" and one.metadata.name in {q.name for q in layout.queues}
    )
    return Manifests(
        layout=layout,
        waiting=tuple(waiting),
        running=tuple(running),
        nodes=nodes,
        consumed=_read_consumed(shelf, layout.local_queues),
        paused=paused,
        problems=tuple(shelf.problems),
    )


def _check_all(files: Sequence[tuple[str, Sequence[object]]]) -> Shelf:
    """Check every document by itself; of two with one name the second is refused."""
    shelf = Shelf()
    seen: set[tuple[str, str, str]] = set()
    for source, documents in files:
        for document in flatten(documents):
            found, problems = kueue.check(document, source)
            shelf.problems.extend(problems)
            if found is None:
                continue
            namespace = found.metadata.namespace if found.kind in NAMESPACED else ""
            key = found.kind, namespace, found.metadata.name
            if key in seen:
                error = ManifestError("metadata.name", "exists already; the first one counts")
                shelf.refuse(source, found, error)
                continue
            seen.add(key)
            shelf.objects.append((source, found))
    return shelf


def _read_layout(shelf: Shelf, settings: kueue.Settings) -> Layout:
    flavors = capacity.read_flavors(shelf)
    by_name = {flavor.name: flavor for flavor in flavors}
    cohorts = capacity.read_cohorts(shelf, by_name)
    queues = capacity.read_queues(shelf, by_name, {cohort.name: cohort for cohort in cohorts})
    local_queues = capacity.read_local_queues(shelf, {queue.name: queue for queue in queues})
    usage = _read_usage(shelf, settings.admission_fair_sharing)
    beyond = _read_extras(shelf)
    if beyond is not None:
        return replace(
            beyond.layout,
            flavors=tuple(_with_extras(flavor, beyond) for flavor in flavors),
            queues=tuple(_queue_with_extras(queue, beyond) for queue in queues),
            cohorts=cohorts,
            local_queues=local_queues,
            usage=usage or beyond.layout.usage,
            fair_sharing=_read_strategies(settings.fair_sharing) or beyond.layout.fair_sharing,
        )
    return Layout(
        flavors=flavors,
        queues=queues,
        cohorts=cohorts,
        local_queues=local_queues,
        usage=usage,
        fair_sharing=_read_strategies(settings.fair_sharing),
        options=PLAIN,
    )


def _read_extras(shelf: Shelf) -> kueue.Extras | None:
    """What a written layout has beyond Kueue, if there is such a ConfigMap."""

    def make(one: kueue.ConfigMapObject) -> kueue.Extras | None:
        if one.metadata.name != kueue.EXTRAS_NAME:
            shelf.remark(one, "data", "has no bearing on admission here")
            return None
        try:
            return kueue.read_extras(one.data.get("layout.json", ""))
        except ValueError as error:
            raise ManifestError("data.layout.json", str(error)) from error

    found = [extras for extras in shelf.read(kueue.ConfigMapObject, make) if extras is not None]
    return found[0] if found else None


def _with_extras(flavor: Flavor, beyond: kueue.Extras) -> Flavor:
    extra = beyond.flavors.get(flavor.name)
    if extra is None:
        return flavor
    model = extra.model or flavor.model
    return replace(flavor, model=model, provision=extra.provision, weight=extra.weight)


def _queue_with_extras(queue: Queue, beyond: kueue.Extras) -> Queue:
    extra = beyond.queues.get(queue.name)
    if extra is None:
        return queue
    return replace(
        extra,
        cohort=queue.cohort,
        groups=queue.groups,
        quotas=queue.quotas,
        strategy=queue.strategy,
        order=queue.order,
        within=queue.within,
        reclaim=queue.reclaim,
        borrow_within=queue.borrow_within,
        fungibility=queue.fungibility,
        weight=queue.weight,
    )


def _read_strategies(part: kueue.FairSharingPart | None) -> tuple[FairStrategy, ...] | None:
    if part is None:
        return None
    return tuple(part.preemption_strategies) or tuple(FairStrategy)


def _read_usage(shelf: Shelf, part: kueue.AdmissionFairSharing | None) -> UsageRules | None:
    if part is None:
        return None
    where = "settings.admissionFairSharing"
    try:
        half_life = read_duration(part.usage_half_life_time)
        interval = read_duration(part.usage_sampling_interval)
    except ValueError as error:
        shelf.problems.append(Problem("settings", "Case", where, str(error)))
        return None
    for resource, weight in sorted(part.resource_weights.items()):
        if not math.isfinite(weight) or weight < 0:
            field = f"{where}.resourceWeights.{resource}"
            message = f"must be a number that is not negative, but is {weight}"
            shelf.problems.append(Problem("settings", "Case", field, message))
            return None
    if half_life <= 0 or interval <= 0:
        field = "usageHalfLifeTime" if half_life <= 0 else "usageSamplingInterval"
        message = "must be longer than 0, or every past use counts for nothing"
        shelf.problems.append(Problem("settings", "Case", f"{where}.{field}", message))
        return None
    weights = {ResourceName(name): weight for name, weight in part.resource_weights.items()}
    return UsageRules(
        half_life=half_life, interval=interval, weights=weights, other_weight=1.0, exact=False
    )


_DURATION = re.compile(r"(?:\d+(?:\.\d*)?(?:ns|us|µs|ms|s|m|h))+", re.ASCII)
_PIECE = re.compile(r"(\d+(?:\.\d*)?)(ns|us|µs|ms|s|m|h)")
_SPANS = {"h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9}


def read_duration(text: str) -> Seconds:
    """A duration such as `168h` or `1h30m`, in seconds. Raises ValueError."""
    if text == "0":
        return 0.0
    if not _DURATION.fullmatch(text):
        raise ValueError(f'"{text}" is not a duration; right would be "168h" or "5m"')
    return sum(float(number) * _SPANS[unit] for number, unit in _PIECE.findall(text))


def _read_work(
    shelf: Shelf, layout: Layout, nodes: tuple[Node, ...]
) -> tuple[list[Workload], list[tuple[Workload, Admission]]]:
    setting = _setting(shelf, layout, nodes)
    ids: set[WorkloadId] = set()
    waiting: list[Workload] = []
    running: list[tuple[Workload, Admission]] = []

    def make(one: kueue.WorkloadObject) -> None:
        if work.condition(one, "Finished") is not None:
            return
        workload = work.read_workload(one, setting)
        if workload.id in ids:
            raise ManifestError("metadata.uid", "is that of another Workload; the first one counts")
        ids.add(workload.id)
        if work.holds_quota(one):
            running.append((workload, work.read_admission(one, workload, setting)))
        elif one.spec.active:
            waiting.append(workload)
        else:
            shelf.remark(one, "spec.active", "is false, so it does not wait")
        _name_unsupported(shelf, one)

    shelf.read(kueue.WorkloadObject, make)
    clashes = [w.name for w in (*waiting, *(w for w, _ in running))]
    unique = {name for name in clashes if clashes.count(name) == 1} if clashes else set()

    def label(workload: Workload) -> Workload:
        if workload.name in unique:
            return workload
        return replace(workload, name=f"{workload.owner}/{workload.name}")

    return [label(w) for w in waiting], [(label(w), admission) for w, admission in running]


def _name_unsupported(shelf: Shelf, one: kueue.WorkloadObject) -> None:
    """Say what of a pod's demands is not looked at, though Kubernetes' scheduler would."""
    for number, part in enumerate(one.spec.pod_sets):
        spec = part.template.spec
        where = f"spec.podSets[{number}].template.spec"
        if spec.topology_spread_constraints:
            shelf.remark(one, f"{where}.topologySpreadConstraints", "does not count here")
        if spec.resource_claims:
            shelf.remark(one, f"{where}.resourceClaims", "does not count here")
        if spec.runtime_class_name and not spec.overhead:
            shelf.remark(one, f"{where}.runtimeClassName", "may add an overhead not known here")


def _setting(shelf: Shelf, layout: Layout, nodes: tuple[Node, ...]) -> work.Setting:
    namespaces = {
        one.metadata.name: {"kubernetes.io/metadata.name": one.metadata.name, **one.metadata.labels}
        for _, one in shelf.of(kueue.NamespaceObject)
    }
    return work.Setting(
        queues={queue.name: queue for queue in layout.queues},
        local_queues={(local.namespace, local.name): local for local in layout.local_queues},
        flavors={flavor.name: flavor for flavor in layout.flavors},
        classes={one.metadata.name: one.value for _, one in shelf.of(kueue.ClassObject)},
        namespaces=namespaces,
        selectors={
            QueueName(one.metadata.name): one.spec.namespace_selector
            for _, one in shelf.of(kueue.QueueObject)
        },
        hosts={node.labels[HOSTNAME]: node.name for node in nodes if HOSTNAME in node.labels},
    )


def _read_consumed(shelf: Shelf, local_queues: tuple[LocalQueue, ...]) -> dict[TeamName, Consumed]:
    teams = {(local.namespace, local.name): local.team for local in local_queues}
    consumed = {}
    for _, one in shelf.of(kueue.LocalQueueObject):
        team = teams.get((one.metadata.namespace, one.metadata.name))
        sharing = one.status.fair_sharing
        status = sharing.admission_fair_sharing_status if sharing else None
        if team is not None and status is not None:
            consumed[team] = Consumed(
                amounts={
                    ResourceName(name): amount * (1000 if name == CPU else 1)
                    for name, amount in status.consumed_resources.items()
                },
                at=work.seconds(status.last_update),
            )
    return consumed


def _compare(shelf: Shelf, layout: Layout, nodes: tuple[Node, ...]) -> None:
    """Warn where the quotas of a flavor promise more than its usable nodes have."""
    if not nodes:
        return
    for (flavor, resource), nominal in capacity.sum_nominal(layout.queues, layout.cohorts).items():
        labels = next(f.node_labels for f in layout.flavors if f.name == flavor)
        real = sum(
            node.capacity.get(resource, 0)
            for node in nodes
            if node.ready and node.schedulable and labels.items() <= node.labels.items()
        )
        if nominal > real:
            shelf.problems.append(
                Problem(
                    ALL_FILES,
                    f"ResourceFlavor {flavor}",
                    resource,
                    f"has {nominal} of quota on nodes with {real}: {nominal - real} too many",
                    refused=False,
                )
            )
