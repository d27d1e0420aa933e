"""From a path to what it names."""

from __future__ import annotations

from dataclasses import dataclass

from tests.kube.kinds import Registry
from tests.kube.rights import Access


@dataclass(frozen=True)
class Route:
    """The parts of a resource path; name "" is a collection, namespace "" all or none."""

    group: str
    version: str
    plural: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    watches: bool = False

    def access(self, verb: str) -> Access:
        return Access(verb, self.group, self.plural, self.subresource, self.namespace, self.name)


def parse_path(path: str) -> Route | None:
    """The route of a path, or None where it names no resource."""
    parts = [part for part in path.split("/") if part]
    if len(parts) >= 3 and parts[0] == "api":
        group, version, rest = "", parts[1], parts[2:]
    elif len(parts) >= 4 and parts[0] == "apis":
        group, version, rest = parts[1], parts[2], parts[3:]
    else:
        return None
    watches = rest[0] == "watch"
    if watches:
        rest = rest[1:]
    namespace = ""
    named = len(rest) >= 3 and rest[0] == "namespaces"
    if named and not (group == "" and rest[2] in {"status", "finalize"} and len(rest) == 3):
        namespace, rest = rest[1], rest[2:]
    if not rest or len(rest) > 3:
        return None
    name = rest[1] if len(rest) > 1 else ""
    subresource = rest[2] if len(rest) > 2 else ""
    return Route(group, version, rest[0], namespace, name, subresource, watches)


def is_served(kinds: Registry, route: Route) -> bool:
    """Whether the group of a route exists at all."""
    return kinds.has_group(route.group, route.version)
