"""Column types that give the same values back on every database."""

from __future__ import annotations

import datetime as dt
import enum
import json
import re
from collections.abc import Mapping
from typing import Any

from pydantic import TypeAdapter
from sqlalchemy import DateTime, Dialect, Text
from sqlalchemy.types import TypeDecorator

_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class Instant(TypeDecorator[dt.datetime]):
    """A moment, aware and in UTC, to the microsecond.

    SQLite has no zones: it keeps UTC without saying so. A naive datetime raises ValueError,
    since nobody could tell which instant is meant.
    """

    impl = DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: dt.datetime | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        if value.utcoffset() is None:
            msg = f"a stored time needs its zone: {value!r}"
            raise ValueError(msg)
        moment = value.astimezone(dt.UTC)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(self, value: Any, dialect: Dialect) -> dt.datetime | None:
        if value is None:
            return None
        moment: dt.datetime = value
        if moment.tzinfo is None:
            return moment.replace(tzinfo=dt.UTC)
        return moment.astimezone(dt.UTC)


class Choice(TypeDecorator[enum.StrEnum]):
    """A member of a StrEnum, kept as its value: a new member needs no migration."""

    impl = Text
    cache_ok = True

    def __init__(self, members: type[enum.StrEnum]) -> None:
        super().__init__()
        self.members = members

    def process_bind_param(self, value: enum.StrEnum | None, dialect: Dialect) -> str | None:
        return None if value is None else self.members(value).value

    def process_result_value(self, value: str | None, dialect: Dialect) -> enum.StrEnum | None:
        return None if value is None else self.members(value)


class Packed(TypeDecorator[Any]):
    """A frozen dataclass as JSON text, exact both ways.

    A field that was added later reads as its default from older rows; a field that a later
    version wrote is passed over. Numbers that JSON cannot say (infinity) and values of the
    wrong type raise ValueError when they are written.
    """

    impl = Text
    cache_ok = True

    def __init__(self, kind: type[Any]) -> None:
        super().__init__()
        self.kind = kind
        self._adapter: TypeAdapter[Any] = TypeAdapter(kind)

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        if value is None:
            return None
        plain = self._adapter.dump_python(value, mode="json", warnings="error")
        return json.dumps(plain, allow_nan=False, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Any:
        return None if value is None else self._adapter.validate_json(value)


class JsonText(TypeDecorator[Mapping[str, Any]]):
    """An open mapping (a notice's arguments, a transition's figures) as JSON text."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Mapping[str, Any] | None, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return json.dumps(dict(value), allow_nan=False, separators=(",", ":"))

    def process_result_value(self, value: str | None, dialect: Dialect) -> Mapping[str, Any] | None:
        return None if value is None else json.loads(value)


class Names(TypeDecorator[tuple[str, ...]]):
    """Names in an order that matters, as a JSON list."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: tuple[str, ...] | None, dialect: Dialect) -> str | None:
        return None if value is None else json.dumps(list(value))

    def process_result_value(self, value: str | None, dialect: Dialect) -> tuple[str, ...] | None:
        return None if value is None else tuple(json.loads(value))


class Prose(TypeDecorator[str]):
    """Text that people or other programs wrote.

    NUL and half surrogate pairs, which not every database can hold, become U+FFFD, so that
    a stray character never makes a request or an error report unstorable.
    """

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: str | None, dialect: Dialect) -> str | None:
        return None if value is None else _UNSTORABLE.sub("\ufffd", value)
