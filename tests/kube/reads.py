"""GET and list: pages, snapshots at a version, and the rules of their options."""

from __future__ import annotations

import base64
import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from tests.kube.cluster import Cluster, Target
from tests.kube.selectors import Test, both, field_test, label_test
from tests.kube.statuses import (
    Cause,
    Refusal,
    bad_request,
    expired,
    forbidden_value,
    internal_error,
    invalid,
    not_found,
    unsupported_value,
)
from tests.kube.store import Compacted, Stored

Query = Mapping[str, str]
_TOO_OLD = "The resourceVersion for the provided list is too old."
_STALE_PAGE = (
    "The provided continue parameter is too old to display a consistent list result. You can "
    "start a new list without the continue parameter, or use the continue token in this response "
    "to retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list."
)


def is_true(query: Query, name: str) -> bool:
    return query.get(name, "").lower() in {"true", "1"}


def parse_version(text: str) -> int:
    """A resourceVersion of a query.

    Raises:
        Refusal: 500, as the server has it, for what is no number.

    """
    if not text.isdigit():
        raise internal_error(
            f'resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": '
            "invalid syntax"
        )
    return int(text)


def check_options(query: Query, *, watch: bool) -> None:
    """The rules between resourceVersion, its match and sendInitialEvents.

    Raises:
        Refusal: 422.

    """
    match, version = query.get("resourceVersionMatch", ""), query.get("resourceVersion", "")
    path = "resourceVersionMatch"
    causes: list[Cause] = []
    if "sendInitialEvents" in query and not watch:
        why = "sendInitialEvents is forbidden for list"
        causes.append(forbidden_value("sendInitialEvents", why))
    elif watch and "sendInitialEvents" in query:
        if match != "NotOlderThan":
            why = "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"
            causes.append(forbidden_value(path, why))
        if match not in {"", "NotOlderThan"}:
            causes.append(unsupported_value(path, f'"{match}"', ["NotOlderThan"]))
    elif watch and match:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(forbidden_value(path, why))
    elif match and not version:
        why = "resourceVersionMatch is forbidden unless resourceVersion is provided"
        causes.append(forbidden_value(path, why))
    elif match not in {"", "Exact", "NotOlderThan"}:
        causes.append(unsupported_value(path, f'"{match}"', ["Exact", "NotOlderThan", ""]))
    elif match == "Exact" and version == "0":
        why = 'resourceVersionMatch "exact" is forbidden for resourceVersion "0"'
        causes.append(forbidden_value(path, why))
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", causes)


def selection(target: Target, query: Query) -> Test | None:
    """The test of labels and fields a list or watch asks for."""
    return both(
        label_test(query.get("labelSelector", "")),
        field_test(target.kind, query.get("fieldSelector", "")),
    )


def _check_future(cluster: Cluster, version: int) -> None:
    if version > cluster.store.version:
        message = (
            f"Timeout: Too large resource version: {version}, current: {cluster.store.version}"
        )
        cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
        details = {"causes": [cause], "retryAfterSeconds": 1}
        raise Refusal(504, "Timeout", message, details, {"Retry-After": "1"})


def get(cluster: Cluster, target: Target, query: Query) -> Stored:
    """One object.

    Raises:
        Refusal: 404, or 504 for a version from the future.

    """
    version = query.get("resourceVersion", "")
    if version:
        _check_future(cluster, parse_version(version))
    found = cluster.store.get(target.kind, target.key)
    if found is None:
        raise not_found(target.kind.group, target.kind.plural, target.name)
    return found


@dataclass(frozen=True)
class Listing:
    """One page: the objects, the version it is of, and how to go on."""

    items: list[Stored]
    version: int
    token: str = ""
    remaining: int | None = None


def _encode_token(version: int, start: str) -> str:
    text = json.dumps({"v": "meta.k8s.io/v1", "rv": version, "start": start})
    return base64.urlsafe_b64encode(text.encode()).decode().rstrip("=")


def _decode_token(token: str) -> tuple[int, str]:
    try:
        raw = base64.urlsafe_b64decode(token + "=" * (-len(token) % 4))
        read = json.loads(raw)
        return int(read["rv"]), str(read["start"])
    except (ValueError, KeyError, TypeError):
        raise bad_request(
            "invalid continue token: continue key is not valid: invalid character '\\u009e' "
            "looking for beginning of value"
        ) from None


def _snapshot(cluster: Cluster, target: Target, version: int) -> Iterable[Stored]:
    state = cluster.store.at(target.kind, version)
    chosen = (state[key] for key in sorted(state))
    return [each for each in chosen if target.namespace in {"", each.key[0]}]


def _list_at(cluster: Cluster, target: Target, query: Query) -> int | None:
    """The version a list is of, or None for the newest."""
    text, match = query.get("resourceVersion", ""), query.get("resourceVersionMatch", "")
    if not text:
        return None
    version = parse_version(text)
    _check_future(cluster, version)
    exact = match == "Exact" or (not match and "limit" in query and version > 0)
    return version if exact else None


def list_objects(cluster: Cluster, target: Target, query: Query) -> Listing:
    """A list or a page of it; namespace "" is all namespaces.

    Raises:
        Refusal: 400 for a bad token, 410 for an expired one, 422 for options that clash.

    """
    check_options(query, watch=False)
    test = selection(target, query)
    start, version, token = "", _list_at(cluster, target, query), query.get("continue", "")
    if token:
        if query.get("resourceVersion"):
            raise bad_request("specifying resource version is not allowed when using continue")
        version, start = _decode_token(token)
        if version < 0:
            version = None
    try:
        if version is None:
            namespace = target.namespace or None
            found: Iterable[Stored] = cluster.store.all(target.kind, namespace)
            version = cluster.store.version
        else:
            found = _snapshot(cluster, target, version)
    except Compacted:
        if token:
            raise expired(_STALE_PAGE, {"continue": _encode_token(-1, start)}) from None
        raise expired(_TOO_OLD) from None
    return _page(found, version, test, start, query)


def _page(
    found: Iterable[Stored], version: int, test: Test | None, start: str, query: Query
) -> Listing:
    items = [each for each in found if test is None or test(each.body)]
    if start:
        items = [each for each in items if "/".join(each.key) >= start]
    limit = int(query.get("limit") or 0)
    if limit <= 0 or len(items) <= limit:
        return Listing(items, version)
    following = "/".join(items[limit].key)
    remaining = len(items) - limit if test is None else None
    return Listing(items[:limit], version, _encode_token(version, following), remaining)


def encode_list(target: Target, listing: Listing) -> bytes:
    """The body of a list, put together from the encoded objects."""
    metadata: dict[str, object] = {"resourceVersion": str(listing.version)}
    if listing.token or target.kind.custom:
        metadata["continue"] = listing.token
    if listing.remaining is not None:
        metadata["remainingItemCount"] = listing.remaining
    kind = target.kind
    head = (
        f'{{"kind":"{kind.name}List","apiVersion":"{kind.api_version}",'
        f'"metadata":{json.dumps(metadata, separators=(",", ":"))},"items":['
    )
    whole = kind.custom  # custom objects keep kind and apiVersion inside a list
    items = (each.encoded_alone() if whole else each.encoded() for each in listing.items)
    return head.encode() + b",".join(items) + b"]}"
