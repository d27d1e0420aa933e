"""Who asks and what they may: authentication by token and a table of rights.

The people of the recordings are here under the same names: admin, alice (ClusterRole edit), bot
(a service account with the rights the deployment gives it), viewer (none) and kubelet.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import yaml

from tests.kube.statuses import Refusal, forbidden, unauthorized

SHIPPED = Path(__file__).parents[2] / "deploy" / "kubernetes" / "base" / "rights.yaml"
BOT = "system:serviceaccount:gpubot-system:gpubot"
CONTROLLER = "system:kube-controller-manager"
_ACCOUNTS = ("system:serviceaccounts", "system:serviceaccounts:gpubot-system")
_READ = ("get", "list", "watch")
_WRITE = ("create", "delete", "deletecollection", "patch", "update")


@dataclass(frozen=True)
class Rule:
    """Verbs on resources of groups; '*' is all. Subresources are written 'pods/eviction'.

    `names` limits the rule to objects of these names, `namespace` to one namespace.
    """

    verbs: tuple[str, ...]
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    names: tuple[str, ...] = ()
    namespace: str = ""

    def allows(self, access: Access) -> bool:
        resource = access.resource
        return (
            ("*" in self.verbs or access.verb in self.verbs)
            and ("*" in self.groups or access.group in self.groups)
            and ("*" in self.resources or resource in self.resources)
            and (not self.names or access.name in self.names)
            and self.namespace in {"", access.namespace}
        )


@dataclass(frozen=True)
class Person:
    """Somebody with a token. `rights` None means everything (system:masters).

    `used` is what was done with them, by verb, group and resource: what else is given is too much.
    """

    name: str
    groups: tuple[str, ...] = ("system:authenticated",)
    rights: tuple[Rule, ...] | None = ()
    role: str = ""
    used: set[tuple[str, str, str]] = field(default_factory=set, compare=False)

    def may(self, access: Access) -> bool:
        return self.rights is None or any(rule.allows(access) for rule in self.rights)


_SELF = Rule(
    ("create",), ("authorization.k8s.io",), ("selfsubjectaccessreviews", "selfsubjectrulesreviews")
)
_WHO = Rule(("create",), ("authentication.k8s.io",), ("selfsubjectreviews",))
BOT_RULES = (
    Rule(("*",), ("batch",), ("jobs",)),
    Rule((*_READ, "create", "patch", "update", "delete"), ("",), ("pods",)),
    Rule(("create",), ("",), ("pods/eviction",)),
    Rule(_READ, ("",), ("nodes",)),
    Rule(
        ("*",),
        ("apps",),
        (
            "deployments",
            "statefulsets",
            "replicasets",
            "deployments/scale",
            "statefulsets/scale",
        ),
    ),
    Rule(
        ("get", "create", "update", "patch", "list", "watch"), ("coordination.k8s.io",), ("leases",)
    ),
    Rule(("create", "patch", "list"), ("",), ("events",)),
    Rule(("*",), ("example.com",), ("*",)),
    Rule(("*",), ("",), ("configmaps",)),
    _SELF,
    _WHO,
)
_EDIT = (
    Rule(
        (*_READ, *_WRITE),
        ("", "batch", "apps", "policy", "example.com"),
        (
            "pods",
            "pods/eviction",
            "configmaps",
            "services",
            "secrets",
            "serviceaccounts",
            "events",
            "jobs",
            "deployments",
            "deployments/scale",
            "replicasets",
            "replicasets/scale",
            "statefulsets",
            "statefulsets/scale",
            "poddisruptionbudgets",
        ),
    ),
    Rule((*_READ, *_WRITE), ("coordination.k8s.io",), ("leases",)),
    Rule(_READ, ("",), ("namespaces",)),
    _SELF,
    _WHO,
)
ADMIN = Person("lab-admin", ("system:masters", "system:authenticated"), None)
CONTROLLERS = Person(CONTROLLER, ("system:authenticated",), None)
ANONYMOUS = Person("system:anonymous", ("system:unauthenticated",))


def built_in() -> dict[str, Person]:
    """Token to person; the token of each is '<name>-token'."""
    return {
        "admin-token": ADMIN,
        "alice-token": Person("alice", ("system:authenticated",), _EDIT, "edit"),
        "bot-token": Person(BOT, (*_ACCOUNTS, "system:authenticated"), BOT_RULES, "gpubot"),
        "viewer-token": Person(
            "system:serviceaccount:gpubot-system:viewer", (*_ACCOUNTS, "system:authenticated")
        ),
        "kubelet-token": Person("kubelet", ("system:masters", "system:authenticated"), None),
    }


JOB_SET_EDIT = Rule((*_READ, *_WRITE), ("jobset.x-k8s.io",), ("jobsets",))
LEADER_WORKER_SET_EDIT = Rule(
    (*_READ, *_WRITE), ("leaderworkerset.x-k8s.io",), ("leaderworkersets",)
)


@dataclass
class Gate:
    """Tokens and rights; tests take tokens away and grant or revoke rights."""

    people: dict[str, Person] = field(default_factory=built_in)
    nobody: Person = ANONYMOUS
    """Who asks without a token: over plain HTTP kubectl keeps the one it has to itself."""

    def recognise(self, header: str | None, acting_as: str = "") -> Person:
        """Who sent the request, or the one as whom an admin acts (`kubectl --as`).

        Raises:
            Refusal: 401 for a token nobody has; without a token the request is anonymous. 403 for
                one who may not act as others.

        """
        person = self._owner(header)
        if not acting_as:
            return person
        require(person, Access("impersonate", "", "users", name=acting_as))
        known = (each for each in self.people.values() if each.name == acting_as)
        return next(known, Person(acting_as))

    def _owner(self, header: str | None) -> Person:
        if not header:
            return self.nobody
        person = self.people.get(header.removeprefix("Bearer ").strip())
        if person is None:
            raise unauthorized()
        return person

    def grant(self, token: str, *rules: Rule) -> None:
        """Replace the rights of the person with this token."""
        person = self.people[token]
        self.people[token] = Person(person.name, person.groups, rules, person.role)

    def give(self, token: str, *rules: Rule) -> None:
        """Add to the rights of the person with this token."""
        self.grant(token, *(self.people[token].rights or ()), *rules)


@dataclass(frozen=True)
class Access:
    """What a request is about, as the authorizer sees it."""

    verb: str
    group: str
    plural: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""

    @property
    def resource(self) -> str:
        return self.plural + (f"/{self.subresource}" if self.subresource else "")


def require(person: Person, access: Access) -> None:
    """Pass where the person has the right.

    Raises:
        Refusal: 403 with the sentence of the RBAC authorizer.

    """
    if not person.may(access):
        raise denied(person, access)
    person.used.add((access.verb, access.group, access.resource))


def denied(person: Person, access: Access) -> Refusal:
    where = f'in the namespace "{access.namespace}"' if access.namespace else "at the cluster scope"
    why = (
        f'User "{person.name}" cannot {access.verb} resource "{access.resource}" '
        f'in API group "{access.group}" {where}'
    )
    return forbidden(access.group, access.plural, access.name, why)


@cache
def shipped(path: Path = SHIPPED) -> tuple[Rule, ...]:
    """The rules that the deployment gives the bot's service account."""
    return rules_of(list(yaml.safe_load_all(path.read_text())))


def rules_of(documents: Sequence[dict[str, Any]]) -> tuple[Rule, ...]:
    """The rules that the bindings among some documents give, and what everybody may."""
    roles = {(each["kind"], each["metadata"]["name"]): each for each in documents}
    rules: list[Rule] = []
    for binding in documents:
        if binding["kind"] not in {"RoleBinding", "ClusterRoleBinding"}:
            continue
        reference = binding["roleRef"]
        spaces = [each.get("namespace", "") for each in binding["subjects"]]
        namespace = spaces[0] if binding["kind"] == "RoleBinding" else ""
        rules += [
            Rule(
                tuple(rule["verbs"]),
                tuple(rule["apiGroups"]),
                tuple(rule["resources"]),
                tuple(rule.get("resourceNames", ())),
                namespace,
            )
            for rule in roles[reference["kind"], reference["name"]]["rules"]
        ]
    return (*rules, _SELF, _WHO)
