"""Leader by a `coordination.k8s.io` Lease: one replica decides, and takes over when that ends.

The API server keeps a Lease but never ends one. Whoever waits therefore measures, on its own
monotonic clock, how long it has seen no change, and takes over after the Lease's duration;
whoever leads stops deciding some seconds before that, counted from when it *sent* its last
renewal that got through. Clocks of machines are never compared. Should both believe to lead for
a moment all the same, `leaseTransitions` decides: it grows with each change, and storage refuses
the transactions of a smaller number. (The scheme is that of Kubernetes' own components.)
"""

from __future__ import annotations

import datetime as dt
import logging
import threading
import time
from collections.abc import Callable, Generator, Mapping
from typing import Any

from bot.clusters.base import ClusterUnreachable
from bot.clusters.kubernetes.connection import MERGE, Body, Connection, Json, Refused, Unanswered
from bot.leading import NotLeading
from bot.pauses import spread

log = logging.getLogger(__name__)

LEASE = "gpubot"  # its name; rights.yaml lets the bot change this one only
DURATION = 15.0  # seconds without a renewal after which another may take over
TRUST = 10.0  # seconds that a renewal is good for: its holder stops before others begin
EVERY = 2.0  # seconds between renewals, or looks
ABSENT, CONFLICT = 404, 409


class Candidate:
    """One bot that would lead. `attend` is called by its own thread, the rest by anybody.

    Args:
        who: the name of this bot, which no other has at the same time.
        floor: the newest number that storage has seen; a Lease made anew goes on from it.
        monotonic: the clock that durations are measured on.

    """

    def __init__(
        self,
        connection: Connection,
        *,
        namespace: str,
        who: str,
        floor: Callable[[], int],
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self.who = who
        self.deposed = threading.Event()
        """Set for good when another has taken over from this bot: what it knows is out of date."""
        self.on_change: Callable[[], None] = lambda: None
        self._connection = connection
        self._folder = f"/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"
        self._floor, self._monotonic = floor, monotonic
        self._seen: Json | None = None
        self._seen_at = monotonic()
        self._term: int | None = None
        self._until = 0.0
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name="leader", daemon=True)

    def start(self) -> None:
        """Try once, then go on in a thread."""
        self._try()
        self._thread.start()

    def stop(self) -> None:
        """Stop, and let another take over at once. What still decides must have ended before."""
        self._stopping.set()
        if self._thread.is_alive():
            self._thread.join()
        self._give_up()

    # ---- for everybody

    def fence(self) -> int:
        """The number of this leader. Raises NotLeading."""
        term = self._term
        if term is None or self._monotonic() >= self._until:
            raise NotLeading(self.leader)
        return term

    @property
    def leads(self) -> bool:
        """Whether this bot decides at this moment."""
        return self._term is not None and self._monotonic() < self._until

    @property
    def in_doubt(self) -> bool:
        """Whether it led, could not renew in time, and does not know of another."""
        return self._term is not None and not self.leads

    @property
    def leader(self) -> str | None:
        """Who leads, as far as is known; None when that has not been heard of for too long."""
        if self.leads:
            return self.who
        holder = _spec(self._seen).get("holderIdentity") or None
        if holder == self.who or self._monotonic() - self._seen_at >= self._duration():
            return None
        return str(holder) if holder else None

    # ---- its own thread

    def attend(self) -> None:
        """Renew the Lease, look who holds it, or take it over. Raises Unanswered or Refused."""
        led = self.leads
        try:
            if self._term is None or not self._renew():
                self._contend()
        finally:
            if led != self.leads:
                log.info("%s leads", self.leader or "nobody")
                self.on_change()

    def _run(self) -> None:
        while not self._stopping.wait(spread(EVERY, 0.8, 1.2)):
            self._try()

    def _try(self) -> None:
        try:
            self.attend()
        except ClusterUnreachable as error:
            log.warning("the Lease %s cannot be seen: %s", LEASE, error)
        except Refused as error:
            log.warning("the Lease %s is refused (%s): run `gpubot doctor`", LEASE, error)
        except Exception:
            log.exception("attending to the Lease %s failed", LEASE)

    def _renew(self) -> bool:
        """Prolong our own term; False when that may not be ours any more."""
        seen = self._seen
        if seen is None:
            return False
        sent = self._monotonic()
        try:
            answer = self._put(seen, {"renewTime": _moment()})
        except Refused as error:
            if error.status in {ABSENT, CONFLICT}:
                return False
            raise
        self._notice(answer)
        self._until = sent + TRUST
        return True

    def _contend(self) -> None:
        try:
            self._notice(self._connection.get(f"{self._folder}/{LEASE}"))
        except Refused as error:
            if error.status != ABSENT:
                raise
            self._take(None)
            return
        spec = _spec(self._seen)
        holder, number = spec.get("holderIdentity") or "", _number(spec)
        if self._term is not None:
            if holder == self.who and number == self._term:  # an answer of ours was lost
                self._renew()
                return
            self._depose(str(holder))
            return
        silent = self._monotonic() - self._seen_at
        if self.deposed.is_set():
            return
        if not holder or holder == self.who or silent >= self._duration():
            self._take(self._seen)

    def _take(self, before: Json | None) -> None:
        """Begin a term, with a number that storage has not seen."""
        if self._term is not None:  # it was deleted: who may have led since, nobody knows
            self._depose("")
        if self.deposed.is_set():
            return
        number = max(_number(_spec(before)), self._floor()) + 1
        sent, now = self._monotonic(), _moment()
        spec = {
            "holderIdentity": self.who,
            "leaseDurationSeconds": int(DURATION),
            "acquireTime": now,
            "renewTime": now,
            "leaseTransitions": number,
        }
        try:
            if before is None:
                answer = self._connection.post(
                    self._folder,
                    {
                        "apiVersion": "coordination.k8s.io/v1",
                        "kind": "Lease",
                        "metadata": {"name": LEASE},
                        "spec": spec,
                    },
                )
            else:
                answer = self._put(before, spec)
        except Refused as error:
            if error.status != CONFLICT:
                raise
            return  # another was faster
        self._notice(answer)
        self._term, self._until = number, sent + TRUST

    def _depose(self, holder: str) -> None:
        log.warning("%s has taken over from %s", holder or "nobody", self.who)
        self._term, self._until = None, 0.0
        self.deposed.set()

    def _give_up(self) -> None:
        if not self.leads or self._seen is None:
            return
        self._term = None
        try:
            self._put(self._seen, {"holderIdentity": "", "renewTime": _moment()})
        except (Unanswered, Refused) as error:
            log.warning("the Lease %s could not be given up: %s", LEASE, error)

    def _put(self, before: Json, changes: Mapping[str, Any]) -> Json:
        """Replace the Lease as it was seen; 409 when somebody wrote since."""
        meta = {key: _meta(before)[key] for key in ("name", "uid", "resourceVersion")}
        body = {
            "apiVersion": "coordination.k8s.io/v1",
            "kind": "Lease",
            "metadata": meta,
            "spec": {**_spec(before), **changes},
        }
        return self._connection.put(f"{self._folder}/{LEASE}", body)

    def _notice(self, found: Json) -> None:
        if _meta(found).get("resourceVersion") != _meta(self._seen).get("resourceVersion"):
            self._seen_at = self._monotonic()
        self._seen = found

    def _duration(self) -> float:
        """What the Lease says, for another version of the bot may have written it."""
        said = _spec(self._seen).get("leaseDurationSeconds")
        return float(said) if isinstance(said, int) and said > 0 else DURATION


