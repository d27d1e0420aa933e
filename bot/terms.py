"""What the policy means to people: pools, leases, grace, who may ask for which priority."""

from __future__ import annotations

from collections.abc import Iterable

from scheduler.layout import HOSTNAME, PROVISION_LABEL, AfterLease, Flavor, IdleRule, Layout, Pool
from scheduler.model import GPU, CohortName, Priority, QueueName, Seconds, Spend, TeamName
from storage.records import Role

WAITING_AT_MOST = 200  # requests one person may have waiting: a script gone wild stops here
NAME_AT_MOST = 80  # characters of a request's name
REMIND_SHARE, REMIND_AT_MOST = 0.1, 3600.0  # a lease is announced this share of it ahead

_CRITICAL_FROM = (Role.LEAD, Role.ONCALL, Role.ADMIN)


class Terms:
    """Look-ups into a layout that the engine does not need but people do."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self._queues = {queue.name: queue for queue in layout.queues}
        self._pools = {pool.name: pool for pool in layout.pools}
        self._parents = {cohort.name: cohort.parent for cohort in layout.cohorts}
        self._on_demand = {rule.queue for rule in layout.rules if rule.spend is Spend.HIGH}
        self.teams: tuple[TeamName, ...] = tuple(team.name for team in layout.teams)
        self.models = layout.models()

    def knows(self, queue: QueueName) -> bool:
        """Whether the layout has this queue."""
        return queue in self._queues

    def pool(self, queue: QueueName) -> str:
        """The pool people know the queue by."""
        found = self._queues.get(queue)
        return str(found.pool) if found is not None and found.pool else str(queue)

    def path(self, queue: QueueName) -> tuple[str, ...]:
        """The queue's place in the quota tree, from the root down to itself."""
        path = [str(queue)]
        found = self._queues.get(queue)
        cohort: CohortName | None = found.cohort if found is not None else None
        while cohort is not None:
            path.append(str(cohort))
            cohort = self._parents.get(cohort)
        return tuple(reversed(path))

    def nominal(self, queue: QueueName) -> int:
        """GPUs of the queue's own quota, over all flavors."""
        quotas = self._queues[queue].quotas
        return sum(limits.nominal for (_, resource), limits in quotas.items() if resource == GPU)

    def team_nominal(self, team: TeamName) -> int:
        """GPUs that belong to a team: the nominal quota of its own queues."""
        return sum(self.nominal(q.name) for q in self.layout.queues if q.team == team)

    def team_of(self, queue: QueueName) -> TeamName | None:
        """The team whose own queue it is; None for a shared one."""
        found = self._queues.get(queue)
        return found.team if found is not None else None

    def grace(self, queue: QueueName) -> Seconds:
        """How long the pods of this queue have between the notice and the stop."""
        pool = self._pool(queue)
        return pool.grace if pool is not None else 0.0

    def lease_default(self, queue: QueueName) -> Seconds | None:
        """The lease of a request that names none."""
        pool = self._pool(queue)
        return pool.lease_default if pool is not None else None

    def lease_most(self, queue: QueueName) -> Seconds | None:
        """The longest lease of the queue's pool; None if the policy sets none."""
        pool = self._pool(queue)
        return pool.lease_max if pool is not None else None

    def after_lease(self, queue: QueueName) -> AfterLease:
        """What happens to what is still there when its lease has run out."""
        pool = self._pool(queue)
        return pool.after_lease if pool is not None else AfterLease.RELEASE

    def idle(self, queue: QueueName) -> IdleRule | None:
        """When the owner of idle GPUs in this queue is asked; None for never."""
        pool = self._pool(queue)
        return pool.idle if pool is not None else None

    def usual_lease(self) -> Seconds:
        """The lease the form offers first: the shortest default of any pool."""
        return min((pool.lease_default for pool in self.layout.pools), default=4 * 3600.0)

    def longest_lease(self) -> Seconds:
        """The longest lease of any pool."""
        return max((pool.lease_max for pool in self.layout.pools), default=14 * 86400.0)

    def spend(self, queue: QueueName) -> str:
        """What a request says that is routed to this queue: only on-demand asks for high."""
        return str(Spend.HIGH if queue in self._on_demand else Spend.LOW)

    def node_gpus(self) -> int:
        """GPUs of the largest node of the described cluster."""
        return max((g.capacity.get(GPU, 0) for g in self.layout.node_groups), default=8)

    def flavors(self, queues: Iterable[QueueName], model: str | None) -> tuple[Flavor, ...]:
        """The flavors that these queues offer of a model (None: of any), in their order."""
        names = dict.fromkeys(
            name
            for queue in queues
            for group in self._queues[queue].groups
            for name in group.flavors
        )
        found = (self.layout.flavor(name) for name in names)
        return tuple(flavor for flavor in found if model in (None, flavor.model))

    def provisions(self, model: str | None = None) -> tuple[str, ...]:
        """How nodes of a model (None: of any) are had, in the policy's order."""
        flavors = (each for each in self.layout.flavors if model in (None, each.model))
        labels = (each.node_labels.get(PROVISION_LABEL) for each in flavors)
        return tuple(dict.fromkeys(label for label in labels if label is not None))

    def levels(self, flavors: Iterable[Flavor] | None = None) -> dict[str, str]:
        """The node labels of topology levels by the word people say, from coarse to fine."""
        chosen = self.layout.flavors if flavors is None else flavors
        labels = dict.fromkeys(label for flavor in chosen for label in flavor.levels)
        return {level_word(label): label for label in labels}

    def priorities(self, role: Role) -> tuple[Priority, ...]:
        """The priority classes that a role may ask for, lowest first."""
        known = [p for p in Priority if p in self.layout.priorities or not self.layout.priorities]
        return tuple(p for p in known if p is not Priority.CRITICAL or role in _CRITICAL_FROM)

    def _pool(self, queue: QueueName) -> Pool | None:
        found = self._queues.get(queue)
        return self._pools.get(found.pool) if found is not None else None


def level_word(label: str) -> str:
    """What people call a topology level: the last part of its label, `node` for single nodes."""
    return "node" if label == HOSTNAME else label.rpartition("/")[2].lower()


def remind_ahead(lease: Seconds) -> Seconds:
    """How long before its end a lease is announced."""
    return min(REMIND_AT_MOST, lease * REMIND_SHARE)
