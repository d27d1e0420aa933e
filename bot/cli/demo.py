"""`gpubot demo`: a local workspace, the real bot over Socket Mode, and a busy cluster.

Everything it knows is in one folder, so that Ctrl-C or a kill is a pause: the next run
goes on at the moment of its world at which the last one stood.
"""

from __future__ import annotations

import errno
import fcntl
import os
import shutil
import sys
import time
import webbrowser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from bot import logs
from bot.background import Background, Mix
from bot.chat.actions import FORM, WHY_OF_MESSAGE
from bot.chat.spool import Spool, SpoolError
from bot.cli.serve import START_DELAY, STOP_TIME, wait_for_signal
from bot.clock import ScaledClock
from bot.clusters.journal import JournalBroken
from bot.clusters.simulated import SimulatedCluster
from bot.composition import Bot, Core, build_core, last_moment
from bot.joining import CannotStart
from bot.memory import settle_memory
from bot.people import Directory
from bot.settings import SettingsError, read_settings, spool_path
from bot.shipped import read_policy
from bot.workspace.options import Options, Shortcut, Suggestion, WorldTime
from bot.workspace.people import Directory as Workspace
from bot.workspace.people import load_people
from bot.workspace.server import WorkspaceServer
from scheduler.layout import Layout, build_nodes
from scheduler.model import GPU
from scheduler.policy import PolicyError, compile_policy
from scheduler.simulation.tenants import guarded_part, sized_policy
from scheduler.simulation.traces import TraceError, TraceJob, overlay, read_trace
from storage.errors import StoreError
from storage.records import Person, Role
from storage.store import open_store

FIRST_PORT, PORTS_TRIED, LAST_PORT = 8747, 50, 65535
BUSY = 0.955  # share of the reserved GPUs that a trace is laid over itself to keep in use
WARM = 0.25  # a trace is entered after this share of its span, with what then runs
SUGGESTIONS = (
    Suggestion(
        label="A small request",
        about="Four GPUs for two hours: granted at once, and nobody takes them back.",
        command="/gpu 4 h100 2h name first-steps",
        translated={
            "zh": Suggestion(
                label="小请求",
                about="四张卡用两小时：马上获准，没有人会收回。",
                command="/gpu 4卡 h100 2小时 名称 first-steps",
            )
        },
    ),
    Suggestion(
        label="A gang",
        about="Four whole nodes that start together or not at all.",
        command="/gpu 4x8 h100 for 8h name pretrain-small",
        translated={
            "zh": Suggestion(
                label="整组启动",
                about="四个整节点，要么一起启动，要么都不启动。",
                command="/gpu 4x8 h100 8小时 名称 pretrain-small",
            )
        },
    ),
    Suggestion(
        label="A night job",
        about="Eight nodes of idle capacity, given back when its owner wants it.",
        command="/gpu 8 nodes h100 12h preemptible priority low name night-sweep",
        translated={
            "zh": Suggestion(
                label="夜间任务",
                about="八个闲置节点，主人要用时归还。",
                command="/gpu 8节点 h100 12小时 可抢占 低优先级 名称 night-sweep",
            )
        },
    ),
    Suggestion(
        label="A hero job",
        about="64 nodes at once: work that runs on borrowed GPUs has to make room.",
        command="/gpu 64 nodes h100 24h priority high name hero-run",
        translated={
            "zh": Suggestion(
                label="大任务",
                about="一次要 64 个节点：借来的卡上的工作要让位。",
                command="/gpu 64节点 h100 24小时 高优先级 名称 hero-run",
            )
        },
    ),
    Suggestion(
        label="Why?",
        about="What your last request waits for, who holds it, and its story.",
        command="/gpu why {last}",
        translated={
            "zh": Suggestion(
                label="为什么？",
                about="你最近的请求在等什么、谁占着、经过如何。",
                command="/gpu 为什么 {last}",
                fallback="/gpu 我的",
            )
        },
    ),
)


class DemoError(Exception):
    """The demo cannot start; the message says why and what to do."""


