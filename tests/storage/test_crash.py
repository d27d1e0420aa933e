"""A process killed at any moment loses nothing committed and leaves nothing half done."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.store import open_store
from tests.storage.samples import AT
from tests.storage.writer import PER_STEP

ROOT = Path(__file__).parents[2]


@contextmanager
def _writer(url: str, *arguments: str) -> Iterator[subprocess.Popen[str]]:
    program = subprocess.Popen(
        [sys.executable, str(Path(__file__).with_name("writer.py")), url, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
    )
    with program:
        try:
            yield program
        finally:
            program.kill()


def _follow(program: subprocess.Popen[str], until: str) -> None:
    assert program.stdout is not None
    for line in program.stdout:
        if line.strip() == until:
            return
    pytest.fail(f"the writer ended before {until!r}")


def _last_done(program: subprocess.Popen[str]) -> int:
    """Read what a dead writer had still said; 0 if it had finished nothing more."""
    assert program.stdout is not None
    said = [line.split() for line in program.stdout.read().splitlines()]
    return max((int(words[1]) for words in said if words[0] == "done"), default=0)


def _stored_steps(url: str) -> int:
    """Return the number of whole steps in the store, after a look for parts of one."""
    store = open_store(url)
    with store.write() as work:
        setting = work.settings.get("step")
        steps = int(setting.value) if setting else 0
        requests = work.requests.find()
        assert len(requests) == steps * PER_STEP
        assert work.outbox.figures(AT).pending == steps * PER_STEP
        assert all(len(work.transitions.of(r.id)) == 1 for r in requests)
        assert work.requests.next_id() == f"R-{1001 + steps * PER_STEP}"
    store.close()
    return steps


def test_killed_in_the_middle_of_a_step(url: str) -> None:
    with _writer(url, "4") as program:
        _follow(program, "middle 4")
    assert _stored_steps(url) == 3


@pytest.mark.parametrize("seed", range(4))
def test_killed_at_any_moment(url: str, seed: int) -> None:
    last = random.Random(seed).randint(1, 30)  # noqa: S311  # not for secrets
    with _writer(url) as program:
        _follow(program, f"done {last}")
        program.kill()
        committed = max(last, _last_done(program))
    assert _stored_steps(url) in {committed, committed + 1}  # committed, but not yet said


def test_a_restarted_writer_goes_on_where_the_killed_one_was(url: str) -> None:
    with _writer(url, "3") as program:
        _follow(program, "middle 3")
    with _writer(url) as program:
        _follow(program, "done 2")
    store = open_store(url)
    with store.read() as view:
        requests = view.requests.find()
    store.close()
    assert len(requests) % PER_STEP == 0
    assert len({r.id for r in requests}) == len(requests) >= 4 * PER_STEP
