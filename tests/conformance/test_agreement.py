"""The engine decides as Kueue does, case by case."""

from __future__ import annotations

import json
import random
from collections.abc import Sequence
from pathlib import Path

import pytest
import yaml

from scheduler.simulation.cases import Answer, Case, Play, play_case, play_on, read_case
from scheduler.simulation.comparison import compare, compare_messages

HERE = Path(__file__).parent
FILES = sorted(HERE.glob("*/*.yaml"))
IDS = [f"{file.parent.name}/{file.stem}" for file in FILES]


def read_documents(file: Path) -> list[object]:
    with file.open(encoding="utf-8") as text:
        return list(yaml.load_all(text, Loader=yaml.CSafeLoader))


def a_case(documents: Sequence[object]) -> Case:
    return read_case([("case", documents)], "case", "family", 0.0)


def expected(file: Path) -> Answer:
    text = file.with_name(f"{file.stem}.expect.json").read_text(encoding="utf-8")
    answer: Answer = json.loads(text)
    return answer


def test_there_are_cases_of_every_family() -> None:
    families = {file.parent.name for file in FILES}
    assert families >= {"quota", "preempt", "hierarchy", "fairshare", "usage"}
    assert len(FILES) >= 42 * len(families)


@pytest.mark.parametrize("file", FILES, ids=IDS)
def test_the_answer_is_kueues(file: Path) -> None:
    answer = play_case(a_case(read_documents(file)))
    assert compare(answer, expected(file)) == ()
    assert compare_messages(answer, expected(file)) == ()


@pytest.mark.parametrize("file", FILES[::3], ids=IDS[::3])
def test_the_order_of_the_documents_does_not_matter(file: Path) -> None:
    documents = read_documents(file)
    answer = play_case(a_case(documents))
    for seed in range(3):
        shuffled = documents.copy()
        random.Random(seed).shuffle(shuffled)  # noqa: S311 - the order is all that matters
        assert play_case(a_case(shuffled)) == answer


@pytest.mark.parametrize("file", FILES[::3], ids=IDS[::3])
def test_twenty_more_cycles_at_rest_change_nothing(file: Path) -> None:
    case = a_case(read_documents(file))
    play: Play = play_on(case)
    end = play.case.now + max((step.at for step in case.steps), default=0)
    before = (play.engine.running(), play.engine.pending())
    for _ in range(20):
        assert not play.engine.step(end)
    assert (play.engine.running(), play.engine.pending()) == before
