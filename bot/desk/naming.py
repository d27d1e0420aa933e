"""Which request is meant by a word: its id, or the name that somebody gave it."""

from __future__ import annotations

import re
from contextlib import suppress

from bot.desk.office import OPEN, Office
from bot.plans import near, refuse
from bot.views import NotReady, RefusalCode, Refused
from scheduler.engine import Engine
from storage.records import Request
from storage.states import FINAL

_ID = re.compile(r"R-[0-9]{1,12}", re.ASCII | re.IGNORECASE)
NAMED = 8  # of several with the same name, so many are listed
LOOKED_UP = 200  # of the same name, among which replicas are told from others
ENDED = 50  # own requests that have ended, among which a name is looked for


class Naming(Office):
    """Finds requests for whoever asks about them."""

    def _which(self, person_id: str, what: str) -> str | Refused:
        """The id of the request that is meant, whether there is one of that id or not.

        Of those with the name, an own open one comes first, then others' open ones, then the own
        one that ended last. Several that are as near are named in the refusal.
        """
        word = what.strip()
        if _ID.fullmatch(word):
            return word.upper()
        with self._store.read() as view:
            mine = view.requests.find(states=OPEN, owner=person_id)
            over = view.requests.find(
                states=sorted(FINAL), owner=person_id, limit=ENDED, newest_first=True
            )
        own = {one.card: one.workload.owner for one in mine if _is_called(one, word)}
        others: dict[str, str] = {}
        with suppress(NotReady):
            others = self._look(lambda engine: _called(engine, word))
        found = own or self._families(others)
        if len(found) == 1:
            return next(iter(found))
        if found:
            return self._ambiguous(word, found)
        ended = next((one.id for one in over if _is_called(one, word)), None)
        if ended is not None:
            return ended
        names = {one.workload.name for one in (*mine, *over) if one.workload.name}
        return refuse(RefusalCode.NO_SUCH_REQUEST, near(word, names), request=word)

    def _families(self, found: dict[str, str]) -> dict[str, str]:
        """The same with replicas of one kind as one, under the id that stands for all of them."""
        some = sorted(found, key=lambda one: int(one.removeprefix("R-")))[:LOOKED_UP]
        with self._store.read() as view:
            return {one.card: found[one.id] for one in view.requests.by_ids(some).values()}

    def _ambiguous(self, word: str, found: dict[str, str]) -> Refused:
        ids = sorted(found, key=lambda one: int(one.removeprefix("R-")))
        listed = tuple(f"{one} ({self._directory.person(found[one]).name})" for one in ids[:NAMED])
        return refuse(RefusalCode.AMBIGUOUS_NAME, listed, name=word, count=len(ids), example=ids[0])


def _is_called(request: Request, word: str) -> bool:
    return request.workload.name.casefold() == word.casefold()


def _called(engine: Engine, word: str) -> dict[str, str]:
    """The owners of all who wait or run with a name, by id."""
    name = word.casefold()
    waiting = (one for one in engine.pending() if one.name.casefold() == name)
    running = (one for one, _ in engine.running() if one.name.casefold() == name)
    return {str(one.id): one.owner for one in (*waiting, *running)}
