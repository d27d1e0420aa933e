"""The loop: cluster and desk events -> engine -> one transaction -> cluster. One writer.

Only this module calls the engine's mutating methods and a cluster's. Nothing is done to
the cluster before it is stored; nothing is decided while cluster or storage cannot be
reached. Whatever goes wrong, the engine is thrown away and built anew from both.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from bot.clock import Clock, WallClock, moment
from bot.clusters.base import (
    OF_GANGS,
    Action,
    Cluster,
    ClusterEvent,
    ClusterUnreachable,
    NodeFailed,
    SeenPod,
)
from bot.control import decided, interventions, observed, orders, recovery, remarks
from bot.control.foreign import file_foreign
from bot.control.inforce import ByHand, read_by_hand
from bot.control.ledger import LOOP, Ledger
from bot.control.successors import file_latecomers
from bot.control.suspects import file_suspects
from bot.control.transcript import Recorded, Transcript
from bot.control.wanted import WantedDesk, WhoIsWho
from bot.leading import Alone, Leadership, NotLeading
from bot.pauses import spread
from bot.promises import say_doubts
from bot.terms import Terms
from bot.views import NotReady
from scheduler.engine import Engine
from scheduler.layout import Layout
from scheduler.model import NodeName
from scheduler.standing import EngineError
from storage.audit import InterventionState
from storage.errors import StaleLeader
from storage.records import DeskEvent
from storage.states import IllegalMove, RequestState
from storage.store import Store

log = logging.getLogger(__name__)

T = TypeVar("T")
REMEMBERED = 50_000  # handled desk events that a late waiter can still ask about
LOOK_EVERY, LOOK_SHARE = 2.0, 9.0  # of who does not lead: seconds, and times what a look takes
ASK_EVERY = 0.1  # seconds between looks whether the leader has carried something out
FIRST_PAUSE, LONGEST_PAUSE = 0.5, 30.0  # seconds between tries of an unreachable cluster


class GivenUp(Exception):
    """A step overran its limit and another has taken over; it must do nothing more."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Health:
    """How the loop is doing. Times are seconds of the monotonic clock."""

    ready: bool
    last_step: float | None
    cluster_trouble: str | None
    failures: int
    leads: bool


