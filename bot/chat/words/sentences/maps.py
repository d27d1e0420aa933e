"""The map of the cluster: its labels, and in words what it shows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from bot.chat.markup import Markup
from bot.maps import MapView
from bot.overview import ClusterView
from scheduler.doubts import NodeDoubt


class Maps(Protocol):
    """Labels are plain text: a picture knows no markup."""

    map_file_title: str
    map_free: str
    map_outside: str
    map_failed: str
    map_cordoned: str

    def map_title(self, view: MapView) -> str:
        """Heads the picture."""
        ...

    def map_owner(self, owner: str, gpus: int) -> str:
        """`nlp: 320 GPUs`, in the legend."""
        ...

    def map_domain(self, kind: str, path: Sequence[tuple[str, str]]) -> str:
        """`reserved-h100, block 1` above a block, `rack 3` above a rack."""
        ...

    def levels(self, cluster: ClusterView) -> Sequence[Markup]:
        """What is whole at each level, a line for each kind of nodes that has levels."""
        ...

    def doubts_title(self, count: int) -> Markup:
        """Leads what is odd about the nodes, for those who can mend it."""
        ...

    def doubt(self, doubt: NodeDoubt) -> Markup:
        """One oddity of a node."""
        ...

    def map_text(self, view: MapView) -> Markup:
        """What stands under the picture, and instead of it where no picture can be sent."""
        ...

    def map_alt(self, view: MapView) -> str:
        """The picture in words, with its figures, for who cannot see it."""
        ...
