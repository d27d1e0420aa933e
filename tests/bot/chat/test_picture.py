"""The map of the cluster: what is drawn, and what is said of it in words."""

from __future__ import annotations

import dataclasses
import io
import struct

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from bot import maps
from bot.chat.conversation import Asker, answer
from bot.chat.grammar import Map
from bot.chat.picture import COLOURS, draw
from bot.chat.voices import Voices
from bot.chat.words import words_for
from tests.bot.chat import saying
from tests.bot.chat.desks import MemoryDesk
from tests.bot.chat.mapping import MAP, map_node

WORDS = words_for("en-US")


def _big() -> maps.MapView:
    """1,250 nodes in five blocks of ten racks."""
    owners = ("team", "shared-single", "shared-multi", "opportunistic")
    nodes = tuple(
        maps.MapNode(
            name=f"h100-{n:04d}",
            kind="reserved-h100",
            path=(("block", f"h100-block-{n // 250:03d}"), ("rack", f"h100-rack-{n // 25:03d}")),
            gpus=8,
            held=((owners[n % 4], 1 + n % 8),) if n % 9 else (),
            ready=n % 400 != 399,
            schedulable=n % 300 != 299,
        )
        for n in range(1250)
    )
    total = {owner: sum(dict(node.held).get(owner, 0) for node in nodes) for owner in owners}
    return maps.MapView(
        by=maps.Grouping.POOL, nodes=nodes, owners=tuple(total.items()), at=saying.NOW
    )


def _size(png: bytes) -> tuple[int, int]:
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def _area(png: bytes, colour: str) -> int:
    """Pixels of exactly that colour."""
    pixels = np.asarray(imread(io.BytesIO(png)))[:, :, :3]
    return int((np.abs(pixels - np.array(to_rgb(colour))).max(axis=2) < 0.004).sum())


@pytest.mark.parametrize(("view", "most"), [(MAP, 1000), (_big(), 2400)], ids=["17", "1250"])
def test_a_map_fits_a_screen_and_is_wider_than_high(view: maps.MapView, most: int) -> None:
    width, height = _size(draw(view, WORDS))
    assert 600 <= width <= most
    assert height < width


def test_twice_the_gpus_give_about_twice_the_colour() -> None:
    nodes = tuple(map_node(n, ("team", 8)) for n in range(1, 17))
    full = dataclasses.replace(MAP, nodes=nodes, owners=(("team", 128),))
    halves = tuple(dataclasses.replace(node, held=(("team", 4),)) for node in nodes)
    half = dataclasses.replace(full, nodes=halves, owners=(("team", 64),))
    shares = [_area(draw(view, WORDS), COLOURS[0]) for view in (full, half)]
    assert 1.8 < shares[0] / shares[1] < 2.1


def test_owners_differ_by_letter_where_there_are_more_than_colours() -> None:
    owners = tuple((f"team-{chr(97 + n)}", 1) for n in range(20))
    nodes = tuple(map_node(n + 1, owner) for n, owner in enumerate(owners))
    view = dataclasses.replace(MAP, nodes=nodes, owners=owners)
    swapped = tuple(map_node(n + 1, owner) for n, owner in enumerate(owners[12:] + owners))
    other = dataclasses.replace(view, nodes=swapped[:20])
    assert draw(view, WORDS) != draw(other, WORDS)  # the same colours, other letters


def test_failed_and_cordoned_nodes_are_marked() -> None:
    plain = dataclasses.replace(
        MAP,
        nodes=tuple(dataclasses.replace(n, ready=True, schedulable=True) for n in MAP.nodes),
    )
    assert _area(draw(plain, WORDS), "#8b0000") == 0
    assert _area(draw(MAP, WORDS), "#8b0000") > 50


def test_the_same_view_gives_the_same_bytes() -> None:
    assert draw(MAP, WORDS) == draw(MAP, WORDS)


def test_names_that_look_like_mathematics_are_drawn_as_they_are() -> None:
    view = dataclasses.replace(MAP, owners=(("$\\frac{", 50), ("opportunistic", 11)))
    held = tuple(
        dataclasses.replace(n, held=(("$\\frac{", 1),)) if n.held else n for n in view.nodes
    )
    assert _size(draw(dataclasses.replace(view, nodes=held), WORDS))


def test_an_empty_cluster_is_drawn_too() -> None:
    view = dataclasses.replace(MAP, nodes=(), owners=())
    assert _size(draw(view, WORDS))
    assert "0 of 0 GPUs in use" in WORDS.map_alt(view)


def test_the_alternative_text_gives_all_figures() -> None:
    said = WORDS.map_alt(MAP)
    assert said == (
        "Map of the cluster by pool: 17 nodes in 2 blocks and 4 racks. 61 of 136 GPUs in use, "
        "66 free. 7 nodes wholly free. GPUs by pool: team 50, opportunistic 11. "
        "1 node failed (h100-0008); 1 node cordoned (h100-0016)."
    )


def test_the_answer_to_map_is_a_picture_with_words_beside_it() -> None:
    asker = Asker(person=saying.ANN, key="k")
    found = answer(MemoryDesk(), Voices(saying.VOICE), Map(maps.Grouping.TEAM), asker)
    assert found.picture is not None
    assert found.picture.name == "gpu-map-team.png"
    assert found.picture.alt.startswith("Map of the cluster by team: ")
    assert "61 of 136 GPUs in use" in found.message.text
