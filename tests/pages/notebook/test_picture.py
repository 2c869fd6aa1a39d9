"""Pictures without a plotting library: round ticks, legends that cover nothing, and ink that suits its paper."""

from __future__ import annotations

import re

import numpy as np
import pytest

from sfumato.base.drawing.panels import HeatMap, Panel, svg
from sfumato.base.drawing.scales import ticks


@pytest.mark.parametrize(
    ("low", "high", "log", "expected"),
    [
        (0.0, 0.934, False, [0.0, 0.5]),
        (0.5, 2.0, False, [0.5, 1.0, 1.5, 2.0]),
        (100.0, 709.0, False, [200.0, 400.0, 600.0]),
        (-3.0, 5.0, False, [-2.0, 0.0, 2.0, 4.0]),
        (1.07, 384.0, True, [10.0, 100.0]),
        (20.0, 80.0, True, [20.0, 40.0, 60.0, 80.0]),
        (1e-9, 1e9, True, [1e-9, 1e-5, 1e-1, 1e3, 1e7]),
    ],
)
def test_ticks_are_round_numbers_inside_the_axis(low: float, high: float, log: bool, expected: list[float]) -> None:
    assert ticks(low, high, log=log) == pytest.approx(expected)


def test_a_legend_of_many_names_stands_above_the_axes_and_within_the_picture() -> None:
    names = [f"a rather long name, number {k}" for k in range(6)]
    drawn = svg([Panel("title", np.arange(3.0), {name: np.ones(3) * k for k, name in enumerate(names)})], columns=1)
    frame = re.search(r'<rect x="[\d.]+" y="([\d.]+)" width="[\d.]+" height="([\d.]+)" fill="none"', drawn)
    assert frame is not None
    at = [float(re.search(rf'y="([\d.]+)">{name}<', drawn)[1]) for name in names]  # type: ignore[index]
    assert len(set(at)) == 6  # none beside another for which there is no room
    assert max(at) < float(frame[1])
    assert float(frame[2]) > 60  # and room is left for the lines


def test_lines_with_gaps_and_with_nothing_above_zero_are_drawn_on_a_log_axis() -> None:
    values = {"gaps": np.array([np.nan, 1.0, 10.0]), "zeros": np.array([0.0, 0.0, 5.0])}
    drawn = svg([Panel("", np.arange(3.0), values, log_y=True)], columns=1)
    assert "nan" not in drawn
    assert "inf" not in drawn
    assert drawn.count('stroke-width="1.6"') == 2


def test_without_paper_the_ink_is_that_of_the_text_around_it() -> None:
    part = HeatMap("t", np.eye(3))
    assert 'fill="white"' in svg([part])
    assert "currentColor" not in svg([part])
    assert 'fill="currentColor"' in svg([part], paper=None)
    assert 'fill="white"' not in svg([part], paper=None)


def test_twelve_lines_have_colours_and_marks_of_their_own_and_one_legend_for_all_panels() -> None:
    lines = {f"line {k}": np.arange(3.0) + k for k in range(12)}
    drawn = svg([Panel("one", np.arange(3.0), lines), Panel("other", np.arange(3.0), lines)], columns=2)
    assert drawn.count(">line 7<") == 1
    marks = re.findall(r'<path d="M[\d.]+ [\d.]+(m[^"M]*)M[^"]*" fill="(\S+)" stroke="(\S+)"/>', drawn)
    first = marks[:12]
    assert len({ink for _, _, ink in first}) == 12
    assert len({(shape, fill == "none") for shape, fill, _ in first}) == 12
    frame = min(float(y) for y in re.findall(r"translate\(0,([\d.]+)\)", drawn))
    assert max(float(y) for y in re.findall(r'y="([\d.]+)">line', drawn)) < frame


def test_a_picture_is_as_wide_as_a_column_of_print() -> None:
    drawn = svg([Panel("", np.arange(3.0), {"a": np.arange(3.0)})], columns=1, width_mm=84)
    assert 'viewBox="0 0 300 240" width="84mm" height="67.2mm"' in drawn
    assert "max-width" not in drawn
