"""Recordings of a real API server: reading them, and comparing answers to them.

Placeholders (`<uid-1>`, `<rv-3>`, `<time>`...) stand for values that differ from run to run. Within
one scenario the same placeholder stands for the same value.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.kube.documents import Json, copy_of

FOLDER = Path(__file__).parent / "recordings"
# Bound to one value each; the others (<time>, <pod-ip>...) match anything of their form.
_BOUND = re.compile(r"<(?:uid|sfx|continue|hash|event)-\d+>|<sfx>")
_VERSION = re.compile(r"<rv-\d+>")
_ANY = {
    "<time>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ?",
    "<microtime>": r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z?",
}
_FORMS = {
    "uid": r"[0-9a-f-]{36}",
    "sfx": r"[a-z0-9]{5}",
    "continue": r"[A-Za-z0-9_-]+",
    "hash": r"[a-z0-9]{5,10}",
    "event": r"[0-9a-f.]+",
    "rv": r"\d+",
}
_TOKEN = re.compile(r"<([a-z]+(?:-[a-z]+)?)(?:-(\d+))?(\+\d+s)?>")
# What Go prints of its own structures is not compared, only the sentence after it.
_DUMP = re.compile(r'Invalid value: (?:"\{.*?\}"|\[?\{.*?\}\]?|null): (?=[a-z`])', re.DOTALL)
_DIFF = re.compile(r"(previously negative\))\n.*", re.DOTALL)
_CHOSEN = re.compile(r"(Successfully assigned \S+ to) n\d$")
_CUT = re.compile(r"…<\d+ characters left out>…")
_LONG = re.compile(r"(.)… \((\d+) times\)")
_ABSENT_HERE = "openshift-service-ca.crt"  # added by the distribution, not by Kubernetes


@dataclass
class Step:
    """One request and what was answered."""

    number: int
    note: str
    request: Json
    status: int
    body: Any
    headers: dict[str, str]
    trimmed: str
    events: list[Json] | None
    closed_by: str = ""
    closed_after: int = -1


@dataclass
class Scenario:
    name: str
    steps: list[Step] = field(default_factory=list)


def _name_hashes(text: str) -> str:
    """Hashes of templates follow from the real server's code: here they are placeholders."""
    found = re.findall(r'"pod-template-hash": ?"([a-z0-9]+)"', text)
    found += re.findall(r'"controller-revision-hash": ?"[a-z]+-([a-z0-9]+)"', text)
    found += re.findall(r"\bweb-([a-z0-9]{9,10})\b", text)
    for number, mark in enumerate(dict.fromkeys(found), start=1):
        text = text.replace(mark, f"<hash-{number}>")
    return text


def names() -> list[str]:
    return sorted(path.stem for path in FOLDER.glob("*.json"))


def load(name: str) -> Scenario:
    """One scenario by the name of its file."""
    read = json.loads(_name_hashes((FOLDER / f"{name}.json").read_text()))
    steps = []
    for number, each in enumerate(read["steps"]):
        answer = each["response"]
        steps.append(
            Step(
                number,
                each.get("note", ""),
                each["request"],
                answer["status"],
                answer.get("body"),
                answer.get("headers", {}),
                each.get("trimmed", ""),
                each.get("events"),
                each.get("closed_by", ""),
                each.get("closed_after_step", -1),
            )
        )
    return Scenario(name, steps)


class Mismatch(Exception):
    """An answer differs from the recording; the text says where and how."""


