"""Bodies in the API's own binary form, which `kubectl create` sends: read into plain documents.

Only the messages that kubectl sends in that form are known, with the field numbers of the API.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterator
from datetime import UTC, datetime

from tests.kube.clock import to_wire
from tests.kube.documents import Json
from tests.kube.statuses import bad_request, unsupported_media

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
_MAGIC = b"k8s\x00"
_VARINT, _BYTES = 0, 2
Fields = dict[int, tuple[str, str]]

# Number of a field to its name and form: a plain one, 'map' or 'data' (text or bytes by name), the
# name of another message; '[]' before it where there are several.
_MESSAGES: dict[str, Fields] = {
    "Unknown": {1: ("typeMeta", "TypeMeta"), 2: ("raw", "bytes")},
    "TypeMeta": {1: ("apiVersion", "text"), 2: ("kind", "text")},
    "ObjectMeta": {
        1: ("name", "text"),
        2: ("generateName", "text"),
        3: ("namespace", "text"),
        5: ("uid", "text"),
        6: ("resourceVersion", "text"),
        8: ("creationTimestamp", "Time"),
        11: ("labels", "map"),
        12: ("annotations", "map"),
        14: ("finalizers", "[]text"),
    },
    "Namespace": {1: ("metadata", "ObjectMeta")},
    "ServiceAccount": {1: ("metadata", "ObjectMeta")},
    "ConfigMap": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "map"),
        3: ("binaryData", "data"),
        4: ("immutable", "bool"),
    },
    "Secret": {
        1: ("metadata", "ObjectMeta"),
        2: ("data", "data"),
        3: ("type", "text"),
        4: ("stringData", "map"),
        5: ("immutable", "bool"),
    },
    "Eviction": {1: ("metadata", "ObjectMeta"), 2: ("deleteOptions", "DeleteOptions")},
    "DeleteOptions": {
        1: ("gracePeriodSeconds", "number"),
        2: ("preconditions", "Preconditions"),
        4: ("propagationPolicy", "text"),
        5: ("dryRun", "[]text"),
    },
    "Preconditions": {1: ("uid", "text"), 2: ("resourceVersion", "text")},
    "SelfSubjectReview": {1: ("metadata", "ObjectMeta")},
    "SelfSubjectRulesReview": {2: ("spec", "RulesSpec")},
    "RulesSpec": {1: ("namespace", "text")},
    "SelfSubjectAccessReview": {2: ("spec", "AccessSpec")},
    "AccessSpec": {
        1: ("resourceAttributes", "ResourceAttributes"),
        2: ("nonResourceAttributes", "PathAttributes"),
    },
    "ResourceAttributes": {
        1: ("namespace", "text"),
        2: ("verb", "text"),
        3: ("group", "text"),
        4: ("version", "text"),
        5: ("resource", "text"),
        6: ("subresource", "text"),
        7: ("name", "text"),
    },
    "PathAttributes": {1: ("path", "text"), 2: ("verb", "text")},
}


def read(body: bytes) -> Json:
    """The document of a body.

    Raises:
        Refusal: 400 for another form, 415 for a kind whose numbers are not known here.

    """
    if not body.startswith(_MAGIC):
        raise bad_request("provided data does not appear to be a protobuf message")
    whole = _read_message("Unknown", body[len(_MAGIC) :])
    head = whole["typeMeta"]
    if head["kind"] not in _MESSAGES:
        raise unsupported_media(f"the emulator does not read protobuf of kind {head['kind']}")
    return {**head, **_read_message(head["kind"], whole.get("raw", b""))}


def _read_message(message: str, raw: bytes) -> Json:
    """The fields that are known and not empty."""
    made: Json = {}
    for number, value in _fields(raw):
        name, form = _MESSAGES[message].get(number, ("", ""))
        if not name:
            continue
        if form in {"map", "data"}:
            key, text = _entry(value, form)
            made.setdefault(name, {})[key] = text
        elif form.startswith("[]"):
            made.setdefault(name, []).append(_value(form[2:], value))
        elif (found := _value(form, value)) not in ("", {}, None):
            made[name] = found
    return made


def _value(form: str, value: bytes | int) -> object:
    if isinstance(value, int):
        return bool(value) if form == "bool" else value
    if form == "text":
        return value.decode()
    if form == "bytes":
        return value
    if form == "Time":
        seconds = dict(_fields(value)).get(1)
        return to_wire(datetime.fromtimestamp(seconds, UTC)) if isinstance(seconds, int) else None
    return _read_message(form, value)


def _entry(value: bytes | int, form: str) -> tuple[str, str]:
    """Key and value of one entry of a map."""
    parts = dict(_fields(value)) if isinstance(value, bytes) else {}
    key, held = (part if isinstance(part, bytes) else b"" for part in map(parts.get, (1, 2)))
    return key.decode(), b64encode(held).decode() if form == "data" else held.decode()


def _fields(raw: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Numbers and values of a message, in order.

    Raises:
        Refusal: 400 for what is cut off, or of a form that the API does not use.

    """
    place = 0
    try:
        while place < len(raw):
            tag, place = _number(raw, place)
            value, place = _number(raw, place)
            if tag & 7 != _VARINT:
                raw[place + value - 1]  # is there, or the message was cut off
                yield tag >> 3, raw[place : place + value]
                place += value
            else:
                yield tag >> 3, value
    except IndexError:
        raise bad_request("proto: unexpected end of the message") from None


def _number(raw: bytes, place: int) -> tuple[int, int]:
    """A number of variable length, and the place after it."""
    number = shift = 0
    while True:
        byte = raw[place]
        number |= (byte & 0x7F) << shift
        place, shift = place + 1, shift + 7
        if not byte & 0x80:
            return number, place
