"""The emulated API server as a process of its own, with a cluster that runs by itself.

    python -m tests.kube.standalone --nodes 1250 --namespace team

The first line of its output is JSON with the address; tokens are '<who>-token' (see server.py). It
ends when its standard input is closed. For benchmarks, where what the bot costs must be told from
what the server costs, and for trying things by hand: `--kubeconfig FILE` writes a file with which
`gpubot` is the bot, and `kubectl`, which keeps a token to itself over plain HTTP, an admin
(`kubectl --as alice` is a person who may edit).
"""

from __future__ import annotations

import argparse
import contextlib
import json
import select
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from subprocess import PIPE, Popen

import yaml

from tests.kube.rights import ADMIN
from tests.kube.server import ApiServer

_ROOT = Path(__file__).parents[2]
_REST = 5.0  # seconds after which everybody looks again: some things wait only for time


def _options(arguments: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--gpus", type=int, default=8, help="of each node")
    parser.add_argument("--pods", type=int, default=0, help="unmanaged pods that run already")
    parser.add_argument("--namespace", default="team")
    parser.add_argument("--managed", action="store_true", help="label it, install the policies")
    parser.add_argument("--interval", type=float, default=0.05, help="seconds between two looks")
    parser.add_argument("--sets", action="store_true", help="install JobSet and LeaderWorkerSet")
    parser.add_argument("--kubeconfig", type=Path)
    return parser.parse_args(arguments)


def kubeconfig(url: str, who: str) -> str:
    """A file for clients, as text."""
    named = {"name": "emulated"}
    return yaml.safe_dump(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "emulated",
            "clusters": [{**named, "cluster": {"server": url}}],
            "users": [{**named, "user": {"token": f"{who}-token"}}],
            "contexts": [{**named, "context": {"cluster": "emulated", "user": "emulated"}}],
        }
    )


def prepare(api: ApiServer, options: argparse.Namespace) -> None:
    """Nodes, the namespace, and what runs already."""
    api.add_nodes(options.nodes, gpus=options.gpus)
    marks = {"gpubot.dev/managed": "true"} if options.managed else {}
    api.add_namespace(options.namespace, **marks)
    if options.managed:
        api.policies.install_shipped()
    if options.sets:
        api.serve_job_sets()
        api.serve_leader_worker_sets()
    if options.pods:
        api.add_running_pods(options.pods, namespace=options.namespace, gpus=0)


def turn(api: ApiServer) -> None:
    """One look of everybody: what can start starts, what is to end ends."""
    with contextlib.suppress(RuntimeError):  # they do not rest while others go on writing
        api.controllers.settle()
    if api.kubelet.start_all() + api.kubelet.confirm_all():
        with contextlib.suppress(RuntimeError):
            api.controllers.settle()


def attend(api: ApiServer, seen: int) -> int:
    """Take a turn where something was written after the version `seen`; the version it began at.

    What is written while the turn goes on was perhaps not looked at, so it counts as unseen.
    """
    version = api.cluster.store.version
    if version != seen:
        turn(api)
    return version


def main(arguments: Sequence[str] | None = None) -> None:
    options = _options(arguments)
    with ApiServer(wall_clock=True) as api:
        api.grant_shipped_rights()
        api.cluster.gate.nobody = ADMIN
        prepare(api, options)
        if options.kubeconfig is not None:
            options.kubeconfig.write_text(kubeconfig(api.url, "bot"))
        sys.stdout.write(json.dumps({"url": api.url}) + "\n")
        sys.stdout.flush()
        seen, pause, rested = -1, options.interval, time.monotonic()
        while not select.select([sys.stdin], [], [], pause)[0]:
            began = time.monotonic()
            if began - rested > _REST:
                seen, rested = -1, began
            seen = attend(api, seen)
            # At least half of the time belongs to those who ask.
            pause = max(options.interval, time.monotonic() - began)


@contextmanager
def running(*arguments: str) -> Iterator[str]:
    """The process while the block runs; its address."""
    command = [sys.executable, "-m", "tests.kube.standalone", *arguments]
    with Popen(command, stdin=PIPE, stdout=PIPE, text=True, cwd=_ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            url: str = json.loads(process.stdout.readline())["url"]
            yield url
        finally:
            process.stdin.close()


if __name__ == "__main__":
    main()
