"""What keeps a pod on its node from being ready, as far as its status tells, and whose fault it is.

A pod whose image cannot be had, or whose containers end, would fare no better elsewhere; one of
which nothing runs at all waits for its node: for a volume, a sandbox, a device. What is mounted
stands in no status, so that also a Secret which is missing looks like that. Nothing is held against
a node that its pods on other nodes suffer as well.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from bot.clusters.base import Evidence
from scheduler.model import NodeName

Json = Mapping[str, Any]
_IMAGE = frozenset(
    {
        "ErrImagePull",
        "ImagePullBackOff",
        "InvalidImageName",
        "ErrImageNeverPull",
        "ImageInspectError",
        "RegistryUnavailable",
        "SignatureValidationFailed",
    }
)
_BEGINNING = frozenset({"", "ContainerCreating", "PodInitializing"})
_REFUSED = "UnexpectedAdmissionError"  # the kubelet could not give it its devices
_SHORT = "OutOf"  # of what the kubelet says that it has less of than it had told


class Trouble(enum.StrEnum):
    """What a pod suffers from.

    IMAGE: a container's image cannot be had. BROKEN: its containers cannot be made, or end.
    UNREADY: they run, and do not say that they are ready. STUCK: nothing of it runs. REFUSED: its
    kubelet did not take it.
    """

    IMAGE = "image"
    BROKEN = "broken"
    UNREADY = "unready"
    STUCK = "stuck"
    REFUSED = "refused"


class Placed(Protocol):
    """A pod, as far as it matters here."""

    @property
    def node(self) -> NodeName | None:
        """Its node, if it has one."""

    @property
    def part(self) -> tuple[str, int] | None:
        """Which of several kinds of pods of its gang it is of."""

    @property
    def trouble(self) -> Trouble | None:
        """What keeps it from being ready."""


_OWN = frozenset({Trouble.IMAGE, Trouble.BROKEN})
_WAITS = frozenset({Trouble.STUCK, Trouble.REFUSED})


def trouble_of(status: Json) -> Trouble | None:
    """What keeps a pod on a node, that is not ready, from being so; None where it has ended."""
    reason = str(status.get("reason") or "")
    if status.get("phase") == "Failed":
        refused = reason == _REFUSED or reason.startswith(_SHORT)
        return Trouble.REFUSED if refused else None
    if status.get("phase") == "Succeeded":
        return None
    states = list(_states(status))
    if any(_waits_for(state) in _IMAGE for state in states):
        return Trouble.IMAGE
    if any(map(_is_broken, states)):
        return Trouble.BROKEN
    runs = any("running" in (state.get("state") or {}) for state in states)
    return Trouble.UNREADY if runs else Trouble.STUCK


def _states(status: Json) -> Iterator[Json]:
    for kind in ("initContainerStatuses", "containerStatuses"):
        yield from status.get(kind) or ()


def _waits_for(container: Json) -> str:
    waiting = (container.get("state") or {}).get("waiting") or {}
    return str(waiting.get("reason") or "")


def _is_broken(container: Json) -> bool:
    """Whether it cannot be made as it is, or has ended as it should not."""
    ended = (container.get("state") or {}).get("terminated")
    if ended:
        return bool(ended.get("exitCode"))
    return bool(container.get("restartCount")) or _waits_for(container) not in _BEGINNING


def blamed(pods: Sequence[Placed]) -> Iterator[tuple[NodeName, Evidence]]:
    """Which nodes a gang that is not ready in time speaks against, by its pods that have not ended.

    A node is suspected for what others of the same pods do not suffer from elsewhere; what is as
    likely to be the gang's own fault only where it is on one node alone.
    """
    here = [(pod.node, pod.trouble, pod) for pod in pods if pod.node is not None]
    nodes = {node for node, _, _ in here}
    refused = {node for node, trouble, _ in here if trouble is Trouble.REFUSED}
    lacking = {
        node
        for node, trouble, pod in here
        if trouble is Trouble.IMAGE and _has_image(_alike(pod, pods), node)
    }
    own = {node for node, trouble, _ in here if trouble in _OWN} - lacking
    stuck = {node for node, trouble, _ in here if trouble in _WAITS} - refused
    well = {node for node, trouble, _ in here if trouble not in _WAITS} - stuck - refused
    slow = {node for node, trouble, _ in here if trouble is Trouble.UNREADY}
    found = dict.fromkeys(sorted(lacking), Evidence.LIKELY)
    if own or lacking:
        suspected = own
    elif stuck and (len(nodes) == 1 or len(stuck) <= len(well)):
        found |= dict.fromkeys(sorted(stuck), Evidence.LIKELY)
        suspected = set()
    else:
        suspected = slow if not stuck else set()
    if len(suspected) == 1:
        found |= dict.fromkeys(suspected, Evidence.DOUBTFUL)
    found |= dict.fromkeys(sorted(refused), Evidence.CERTAIN)
    yield from found.items()


def _alike(pod: Placed, pods: Sequence[Placed]) -> Iterator[Placed]:
    part = None if pod.part is None else pod.part[0]
    return (one for one in pods if (None if one.part is None else one.part[0]) == part)


def _has_image(pods: Iterable[Placed], but: NodeName) -> bool:
    """Whether one of the pods has got its image, on another node than that."""
    return any(
        pod.node not in {None, but} and pod.trouble in {None, Trouble.BROKEN, Trouble.UNREADY}
        for pod in pods
    )
