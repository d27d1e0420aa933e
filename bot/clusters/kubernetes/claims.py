"""What is ours although the seal on it is of another identity: the store tells of that decision.

A database from before there were identities gets another each time it is upgraded, so also when it
is restored. What an object says is believed as before where that names a decision which the store
had when the bot came, and the very object that it was about. All that is decided later is sealed
with the identity that is in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TypeVar

from bot.clusters.kubernetes import names
from bot.clusters.kubernetes.connection import Json
from bot.clusters.kubernetes.facts import JOB, PodFacts
from bot.clusters.kubernetes.seals import identity_in, is_former, unsealed
from bot.clusters.kubernetes.templates import name_of
from bot.clusters.kubernetes.works import JobFacts, JobSetFacts
from storage.records import Request
from storage.states import FINAL, RequestState
from storage.store import Store

Claims = frozenset[tuple[str, str]]
"""Decisions, each with what stands for an object that it is about."""

NO_CLAIMS: Claims = frozenset()
F = TypeVar("F", PodFacts, JobFacts, JobSetFacts)
_OPEN = tuple(state for state in RequestState if state not in FINAL)


def claims_in(store: Store) -> Claims:
    """Those of the requests that are not over."""
    with store.read() as view:
        requests = view.requests.find(states=_OPEN)
    return frozenset((one.decision, key) for one in requests for key in _claimed(one))


def read_marked(obj: Json, read: Callable[[Json], F], bot: str, claims: Claims) -> F:
    """An object as a bot is to take it.

    What is sealed with another identity is first read as by the bot that had it: of a copy, or of
    an object that another has the place of, that bot would not believe it either.
    """
    other = identity_in(obj)
    if claims and other and other != bot:
        found = read(unsealed(obj, other))
        marks = found.annotations
        decision = marks.get(names.DECISION) or marks.get(names.LEFT) or ""
        if not is_former(marks) and any((decision, key) in claims for key in _keys(found)):
            return found
    return read(unsealed(obj, bot))


def _claimed(request: Request) -> Iterator[str]:
    """What stands for the objects of a request: a hold has pods on its nodes alone."""
    if request.admission is None:
        return
    if request.ref is not None:
        yield request.ref.uid
    elif request.recipe is not None:
        yield _made(name_of(request.decision))
    else:
        for part in request.admission.assignments:
            yield from (_held(node) for node, _ in part.nodes)


def _keys(found: PodFacts | JobFacts | JobSetFacts) -> Iterator[str]:
    """What may stand for an object: itself, and of a pod what it is one of."""
    yield found.uid
    made = names.MADE in found.annotations
    if not isinstance(found, PodFacts):
        if made:
            yield _made(found.name)
        return
    if found.owner is not None:
        yield found.owner.uid
        if made and found.owner.kind == JOB:
            yield _made(found.owner.name)
    unit = found.unit or found.former_unit
    if unit is not None:
        yield unit
    if found.request is not None and found.node is not None:
        yield _held(found.node)


def _made(name: str) -> str:
    return f"made:{name}"


def _held(node: str) -> str:
    return f"held:{node}"
