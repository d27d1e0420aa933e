"""CEL as admission policies use it, evaluated by the celpy library.

`Object{...}` and `JSONPatch{...}` of mutations are read as plain maps. The authorizer is a chain of
methods that ends in the rights of the person who asks.
"""

from __future__ import annotations

import json
import re
from functools import cache
from typing import Any

import celpy
from celpy import celtypes
from celpy.adapter import CELJSONEncoder, json_to_cel
from celpy.celparser import CELParseError
from celpy.evaluation import CELEvalError

from tests.kube.documents import Json
from tests.kube.rights import Access, Person

_TYPE = re.compile(r"\b(?:Object(?:\.\w+)*|JSONPatch)\{")
_FIELD = re.compile(r"([{,]\s*)([A-Za-z_]\w*)\s*:")
_ENVIRONMENT = celpy.Environment()


class Failed(Exception):
    """An expression that could not be evaluated; the text is the server's."""


class Malformed(Exception):
    """An expression that is no CEL."""


def _plain(expression: str) -> str:
    """Typed literals as maps with text keys; only mutations have them."""
    if _TYPE.search(expression) is None:
        return expression
    return _FIELD.sub(r'\1"\2":', _TYPE.sub("{", expression))


@cache
def _compiled(expression: str) -> Any:
    try:
        return _ENVIRONMENT.compile(_plain(expression))
    except CELParseError as error:
        raise Malformed(str(error)) from None


def check(expression: str) -> None:
    """Pass what is CEL.

    Raises:
        Malformed: a syntax error.

    """
    _compiled(expression)


def _step(name: str) -> Any:
    def take(chain: celtypes.MapType, value: celtypes.StringType) -> celtypes.MapType:
        longer = celtypes.MapType(dict(chain.items()))
        longer[celtypes.StringType(name)] = value
        return longer

    return take


def _authorizer(person: Person) -> dict[str, Any]:
    def allowed(chain: celtypes.MapType) -> celtypes.BoolType:
        asked = {str(key): str(value) for key, value in chain.items()}
        names = ("check", "group", "resource", "subresource", "namespace", "name")
        access = Access(*(asked.get(name, "") for name in names))
        return celtypes.BoolType(person.may(access))

    steps = ("group", "resource", "subresource", "namespace", "name", "check")
    return {**{name: _step(name) for name in steps}, "allowed": allowed}


def _operation(body: Json | None, before: Json | None) -> str:
    if body is None:
        return "DELETE"
    return "CREATE" if before is None else "UPDATE"


class Scope:
    """The variables of one request; `variables` of a policy are added as they are evaluated."""

    def __init__(
        self,
        person: Person,
        body: Json | None,
        before: Json | None,
        namespace: Json | None = None,
    ) -> None:
        info = {"username": person.name, "groups": list(person.groups)}
        self._values: dict[str, Any] = {
            "object": json_to_cel(body),
            "oldObject": json_to_cel(before),
            "namespaceObject": json_to_cel(namespace),
            "request": json_to_cel({"userInfo": info, "operation": _operation(body, before)}),
            "authorizer": celtypes.MapType({}),
            "variables": celtypes.MapType({}),
        }
        self._functions = _authorizer(person)

    def define(self, name: str, expression: str) -> None:
        """A variable of the policy; one that fails counts only where it is used."""
        try:
            self._values["variables"][celtypes.StringType(name)] = self._run(expression)
        except CELEvalError as error:
            self._values["variables"][celtypes.StringType(name)] = error

    def _run(self, expression: str) -> Any:
        program = _ENVIRONMENT.program(_compiled(expression), functions=self._functions)
        return program.evaluate(self._values)

    def evaluate(self, expression: str) -> Any:
        """The value as JSON.

        Raises:
            Failed: a key is missing, or types do not fit.

        """
        try:
            value = self._run(expression)
            _raise_inner(value)
        except CELEvalError as error:
            raise Failed(_explained(expression, error)) from None
        return json.loads(json.dumps(value, cls=CELJSONEncoder))


def holds(expression: str, now: Json, before: Json | None) -> bool:
    """Whether a rule of a schema holds; a rule about `oldSelf` holds where there is none."""
    if before is None and "oldSelf" in expression:
        return True
    values = {"self": json_to_cel(now), "oldSelf": json_to_cel(before)}
    try:
        return bool(_ENVIRONMENT.program(_compiled(expression)).evaluate(values))
    except CELEvalError:
        return False


def _raise_inner(value: Any) -> None:
    """The library leaves the error of a part as a value inside maps and lists."""
    if isinstance(value, CELEvalError):
        raise value
    if isinstance(value, dict):
        for item in value.values():
            _raise_inner(item)
    elif isinstance(value, list):
        for item in value:
            _raise_inner(item)


def _explained(expression: str, error: CELEvalError) -> str:
    """The server names the missing key; the library only sometimes does."""
    text = str(error.args[0])
    named = re.search(r"no such member in mapping: '(\w+)'", text)
    if named:
        return f"no such key: {named.group(1)}"
    if text == "no such key" and error.args[2]:
        return f"no such key: {error.args[2][0]}"
    lost = re.search(r"\.(\w+)\[", expression)
    return f"no such key: {lost.group(1)}" if lost and "CELEvalError" in text else text
