"""The map of the cluster as a PNG: a cell for each GPU, a strip for each node.

Sizes are in pixels, y grows downwards. Whose a GPU is shows twice, by colour and by letter;
the state of a node by hatching and frame. Each picture has a figure of its own and draws on
the Agg canvas, so nothing is shared but matplotlib's font cache.
"""

from __future__ import annotations

import io
import math
import string
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby

import numpy as np
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure
from matplotlib.font_manager import FontProperties
from matplotlib.path import Path
from matplotlib.textpath import TextPath

from bot.chat.words import Words
from bot.maps import MapNode, MapView

DPI = 100
MARGIN = 24.0
NAMED_UP_TO = 120  # nodes; with more of them their names would be too small to read
COLUMN = 25  # nodes one above the other where there are no racks
ASPECT = 1.5
COLOURS = (
    "#56b4e9", "#e69f00", "#66c9a5", "#f0e442", "#d98cbf", "#b3b3ff", "#e8836b", "#c6e377",
    "#c9b18a", "#7fb7be", "#f2b5c4", "#a8c5a0",
)  # fmt: skip
FREE, OUTSIDE, FAILED, CORDONED, INK = "#ffffff", "#9a9a9a", "#6b6b6b", "#e2e2e2", "#222222"
DRAWING = threading.Lock()  # the font cache is not made for two threads at once


def draw(view: MapView, words: Words) -> bytes:
    """The PNG of a map."""
    sections = _sections(view.nodes, words)
    size = _Size.of(view)
    plan = _arrange(sections, size)
    legend = _legend(view, words)
    with DRAWING:
        sheet = _Sheet(plan.width, plan.height + _legend_height(legend, plan.width), size)
        sheet.title(words.map_title(view))
        for section, (x, y) in zip(sections, plan.spots, strict=True):
            sheet.section(section, x, y, plan.across)
        marks = _marks([owner for owner, _ in view.owners])
        sheet.cells(marks)
        sheet.legend(legend, plan.height)
        return sheet.png()


@dataclass(frozen=True, slots=True)
class _Rack:
    title: str
    nodes: tuple[MapNode, ...]


@dataclass(frozen=True, slots=True)
class _Section:
    title: str
    racks: tuple[_Rack, ...]


@dataclass(frozen=True, slots=True)
class _Size:
    """Of one cell, of the names before the strips, and of a rack, whose strips are all as long."""

    cell: float
    names: float
    gpus: int

    @staticmethod
    def of(view: MapView) -> _Size:
        many = len(view.nodes) > NAMED_UP_TO
        cell = 11.0 if many else 20.0
        longest = max((len(node.name) for node in view.nodes), default=0)
        names = 0.0 if many else min(30, longest) * 7.0 + 8.0
        return _Size(cell, names, max((node.gpus for node in view.nodes), default=8))

    @property
    def rack(self) -> float:
        return self.names + self.gpus * self.cell + 1.2 * self.cell

    @property
    def heading(self) -> float:
        """Room for a rack's title."""
        return 18.0

    def section(self, section: _Section, across: int) -> tuple[float, float]:
        """Width and height with `across` racks in a row."""
        rows = _rows(section.racks, across)
        tall = sum(
            max(len(r.nodes) for r in row) * self.cell + self.heading + self.cell for row in rows
        )
        return max(len(row) for row in rows) * self.rack, tall + 26.0


def _rows(racks: Sequence[_Rack], across: int) -> list[Sequence[_Rack]]:
    return [racks[start : start + across] for start in range(0, len(racks), across)]


def _sections(nodes: Iterable[MapNode], words: Words) -> list[_Section]:
    """A section for each outermost domain, or kind of node without any; racks inside."""
    sections = []
    for (kind, outer), group in groupby(nodes, key=lambda n: (n.kind, n.path[:-1][:1])):
        racks = []
        for inner, some in groupby(group, key=lambda n: n.path[len(outer) :]):
            members = tuple(some)
            if inner:
                racks.append(_Rack(words.map_domain("", inner), members))
                continue
            starts = range(0, len(members), COLUMN)
            racks.extend(_Rack("", members[start : start + COLUMN]) for start in starts)
        sections.append(_Section(words.map_domain(kind, outer), tuple(racks)))
    return sections


@dataclass(frozen=True, slots=True)
class _Plan:
    """Where sections go, `across` racks in a row at most; the height is without the legend."""

    width: float
    height: float
    across: int
    spots: list[tuple[float, float]]