def run_demo(
    *,
    port: int | None,
    state: Path | None,
    trace: Path | None,
    speed: float,
    fresh: bool,
    browser: bool,
) -> None:
    """Run the demo until Ctrl-C. Raises DemoError."""
    if port is not None and not 0 <= port <= LAST_PORT:
        raise DemoError(f"--port {port} is not between 0 and {LAST_PORT}; for example --port 8747")
    if not 0 < speed <= 3600:
        raise DemoError(f"--speed {speed:g} is not between 0 and 3600; for example --speed 30")
    logs.set_up("WARNING")
    folder = state or default_folder()
    try:
        with _owned(folder, fresh=fresh):
            _run(folder, port, trace, speed, browser=browser)
    except (
        PolicyError,
        StoreError,
        JournalBroken,
        SettingsError,
        CannotStart,
        SpoolError,
    ) as error:
        raise DemoError(f"{error}\nTo start over, use --fresh.") from error
    except TraceError as error:
        raise DemoError(str(error)) from error


def _run(
    folder: Path, port: int | None, trace: Path | None, speed: float, *, browser: bool
) -> None:
    jobs = _read_jobs(trace) if trace is not None else None
    policy = read_policy()
    if jobs is not None:
        policy = sized_policy(policy, jobs, node_gpus=max(group.gpus for group in policy.nodes))
    layout = compile_policy(policy)
    people = load_people()
    store = open_store(f"sqlite:///{folder / 'gpubot.db'}")
    clock = ScaledClock(last_moment(store) or time.time(), speed)
    core = build_core(
        store=store,
        cluster=_cluster(folder, layout),
        layout=layout,
        directory=_directory(people),
        clock=clock,
        aside=True,
    )
    core.control.on_engine = settle_memory
    options = Options(
        suggestions=SUGGESTIONS,
        shortcuts=(
            Shortcut(callback_id=FORM, label="Ask for GPUs"),
            Shortcut(callback_id=WHY_OF_MESSAGE, label="Why does it wait?", on_message=True),
        ),
        clock=lambda: WorldTime(clock.now(), clock.speed),
        last_request=core.desk.last_request,
    )
    server = _start_workspace(folder, port, options, people)
    bot = _join(core, server, people, jobs)
    bot.start()
    print(
        f"\n  gpubot demo: open {server.base_url}\n\n"
        f"  The bot is connected; its world runs {speed:g} times as fast as ours.\n"
        f"  State: {folder}   Stop: Ctrl-C (the next run goes on from here)\n",
        flush=True,
    )
    if browser and sys.stdout.isatty():
        webbrowser.open(server.base_url)
    wait_for_signal()
    print("\n  Stopping …", flush=True)
    bot.stop()
    server.stop()


def default_folder() -> Path:
    """Where the demo keeps its state: $XDG_STATE_HOME/gpubot/demo."""
    base = os.environ.get("XDG_STATE_HOME")
    return (Path(base) if base else Path.home() / ".local" / "state") / "gpubot" / "demo"


