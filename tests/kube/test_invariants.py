"""What holds whatever is done: a mirror built from a list and a watch is the truth."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.kube.cluster import Request, Target
from tests.kube.documents import Json
from tests.kube.field_sets import Path, from_wire, to_wire
from tests.kube.kinds import CONFIG_MAP
from tests.kube.operations import MERGE, create, patch
from tests.kube.reads import list_objects
from tests.kube.removal import DeleteOptions, delete
from tests.kube.rights import ADMIN
from tests.kube.server import ApiServer
from tests.kube.watching import look, open_watch

NAMES = ("a", "b", "c")
SELECTED = {"labelSelector": "s=x"}
_Act = tuple[str, str, str]
_acts = st.lists(
    st.tuples(st.sampled_from(["put", "drop"]), st.sampled_from(NAMES), st.sampled_from("xyz")),
    max_size=25,
)


def _do(api: ApiServer, act: _Act) -> None:
    """Make an object or change its label, or delete it."""
    word, name, label = act
    target = Target(CONFIG_MAP, "team", name)
    request = Request(ADMIN, target)
    live = api.cluster.store.get(CONFIG_MAP, target.key)
    labels = {"metadata": {"labels": {"s": label}}}
    if word == "drop" and live is not None:
        delete(api.cluster, request, live, DeleteOptions())
    elif word == "put" and live is None:
        body: Json = {"metadata": {"name": name, **labels["metadata"]}}
        create(api.cluster, Request(ADMIN, Target(CONFIG_MAP, "team")), body)
    elif word == "put":
        patch(api.cluster, request, MERGE, labels)


def _names(api: ApiServer, query: dict[str, str]) -> dict[str, str]:
    listing = list_objects(api.cluster, Target(CONFIG_MAP, "team"), query)
    return {each.key[1]: str(each.version) for each in listing.items}


def _follow(mirror: dict[str, str], lines: list[bytes]) -> None:
    """Apply events as an informer does; each must be possible where it comes."""
    for line in b"".join(lines).splitlines():
        event: Any = json.loads(line)
        metadata = event["object"]["metadata"]
        name = metadata["name"]
        if event["type"] == "DELETED":
            del mirror[name]
            continue
        assert (event["type"] == "ADDED") == (name not in mirror)
        mirror[name] = metadata["resourceVersion"]


@settings(max_examples=40)
@given(before=_acts, after=st.lists(_acts, max_size=4))
def test_mirror_of_a_list_and_a_watch_is_the_truth(before: list[_Act], after: list[Any]) -> None:
    api = ApiServer()
    api.add_namespace("team")
    for act in before:
        _do(api, act)
    target = Target(CONFIG_MAP, "team")
    listing = list_objects(api.cluster, target, SELECTED)
    mirror = {each.key[1]: str(each.version) for each in listing.items}
    watch = open_watch(
        api.cluster, target, {**SELECTED, "resourceVersion": str(listing.version), "watch": "true"}
    )
    for acts in after:
        for act in acts:
            _do(api, act)
        _follow(mirror, look(api.cluster, watch)[0])
        assert mirror == _names(api, SELECTED)


@settings(max_examples=40)
@given(before=_acts, between=_acts, limit=st.integers(1, 3))
def test_pages_are_one_snapshot(before: list[_Act], between: list[_Act], limit: int) -> None:
    api = ApiServer()
    api.add_namespace("team")
    for act in before:
        _do(api, act)
    whole = _names(api, {})
    target = Target(CONFIG_MAP, "team")
    found: dict[str, str] = {}
    query = {"limit": str(limit)}
    while True:
        page = list_objects(api.cluster, target, query)
        found |= {each.key[1]: str(each.version) for each in page.items}
        if not page.token:
            break
        query = {"limit": str(limit), "continue": page.token}
        for act in between:
            _do(api, act)
    assert found == whole


_paths = st.lists(
    st.lists(st.sampled_from(["f:a", "f:b", 'k:{"name":"x"}']), min_size=1, max_size=4).map(tuple),
    max_size=8,
)


@given(paths=_paths)
def test_field_sets_survive_their_wire_form(paths: list[Path]) -> None:
    fields = frozenset(paths)
    assert from_wire(to_wire(fields)) == fields
