"""Label and field selectors, as text and as LabelSelector."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from tests.kube.documents import Json, dig, labels_of
from tests.kube.kinds import Kind
from tests.kube.statuses import bad_request

Test = Callable[[Json], bool]
_SET = re.compile(r"^\s*([^\s!=,()]+)\s+(in|notin)\s*\(([^)]*)\)\s*$")
_EQUAL = re.compile(r"^\s*([^\s!=,()]+)\s*(==|=|!=)\s*([^\s!=,()]*)\s*$")
_EXISTS = re.compile(r"^\s*(!?)\s*([^\s!=,()<>]+)\s*$")


def _split(text: str) -> list[str]:
    """Split at commas that are not inside brackets."""
    parts, depth, current = [], 0, ""
    for char in text:
        depth += {"(": 1, ")": -1}.get(char, 0)
        if char == "," and depth == 0:
            parts.append(current)
            current = ""
        else:
            current += char
    return [*parts, current]


def _one_label(part: str) -> Test:
    if match := _SET.match(part):
        key, word, listed = match.groups()
        values = frozenset(value.strip() for value in listed.split(","))
        if word == "in":
            return lambda labels: labels.get(key) in values
        return lambda labels: labels.get(key) not in values
    if match := _EQUAL.match(part):
        key, sign, value = match.groups()
        if sign == "!=":
            return lambda labels: labels.get(key) != value
        return lambda labels: labels.get(key) == value
    if match := _EXISTS.match(part):
        absent, key = match.groups()
        return lambda labels: (key in labels) != bool(absent)
    open_set = re.match(r"^\s*\S+\s+(?:in|notin)\s+([^(\s]\S*)", part)
    if open_set:
        raise bad_request(f"unable to parse requirement: found '{open_set.group(1)}' expected: '('")
    if "(" in part:
        raise bad_request("unable to parse requirement: found '', expected: ',' or ')'")
    raise bad_request(f"unable to parse requirement: found '{part}', expected: ',' or ')'")


def label_test(text: str) -> Test | None:
    """A test of an object by a labelSelector, or None where all pass.

    Raises:
        Refusal: 400 where the text is no selector.

    """
    if not text:
        return None
    tests = [_one_label(part) for part in _split(text)]
    return lambda body: all(test(labels_of(body)) for test in tests)


def _field_value(body: Json, label: str) -> str:
    value = dig(body, label)
    if label == "spec.unschedulable":
        return "true" if value else "false"
    if label == "status.successful":
        value = dig(body, "status.succeeded", 0)
    if label == "status.replicas":
        value = dig(body, label, 0)
    if label == "spec.hostNetwork":
        return "true" if value else "false"
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def field_test(kind: Kind, text: str) -> Test | None:
    """A test of an object by a fieldSelector, or None where all pass.

    Raises:
        Refusal: 400 where a label is not selectable for the kind.

    """
    if not text:
        return None
    terms: list[tuple[str, bool, str]] = []
    for part in text.split(","):
        match = re.match(r"^([^!=]+)(==|=|!=)(.*)$", part)
        if match is None:
            raise bad_request(f"invalid field selector: {part!r}")
        label, sign, value = match.groups()
        if label not in kind.field_labels:
            raise bad_request(_unsupported(kind, label))
        terms.append((label, sign != "!=", value))
    return lambda body: all((_field_value(body, f) == v) is same for f, same, v in terms)


def _unsupported(kind: Kind, label: str) -> str:
    if kind.field_labels == ("metadata.name", "metadata.namespace") and not kind.custom:
        allowed = 'only "metadata.name", "metadata.namespace"'
        return f'"{label}" is not a known field selector: {allowed}'
    if kind.custom or not kind.names_kind:
        return f"field label not supported: {label}"
    return f'field label "{label}" not supported for {kind.name}'


def both(*tests: Test | None) -> Test | None:
    """One test out of several, or None where there is none."""
    present = [test for test in tests if test is not None]
    if not present:
        return None
    return lambda body: all(test(body) for test in present)


def selects(selector: Any, labels: dict[str, str]) -> bool:
    """Whether a LabelSelector (matchLabels, matchExpressions) selects these labels."""
    if selector is None:
        return False
    wanted: dict[str, str] = selector.get("matchLabels") or {}
    if any(labels.get(key) != value for key, value in wanted.items()):
        return False
    return all(_expression(each, labels) for each in selector.get("matchExpressions") or [])


def _expression(expression: Json, labels: dict[str, str]) -> bool:
    key, operator = expression["key"], expression["operator"]
    values: list[str] = expression.get("values") or []
    match operator:
        case "In":
            return labels.get(key) in values
        case "NotIn":
            return labels.get(key) not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case "Gt":
            return key in labels and int(labels[key]) > int(values[0])
        case "Lt":
            return key in labels and int(labels[key]) < int(values[0])
    return False
