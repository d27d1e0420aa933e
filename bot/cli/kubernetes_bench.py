"""`gpubot bench kubernetes`: what the bot costs a cluster, and a cluster the bot.

The loop, the desk and SQLite in this process; an emulated API server, whose controllers and
kubelets run by themselves, in another. That server is part of the source tree, not of the
installed package.
"""

from __future__ import annotations

import json
import re
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kubernetes import client as kube
from rich.console import Console
from rich.table import Table

from bot import logs
from bot.clock import WallClock
from bot.clusters.base import Action, Start
from bot.clusters.kubernetes.cluster import KubernetesCluster
from bot.clusters.kubernetes.connection import Connection, Json, Refused, Unanswered
from bot.clusters.kubernetes.gangs import decision_of
from bot.clusters.kubernetes.writing import CONFLICT
from bot.composition import Core, build_core
from bot.lookout.questions import ask_nothing
from bot.lookout.twin import Twin
from bot.people import Directory
from scheduler.layout import Layout
from scheduler.model import Seconds
from scheduler.policy import compile_policy, load_policy
from storage.store import open_store

NODES, PODS = 1_250, 4  # and pods of each Job
LARGE_NODES, LARGE_PODS = 12_500, 50_000
ROUNDS = 100
PATIENCE = 300.0
TRIES = 5
_TREE = Path(__file__).parents[2]
_POLICY = """
version: 1
priorities: {low: 100, medium: 200, high: 300, critical: 1000}
flavors:
  h100:
    model: h100
    node_labels: {gpubot.dev/gpu: h100}
    levels: [topology.gpubot.dev/rack, kubernetes.io/hostname]
usage: {half_life: 7d, sampling_interval: 5m}
target_wait: {low: 48h, medium: 12h, high: 4h, critical: 30m}
teams: {nlp: {gpus: 100000}}
cohorts: {company: {}}
pools:
  team:
    lease: {default: 8h, max: 7d}
    grace: 5m
    after_lease: release
    queues:
      - {name: "team-{team}", cohort: company, quota: {h100: {nominal: team}}}
routing: [{queue: "team-{team}"}]
"""