def _arrange(sections: Sequence[_Section], size: _Size) -> _Plan:
    """Sections in rows, so that width to height comes near `ASPECT`."""
    most = max((len(s.racks) for s in sections), default=1)
    total = sum(len(s.racks) for s in sections) or 1
    tried = []
    for across in range(1, min(total, 40) + 1):
        width = max(across * size.rack, 620.0)
        height, spots = _shelve(sections, size, min(across, most), width)
        plan = _Plan(width + 2 * MARGIN, height + MARGIN, min(across, most), spots)
        tried.append((abs(math.log(plan.width / plan.height / ASPECT)), plan))
    return min(tried, key=lambda one: (one[0], one[1].width))[1]


def _shelve(
    sections: Sequence[_Section], size: _Size, across: int, width: float
) -> tuple[float, list[tuple[float, float]]]:
    x, y, tallest = 0.0, 44.0 + MARGIN, 0.0
    spots = []
    for section in sections:
        wide, tall = size.section(section, across)
        if x and x + wide > width + 1:
            x, y, tallest = 0.0, y + tallest, 0.0
        spots.append((MARGIN + x, y))
        x, tallest = x + wide, max(tallest, tall)
    return y + tallest, spots


@dataclass(slots=True)
class _Cells:
    """Upper left corners of cells by what fills them, and strips of nodes in trouble."""

    owned: dict[str, list[tuple[float, float]]] = field(default_factory=dict)
    free: list[tuple[float, float]] = field(default_factory=list)
    outside: list[tuple[float, float]] = field(default_factory=list)
    failed: list[tuple[float, float, int]] = field(default_factory=list)
    cordoned: list[tuple[float, float, int]] = field(default_factory=list)


class _Sheet:
    """The figure being drawn."""

    def __init__(self, width: float, height: float, size: _Size) -> None:
        self.width, self.height, self.size = width, height, size
        self.figure = Figure(figsize=(width / DPI, height / DPI), dpi=DPI, facecolor="white")
        self.canvas = FigureCanvasAgg(self.figure)
        self.axes: Axes = self.figure.add_axes((0, 0, 1, 1))
        self.axes.set_xlim(0, width)
        self.axes.set_ylim(height, 0)
        self.axes.set_axis_off()
        self.found = _Cells()

    def title(self, text: str) -> None:
        self.text(MARGIN, 30.0, text, 20.0, weight="bold")

    def text(self, x: float, y: float, text: str, pixels: float, *, weight: str = "normal") -> None:
        """Left-aligned, centred on y; what looks like mathematics is not read as such."""
        self.axes.text(
            x, y, text, fontsize=pixels * 72 / DPI, weight=weight, color=INK,
            va="center_baseline", parse_math=False,
        )  # fmt: skip

    def section(self, section: _Section, x: float, y: float, across: int) -> None:
        """Its title, its racks in rows, and note every cell."""
        self.text(x, y + 10.0, section.title, 15.0, weight="bold")
        y += 26.0
        for row in _rows(section.racks, across):
            for place, rack in enumerate(row):
                self._rack(rack, x + place * self.size.rack, y)
            tallest = max(len(rack.nodes) for rack in row)
            y += tallest * self.size.cell + self.size.heading + self.size.cell

    def _rack(self, rack: _Rack, x: float, y: float) -> None:
        cell, names = self.size.cell, self.size.names
        if rack.title:
            self.text(x + names, y + 7.0, rack.title, 12.0)
        y += self.size.heading
        for number, node in enumerate(rack.nodes):
            top = y + number * cell
            if names:
                self.text(x, top + cell / 2, node.name[:30], 12.0)
            self._node(node, x + names, top)

    def _node(self, node: MapNode, x: float, y: float) -> None:
        cell, found = self.size.cell, self.found
        corners = [(x + number * cell, y) for number in range(node.gpus)]
        for owner, gpus in node.held:
            taken, corners = corners[:gpus], corners[gpus:]
            found.owned.setdefault(owner, []).extend(taken)
        found.outside.extend(corners[: node.outside])
        found.free.extend(corners[node.outside :])
        if not node.ready:
            found.failed.append((x, y, node.gpus))
        elif not node.schedulable:
            found.cordoned.append((x, y, node.gpus))

    def cells(self, marks: dict[str, tuple[str, str]]) -> None:
        """Draw what was noted; `marks` are (colour, letter) by owner."""
        found, cell = self.found, self.size.cell
        self._squares(found.free, FREE, cell)
        self._squares(found.outside, OUTSIDE, cell)
        self._letters(found.outside, "*", cell)
        for owner, corners in found.owned.items():
            colour, letter = marks[owner]
            self._squares(corners, colour, cell)
            self._letters(corners, letter, cell)
        self._strips(found.failed, cell, failed=True)
        self._strips(found.cordoned, cell, failed=False)

    def _squares(self, corners: Sequence[tuple[float, float]], colour: str, side: float) -> None:
        if corners:
            self.axes.add_collection(
                PolyCollection(
                    _boxes([(x, y, side - 1, side - 1) for x, y in corners]),
                    facecolors=colour, edgecolors="#8c8c8c", linewidths=0.5,
                ),
                autolim=False,
            )  # fmt: skip

    def _letters(self, corners: Sequence[tuple[float, float]], letter: str, side: float) -> None:
        if corners:
            at = np.array(corners) + (side - 1) / 2
            self.axes.plot(
                at[:, 0], at[:, 1], linestyle="none", marker=_glyph(letter),
                markersize=side * 0.62 * 72 / DPI, color=INK, markeredgewidth=0.0,
            )  # fmt: skip

    def _strips(
        self, strips: Sequence[tuple[float, float, int]], side: float, *, failed: bool
    ) -> None:
        if strips:
            boxes = [(x, y, gpus * side - 1, side - 1) for x, y, gpus in strips]
            self.axes.add_collection(
                PolyCollection(
                    _boxes(boxes),
                    facecolors="none", edgecolors="#8b0000" if failed else INK,
                    linewidths=1.6, hatch="xxxxx" if failed else "/////",
                ),
                autolim=False,
            )  # fmt: skip

    def legend(self, entries: Sequence[tuple[str, str, str]], top: float) -> None:
        """Samples with their meaning, in rows under the map."""
        side, x, y = 18.0, MARGIN, top + 8.0
        for kind, mark, text in entries:
            wide = _entry_width(text)
            if x > MARGIN and x + wide > self.width - MARGIN:
                x, y = MARGIN, y + 28.0
            if kind in ("failed", "cordoned"):
                self._squares([(x, y), (x + side, y)], FREE, side)
                self._strips([(x, y, 2)], side, failed=kind == "failed")
            else:
                self._squares([(x + side / 2, y)], kind, side)
                if mark:
                    self._letters([(x + side / 2, y)], mark, side)
            self.text(x + 2 * side + 8.0, y + side / 2, text, 14.0)
            x += wide

    def png(self) -> bytes:
        """The file. It names no program and no moment: the same view gives the same bytes."""
        out = io.BytesIO()
        self.figure.savefig(out, format="png", dpi=DPI, metadata={"Software": None})
        return out.getvalue()


