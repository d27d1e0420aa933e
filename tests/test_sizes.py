"""The rules of the house about size, which no linter here holds: CONTRIBUTING.md has them."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FILE_AT_MOST, FUNCTION_AT_MOST = 500, 60


def sources() -> Iterator[Path]:
    for folder in ("bot", "scheduler", "storage", "tests"):
        yield from sorted((ROOT / folder).rglob("*.py"))


def functions(source: str) -> Iterator[tuple[str, int]]:
    """Each function's name and lines, decorators apart."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield node.name, (node.end_lineno or node.lineno) - node.lineno + 1


def test_files_and_functions_are_short_enough_to_read() -> None:
    long = []
    for path in sources():
        text = path.read_text(encoding="utf-8")
        where = path.relative_to(ROOT)
        if (lines := text.count("\n")) > FILE_AT_MOST:
            long.append(f"{where}: {lines} lines")
        long += [
            f"{where}: {name} has {lines} lines"
            for name, lines in functions(text)
            if lines > FUNCTION_AT_MOST
        ]
    assert long == []


@pytest.mark.parametrize("lines", [60, 61])
def test_lines_of_a_function_are_counted(lines: int) -> None:
    source = "@mark\ndef long():\n" + "    pass\n" * (lines - 1)
    assert list(functions(source)) == [("long", lines)]
