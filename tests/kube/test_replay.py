"""The emulator against what a real API server answered, request by request."""

from __future__ import annotations

import pytest

from tests.kube.recording import FOLDER, load, names
from tests.kube.replay import Replay
from tests.kube.replay_exceptions import EXCEPTIONS
from tests.kube.replay_setup import prepare


@pytest.mark.parametrize("name", names())
def test_emulator_answers_as_recorded(name: str) -> None:
    scenario = load(name)
    problems = Replay(scenario, prepare(scenario)).run()
    excused = EXCEPTIONS.get(name, {})
    unexpected = {step: why for step, why in problems.items() if step not in excused}
    assert unexpected == {}
    assert excused.keys() <= problems.keys(), "held after all: take it off the list"


def test_every_exception_names_a_recorded_step() -> None:
    assert EXCEPTIONS.keys() <= set(names())
    for name, excused in EXCEPTIONS.items():
        assert all(0 <= step < len(load(name).steps) for step in excused)


def table() -> str:
    """What is held, as recordings/README.md shows it."""
    lines = ["| scenario | held | not held, and why |", "| --- | ---: | --- |"]
    for name in names():
        steps, excused = len(load(name).steps), EXCEPTIONS.get(name, {})
        reasons: dict[str, list[int]] = {}
        for step, why in excused.items():
            reasons.setdefault(why, []).append(step)
        shown = "; ".join(f"{', '.join(map(str, at))}: {why}" for why, at in reasons.items())
        lines.append(f"| {name} | {steps - len(excused)} of {steps} | {shown} |")
    return "\n".join(lines)


def test_table_shows_what_is_held() -> None:
    assert table() in (FOLDER / "README.md").read_text()
