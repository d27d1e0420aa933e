"""`gpubot simulate`: what would be decided for these Kueue manifests."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any

import typer
import yaml

from scheduler.manifests.problems import ALL_FILES, Problem
from scheduler.simulation.cases import Answer, CaseError, is_head, play_case, read_case
from scheduler.simulation.comparison import compare, compare_messages
from scheduler.standing import EngineError

_ENDINGS = (".yaml", ".yml", ".json")
_EXPECTED = ".expect.json"
_FILES_NAMED = 3
"""Of the files that have the same thing odd about them."""
EXAMPLE = "kubectl get clusterqueues,localqueues,workloads -A -o yaml | gpubot simulate -"


@dataclass(frozen=True, slots=True)
class Source:
    """One file, parsed; `error` says why it could not be."""

    name: str
    path: Path | None
    documents: Sequence[object] = ()
    error: str = ""


@dataclass(slots=True)
class Played:
    """A case with its answer, or with the reason why there is none."""

    name: str
    family: str
    path: Path | None
    answer: Answer | None = None
    error: str = ""
    remarks: list[Problem] = field(default_factory=list)


def simulate(
    paths: Annotated[
        list[str],
        typer.Argument(metavar="PATH...", help="Case files, manifests, folders; - reads stdin."),
    ],
    as_json: Annotated[
        bool, typer.Option("--json", help="Print one compact JSON answer a line for each case.")
    ] = False,
    expect: Annotated[
        bool, typer.Option("--expect", help="Compare with the .expect.json beside each case.")
    ] = False,
) -> None:
    """Play Kueue manifests through the engine until nothing more happens.

    A file with a Case document is a case of its own; all other files are one case together,
    played as they stand now.
    """
    try:
        sources = [source for path in paths for source in _open(path)]
    except OSError as error:
        typer.echo(f"gpubot: {error}", err=True)
        raise typer.Exit(2) from error
    if not sources:
        typer.echo(f"gpubot: no manifests in {', '.join(paths)}; try {EXAMPLE}", err=True)
        raise typer.Exit(2)
    played = [_play(*group) for group in _group(sources)]
    for remark in _remarks(played):
        typer.echo(remark, err=True)
    if expect:
        raise typer.Exit(_report_agreement(played))
    for one in played:
        if as_json:
            line = one.answer or {"case": one.name, "error": one.error}
            typer.echo(json.dumps(line, separators=(",", ":")))
        else:
            typer.echo("\n".join(_describe(one)))
    if any(one.answer is None for one in played):
        raise typer.Exit(1)


def _open(path: str) -> Iterator[Source]:
    """The files that a path means, by name. Raises OSError for one that cannot be read."""
    if path == "-":
        yield _parse(sys.stdin.read(), "stdin", None)
        return
    found = [Path(path)]
    if found[0].is_dir():
        found = sorted(
            file
            for file in found[0].rglob("*")
            if file.name.endswith(_ENDINGS) and not file.name.endswith(_EXPECTED)
        )
    for file in found:
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            yield Source(str(file), file, error=f"{file} is not text: {error}")
        else:
            yield _parse(text, str(file), file)


def _parse(text: str, name: str, path: Path | None) -> Source:
    try:
        documents = list(yaml.load_all(text, Loader=yaml.CSafeLoader))
    except (yaml.YAMLError, ValueError, RecursionError) as error:
        return Source(name, path, error=f"{name} is not YAML: {error}")
    return Source(name, path, documents)


def _group(sources: Sequence[Source]) -> list[tuple[str, Sequence[Source]]]:
    """Case by case: every file with a Case document, and the others together in one."""
    cases = [s for s in sources if s.error or any(is_head(d) for d in s.documents)]
    plain = [s for s in sources if s not in cases]
    groups: list[tuple[str, Sequence[Source]]] = [(_stem(source), [source]) for source in cases]
    if plain:
        groups.append((_stem(plain[0]) if len(plain) == 1 else "manifests", plain))
    return groups


def _stem(source: Source) -> str:
    return source.name if source.path is None else source.path.stem


def _play(name: str, sources: Sequence[Source]) -> Played:
    path = sources[0].path
    one = Played(name, path.parent.name if path else "", path)
    if sources[0].error:
        one.error = sources[0].error
        return one
    try:
        files = [(source.name, source.documents) for source in sources]
        case = read_case(files, name, one.family, time.time())
        one.name, one.family = case.name, case.family
        where = sources[0].name if len(sources) == 1 else f"{len(sources)} files"
        one.remarks = [
            replace(it, source=where) if it.source == ALL_FILES else it for it in case.problems
        ]
        one.answer = play_case(case)
    except (CaseError, EngineError) as error:
        one.error = str(error)
    return one


def _remarks(played: Sequence[Played]) -> Iterator[str]:
    """What was refused, each by itself; and what is odd, each kind of it once with its files."""
    alike: dict[tuple[str, str], list[Problem]] = {}
    for one in played:
        for remark in one.remarks:
            if remark.refused:
                yield f"refused: {remark}"
            else:
                alike.setdefault((remark.object, remark.field), []).append(remark)
    for first, *rest in alike.values():
        files = list(dict.fromkeys(remark.source for remark in rest))
        named = ", ".join(files[:_FILES_NAMED])
        left = len(files) - _FILES_NAMED
        more = f" and {left} more" if left > 0 else ""
        yield f"note: {first}" + (f" (and the like in {named}{more})" if rest else "")


def _describe(one: Played) -> Iterator[str]:
    """An answer for a person: who runs where, who waits and why, who was stopped for whom."""
    yield f"{one.name}:"
    if one.answer is None:
        yield f"  cannot be played: {one.error}"
        return
    for name, workload in one.answer["workloads"].items():
        places = "; ".join(_place(pods) for pods in workload.get("podSets", ()))
        what = places or workload.get("message", "")
        yield f"  {name:<24} {workload['state']:<9} {workload['queue']:<20} {what}".rstrip()
    for stopped in one.answer["preemptions"]:
        when = f" after {stopped['at']} s" if "at" in stopped else ""
        yield f"  {stopped['workload']} was preempted by {stopped['by']}: {stopped['reason']}{when}"


def _place(pods: Mapping[str, Any]) -> str:
    flavors = ", ".join(sorted(set(pods["flavors"].values())))
    domains = ", ".join(f"{d['values'][-1]}:{d['count']}" for d in pods.get("domains", ()))
    return f"{pods['name']} {pods['count']} pods on {flavors or 'no flavor'} {domains}".rstrip()


def _report_agreement(played: Sequence[Played]) -> int:
    """Compare with the expected answers and say what differs; the exit code."""
    counts: dict[str, list[int]] = {}
    for one in played:
        differences, hints = _differences(one)
        count = counts.setdefault(one.family or "cases", [0, 0])
        count[0] += 1
        count[1] += not differences
        if differences or hints:
            typer.echo(f"{one.name}:")
        for line in (*differences, *(f"(hint) {hint}" for hint in hints)):
            typer.echo(f"  {line}")
    for family, (total, agree) in counts.items():
        typer.echo(f"{family}: {total} cases, {agree} agree")
    return int(any(total != agree for total, agree in counts.values()))


def _differences(one: Played) -> tuple[tuple[str, ...], tuple[str, ...]]:
    if one.answer is None:
        return (f"cannot be played: {one.error}",), ()
    if one.path is None:
        return ("has no expected answer, because it came from stdin",), ()
    file = one.path.with_name(one.path.stem + _EXPECTED)
    try:
        expected = json.loads(file.read_text(encoding="utf-8"))
        return compare(one.answer, expected), compare_messages(one.answer, expected)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        return (f"has no expected answer that can be read: {file}: {error}",), ()