class Bindings:
    """What the placeholders of one scenario stand for, so far."""

    def __init__(self) -> None:
        self.values: dict[str, str] = {}
        self.lists: dict[str, str] = {}  # versions of lists, for watches to start from

    def copy(self) -> Bindings:
        other = Bindings()
        other.values, other.lists = dict(self.values), dict(self.lists)
        return other

    def fill(self, value: Any, unknown: dict[str, str]) -> Any:
        """A request with the placeholders replaced; unknown ones by a value of their form."""
        if isinstance(value, dict):
            return {self.fill(k, unknown): self.fill(v, unknown) for k, v in value.items()}
        if isinstance(value, list):
            return [self.fill(each, unknown) for each in value]
        if not isinstance(value, str):
            return value

        def put(match: re.Match[str]) -> str:
            token = match.group(0)
            if token in self.values:
                return self.values[token]
            if token in self.lists:
                return self.lists[token]
            found = unknown.get(match.group(1))
            return token if found is None else found

        long = _LONG.fullmatch(value)
        if long is not None:
            return long.group(1) * int(long.group(2))
        text = _TOKEN.sub(put, value)
        return text.replace("Z+00:00", "+00:00")

    def match_text(self, expected: str, actual: str, path: str) -> None:
        """Raises Mismatch where the text is another, else binds new placeholders."""
        if expected == actual:
            return
        expected, actual = _plain(expected), _plain(actual)
        cut = _CUT.split(expected)
        pattern, tokens = "", []
        for place, part in enumerate(cut):
            pattern += ".*" if place else ""
            at = 0
            for match in _TOKEN.finditer(part):
                pattern += re.escape(part[at : match.start()])
                at = match.end()
                token, form = match.group(0), match.group(1)
                if token in self.values:
                    pattern += re.escape(self.values[token])
                elif form in _FORMS and match.group(2):
                    pattern += f"({_FORMS[form]})"
                    tokens.append(token)
                else:
                    pattern += _ANY.get(token, _ANY["<time>"] if form == "time" else ".+?")
            pattern += re.escape(part[at:])
        found = re.fullmatch(pattern, actual, re.DOTALL)
        if found is None:
            raise Mismatch(f"{path}: {actual!r} instead of {expected!r}")
        for token, value in zip(tokens, found.groups(), strict=True):
            self._bind(token, value, path)

    def _bind(self, token: str, value: str, path: str) -> None:
        if self.values.setdefault(token, value) != value:
            raise Mismatch(f"{path}: {token} is {self.values[token]} and not {value}")

    def match(self, expected: Any, actual: Any, path: str) -> None:
        """Compare structures; what the recording leaves out by name is not looked at.

        Raises:
            Mismatch: they differ.

        """
        last = path.rsplit(".", 1)[-1]
        if isinstance(expected, dict):
            self._match_map(expected, actual, path)
        elif isinstance(expected, list):
            if last in {"conditions", "managedFields", "causes", "taints", "rules"}:
                expected, actual = _sorted(expected), _sorted(actual)
            self._match_list(expected, actual, path)
        elif isinstance(expected, str):
            if path.endswith("involvedObject.resourceVersion"):
                return  # of the copy the controller had in its cache
            if expected == "<left out>" or (last == "nodeName" and actual):
                return  # which of several nodes that fit the scheduler takes is chance
            if not isinstance(actual, str):
                raise Mismatch(f"{path}: {actual!r} instead of {expected!r}")
            self.match_text(expected, actual, path)
        elif expected != actual or isinstance(expected, bool) != isinstance(actual, bool):
            raise Mismatch(f"{path}: {actual!r} instead of {expected!r}")

    def _match_map(self, expected: Json, actual: Any, path: str) -> None:
        if not isinstance(actual, dict):
            raise Mismatch(f"{path}: {actual!r} instead of an object")
        if expected.get("fieldsV1") == "<left out>":
            actual = {k: v for k, v in actual.items() if k in expected}
        missing, more = expected.keys() - actual.keys(), actual.keys() - expected.keys()
        if missing or more:
            raise Mismatch(f"{path}: without {sorted(missing)}, with {sorted(more)} more")
        for key, value in expected.items():
            self.match(value, actual[key], f"{path}.{key}")

    def _match_list(self, expected: list[Any], actual: Any, path: str) -> None:
        if not isinstance(actual, list) or len(actual) != len(expected):
            count = len(actual) if isinstance(actual, list) else actual
            raise Mismatch(f"{path}: {count} items instead of {len(expected)}")
        if path == "body.items" and _has_chance_order(expected):
            self._match_any_order(expected, list(actual), path)
            return
        for place, each in enumerate(expected):
            self.match(each, actual[place], f"{path}[{place}]")

    def _match_any_order(self, expected: list[Any], actual: list[Any], path: str) -> None:
        """Events: their names are random, and so is their order."""
        for place, each in enumerate(expected):
            why = ""
            for candidate in actual:
                trial = self.copy()
                try:
                    trial.match(each, candidate, f"{path}[{place}]")
                except Mismatch as problem:
                    why = str(problem)
                    continue
                self.values = trial.values
                actual.remove(candidate)
                break
            else:
                shown = each.get("reason"), each.get("message")
                name = each.get("metadata", {}).get("name")
                raise Mismatch(f"{path}[{place}]: nothing like {name} {shown}; {why}")


