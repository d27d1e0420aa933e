"""YAML with its line numbers: where each value of a policy file stands.

Errors of every stage (syntax, shape, meaning) are reported against these marks.
"""

from __future__ import annotations

from dataclasses import dataclass

import yaml

DEPTH_AT_MOST = 20
VALUES_AT_MOST = 200_000
"""Far beyond any policy; aliases can make a short file endless."""

Path = tuple[str | int, ...]


class PolicyError(Exception):
    """What is wrong in a policy file, where, and how it would be right.

    `line` counts from 1; `field` is a dotted path; `example` is a piece of YAML. Line 0
    stands for the file itself, and `example` then says what to do.
    """

    def __init__(self, *, file: str, line: int, field: str, message: str, example: str) -> None:
        told = f"{file}:{line}: {field}: {message} (for example: {example})"
        super().__init__(told if line else f"{file} {message}; {example}")
        self.file = file
        self.line = line
        self.field = field
        self.message = message
        self.example = example


@dataclass(frozen=True, slots=True)
class Marked:
    """A document as plain values, with the line of each path."""

    file: str
    value: object
    lines: dict[Path, int]

    def line(self, path: Path) -> int:
        """The line of a path, or of the nearest thing around it."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 1)

    def error(self, path: Path, message: str, example: str) -> PolicyError:
        """An error at a path."""
        return PolicyError(
            file=self.file,
            line=self.line(path),
            field=".".join(str(part) for part in path) or "(document)",
            message=message,
            example=example,
        )


def read_marked(text: str, file: str) -> Marked:
    """Parse one YAML document. Raises PolicyError on syntax, duplicate keys and odd keys."""
    try:
        node = yaml.compose(text, Loader=yaml.SafeLoader)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        raise PolicyError(
            file=file,
            line=mark.line + 1 if mark else 1,
            field="(document)",
            message=f"not YAML: {error.problem or error.context or 'cannot be read'}",
            example="version: 1",
        ) from error
    except yaml.YAMLError as error:
        raise PolicyError(
            file=file, line=1, field="(document)", message="not YAML", example="version: 1"
        ) from error
    lines: dict[Path, int] = {}
    marked = Marked(file, None, lines)
    loader = yaml.SafeLoader("")
    value = None if node is None else _plain(node, (), marked, loader)
    return Marked(file, value, lines)


def _plain(node: yaml.Node, path: Path, marked: Marked, loader: yaml.SafeLoader) -> object:
    marked.lines.setdefault(path, node.start_mark.line + 1)
    if len(path) > DEPTH_AT_MOST or len(marked.lines) > VALUES_AT_MOST:
        raise marked.error(path[:4], "this is nested too deeply or too large", "version: 1")
    if isinstance(node, yaml.MappingNode):
        found: dict[str, object] = {}
        for key_node, value_node in node.value:
            key = loader.construct_object(key_node, deep=True)
            if not isinstance(key, str):
                raise marked.error(path, f"a key must be a word, not {key!r}", "'yes': 1")
            at = (*path, key)
            marked.lines[at] = key_node.start_mark.line + 1
            if key in found:
                raise marked.error(at, f"{key} is given twice", f"keep one {key}:")
            found[key] = _plain(value_node, at, marked, loader)
        return found
    if isinstance(node, yaml.SequenceNode):
        return [
            _plain(item, (*path, number), marked, loader) for number, item in enumerate(node.value)
        ]
    try:
        return loader.construct_object(node, deep=True)
    except (yaml.YAMLError, ValueError) as error:
        raise marked.error(path, "this value cannot be read", "8") from error
