"""Strategic merge patches as `kubectl apply` sends them."""

from __future__ import annotations

import pytest

from tests.kube.documents import Json
from tests.kube.merge_keys import is_atomic, is_set, list_keys, strategic_key
from tests.kube.strategic import strategic_merge


def test_of_a_union_only_what_is_named_stays() -> None:
    live = {"strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxSurge": 1}}}
    patch = {"strategy": {"type": "Recreate", "$retainKeys": ["type"]}}
    assert strategic_merge("Deployment", live, patch) == {"strategy": {"type": "Recreate"}}


def test_a_patch_says_the_order_of_items_and_others_keep_their_places() -> None:
    live = {"env": [{"name": name, "value": "1"} for name in ("b", "x", "a")]}
    patch: Json = {
        "$setElementOrder/env": [{"name": "a"}, {"name": "c"}, {"name": "b"}],
        "env": [{"name": "c", "value": "1"}],
    }
    made = strategic_merge("Deployment", live, patch)
    assert [each["name"] for each in made["env"]] == ["a", "c", "x", "b"]


@pytest.mark.parametrize(
    ("kind", "field", "keys", "key"),
    [
        ("Pod", "ports", ("containerPort", "protocol"), "containerPort"),
        ("Service", "ports", ("port", "protocol"), "port"),
        ("NetworkPolicy", "ports", None, None),
        ("Job", "conditions", None, "type"),
        ("Deployment", "tolerations", None, None),
        ("ValidatingAdmissionPolicy", "variables", ("name",), "name"),
    ],
)
def test_lists_merge_as_the_schema_of_their_kind_says(
    kind: str, field: str, keys: tuple[str, ...] | None, key: str | None
) -> None:
    assert list_keys(kind, field) == keys
    assert strategic_key(kind, field) == key


def test_sets_and_atomic_maps_are_those_of_the_schema() -> None:
    assert is_set("Pod", "finalizers")
    assert not is_set("Pod", "args")
    assert is_atomic("Pod", "nodeSelector")
    assert is_atomic("Deployment", "selector")
    assert not is_atomic("Pod", "labels")
