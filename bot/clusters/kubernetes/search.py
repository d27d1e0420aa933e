"""Where an object is that its watch shows no more: gone, or there without the label."""

from __future__ import annotations

from bot.clusters.kubernetes import names, patches
from bot.clusters.kubernetes.connection import Connection, Refused
from bot.clusters.kubernetes.gangs import Gang, Whereabouts, decision_of, path_of
from bot.clusters.kubernetes.mirror import Mirror
from bot.clusters.kubernetes.writing import CONFLICT, Write, Writer

_OTHER = frozenset({404, CONFLICT, 422})  # there is none of this uid


class Search:
    """Asks for objects by name; what it finds stands in the gang."""

    def __init__(self, connection: Connection, mirror: Mirror, writer: Writer) -> None:
        self._connection, self._mirror, self._writer = connection, mirror, writer

    def ask(self, gang: Gang) -> None:
        """Ask for an object that we see no more; our marks are taken off one that has left."""
        if gang.object is not None:
            return
        gang.object = Whereabouts.ASKED

        self._writer.put(
            Write(
                about=gang.ref.uid,
                what=f"look for {gang.decision}",
                send=lambda: self.look_for(gang),
                refused=lambda _: self._tell(gang, Whereabouts.GONE),
            )
        )

    def look_for(self, gang: Gang) -> None:
        """Find it without the selector of its watch, from the writer's thread."""
        path, uid = path_of(gang.ref), gang.ref.uid
        if not gang.seen:  # what we made has no uid before it is seen, but for its pods
            owners = self._mirror.owners_of(lambda pod: decision_of(pod) == gang.decision)
            uid = min(owners, default="")
        if not uid:
            return
        try:
            found = self._connection.patch(path, patches.look(uid))["metadata"]
        except Refused as error:
            if error.status not in _OTHER:
                raise
            self._tell(gang, Whereabouts.GONE)
            return
        if "deletionTimestamp" in found:
            self._tell(gang, Whereabouts.GONE)
        elif names.TEAM in (found.get("labels") or {}):
            gang.object = None  # its watch will say so
        else:
            self._connection.patch(path, patches.disown(found["uid"]))
            self._tell(gang, Whereabouts.LEFT)

    def _tell(self, gang: Gang, found: Whereabouts) -> None:
        gang.object = found
        self._mirror.note(gang.ref.uid)