class Control:
    """Owns the engine. `step` is called by one ticker; `read` and `wait` by anybody.

    Args:
        wall: the clock that messages are delivered by.
        leadership: whether this bot decides, and by which number storage knows it.
        people: who is meant by the objects that people make in the cluster itself.

    """

    def __init__(
        self,
        *,
        store: Store,
        cluster: Cluster,
        layout: Layout,
        clock: Clock,
        wall: Clock | None = None,
        leadership: Leadership | None = None,
        people: WhoIsWho | None = None,
    ) -> None:
        self.terms = Terms(layout)
        self._wanted = WantedDesk(store, self.terms, people or WhoIsWho())
        self.clock = clock
        self.wall: Clock = WallClock() if wall is None else wall
        self.store = store
        self._cluster = cluster
        self._layout = layout
        self.leadership: Leadership = Alone() if leadership is None else leadership
        self._term: int | None = None
        self._looking_on = False
        self._look_again = 0.0
        self._engine: Engine | None = None
        self._lock = threading.RLock()
        self._stepping = threading.Lock()
        self._era = 0
        self._undone: list[Action] = []
        self._handled: OrderedDict[int | str, None] = OrderedDict()
        self._news = threading.Condition()
        self._pause = 0.0
        self._resume_at = 0.0
        self._trouble: str | None = None
        self._failures = 0
        self._last_step: float | None = None
        self.records = False  # whether engines that are built from now on keep a transcript
        self._renews = False
        self.on_engine: Callable[[], None] = lambda: None
        self.on_notices: Callable[[], None] = lambda: None
        self.on_wake: Callable[[], None] = lambda: None
        self.sentence: remarks.Sentence | None = None  # on the objects of the cluster

    # ---- for everybody

    def read(self, look: Callable[[Engine], T], *, patience: float | None = None) -> T:
        """Look at the engine while nothing changes it.

        Raises NotReady without an engine, or if it is not to be had within `patience` seconds.
        Raises RuntimeError in a writing transaction: the loop writes while it holds the
        engine, so the two would wait for each other.
        """
        if self.store.writing:
            msg = "the engine is looked at before or after a transaction, not in it"
            raise RuntimeError(msg)
        if not self._lock.acquire(timeout=-1 if patience is None else patience):
            raise NotReady
        try:
            if self._engine is None:
                raise NotReady
            return look(self._engine)
        finally:
            self._lock.release()

    @property
    def transcript(self) -> Transcript | None:
        """What the engine was told so far; None without one, or if it is not recorded."""
        engine = self._engine
        return engine.transcript if isinstance(engine, Recorded) else None

    def renew(self) -> None:
        """Have the next step build the engine anew, with a whole transcript."""
        self._renews = True
        self.wake()

    def wake(self) -> None:
        """Have the next step run at once."""
        self.on_wake()

    def wait(self, event_id: int | str, seconds: float) -> bool:
        """Wait until a desk event, or an intervention, was carried out; False if not in time."""
        if self._looking_on:
            return self._wait_for_leader(event_id, seconds)
        with self._news:
            return self._news.wait_for(lambda: event_id in self._handled, timeout=seconds)

    def find_pod(self, namespace: str, name: str) -> SeenPod | None:
        """A pod of the cluster, whoever's it is."""
        return self._cluster.find_pod(namespace, name)

    def outside(self, nodes: Iterable[NodeName]) -> tuple[SeenPod, ...] | None:
        """The GPU pods on some nodes that no request stands for; None where there can be none."""
        return self._cluster.outside(nodes)

    def health(self) -> Health:
        """How the loop is doing."""
        return Health(
            ready=self._engine is not None,
            last_step=self._last_step,
            cluster_trouble=self._trouble,
            failures=self._failures,
            leads=not self._looking_on,
        )

    # ---- the loop

    def step(self) -> None:
        """Take in what happened, decide, store, then do. Safe to call at any time."""
        if time.monotonic() < self._resume_at:
            return
        with self._stepping:
            era = self._era
            try:
                self._step(era)
            except ClusterUnreachable as error:
                self._back_off(error)
            except GivenUp:
                log.warning("a step that was given up has come back and is dropped")
            except (NotLeading, StaleLeader) as error:
                log.warning("deciding stops: %s", error)
                self._forget(era)
            except Exception:
                self._failures += 1
                self._forget(era)
                raise
            else:
                self._pause, self._trouble = 0.0, None
                self._last_step = time.monotonic()

    def give_up(self) -> None:
        """A step hangs: let the next one start afresh, from storage and a full list."""
        with self._news:
            self._era += 1
            self._stepping = threading.Lock()
            self._engine_is_stale()

    def propose(self, write: Callable[[Engine, Ledger], None]) -> None:
        """Let a tick that is not a step change requests, in a transaction of its own.

        Does nothing while there is no engine to go by.
        """
        with self._stepping:
            era = self._era
            if self._engine is None or self._undone or not self._in_term():
                return
            ledger = self._ledger()
            try:
                with self._lock:
                    write(self._engine, ledger)
                    self._commit(ledger, era)
                    self._seal()
                self._act(ledger, era)
            except (NotLeading, StaleLeader) as error:
                log.warning("deciding stops: %s", error)
                self._forget(era)
            except ClusterUnreachable:
                raise
            except Exception:
                self._forget(era)
                raise

    def _step(self, era: int) -> None:
        try:
            term = self.leadership.fence()
        except NotLeading:
            self._look_on(era)
            return
        if self._looking_on or term != self._term:  # what was known is of another's time
            self._engine_is_stale()
            self._term, self._looking_on = term, False
        if self._renews:
            self._engine_is_stale()
            self._renews = False
        if self._engine is None:
            self._recover(era)
        self._finish_undone(era)
        ledger = self._ledger()
        seen = self._cluster.poll(ledger.now)
        self._check(era)
        file_suspects(self.store, seen, ledger.now, self._term)
        file_latecomers(self.store, seen, ledger.now, self._term)
        self._file_wanted(seen, ledger.now, era)
        asked, by_hand = self._read_orders(ledger, seen)
        with self._lock:
            engine = self._ready()
            for event in seen:
                observed.take_in(engine, ledger, event)
            for order in asked:
                self._carry_out(engine, ledger, order)
            interventions.take_up(engine, ledger, self.terms, by_hand)
            failed = {one.name: one.leaving for one in seen if isinstance(one, NodeFailed)}
            decided.take_down(engine, ledger, self.terms, engine.cycle(ledger.now), failed)
            self._commit(ledger, era)
            self._seal()
        self._act(ledger, era)
        if self.sentence is not None:
            self._cluster.remark(remarks.of_misstatements(seen, self.sentence))

    def _file_wanted(self, seen: Sequence[ClusterEvent], now: float, era: int) -> None:
        """Store what people want through the cluster, in a transaction before the step's own."""
        engine = self._ready()
        with self._lock:
            self._check(era)
            refused = self._wanted.file(seen, engine.check, now, self._term)
        if refused and self.sentence is not None:
            self._cluster.remark(remarks.of_refusals(refused, self.sentence))

    def _recover(self, era: int) -> None:
        ledger = self._ledger()
        seen = self._cluster.observe(ledger.now)
        self._check(era)
        file_foreign(self.store, seen, ledger.now, self._term)
        missing = () if seen.objects is None else self._wanted.missing(seen.objects, ledger.now)
        with self._lock:  # a step that was given up cannot commit behind this one's back
            self._check(era)
            engine = self._new_engine()
            recovery.restore(engine, self.store, self.terms, seen, ledger)
            self._undone = []
            self._commit(ledger, era)
            self._engine = engine
            self._seal()
        self.on_engine()
        self._file_wanted(missing, ledger.now, era)
        for line in say_doubts(engine.doubts()):
            log.warning("%s", line)
        log.info(
            "engine built: %d nodes, %d gangs seen, %d actions to do again",
            len(seen.nodes),
            len(seen.workloads),
            len(ledger.actions),
        )
        self._act(ledger, era)

    def _look_on(self, era: int) -> None:
        """Another decides: keep an engine for people to look at, and change nothing."""
        self._looking_on = True
        if time.monotonic() < self._look_again:
            return
        began = time.monotonic()
        ledger = self._ledger()
        seen = self._cluster.observe(ledger.now)
        engine = self._new_engine()
        recovery.restore(engine, self.store, self.terms, seen, ledger, oddities=logging.DEBUG)
        with self._lock:
            self._check(era)
            self._engine, self._undone = engine, []
            self._seal()
        done = time.monotonic()
        self._look_again = done + max(LOOK_EVERY, LOOK_SHARE * (done - began))

    def _wait_for_leader(self, event_id: int | str, seconds: float) -> bool:
        """Wait until storage says that the leader has carried something out."""
        deadline = time.monotonic() + seconds
        while not self._is_done(event_id):
            left = deadline - time.monotonic()
            if left <= 0:
                return False
            with self._news:
                self._news.wait(min(left, ASK_EVERY))
        self._look_again = 0.0
        self.step()  # so that who asked sees what became of it
        return True

    def _is_done(self, event_id: int | str) -> bool:
        with self.store.read() as view:
            if isinstance(event_id, int):
                return view.events.is_handled(event_id)
            number = int(event_id.rpartition(":")[2])
            found = view.interventions.get(number)
            return found is None or found.state is not InterventionState.ORDERED

    def _in_term(self) -> bool:
        try:
            self._check_term()
        except NotLeading:
            return False
        return not self._looking_on

    def _check_term(self) -> None:
        """Raises NotLeading when this bot has not led all the time since its engine was built."""
        if self.leadership.fence() != self._term:
            raise NotLeading(None)

    def _read_orders(
        self, ledger: Ledger, seen: Sequence[ClusterEvent]
    ) -> tuple[tuple[DeskEvent, ...], ByHand]:
        with self.store.read() as view:
            by_hand = read_by_hand(view)
            asked = view.events.unhandled()
            wanted = {order.request for order in asked}
            wanted.update(event.workload for event in seen if isinstance(event, OF_GANGS))
            if wanted:
                ledger.put(view.requests.by_ids(sorted(wanted)).values())
        return asked, by_hand

    def _carry_out(self, engine: Engine, ledger: Ledger, order: DeskEvent) -> None:
        """Carry out one order; one that cannot be is logged and put aside, not repeated."""
        try:
            orders.carry_out(engine, ledger, self.terms, order)
        except (EngineError, IllegalMove):
            log.exception("desk event %d (%s of %s) failed", order.id, order.kind, order.request)
            request = ledger.get(order.request)
            if request.state is RequestState.WAITING:  # the engine cannot take it: say so
                orders.drop(ledger, request, LOOP, reason="not-understood")
        ledger.done(order.id)

    def _commit(self, ledger: Ledger, era: int) -> None:
        self._check(era)
        if not ledger:
            return
        self._check_term()
        with self.store.write(self._term) as work:
            ledger.record(work)
        with self._news:
            done: tuple[int | str, ...] = (*ledger.handled, *ledger.carried)
            for event_id in done:
                self._handled[event_id] = None
            while len(self._handled) > REMEMBERED:
                self._handled.popitem(last=False)
            self._news.notify_all()
        if ledger.speaks:
            self.on_notices()

    def _act(self, ledger: Ledger, era: int) -> None:
        self._undone.extend(ledger.actions)
        self._finish_undone(era)
        if self.sentence is not None:
            self._cluster.remark(remarks.of_ledger(ledger, self.sentence))

    def _finish_undone(self, era: int) -> None:
        """Do what is stored but not done; it is kept until the cluster has taken all of it."""
        if self._undone:
            self._check(era)
            self._check_term()
            self._cluster.apply_all(tuple(self._undone), self.clock.now())
            self._check(era)
            self._undone = []

    def _back_off(self, error: ClusterUnreachable) -> None:
        self._pause = min(LONGEST_PAUSE, max(FIRST_PAUSE, 2 * self._pause))
        wait = spread(self._pause)
        self._resume_at = time.monotonic() + wait
        self._trouble = str(error)
        log.warning("cluster unreachable (%s): deciding nothing for %.1f s", error, wait)

    def _forget(self, era: int) -> None:
        if era == self._era:
            self._engine_is_stale()

    def _engine_is_stale(self) -> None:
        self._engine = None
        self._undone = []

    def _check(self, era: int) -> None:
        if era != self._era:
            raise GivenUp

    def _new_engine(self) -> Engine:
        return Recorded(self._layout) if self.records else Engine(self._layout)

    def _seal(self) -> None:
        transcript = self.transcript
        if transcript is not None:
            transcript.seal()

    def _ready(self) -> Engine:
        if self._engine is None:
            raise NotReady
        return self._engine

    def _ledger(self) -> Ledger:
        return Ledger(self.store, self.clock.now(), moment(self.wall.now()))
