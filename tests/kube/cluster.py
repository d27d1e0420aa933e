"""The state of one emulated cluster, and what a request carries through it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from random import Random

from tests.kube.clock import VirtualClock, to_micro, to_wire
from tests.kube.documents import Json
from tests.kube.kinds import CONFIG_MAP, NAMESPACE, Kind, Registry
from tests.kube.rights import CONTROLLERS, Gate, Person
from tests.kube.store import Store, Stored

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


@dataclass(frozen=True)
class Options:
    """What the query of a write says."""

    dry_run: bool = False
    manager: str = "unknown"
    force: bool = False
    validation: str = "Warn"


@dataclass(frozen=True)
class Target:
    """What a request is about; name "" is the collection."""

    kind: Kind
    namespace: str = ""
    name: str = ""
    subresource: str = ""

    @property
    def key(self) -> tuple[str, str]:
        return (self.namespace, self.name)


@dataclass
class Request:
    """One write on its way: who, about what, how, and the warnings it gathers."""

    person: Person
    target: Target
    options: Options = field(default_factory=Options)
    warnings: list[str] = field(default_factory=list)


Mutator = Callable[["Cluster", Request, Json], None]
Validator = Callable[["Cluster", Request, Json, Json | None], None]


@dataclass
class Cluster:
    """Objects, time, kinds, people; `mutators` and `validators` are the admission policies."""

    clock: VirtualClock = field(default_factory=VirtualClock)
    store: Store = field(default_factory=Store)
    kinds: Registry = field(default_factory=Registry)
    gate: Gate = field(default_factory=Gate)
    schemas: dict[Kind, Json] = field(default_factory=dict)  # of custom kinds
    mutators: list[Mutator] = field(default_factory=list)
    validators: list[Validator] = field(default_factory=list)
    event_numbers: int = 0
    events: dict[tuple[str, str, str], tuple[str, str]] = field(default_factory=dict)
    silent_nodes: dict[str, datetime] = field(default_factory=dict)  # since when
    missing_nodes: dict[str, datetime] = field(default_factory=dict)  # noticed when
    node_grace: timedelta = timedelta(seconds=50)  # of silence, before a node is Unknown
    annotates_nodes: bool = True
    index_failures: dict[tuple[str, int], int] = field(default_factory=dict)  # by Job and rank
    backoff: dict[tuple[str, int | None], datetime] = field(default_factory=dict)
    """Until when nothing is made, by the uid of the owner and the rank, None for all of its."""
    _uids: int = 0
    _random: Random = field(default_factory=lambda: Random(7))  # noqa: S311  # names, not secrets

    def now(self) -> str:
        return to_wire(self.clock.now())

    def micro(self) -> str:
        return to_micro(self.clock.now())

    def new_uid(self) -> str:
        self._uids += 1
        return f"{self._uids:08x}-0000-4000-8000-{self._uids:012x}"

    def new_suffix(self) -> str:
        """The five random characters of a generated name."""
        return "".join(self._random.choices(_ALPHABET, k=5))

    def random_state(self) -> object:
        return self._random.getstate()

    def set_random_state(self, state: object) -> None:
        self._random.setstate(state)  # type: ignore[arg-type]  # what random_state gave

    def get(self, kind: Kind, namespace: str, name: str) -> Stored | None:
        return self.store.get(kind, (namespace, name))

    def add_namespace(self, name: str, labels: dict[str, str] | None = None) -> None:
        """A namespace as it stands some moments after its creation."""
        marks = {"kubernetes.io/metadata.name": name, **(labels or {})}
        metadata: Json = {
            "name": name,
            "uid": self.new_uid(),
            "creationTimestamp": self.now(),
            "labels": marks,
        }
        body: Json = {
            "metadata": metadata,
            "spec": {"finalizers": ["kubernetes"]},
            "status": {"phase": "Active"},
        }
        with self.store.lock:
            self.store.put(NAMESPACE, ("", name), body)
            about: Json = {"name": "kube-root-ca.crt", "namespace": name, "uid": self.new_uid()}
            root: Json = {"metadata": {**about, "creationTimestamp": self.now()}}
            self.store.put(CONFIG_MAP, (name, about["name"]), {**root, "data": {"ca.crt": ""}})

    def as_controller(self, target: Target, manager: str = "kube-controller-manager") -> Request:
        """A request of one of the cluster's own controllers."""
        return Request(CONTROLLERS, target, Options(manager=manager))
