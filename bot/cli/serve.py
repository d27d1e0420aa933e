"""`gpubot serve`: the bot against whatever workspace the environment names."""

from __future__ import annotations

import logging
import os
import signal
import socket
import threading
import uuid

from bot import logs
from bot.chat.spool import Spool, SpoolError
from bot.clock import WallClock
from bot.clusters.base import Cluster
from bot.clusters.journal import JournalBroken
from bot.clusters.kubernetes.claims import claims_in
from bot.clusters.kubernetes.cluster import KubernetesCluster
from bot.clusters.kubernetes.leader import Candidate, GuardedConnection
from bot.clusters.kubernetes.opening import NoCluster, open_connection
from bot.clusters.kubernetes.templates import TemplateError, read_templates
from bot.clusters.simulated import SimulatedCluster
from bot.composition import Bot, build_core
from bot.joining import CannotStart
from bot.memory import settle_memory
from bot.people import Directory, PeopleError
from bot.settings import ClusterKind, Settings, SettingsError, read_settings, spool_path
from bot.shipped import TEMPLATES, read_policy, shipped
from scheduler.layout import Layout, build_nodes
from scheduler.policy import PolicyError, compile_policy
from storage.counters import Counter
from storage.errors import StoreError
from storage.store import Store, open_store

log = logging.getLogger(__name__)

LEASE_READ = 4.0  # seconds for an answer about the Lease: two tries while a renewal is good
NAMESPACE = "gpubot-system"  # where the Lease is, unless the pod says where it is itself
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
    deposed = bot.leadership.deposed
    wait_for_signal(bot.hearing.failed, deposed)
    log.info("stopping")
    bot.stop()
    if bot.hearing.failed.is_set():
        raise ServeError("Slack did not reach the bot any more, and a new connection did not help")
    if deposed.is_set():
        raise ServeError("another bot leads now: this one starts afresh, to look on")


def build_bot(settings: Settings) -> Bot:
    """The bot of these settings, not yet running."""
    layout = compile_policy(read_policy(settings.policy))
    store = open_store(settings.database_url)
    candidate = open_candidate(store) if settings.cluster is ClusterKind.KUBERNETES else None
    cluster = open_cluster(settings, layout, candidate, store)
    core = build_core(
        store=store,
        cluster=cluster,
        layout=layout,
        directory=Directory(path=settings.people),
        clock=WallClock(),
        leadership=candidate,
        aside=True,
    )
    core.control.on_engine = settle_memory
    gpus = None
    if isinstance(cluster, KubernetesCluster):
        gpus = (cluster.find_pod, cluster.vacancies)
    return Bot(core, settings, spool=Spool(spool_path(settings)), gpus=gpus)


def open_candidate(store: Store) -> Candidate:
    """What takes part in the election of the bot that decides. Raises NoCluster."""

    def newest() -> int:
        with store.read() as view:
            return view.counters.read(Counter.FENCE, start=0)

    connection = open_connection(read=LEASE_READ)
    return Candidate(connection, namespace=own_namespace(), who=own_name(), floor=newest)


def own_namespace() -> str:
    """Where the pod of the bot is, and so its Lease."""
    return os.environ.get("POD_NAMESPACE", NAMESPACE)


def own_name() -> str:
    """The name of the pod; elsewhere one that no other process has."""
    return os.environ.get("POD_NAME") or f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"


def open_cluster(
    settings: Settings, layout: Layout, candidate: Candidate | None, store: Store
) -> Cluster:
    """The cluster that GPUBOT_CLUSTER names. Raises JournalBroken or NoCluster.

    By the `store` the bot knows what in the cluster is its own.
    """
    if settings.cluster is ClusterKind.KUBERNETES:
        connection = open_connection()
        if candidate is not None:
            connection = GuardedConnection(connection, candidate)
        templates = read_templates(settings.templates or shipped(TEMPLATES))
        cluster = KubernetesCluster(
            connection, layout, templates=templates, bot=store.identity, claims=claims_in(store)
        )
        if not cluster.start():
            log.warning("the API server has not answered yet: nothing is decided until it does")
        return cluster
    return SimulatedCluster(
        build_nodes(layout), path=settings.journal, start_delay=START_DELAY, stop_time=STOP_TIME
    )


def wait_for_signal(*ended: threading.Event) -> None:
    """Return when the process is asked to end, or one of `ended` is set.

    A second signal ends it at once.
    """
    asked = threading.Event()

    def ask(number: int, _frame: object) -> None:
        signal.signal(number, signal.SIG_DFL)
        asked.set()

    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, ask)
    while not asked.wait(1.0):  # with a time limit, or the handler would not get its turn
        if any(event.is_set() for event in ended):
            return
