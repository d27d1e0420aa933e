"""Cases with something broken in them: refused by name or played, never a crash."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import yaml

from scheduler.simulation.cases import CaseError, play_case, read_case

FILES = sorted(Path(__file__).parent.glob("*/*.yaml"))
ODD: tuple[Any, ...] = (
    None, -1, 0, "", [], {}, "x", float("nan"), float("inf"), 1e30, True, "8 Gi", {"a": 1}, [1],
    "-5", 10**20, "2026-13-45", b"x", 2**63,
)  # fmt: skip

Path_ = tuple[Any, ...]


def paths(part: object, here: Path_ = ()) -> Iterator[Path_]:
    """Where every value of a document is."""
    pairs: list[tuple[Any, Any]] = []
    if isinstance(part, dict):
        pairs = list(part.items())
    elif isinstance(part, list):
        pairs = list(enumerate(part))
    for key, value in pairs:
        yield (*here, key)
        yield from paths(value, (*here, key))


def spoil(document: Any, chance: random.Random) -> None:
    """Replace one value by something odd, or drop it."""
    *way, last = chance.choice(list(paths(document)))
    for key in way:
        document = document[key]
    if chance.random() < 0.2:
        del document[last]
    else:
        document[last] = chance.choice(ODD)


@pytest.mark.parametrize("seed", range(8))
def test_nothing_odd_brings_the_reader_down(seed: int) -> None:
    chance = random.Random(seed)  # noqa: S311 - any numbers will do
    for _ in range(30):
        documents = list(yaml.load_all(chance.choice(FILES).read_bytes(), Loader=yaml.CSafeLoader))
        for _ in range(chance.choice((1, 1, 2, 4))):
            spoil(chance.choice(documents), chance)
        try:
            case = read_case([("odd.yaml", documents)], "odd", "odd", 0.0)
            play_case(case)
        except CaseError as error:
            assert str(error)  # noqa: PT017 - either is right, a crash is not
        else:
            assert all(problem.source and problem.field for problem in case.problems)
