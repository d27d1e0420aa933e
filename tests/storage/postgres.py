"""A PostgreSQL server of our own, from Debian's binaries, on a private socket."""

from __future__ import annotations

import itertools
import os
import pwd
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest

from storage.store import open_store

REQUIRE = "GPUBOT_TEST_REQUIRE"
_ACCOUNT = "gpubot"
_TEMPLATE = "empty"
_SECONDS = 60
_QUICK = ("fsync=off", "full_page_writes=off", "synchronous_commit=off", "max_connections=130")


class Server:
    """A running server; each test gets a database of its own, copied from an empty store."""

    def __init__(self, sockets: Path) -> None:
        self._sockets = sockets
        self._numbers = itertools.count(1)
        self._administer(f"CREATE DATABASE {_TEMPLATE}")
        open_store(self.url(_TEMPLATE)).close()

    def url(self, database: str) -> str:
        return f"postgresql://{_ACCOUNT}@/{database}?host={self._sockets}"

    @contextmanager
    def database(self, *, empty: bool = False) -> Iterator[str]:
        """Give the URL of a new database: migrated, or with nothing in it."""
        name = f"test_{next(self._numbers)}"
        source = "template0" if empty else _TEMPLATE
        self._administer(f"CREATE DATABASE {name} TEMPLATE {source}")
        yield self.url(name)
        self._administer(f"DROP DATABASE {name} WITH (FORCE)")

    def _administer(self, command: str) -> None:
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(command.encode())


def binaries() -> Path:
    """Return the newest installed server's directory; skip, or fail where it is required."""
    found = sorted(
        Path("/usr/lib/postgresql").glob("*/bin/initdb"),
        key=lambda path: int(path.parts[-3]) if path.parts[-3].isdigit() else 0,
    )
    if found:
        return found[-1].parent
    if "postgres" in os.environ.get(REQUIRE, "").split(","):
        pytest.fail(f"{REQUIRE} asks for postgres, but Debian's postgresql is not installed")
    pytest.skip("Debian's postgresql is not installed")


@contextmanager
def serving() -> Iterator[Server]:
    """Run a server for the length of the block."""
    programs = binaries()
    account = _server_account()
    home = Path(tempfile.mkdtemp(prefix="gpubot-pg-"))
    if account is not None:
        os.chown(home, account, -1)
    try:
        data = home / "data"
        _run(programs / "initdb", data, account)
        command: list[str | Path] = [
            programs / "postgres",
            "-D",
            data,
            "-k",
            home,
            "-c",
            "listen_addresses=",
        ]
        for setting in _QUICK:
            command += ["-c", setting]
        with (home / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, user=account, cwd="/")
        try:
            _wait_until_ready(process, home)
            yield Server(home)
        finally:
            process.send_signal(signal.SIGINT)  # the server's "fast" shutdown
            process.wait(_SECONDS)
    finally:
        shutil.rmtree(home)


def _server_account() -> int | None:
    """The user to run as: the server refuses root, which containers often are."""
    return pwd.getpwnam("postgres").pw_uid if os.geteuid() == 0 else None


def _run(initdb: Path, data: Path, account: int | None) -> None:
    how = ["-U", _ACCOUNT, "-A", "trust", "-E", "UTF8", "--locale=C", "-N"]
    command: list[str | Path] = [initdb, "-D", data, *how]
    done = subprocess.run(
        command, user=account, cwd="/", capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


def _wait_until_ready(process: subprocess.Popen[bytes], home: Path) -> None:
    deadline = time.monotonic() + _SECONDS
    while True:
        try:
            psycopg.connect(f"postgresql://{_ACCOUNT}@/postgres?host={home}").close()
        except psycopg.OperationalError:
            assert process.poll() is None, (home / "log").read_text()
            assert time.monotonic() < deadline, "the server did not come up"
            time.sleep(0.05)  # polling another process: nothing to wait on
        else:
            return
