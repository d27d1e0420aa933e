"""The composition root: the only place that builds clients, engine, store and threads.

Importing any other module has no effect on the world; `Bot.start` is where it begins.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Callable
from dataclasses import dataclass

from bot.background import STANDING, Background
from bot.chat.announcer import Announcer
from bot.chat.app import new_workers
from bot.chat.drawing import Drawer
from bot.chat.echo import listen_to_ourselves
from bot.chat.memory import StoredOutbox
from bot.chat.register import Register
from bot.chat.remarks import remark
from bot.chat.routing import Router
from bot.chat.schedule import GroupDuty
from bot.chat.socket import SocketError
from bot.chat.spool import Spool
from bot.chat.webslack import WebSlack
from bot.clock import Clock, ScaledClock, moment
from bot.clusters.base import Cluster
from bot.control.digests import DigestSweep
from bot.control.ledger import Ledger
from bot.control.loop import Control
from bot.control.months import MonthCheck
from bot.control.stuck import StuckCheck
from bot.control.sweeps import CapacityCheck, CardSweep, LeaseSweep, StarvationCheck, sample_usage
from bot.control.ticks import Tick, Ticker
from bot.control.wanted import WhoIsWho
from bot.desk import Desk
from bot.hearing import Hearing
from bot.idle.measure import FindPod, Vacancies
from bot.idle.prometheus import Prometheus
from bot.idle.watch import IdleWatch
from bot.joining import CannotStart, Joined, hasty, join
from bot.leading import Leadership
from bot.lookout.twin import Twin
from bot.people import Directory
from bot.promises import say_hollow
from bot.settings import Settings
from bot.views import NotReady
from bot.vitals import BotVitals
from bot.web.health import health_app
from bot.web.server import WebError, WebServer
from scheduler.engine import Engine
from scheduler.guarantees import find_hollow
from scheduler.layout import Layout
from storage.records import Setting, Source
from storage.store import Store

log = logging.getLogger(__name__)

HEARTBEAT = "heartbeat"  # the setting that holds the last time the bot was known to live
_DAY = 86400.0
GAUGE_DAYS = 400.0  # samples of the cluster: reports of a year
KEEP_DAYS = 30.0  # days that handled events, delivery ids, sent messages and stories are kept
LOAD_KEEP = 6 * 3600.0  # seconds of the bot's world that ended background load is kept
SWITCH = 0.001  # seconds until a thread that computes lets another go on: a fifth of Python's own
PRUNE_AT_ONCE = 500  # requests forgotten in one transaction: people's come in between


@dataclass(frozen=True, slots=True)
class Core:
    """Everything that needs no Slack: what the bench and many tests use."""

    store: Store
    control: Control
    desk: Desk
    directory: Directory
    cluster: Cluster


def build_core(
    *,
    store: Store,
    cluster: Cluster,
    layout: Layout,
    directory: Directory,
    clock: Clock,
    leadership: Leadership | None = None,
    aside: bool = False,
) -> Core:
    """The loop and the desk, not yet running. `aside`: a process of its own looks ahead."""
    people = WhoIsWho(person=directory.person, leads=directory.leads)
    control = Control(
        store=store,
        cluster=cluster,
        layout=layout,
        clock=clock,
        people=people,
        leadership=leadership,
    )
    control.sentence = lambda args: remark(args, lambda who: directory.person(who).name)
    desk = Desk(control, directory)
    if aside:
        control.records = True
        desk.foresight.lookout = Twin(control)
    return Core(store, control, desk, directory, cluster)


class Bot:
    """A core joined to a Slack workspace, with the ticks that keep both going."""

    def __init__(
        self,
        core: Core,
        settings: Settings,
        *,
        background: Background | None = None,
        spool: Spool | None = None,
        gpus: tuple[FindPod, Vacancies] | None = None,
    ) -> None:
        self._core = core
        self._gpus = gpus
        self._settings = settings
        self._spool = spool
        self._workers = new_workers()
        self._background = background
        self._clock = core.control.clock
        joined = join(core.desk, core.store, core.control.wall, settings, self._workers)
        client = joined.client
        self.hearing = Hearing(
            joined.app,
            settings,
            client=client,
            store=core.store,
            voice=joined.voices.channel,
            channel=joined.places.oncall,
            spool=spool,
        )
        core.desk.duty = GroupDuty(
            hasty(client),
            settings.oncall_group,
            substitute=core.desk.substitute,
            fallback=settings.oncall_fallback,
            shift=settings.oncall_shift,
        )
        self._register = Register(client, core.desk, settings.groups)
        self.announcer = self._announcer(joined)
        self.ticker = Ticker(self._ticks())
        self.vitals = BotVitals(core.control, self.ticker, self.hearing)
        self._health: WebServer | None = None
        if settings.health_port is not None:
            self._health = WebServer(
                health_app(self.vitals), host=settings.listen, port=settings.health_port
            )
        core.control.on_wake = lambda: self.ticker.wake("cycle")
        core.cluster.hear(core.control.wake)
        core.control.leadership.on_change = core.control.wake
        core.control.on_notices = lambda: self.ticker.wake("outbox")

    def _announcer(self, joined: Joined) -> Announcer:
        """What drains the outbox, and hears from Slack itself what it has said."""
        core, settings = self._core, self._settings
        outbox = StoredOutbox(core.store, patience=settings.oncall_patience)
        wall = core.control.wall
        listen_to_ourselves(
            joined.app,
            lambda keys, channel, ts: outbox.heard(keys, channel, ts, moment(wall.now())),
        )
        return Announcer(
            outbox=outbox,
            slack=WebSlack(joined.client),
            drawer=Drawer(
                voices=joined.voices,
                cards=core.desk,
                preferred=joined.preferred,
                duty=core.desk.duty,
                call_of=outbox.call_of,
            ),
            router=Router(joined.places, outbox.card_of, joined.preferred),
        )

    @property
    def leadership(self) -> Leadership:
        """Whether this bot decides."""
        return self._core.control.leadership

    def start(self) -> None:
        """Build the engine, connect and go. Raises CannotStart."""
        sys.setswitchinterval(SWITCH)
        if self._core.store.url.get_backend_name() == "sqlite":  # one process, so one sender
            with self._core.store.write() as work:
                work.outbox.free_claims()
        self._core.desk.recall_roll()
        self.leadership.start()
        self._core.control.step()
        self._warn_of_hollow_quota()
        self.ticker.start()
        try:
            self.hearing.start()
            if self._health is not None:
                self._health.start()
        except (SocketError, WebError) as error:
            self.hearing.stop()
            self.ticker.stop()
            raise CannotStart(f"{error}; run `gpubot doctor`") from error

    def stop(self) -> None:
        """Finish what is under way, hear nobody any more, and close.

        The socket goes last but for the store: our own posts come back as events, and would
        be cut off in the middle. What people still ask meanwhile is stored for the next start.
        """
        self.ticker.stop()
        if self._health is not None:
            self._health.stop()
        self.hearing.stop()
        self._core.desk.foresight.lookout.close()
        self._workers.shutdown(cancel_futures=True)  # the spool keeps what is not begun
        self.announcer.stop(moment(self._core.control.wall.now()))
        self._beat()
        self._core.cluster.close()
        self.leadership.stop()
        self._core.store.close()
        if self._spool is not None:
            self._spool.close()

    def _warn_of_hollow_quota(self) -> None:
        layout = self._core.control.terms.layout
        try:
            found = self._core.control.read(lambda engine: find_hollow(layout, engine.figures()))
        except NotReady:
            return
        for line in say_hollow(found):
            log.warning("%s", line)

    # ---- what happens by itself

    def _ticks(self) -> tuple[Tick, ...]:
        control, terms = self._core.control, self._core.control.terms
        pace = self._clock.speed if isinstance(self._clock, ScaledClock) else 1.0
        usage = terms.layout.usage
        sampling = usage.interval if usage is not None else 300.0
        leases, starving = LeaseSweep(terms), StarvationCheck(terms)
        cards, capacity = CardSweep(self._core.store), CapacityCheck()
        digests = DigestSweep(self._core.store, self._settings.digest)
        months = MonthCheck(terms, self._core.store, self._core.directory.leads)

        def sweep(write: Callable[[Engine, Ledger], None]) -> Callable[[], object]:
            return lambda: control.propose(write)

        ticks = [
            Tick(name="cycle", run=self._step, every=1.0, limit=60.0, given_up=control.give_up),
            Tick(name="outbox", run=self._announce, every=0.5, limit=120.0),
            Tick(name="usage", run=sweep(sample_usage), every=_paced(sampling, pace), limit=30.0),
            Tick(name="leases", run=sweep(leases), every=_paced(30.0, pace), limit=30.0),
            Tick(name="starvation", run=sweep(starving), every=_paced(60.0, pace), limit=60.0),
            Tick(name="capacity", run=sweep(capacity), every=_paced(60.0, pace), limit=60.0),
            Tick(name="digests", run=sweep(digests), every=_paced(60.0, pace), limit=30.0),
            Tick(name="months", run=sweep(months), every=_paced(600.0, pace), limit=30.0),
            Tick(name="stuck", run=sweep(StuckCheck(terms)), every=_paced(60.0, pace), limit=30.0),
            Tick(name="cards", run=sweep(cards), every=_paced(60.0, pace), limit=60.0),
            Tick(name="calls", run=self._call_next, every=5.0, limit=30.0),
            Tick(name="roll", run=self._register.tick, every=3.0, limit=60.0),
            Tick(name="ahead", run=self._look_ahead, every=_paced(20.0, pace), limit=120.0),
            Tick(
                name="lookout", run=self._core.desk.foresight.lookout.keep_up, every=1.0, limit=30.0
            ),
            Tick(name="people", run=self._core.directory.refresh, every=30.0, limit=10.0),
            Tick(name="heartbeat", run=self._beat, every=2.0, limit=10.0),
            Tick(name="socket", run=self._listen, every=10.0, limit=60.0),
            Tick(name="retention", run=self._prune, every=3600.0, limit=120.0),
        ]
        if self._gpus is not None:
            watch = self._idle_watch(*self._gpus)
            ticks.append(Tick(name="idle", run=watch.look, every=300.0, limit=60.0))
        if self._background is not None:
            ticks.append(Tick(name="background", run=self._feed, every=0.5, limit=60.0))
            ticks.append(Tick(name="load", run=self._prune_load, every=30.0, limit=60.0))
        return tuple(ticks)

    def _idle_watch(self, find_pod: FindPod, vacancies: Vacancies) -> IdleWatch:
        url, token = self._settings.prometheus_url, self._settings.prometheus_token
        secret = token.get_secret_value() if token else None
        prometheus = None if url is None else Prometheus(url, token=secret)
        leads = self._core.directory.leads
        return IdleWatch(self._core.control, prometheus, find_pod, vacancies, leads)

    def _step(self) -> None:
        self._core.control.step()
        if self._background is not None and self._background.behind:
            self.ticker.wake("background")

    def _look_ahead(self) -> None:
        try:
            self._core.desk.look_ahead()
        except NotReady:
            log.debug("the engine is not there, or others look ahead: next time")

    def _keep_up(self) -> None:
        self._core.desk.foresight.lookout.keep_up()

    def _announce(self) -> None:
        self.announcer.tick(moment(self._core.control.wall.now()))

    def _call_next(self) -> None:
        self._core.desk.call_next(self._settings.oncall_fallback, self._settings.oncall_patience)

    def _listen(self) -> None:
        self.hearing.look()

    def _feed(self) -> None:
        if self._background is None:
            return
        try:
            busy, standing = self._core.control.read(lambda e: (in_use(e), names_standing(e)))
        except NotReady:
            return
        fed = self._background.feed(self._clock.now(), lambda: busy, standing)
        if isinstance(self._clock, ScaledClock):  # the world goes as fast as the loop can follow
            self._clock.hold(still=self._background.behind)
        if fed:
            self.ticker.wake("background")  # there may be more that is due

    def _beat(self) -> None:
        """Store that the bot lives, and at which time of its world."""
        beat = Setting(name=HEARTBEAT, value=repr(self._clock.now()), author="gpubot")
        with self._core.store.write() as work:
            work.settings.put(beat)

    def _prune(self) -> None:
        before = moment(self._core.control.wall.now() - KEEP_DAYS * _DAY)
        with self._core.store.write() as work:
            work.events.prune(before)
            work.inbox.prune(before)
            work.outbox.prune(before)
            work.calls.prune(before)
            work.transitions.prune(moment(self._clock.now() - KEEP_DAYS * _DAY))
            work.gauges.prune(moment(self._clock.now() - GAUGE_DAYS * _DAY))
            work.grants.prune(Source.TRACE, moment(self._clock.now() - KEEP_DAYS * _DAY))

    def _prune_load(self) -> None:
        """Forget background load that has ended, or a demo's database would grow for ever."""
        before = moment(self._clock.now() - LOAD_KEEP)
        pruned = PRUNE_AT_ONCE
        while pruned == PRUNE_AT_ONCE:
            with self._core.store.write() as work:
                pruned = work.requests.prune(Source.TRACE, before, PRUNE_AT_ONCE)


def last_moment(store: Store) -> float | None:
    """The latest time of the bot's world that the store knows of; None for a new store.

    A clock that starts from here never runs behind what was already decided.
    """
    with store.read() as view:
        beat = view.settings.get(HEARTBEAT)
        changed = view.requests.last_change()
    known = [] if beat is None else [float(beat.value)]
    if changed is not None:
        known.append(changed.timestamp())
    return max(known, default=None)


def in_use(engine: Engine) -> int:
    """GPUs that are in use or waited for, but for standing requests."""
    pending = sum(one.gpus for one in engine.pending() if one.name not in STANDING)
    return engine.figures().used + pending


def names_standing(engine: Engine) -> frozenset[str]:
    """Names of the standing requests that wait or run."""
    running = (workload for workload, _ in engine.running())
    names = (one.name for one in (*engine.pending(), *running))
    return frozenset(name for name in names if name in STANDING)


def _paced(seconds: float, pace: float) -> float:
    """An interval of the bot's world in wall seconds, within reason."""
    return min(seconds, max(2.0, seconds / pace))