def _has_chance_order(items: list[Any]) -> bool:
    """Lists are sorted by name, so generated names come in an order of chance."""
    return any("<" in str(each.get("metadata", {}).get("name", "")) for each in items)


def _plain(text: str) -> str:
    text = _DUMP.sub("Invalid: ", text)
    return _CHOSEN.sub(r"\1 some node", _DIFF.sub(r"\1", text))


def _sorted(items: Any) -> Any:
    """Lists whose order says nothing, in an order of their own."""

    def key(item: Any) -> str:
        if not isinstance(item, dict):
            return str(item)
        named = ("type", "manager", "operation", "subresource", "key", "effect", "field", "message")
        return "|".join(_plain(str(item.get(each, ""))) for each in named)

    return sorted(items, key=key) if isinstance(items, list) else items


_NOTHING = object()


def _pick(source: Any, paths: list[list[str]]) -> Any:
    """The parts of an object at some paths."""
    picked: Json = {}
    for steps in paths:
        found = source
        for step in steps:
            found = found.get(step, _NOTHING) if isinstance(found, dict) else _NOTHING
        if found is _NOTHING:
            continue
        into = picked
        for step in steps[:-1]:
            into = into.setdefault(step, {})
        into[steps[-1]] = copy_of(found)
    return picked


_HEAD = [["kind"], ["apiVersion"]]


def _name_of(item: Any) -> str:
    """What discovery calls a group or a resource."""
    return str(item.get("name") or (item.get("metadata") or {}).get("name"))


def _keep(found: Any, expected: Any) -> Any:
    """Of groups, resources or paths only those that the recording has."""
    if isinstance(found, dict):
        return {name: each for name, each in found.items() if name in expected}
    names = {_name_of(each) for each in expected}
    return [each for each in found if _name_of(each) in names]


def project(trimmed: str, body: Any, expected: Any = None) -> Any:
    """An answer cut as the recording was cut."""
    what, _, listed = trimmed.partition(" reduced to: ")
    if not isinstance(body, dict):
        return body
    if not listed:
        part, _, some = trimmed.partition(" reduced to ")
        if some and part in body and isinstance(expected, dict):
            return {**body, part: _keep(body[part], expected[part])}
        return body
    paths = [part.strip().split(".") for part in listed.split(",")]
    if what == "body":
        return _pick(body, _HEAD + paths)
    if what == "items" and "items" in body:
        return {**body, "items": [_pick(each, paths) for each in body["items"]]}
    if what == "event objects":
        return _pick(body, _HEAD + paths)
    return body


def clean(value: Any) -> Any:
    """A recorded or real answer without what the distribution adds."""
    if isinstance(value, dict):
        return {key: clean(each) for key, each in value.items()}
    if isinstance(value, list):
        return [clean(each) for each in value if not _is_foreign(each)]
    return value


def _is_foreign(item: Any) -> bool:
    if not isinstance(item, dict):
        return False
    name = (item.get("metadata") or {}).get("name") if "metadata" in item else None
    mounted = (item.get("configMap") or {}).get("name") if "configMap" in item else None
    return _ABSENT_HERE in {name, mounted}
