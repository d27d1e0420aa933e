"""What keeps an object of people's from being a request."""

from __future__ import annotations

import enum
from dataclasses import dataclass


class FlawKind(enum.StrEnum):
    """What keeps an object from being a request.

    SHORT: a group lacks pods. MIXED: its pods differ in a mark of ours. UNLIKE: its pods of one
    role differ in what they ask for. LOOSE: its pods wait although it is not held itself, so it
    cannot start as a whole. ELSEWHERE: its pods are made by another than the cluster's own
    controller for such objects. HELD_NOT: it names a request that has no GPUs for it now.
    HELD_LESS: one that has fewer on any one node than it wants. LINGERS: a node that has failed
    keeps a pod of it, and no other takes the place of that before it has ended. NODE_NAMED: its
    template names the node, so that no scheduler is asked, and no gate can hold its pods.
    """

    SHORT = "short"
    MIXED = "mixed"
    UNLIKE = "unlike"
    LOOSE = "loose"
    ELSEWHERE = "elsewhere"
    HELD_NOT = "held-not"
    HELD_LESS = "held-less"
    LINGERS = "lingers"
    NODE_NAMED = "node-named"


@dataclass(frozen=True, slots=True, kw_only=True)
class Flaw:
    """What is wrong: of a group, the mark it is about, and how many pods of how many are there.

    `values` are those of the mark, the role, the name of who makes the pods, or of the request, or
    the names of a pod and its node. Of a pod that names a request, `there` and `size` are GPUs:
    what that has, and what it wants. `lasting` is of one that has been short for so long that its
    pods will not come by themselves.
    """

    kind: FlawKind
    mark: str = ""
    values: tuple[str, ...] = ()
    there: int = 0
    size: int = 0
    lasting: bool = False
