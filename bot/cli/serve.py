"""`gpubot serve`: the bot against whatever workspace the environment names."""

from __future__ import annotations

import logging
import signal
import threading

from bot import logs
from bot.chat.spool import Spool, SpoolError
from bot.clock import WallClock
from bot.clusters.base import Cluster
from bot.clusters.journal import JournalBroken
from bot.clusters.kubernetes.cluster import KubernetesCluster
from bot.clusters.kubernetes.opening import NoCluster, open_connection
from bot.clusters.kubernetes.templates import TemplateError, read_templates
from bot.clusters.simulated import SimulatedCluster
from bot.composition import Bot, build_core
from bot.joining import CannotStart
from bot.people import Directory, PeopleError
from bot.settings import ClusterKind, Settings, SettingsError, read_settings, spool_path
from bot.shipped import TEMPLATES, read_policy, shipped
from scheduler.layout import Layout, build_nodes
from scheduler.policy import PolicyError, compile_policy
from storage.errors import StoreError
from storage.store import open_store

log = logging.getLogger(__name__)

START_DELAY, STOP_TIME = 30.0, 15.0  # seconds that simulated pods take to start and to stop


class ServeError(Exception):
    """The bot cannot be started; the message says why, line by line."""


def run_serve() -> None:
    """Serve until SIGINT or SIGTERM. Raises ServeError."""
    try:
        settings = read_settings()
        logs.set_up(settings.log_level)
        bot = build_bot(settings)
        bot.start()
    except (
        SettingsError,
        PolicyError,
        PeopleError,
        JournalBroken,
        NoCluster,
        TemplateError,
        CannotStart,
        SpoolError,
    ) as error:
        raise ServeError(str(error)) from error
    except StoreError as error:
        raise ServeError(f"GPUBOT_DATABASE_URL: {error}") from error
    log.info("serving #%s", settings.channel)
    wait_for_signal(bot.hearing.failed)
    log.info("stopping")
    bot.stop()
    if bot.hearing.failed.is_set():
        raise ServeError("Slack did not reach the bot any more, and a new connection did not help")


def build_bot(settings: Settings) -> Bot:
    """The bot of these settings, not yet running."""
    layout = compile_policy(read_policy(settings.policy))
    core = build_core(
        store=open_store(settings.database_url),
        cluster=open_cluster(settings, layout),
        layout=layout,
        directory=Directory(path=settings.people),
        clock=WallClock(),
    )
    return Bot(core, settings, spool=Spool(spool_path(settings)))


def open_cluster(settings: Settings, layout: Layout) -> Cluster:
    """The cluster that GPUBOT_CLUSTER names. Raises JournalBroken or NoCluster."""
    if settings.cluster is ClusterKind.KUBERNETES:
        templates = read_templates(settings.templates or shipped(TEMPLATES))
        cluster = KubernetesCluster(open_connection(), layout, templates=templates)
        if not cluster.start():
            log.warning("the API server has not answered yet: nothing is decided until it does")
        return cluster
    return SimulatedCluster(
        build_nodes(layout), path=settings.journal, start_delay=START_DELAY, stop_time=STOP_TIME
    )


def wait_for_signal(failed: threading.Event | None = None) -> None:
    """Return when the process is asked to end, or has `failed`; a second signal ends it at once."""
    asked = threading.Event()

    def ask(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    while not asked.wait(1.0):  # with a time limit, or the handler would not get its turn
        if failed is not None and failed.is_set():
            return