def _boxes(boxes: Sequence[tuple[float, float, float, float]]) -> list[np.ndarray]:
    """Corners of rectangles given as x, y, width, height."""
    return [
        np.array([(x, y), (x + w, y), (x + w, y + h), (x, y + h)], dtype=float)
        for x, y, w, h in boxes
    ]


def _glyph(letter: str) -> Path:
    """A letter as a marker, centred: one path for all cells of an owner, not a text for each."""
    path = TextPath((0, 0), letter, size=10, prop=FontProperties(weight="bold"))
    box = path.get_extents()
    centre = np.array([(box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2])
    return Path(np.asarray(path.vertices) - centre, path.codes)


def _legend(view: MapView, words: Words) -> list[tuple[str, str, str]]:
    """(colour, letter, meaning) of all that occurs in the map."""
    marks = _marks([owner for owner, _ in view.owners])
    entries = [
        (*marks[owner], words.map_owner(owner, gpus)) for owner, gpus in view.owners
    ]  # fmt: skip
    entries.append((FREE, "", words.map_owner(words.map_free, view.free)))
    if any(node.outside for node in view.nodes):
        entries.append((OUTSIDE, "*", words.map_outside))
    if view.failed:
        entries.append(("failed", "", words.map_failed))
    if view.cordoned:
        entries.append(("cordoned", "", words.map_cordoned))
    return entries


def _entry_width(text: str) -> float:
    return 36.0 + 8.0 + len(text) * 8.2 + 16.0


def _legend_height(entries: Sequence[tuple[str, str, str]], width: float) -> float:
    x, rows = MARGIN, 1
    for _, _, text in entries:
        wide = _entry_width(text)
        if x > MARGIN and x + wide > width - MARGIN:
            x, rows = MARGIN, rows + 1
        x += wide
    return rows * 28.0 + 20.0


def _marks(owners: Sequence[str]) -> dict[str, tuple[str, str]]:
    """A colour and a letter for each owner: an initial of its name where that is not taken.

    X and I are not given: one looks like a failed node, the other like a line.
    """
    marks: dict[str, tuple[str, str]] = {}
    used = {"X", "I"}
    for number, owner in enumerate(owners):
        initials = [word[:1] for word in owner.replace("_", "-").split("-")]
        wanted = [c.upper() for c in (*initials, *owner) if c.isascii() and c.isalnum()]
        spare = string.ascii_uppercase + string.digits
        letter = next((c for c in (*wanted, *spare) if c not in used), "?")
        used.add(letter)
        marks[owner] = (COLOURS[number % len(COLOURS)], letter)
    return marks
