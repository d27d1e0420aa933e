"""How lists and maps of the kinds we handle merge: the part of the schema that patches need.

Field names are enough to tell: no two fields of these kinds that share a name merge differently,
but for the conditions of a Job (see `list_keys`). Custom kinds have none of this: their lists are
replaced whole and their maps merge key by key.
"""

from __future__ import annotations

# Server-side apply: lists whose items are told apart by these keys (x-kubernetes-list-map-keys).
_MAP_LISTS: dict[str, tuple[str, ...]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "ephemeralContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "volumeMounts": ("mountPath",),
    "ports": ("containerPort", "protocol"),
    "schedulingGates": ("name",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "imagePullSecrets": ("name",),
    "hostAliases": ("ip",),
    "ownerReferences": ("uid",),
    "conditions": ("type",),
    "addresses": ("type",),
}
_SETS = frozenset({"finalizers"})
_ATOMIC_MAPS = frozenset({"nodeSelector", "selector"})
# A NodeSelector is atomic; pods' affinity terms under the same name are lists and so atomic too.
_ATOMIC_STRUCTS = frozenset({"requiredDuringSchedulingIgnoredDuringExecution"})
# Strategic merge: the one key of patchMergeKey. Tolerations and taints have none.
_STRATEGIC = {
    **{name: keys[0] for name, keys in _MAP_LISTS.items()},
}
_DEFAULT_KEYS = {"protocol": "TCP"}


def list_keys(kind: str, field: str) -> tuple[str, ...] | None:
    """The keys that tell items of a list apart for apply, or None: the list is atomic."""
    if field == "conditions" and kind == "Job":
        return None  # the schema of Job says atomic, while a strategic patch merges by type
    return _MAP_LISTS.get(field)


def is_set(field: str) -> bool:
    """Whether a list of plain values is a set, merged value by value."""
    return field in _SETS


def is_atomic(field: str) -> bool:
    """Whether a map or struct has one owner as a whole."""
    return field in _ATOMIC_MAPS or field in _ATOMIC_STRUCTS


def strategic_key(field: str) -> str | None:
    """The merge key of a strategic patch, or None: the list is replaced."""
    return _STRATEGIC.get(field)


def key_default(key: str) -> str | None:
    """The value of a merge key that may be left out."""
    return _DEFAULT_KEYS.get(key)