class BenchError(Exception):
    """The benchmark cannot be run; the message says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """So many Jobs, whose pods of so many GPUs each lie on one node, or each on its own."""

    where: str
    jobs: int
    gpus: int


TOGETHER = Load(where="on one node", jobs=1_000, gpus=2)
APART = Load(where=f"on {PODS} nodes", jobs=300, gpus=8)


class CountingConnection(Connection):
    """Counts the requests that are no watches, by method and path."""

    def __init__(self, open_client: Callable[[], kube.ApiClient]) -> None:
        super().__init__(open_client)
        self.asked: list[tuple[str, str]] = []

    def _ask(self, method: str, path: str, *args: Any) -> Json:
        self.asked.append((method, path))
        return super()._ask(method, path, *args)


class TimedCluster(KubernetesCluster):
    """Notes when each Job was heard of, and when it was decided to start it."""

    def __init__(self, connection: Connection, layout: Layout) -> None:
        super().__init__(connection, layout)
        self.heard: dict[str, float] = {}
        self.decided: dict[str, float] = {}
        put = self.mirror.jobs.put

        def hear(obj: Json) -> None:
            self.heard.setdefault(obj["metadata"]["uid"], time.perf_counter())
            put(obj)

        self.mirror.jobs.put = hear  # type: ignore[method-assign]  # timed from here on

    def apply_all(self, actions: Sequence[Action], now: Seconds) -> None:
        """Carry them out, and note the time of each start."""
        for action in actions:
            if isinstance(action, Start) and action.ref is not None:
                self.decided.setdefault(action.ref.uid, time.perf_counter())
        super().apply_all(actions, now)

    def admitted(self) -> int:
        """Jobs that the API server says have started."""
        with self.mirror.lock:
            return sum(job.decision is not None for job in self.mirror.jobs.items.values())

    def let_go(self) -> int:
        """Pods that the API server says may run."""
        with self.mirror.lock:
            return sum(decision_of(pod) is not None for pod in self.mirror.pods.items.values())


class Bench:
    """A bot without Slack on an API server, stepping when there is news."""

    def __init__(self, url: str, folder: Path) -> None:
        self.connection = CountingConnection(lambda: _client(url, "bot"))
        layout = compile_policy(load_policy(_POLICY, "bench"))
        self.cluster = TimedCluster(self.connection, layout)
        self._news, self._ending = threading.Event(), threading.Event()
        self.cluster.hear(self._news.set)
        self.cluster.start(PATIENCE)
        self.core: Core = build_core(
            store=open_store(f"sqlite:///{folder / 'bench.db'}"),
            cluster=self.cluster,
            layout=layout,
            directory=Directory(),
            clock=WallClock(),
            aside=True,
        )
        self._thread = threading.Thread(target=self._go_round, name="loop")
        self._thread.start()

    def _go_round(self) -> None:
        while not self._ending.is_set():
            self._news.clear()
            self.core.control.step()
            self._news.wait(1.0)

    def memory(self) -> float:
        """The most this process has had, and the one that looks ahead, in MB."""
        self.core.desk.foresight.look(ask_nothing, patience=PATIENCE)
        lookout = self.core.desk.foresight.lookout
        ahead = lookout.process_id if isinstance(lookout, Twin) else None
        return _peak("self") + (0.0 if ahead is None else _peak(str(ahead)))

    def close(self) -> None:
        """End the loop and let go of everything."""
        self._ending.set()
        self._news.set()
        self._thread.join()
        self.core.desk.foresight.lookout.close()
        self.cluster.close()
        self.core.store.close()


def run_bench_kubernetes(*, large: bool) -> bool:
    """Measure, print, and say whether every limit was kept. Raises BenchError."""
    logs.set_up("ERROR")
    rows = [*_burst(TOGETHER), *_burst(APART), *(_start_large() if large else [])]
    table = Table("what", "measured", "limit")
    for what, measured, limit, unit in rows:
        shown = "" if limit is None else f"{limit:g} {unit}"
        table.add_row(what, f"{measured:.3g} {unit}", shown)
    Console().print(table)
    return all(limit is None or measured <= limit for _, measured, limit, _ in rows)


Row = tuple[str, float, float | None, str]


def _burst(load: Load) -> list[Row]:
    """Many Jobs at once; those on one node then one after the other as well."""
    with _server("--nodes", str(NODES)) as url, tempfile.TemporaryDirectory() as folder:
        bench = Bench(url, Path(folder))
        try:
            before, busy = len(bench.connection.asked), time.process_time()
            began = time.perf_counter()
            own = _submit(url, load.jobs, gpus=load.gpus)
            _wait(lambda: bench.cluster.admitted() >= load.jobs, "all Jobs to be admitted")
            if load is APART:
                _wait(lambda: bench.cluster.let_go() >= load.jobs * PODS, "all pods to be let go")
            took = time.perf_counter() - began
            spent = time.process_time() - busy - own
            asked = bench.connection.asked[before:]
            rows: list[Row] = [("submitted to all written", took, None, "s")]
            rows += _writes(load, asked)
            rows.append(("CPU of the bot", spent, None, "s"))
            if load is TOGETHER:
                delays = _one_by_one(url, bench)
                rows.append(("watch event to decision, p95", _p95(delays) * 1000, 100.0, "ms"))
                rows.append(("memory of the bot", bench.memory(), None, "MB"))
        finally:
            bench.close()
    title = f"{load.jobs:,} Jobs of {PODS} pods {load.where}"
    return [(f"{title}: {what}", measured, limit, unit) for what, measured, limit, unit in rows]


def _writes(load: Load, asked: Sequence[tuple[str, str]]) -> list[Row]:
    """How often the API server was written to.

    What is written of a Job, and of it as an Event, is counted by Job. A pod that is sent to a node
    of its own is one write more, and those are counted by pod: a Job of more pods has more of them.
    """
    written = [path for method, path in asked if method != "GET"]
    pods = sum("/pods/" in path for path in written)
    return [
        ("writes for each Job", (len(written) - pods) / load.jobs, 3.0, ""),
        ("writes for each pod", pods / (load.jobs * PODS), 1.1, ""),
        ("requests for each Job", len(asked) / load.jobs, None, ""),
    ]


def _one_by_one(url: str, bench: Bench) -> list[float]:
    """How long after a Job was heard of it was decided to start it."""
    _wait(lambda: bench.cluster.writer.wait(0.0), "the writes to end")
    known = set(bench.cluster.decided)
    for number in range(ROUNDS):
        _submit(url, 1, first=TOGETHER.jobs + number)
        there = TOGETHER.jobs + number + 1
        _wait(lambda: bench.cluster.admitted() >= there, "a Job to be admitted")  # noqa: B023
    heard = bench.cluster.heard
    return [at - heard[uid] for uid, at in bench.cluster.decided.items() if uid not in known]


def _start_large() -> list[Row]:
    """A start on a large cluster: to the first decision."""
    arguments = ("--nodes", str(LARGE_NODES), "--pods", str(LARGE_PODS))
    with _server(*arguments) as url, tempfile.TemporaryDirectory() as folder:
        _submit(url, 1)
        began, busy = time.perf_counter(), time.process_time()
        bench = Bench(url, Path(folder))
        try:
            _wait(lambda: bool(bench.cluster.decided), "the first decision")
            took, spent = time.perf_counter() - began, time.process_time() - busy
            memory = bench.memory()
        finally:
            bench.close()
    return [
        (f"start with {LARGE_NODES:,} nodes, {LARGE_PODS:,} pods: to a decision", took, 30.0, "s"),
        ("CPU of the bot for that", spent, None, "s"),
        ("memory of the bot there", memory, 1000.0, "MB"),
    ]


def _submit(url: str, count: int, *, gpus: int = 2, first: int = 0) -> float:
    """Create Jobs as people do, several at a time; the CPU seconds that took here."""
    person = Connection(lambda: _client(url, "alice"))

    def create(number: int) -> float:
        before = time.thread_time()
        for _ in range(TRIES):
            try:
                person.post("/apis/batch/v1/namespaces/team/jobs", _job(f"job-{number:05d}", gpus))
                break
            except Unanswered:  # a busy server has cut the connection
                continue
            except Refused as error:
                if error.status != CONFLICT:  # 409: an earlier try was done
                    raise
                break
        return time.thread_time() - before

    with ThreadPoolExecutor(8) as pool:
        return sum(pool.map(create, range(first, first + count)))


def _job(name: str, gpus: int) -> Json:
    container = {
        "name": "main",
        "image": "registry.example/train:1",
        "resources": {"limits": {"nvidia.com/gpu": str(gpus)}},
    }
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "labels": {"gpubot.dev/team": "nlp"}},
        "spec": {
            "suspend": True,
            "completionMode": "Indexed",
            "completions": PODS,
            "parallelism": PODS,
            "template": {"spec": {"restartPolicy": "Never", "containers": [container]}},
        },
    }


@contextmanager
def _server(*arguments: str) -> Iterator[str]:
    """The emulated API server while the block runs; its address."""
    if not (_TREE / "tests" / "kube" / "standalone.py").is_file():
        raise BenchError("the emulated API server is part of the source tree: run it from there")
    command = [sys.executable, "-m", "tests.kube.standalone", *arguments]
    with subprocess.Popen(  # noqa: S603 - our own interpreter and module
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, cwd=_TREE
    ) as process:
        if process.stdin is None or process.stdout is None:
            raise BenchError("the emulated API server has no pipes")
        try:
            yield str(json.loads(process.stdout.readline())["url"])
        finally:
            process.stdin.close()


def _client(url: str, who: str) -> kube.ApiClient:
    settings = kube.Configuration()
    settings.host = url
    settings.api_key = {"authorization": f"Bearer {who}-token"}
    settings.connection_pool_maxsize = 32
    settings.retries = 0
    return kube.ApiClient(settings)


def _wait(true: Callable[[], bool], what: str) -> None:
    end = time.monotonic() + PATIENCE
    while not true():
        if time.monotonic() > end:
            raise BenchError(f"waited in vain for {what}")
        time.sleep(0.005)


def _p95(times: Sequence[float]) -> float:
    return statistics.quantiles(times, n=20)[-1]


def _peak(process: str) -> float:
    """The most memory that a process has had, in MB: Linux says so."""
    status = Path("/proc", process, "status").read_text(encoding="ascii")
    (most,) = re.findall(r"^VmHWM:\s+(\d+) kB$", status, re.MULTILINE)
    return int(most) / 1024