class GuardedConnection(Connection):
    """Another connection, by which only the leader writes. Everybody may read, to look on.

    A leader that could not renew in time may go on where it was, so its writes stay to be done
    (Unanswered); those of a bot that does not lead are none of its business (NotLeading).
    """

    def __init__(self, inner: Connection, candidate: Candidate) -> None:
        self._inner, self._candidate = inner, candidate

    def get(self, path: str, **query: str | int) -> Json:
        """Read an object or a list. Raises Unanswered or Refused."""
        return self._inner.get(path, **query)

    def stream(self, path: str, seconds: int, **query: str | int) -> Generator[Json]:
        """The events of a watch. Raises Unanswered or Refused."""
        return self._inner.stream(path, seconds, **query)

    def post(self, path: str, body: Mapping[str, Any], **query: str | int) -> Json:
        """Create an object. Raises Unanswered, Refused or NotLeading."""
        return self._writing().post(path, body, **query)

    def put(self, path: str, body: Mapping[str, Any]) -> Json:
        """Replace an object. Raises Unanswered, Refused or NotLeading."""
        return self._writing().put(path, body)

    def patch(self, path: str, body: Body, kind: str = MERGE) -> Json:
        """Change an object. Raises Unanswered, Refused or NotLeading."""
        return self._writing().patch(path, body, kind)

    def delete(self, path: str, body: Mapping[str, Any]) -> Json:
        """Delete an object. Raises Unanswered, Refused or NotLeading."""
        return self._writing().delete(path, body)

    def _writing(self) -> Connection:
        try:
            self._candidate.fence()
        except NotLeading as error:
            if self._candidate.in_doubt:
                raise Unanswered("nothing is written while it is not sure who leads") from error
            raise
        return self._inner


def _meta(lease: Json | None) -> Json:
    found = (lease or {}).get("metadata")
    return found if isinstance(found, dict) else {}


def _spec(lease: Json | None) -> Json:
    found = (lease or {}).get("spec")
    return found if isinstance(found, dict) else {}


def _number(spec: Json) -> int:
    found = spec.get("leaseTransitions")
    return found if isinstance(found, int) else 0


def _moment() -> str:
    """Now, with the fraction that the API server insists on. For people: nobody compares it."""
    return dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
