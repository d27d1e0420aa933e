"""The plots of a report: what is drawn, and that nothing is drawn wrongly."""

from __future__ import annotations

import dataclasses
import io

import numpy as np
from matplotlib.colors import to_rgb
from matplotlib.image import imread

from bot.chat.plots import BLUE, ORANGE, WIDTH, draw_report
from bot.chat.words import words_for
from bot.reports import Waits
from tests.bot.chat.accounting import REPORT

WORDS = words_for("en-US")


def _pixels(png: bytes) -> np.ndarray:
    return np.asarray(imread(io.BytesIO(png)))[:, :, :3]


def _area(png: bytes, colour: str) -> int:
    return int((np.abs(_pixels(png) - np.array(to_rgb(colour))).max(axis=2) < 0.004).sum())


def test_a_report_has_the_width_of_a_screen_and_grows_with_its_rows() -> None:
    height, width, _ = _pixels(draw_report(REPORT, WORDS)).shape
    assert width == WIDTH
    more = dataclasses.replace(REPORT, teams=REPORT.teams * 3)
    assert _pixels(draw_report(more, WORDS)).shape[0] > height


def test_more_hours_make_a_longer_bar() -> None:
    one = dataclasses.replace(REPORT.teams[0], name="nlp", gpu_hours=1000.0, entitled=2000.0)
    less = dataclasses.replace(REPORT, points=(), pools=(), teams=(one,))
    most = dataclasses.replace(less, teams=(dataclasses.replace(one, gpu_hours=2000.0),))
    assert _area(draw_report(most, WORDS), BLUE) > 1.6 * _area(draw_report(less, WORDS), BLUE)


def test_the_quota_is_marked_for_who_has_one() -> None:
    bare = dataclasses.replace(REPORT, points=())
    without = dataclasses.replace(
        bare, teams=tuple(dataclasses.replace(team, entitled=0.0) for team in bare.teams)
    )
    assert _area(draw_report(bare, WORDS), ORANGE) > 50
    assert _area(draw_report(without, WORDS), ORANGE) == 0


def test_the_same_view_gives_the_same_bytes() -> None:
    assert draw_report(REPORT, WORDS) == draw_report(REPORT, WORDS)


def test_nothing_at_all_is_drawn_too() -> None:
    empty = dataclasses.replace(
        REPORT, points=(), pools=(), teams=(), waits=Waits(), utilisation=None, fragmentation=None
    )
    assert _area(draw_report(empty, WORDS), BLUE) == 0


def test_names_that_look_like_mathematics_are_drawn_as_they_are() -> None:
    odd = dataclasses.replace(REPORT.teams[0], name="$\\frac{")
    assert draw_report(dataclasses.replace(REPORT, teams=(odd,)), WORDS)