@contextmanager
def _owned(folder: Path, *, fresh: bool) -> Iterator[None]:
    """Have the folder for ourselves. Raises DemoError if another demo runs there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / "lock").open("w")
    except OSError as error:
        raise DemoError(f"{folder} cannot be used: {error.strerror}; try --state FOLDER") from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            raise DemoError(
                f"another demo runs in {folder}; stop it, or use --state with another folder"
            ) from error
        if fresh:
            _forget(folder)
        yield


def _forget(folder: Path) -> None:
    """Remove what a demo wrote, and nothing else that may be in the folder."""
    for pattern in ("gpubot.db*", "gpubot.spool*", "cluster.journal*", "workspace*"):
        for path in folder.glob(pattern):
            shutil.rmtree(path) if path.is_dir() else path.unlink()


def _start_workspace(
    folder: Path, port: int | None, options: Options, people: Workspace
) -> WorkspaceServer:
    wanted = range(FIRST_PORT, FIRST_PORT + PORTS_TRIED) if port is None else (port,)
    for number in wanted:
        server = WorkspaceServer(
            port=number,
            state_path=folder / "workspace.jsonl",
            options=options,
            directory=people,
        )
        try:
            server.start()
        except OSError as error:
            if error.errno not in {errno.EADDRINUSE, errno.EACCES}:
                raise DemoError(f"cannot listen on port {number}: {error.strerror}") from error
            continue
        return server
    if port is not None:
        raise DemoError(f"port {port} is taken; leave --port out to get a free one")
    raise DemoError(f"no free port from {FIRST_PORT} to {FIRST_PORT + PORTS_TRIED - 1}")


def _cluster(folder: Path, layout: Layout) -> SimulatedCluster:
    return SimulatedCluster(
        build_nodes(layout),
        path=folder / "cluster.journal",
        start_delay=START_DELAY,
        stop_time=STOP_TIME,
    )


def _join(
    core: Core, server: WorkspaceServer, people: Workspace, jobs: Sequence[TraceJob] | None
) -> Bot:
    layout = core.control.terms.layout
    gpus, node_gpus = _reserved(layout), core.control.terms.node_gpus()
    mix = Mix(guarantee=_gang_guarantee(layout))
    if jobs is not None:
        part = guarded_part(layout, jobs, gpus=int(BUSY * gpus), node_gpus=node_gpus)
        mix = Mix(preemptible=1 - part)
    background = Background(
        core.desk,
        teams=core.control.terms.teams,
        gpus=gpus,
        node_gpus=node_gpus,
        trace=None if jobs is None else _fill(jobs, gpus),
        mix=mix,
    )
    settings = read_settings(
        slack_api_url=server.api_url,
        bot_token=server.options.bot_token,
        app_token=server.options.app_token,
        database_url=core.store.url.render_as_string(),
        channel="gpu-resources",
        oncall_channel="gpu-oncall",
        oncall_group=next((g.id for g in people.groups.values() if "oncall" in g.handle), None),
    )
    return Bot(core, settings, background=background, spool=Spool(spool_path(settings)))


def _directory(people: Workspace) -> Directory:
    return Directory(
        Person(id=one.id, name=one.real_name, teams=one.teams, role=Role(one.role))
        for one in people.people.values()
    )


def _gang_guarantee(layout: Layout) -> int:
    """GPUs of the largest guarantee that is no team's own: that of the gangs."""
    return max(
        limits.nominal
        for queue in layout.queues
        if queue.team is None
        for (_, resource), limits in queue.quotas.items()
        if resource == GPU
    )


def _reserved(layout: Layout) -> int:
    """GPUs of the largest kind of nodes: the cluster proper, without what is bought by the hour."""
    return max(group.count * group.capacity.get(GPU, 0) for group in layout.node_groups)


def _read_jobs(path: Path) -> list[TraceJob]:
    try:
        with path.open("rb") as file:
            jobs = read_trace(file, str(path))
    except OSError as error:
        raise DemoError(f"--trace {path}: {error.strerror}") from error
    return [replace(job, tenant=job.tenant.lower()) for job in jobs]


def _fill(jobs: Sequence[TraceJob], gpus: int) -> list[TraceJob]:
    """The trace laid over itself until it fills the cluster, entered when it is warm.

    What runs at that moment comes first, with the time it still has; the tenants stay.
    """
    span = max(job.submitted for job in jobs) - jobs[0].submitted or 1.0
    mean = sum(job.gpus * job.duration for job in jobs) / span
    tenants = {job.id: job.tenant for job in jobs}
    laid = overlay(list(jobs), max(1, round(BUSY * gpus / mean)))
    enter = jobs[0].submitted + WARM * span
    running = [
        replace(job, submitted=enter, duration=job.submitted + job.duration - enter)
        for job in laid
        if job.submitted <= enter < job.submitted + job.duration
    ]
    later = [job for job in laid if job.submitted > enter]
    return [
        replace(job, tenant=tenants.get(job.id, tenants.get(job.id.rsplit("-", 1)[0], job.tenant)))
        for job in [*running, *later]
    ]
