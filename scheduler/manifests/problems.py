"""What is wrong, or worth knowing, about a manifest."""

from __future__ import annotations

from dataclasses import dataclass

ALL_FILES = "all files"
"""The source of what no single file is to blame for."""


@dataclass(frozen=True, slots=True)
class Problem:
    """Something about one field of one object. Unless `refused`, the object still counts."""

    source: str
    object: str
    field: str
    message: str
    refused: bool = True

    def __str__(self) -> str:
        return f"{self.source}: {self.object}: {self.field} {self.message}"


class ManifestError(Exception):
    """An object that contradicts itself or the others. Carries field and message."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(f"{field} {message}")
        self.field = field
        self.message = message
