"""`gpubot db import` on real files."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from bot.cli.main import app
from storage.records import Setting
from storage.store import open_store

PAUSE = Setting(name="pause:q", value="on", author="U1")


@pytest.fixture
def old(tmp_path: Path) -> str:
    """The address of a database with one setting."""
    address = f"sqlite:///{tmp_path / 'old.db'}"
    store = open_store(address)
    with store.write() as work:
        work.settings.put(PAUSE)
    store.close()
    return address


def run(source: str, target: str | None) -> Result:
    env = {"GPUBOT_DATABASE_URL": target}
    return CliRunner().invoke(app, ["db", "import", source], env=env)


def test_the_database_of_the_environment_becomes_the_old_one(old: str, tmp_path: Path) -> None:
    target = f"sqlite:///{tmp_path / 'new.db'}"
    result = run(old, target)
    assert (result.exit_code, result.output.startswith("copied 2 rows")) == (0, True)
    first, second = open_store(old), open_store(target)
    with second.read() as view:
        assert view.settings.all() == (PAUSE,)
    assert first.identity == second.identity
    first.close()
    second.close()
    again = run(old, target)
    assert again.exit_code == 1
    assert "rows in 'settings' already: name an empty one" in again.output


@pytest.mark.parametrize(
    ("source", "target", "said"),
    [
        ("sqlite:////no/where.db", "sqlite:///new.db", "there is no database at /no/where.db"),
        ("sqlite:///same.db", "sqlite:///same.db", "itself"),
        ("mysql://host/db", "sqlite:///new.db", "not supported"),
    ],
)
def test_what_cannot_be_copied_is_said(
    source: str, target: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run(source, target)
    assert (result.exit_code, said in result.output) == (1, True)
    assert list(tmp_path.iterdir()) == []


def test_without_an_address_nothing_is_done(old: str) -> None:
    result = run(old, None)
    assert result.exit_code == 2
    assert "--target" in result.output
