"""What is said on objects themselves, as Events, for those who look with `kubectl describe`.

An Event's name follows from what it is about and the state of that, so that each saying is there
once however often it is written. Events go out on a writer of their own, behind everything that
was decided: with a bound on how many wait, beyond which they are left out.
"""

from __future__ import annotations

import datetime as dt
import hashlib
import logging
import threading
import time
from collections.abc import Callable, Sequence

from bot.clusters.base import Remark
from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Connection, Json, Refused
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.writing import CONFLICT, FORBIDDEN, Write, Writer
from storage.records import ObjectRef

log = logging.getLogger(__name__)

AT_ONCE = 2  # Events that are under way together: what was decided has the other connections
WAITING_AT_MOST = 2_000
SILENCE = 600.0  # seconds without Events when the bot may not write any: nobody gave it the right
NOTE_AT_MOST = 1024  # bytes that the API server takes
_NAME_AT_MOST = 200  # of the object's, of the 253 characters that a name may have
_VERSIONS = {"Job": "batch/v1", "Pod": "v1", "JobSet": "jobset.x-k8s.io/v1alpha2"}


class Remarks:
    """Writes Events. `put` returns at once, and never raises for the cluster's sake."""

    def __init__(
        self, connection: Connection, mirror: Mirror, who: str = names.FIELD_MANAGER
    ) -> None:
        self._connection, self._mirror, self._who = connection, mirror, who
        self._writer = Writer(AT_ONCE)
        self._lock = threading.Lock()
        self._waiting = 0
        self._silent_until = 0.0

    def put(self, remarks: Sequence[Remark]) -> None:
        """Have them said, but for those for which there is no room or no object."""
        left_out = 0
        for remark in remarks if time.monotonic() >= self._silent_until else ():
            about = self._object(remark.ref)
            if about is None:
                continue
            with self._lock:
                full = self._waiting >= WAITING_AT_MOST
                self._waiting += not full
            left_out += full
            if not full:
                self._writer.put(self._write(remark, about))
        if left_out:
            log.warning("%d Events are left out: %d wait already", left_out, WAITING_AT_MOST)

    def wait(self, seconds: float) -> bool:
        """Wait until nothing is left to be said; False if that was not in time."""
        return self._writer.wait(seconds)

    def stop(self) -> None:
        """Say nothing more."""
        self._writer.stop()

    def _write(self, remark: Remark, about: Json) -> Write:
        return Write(
            about=remark.ref.uid,
            what=f"say {remark.reason}",
            send=self._once(remark, about),
            over=self._make_room,
        )

    def _make_room(self) -> None:
        with self._lock:
            self._waiting -= 1

    def _once(self, remark: Remark, about: Json) -> Callable[[], object]:
        path = f"/apis/events.k8s.io/v1/namespaces/{about['namespace']}/events"
        at = dt.datetime.now(dt.UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")

        def send() -> None:
            if time.monotonic() < self._silent_until:
                return
            try:
                self._connection.post(path, self._body(remark, about, at))
            except Refused as error:
                if error.status == FORBIDDEN:
                    self._be_silent(error)
                elif error.status != CONFLICT:  # 409: it was said before
                    raise

        return send

    def _be_silent(self, error: Refused) -> None:
        """Write no Events for a while; say so once, however many were under way."""
        with self._lock:
            now = time.monotonic()
            heard = now < self._silent_until
            self._silent_until = now + SILENCE
        if not heard:
            log.warning("no Events for %.0f min: %s; see `gpubot doctor`", SILENCE / 60, error)

    def _body(self, remark: Remark, about: Json, at: str) -> Json:
        said = hashlib.sha256(f"{about['uid']} {remark.reason} {remark.state}".encode())
        note = remark.note().encode()[:NOTE_AT_MOST].decode(errors="ignore")
        return {
            "apiVersion": "events.k8s.io/v1",
            "kind": "Event",
            "metadata": {
                "namespace": about["namespace"],
                "name": f"{about['name'][:_NAME_AT_MOST]}.{said.hexdigest()[:16]}",
            },
            "eventTime": at,
            "type": "Warning" if remark.warning else "Normal",
            "reason": str(remark.reason),
            "action": "Admission",
            "note": note,
            "regarding": about,
            "reportingController": names.PREFIX + "gpubot",
            "reportingInstance": self._who,
        }

    def _object(self, ref: ObjectRef) -> Json | None:
        """What an Event is about: the object, or the first of several pods that are one request."""
        if ref.kind in _VERSIONS:
            return {
                "apiVersion": _VERSIONS[ref.kind],
                "kind": ref.kind,
                "namespace": ref.namespace,
                "name": ref.name,
                "uid": ref.uid,
            }
        first = next(iter(self._mirror.pods_of_unit(ref.uid)), None)
        if first is None:
            return None
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "namespace": first.namespace,
            "name": first.name,
            "uid": first.uid,
        }
