"""The refusals of an API server as exceptions that carry their Status body."""

from __future__ import annotations

from dataclasses import dataclass, field

from tests.kube.documents import Json


@dataclass
class Refusal(Exception):
    """An answer other than success; `plain` is a text body where the server sends no Status."""

    code: int
    reason: str
    message: str
    details: Json | None = None
    headers: dict[str, str] = field(default_factory=dict)
    metadata: Json = field(default_factory=dict)
    plain: str | None = None

    def body(self) -> Json:
        status: Json = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            status["reason"] = self.reason
        if self.details is not None:
            status["details"] = self.details
        status["code"] = self.code
        return status


@dataclass(frozen=True)
class Cause:
    """One field of an invalid object: reason as the server spells it, without 'FieldValue'."""

    field: str
    reason: str
    message: str

    def to_wire(self) -> Json:
        return {"reason": self.reason, "message": self.message, "field": self.field}


def invalid_value(path: str, shown: str, why: str) -> Cause:
    return Cause(path, "FieldValueInvalid", f"Invalid value: {shown}: {why}")


def required_value(path: str, why: str = "") -> Cause:
    return Cause(path, "FieldValueRequired", "Required value" + (f": {why}" if why else ""))


def forbidden_value(path: str, why: str) -> Cause:
    return Cause(path, "FieldValueForbidden", f"Forbidden: {why}")


def duplicate_value(path: str, shown: str) -> Cause:
    return Cause(path, "FieldValueDuplicate", f"Duplicate value: {shown}")


def unsupported_value(path: str, shown: str, allowed: list[str]) -> Cause:
    listed = ", ".join(f'"{each}"' for each in allowed)
    return Cause(
        path, "FieldValueNotSupported", f"Unsupported value: {shown}: supported values: {listed}"
    )


def _about(group: str, kind: str, name: str, **more: object) -> Json:
    details: Json = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    if kind:
        details["kind"] = kind
    return {**details, **more}


def qualified(group: str, kind: str) -> str:
    return f"{kind}.{group}" if group else kind


def not_found(group: str, plural: str, name: str) -> Refusal:
    message = f'{qualified(group, plural)} "{name}" not found'
    return Refusal(404, "NotFound", message, _about(group, plural, name))


def already_exists(group: str, plural: str, name: str) -> Refusal:
    message = f'{qualified(group, plural)} "{name}" already exists'
    return Refusal(409, "AlreadyExists", message, _about(group, plural, name))


def conflict(group: str, plural: str, name: str, why: str) -> Refusal:
    message = f'Operation cannot be fulfilled on {qualified(group, plural)} "{name}": {why}'
    return Refusal(409, "Conflict", message, _about(group, plural, name))


STALE = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


def bad_request(message: str) -> Refusal:
    return Refusal(400, "BadRequest", message)


def forbidden(group: str, plural: str, name: str, why: str) -> Refusal:
    quoted = f' "{name}"' if name else ""
    message = f"{qualified(group, plural)}{quoted} is forbidden: {why}"
    return Refusal(403, "Forbidden", message, _about(group, plural, name))


def invalid(group: str, kind: str, name: str, causes: list[Cause]) -> Refusal:
    """422 with one cause per field; several are shown in brackets."""
    shown = list(dict.fromkeys(f"{cause.field}: {cause.message}" for cause in causes))
    listed = shown[0] if len(shown) == 1 else "[" + ", ".join(shown) + "]"
    message = f'{qualified(group, kind)} "{name}" is invalid: {listed}'
    wired = [cause.to_wire() for cause in causes]
    return Refusal(422, "Invalid", message, _about(group, kind, name, causes=wired))


def no_such_page(*, watch: bool = False) -> Refusal:
    plain = "404 page not found" + ("" if watch else "\n")
    return Refusal(404, "NotFound", "404 page not found", plain=plain)


def no_such_resource() -> Refusal:
    return Refusal(404, "NotFound", "the server could not find the requested resource", {})


def unsupported_media(message: str) -> Refusal:
    return Refusal(415, "UnsupportedMediaType", message)


def expired(message: str, metadata: Json | None = None) -> Refusal:
    return Refusal(410, "Expired", message, metadata=metadata or {})


def not_allowed() -> Refusal:
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, {})


def internal_error(message: str) -> Refusal:
    return Refusal(500, "", message)


def unauthorized() -> Refusal:
    return Refusal(401, "Unauthorized", "Unauthorized")
