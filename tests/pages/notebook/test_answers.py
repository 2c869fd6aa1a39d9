"""Every answer shows itself: a card, a plot, one line, a data frame. A new kind of answer fails here until it does."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import get_type_hints

import numpy as np
import pytest
from city import BOUNDS, fleet, received
from pyarrow.csv import read_csv
from pyarrow.parquet import read_table

import sfumato as sf
from sfumato.base.drawing.svg import escape
from sfumato.base.errors import InputError
from sfumato.base.shown import ShownAnswer
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.base.things.grid import Grid
from sfumato.tracks.adversary.audit import Audit
from sfumato.tracks.adversary.fleet import FleetAudit
from sfumato.tracks.aggregates.public_table import PublicTable
from sfumato.tracks.answers.answer_files import picture, read_answer, write_answer
from sfumato.tracks.answers.flows.pair_shares import Flows
from sfumato.tracks.answers.received import Received
from sfumato.tracks.answers.usefulness.utility import Utility
from sfumato.tracks.answers.ways.displacement import Displacements
from sfumato.tracks.answers.ways.drawn_ways import Ways
from sfumato.tracks.answers.ways.how_people_move import MovingAnswer
from sfumato.tracks.answers.ways.live import LiveTracks
from sfumato.tracks.answers.ways.smooth_tracks import SmoothTracks
from sfumato.tracks.io.tables.point_table import fleet_table
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.people.preview import Preview
from sfumato.tracks.plan import Plan

PEOPLE = fleet(6, stays=5, points=8)
ON_MAP = (EstimatedMap, Flows, PublicTable, SmoothTracks, LiveTracks)


@cache
def release() -> Received:
    return received(PEOPLE)


@cache
def protected() -> object:
    return sf.protect(fleet_table(PEOPLE), person="id", noise_m=300.0, rng=1)


def published(**asked: object) -> PublicTable:
    pytest.importorskip("opendp")
    table = fleet_table(PEOPLE)
    return sf.publish(table, epsilon=50.0, person="id", least=1, rng=1, **asked)  # type: ignore[arg-type]


def moving(question: Callable[..., MovingAnswer]) -> Callable[[], ShownAnswer]:
    return lambda: question([release()], draws=2, rng=1)


VALUES: dict[str, tuple[type, Callable[[], ShownAnswer]]] = {
    "heat map": (EstimatedMap, lambda: sf.estimate_heatmap([release()], cell_m=2000, bounds=BOUNDS)),
    "flows": (Flows, lambda: sf.estimate_flows([received(PEOPLE, noise_m=1500.0)], cell_m=5000, bounds=BOUNDS)),
    "squares": (Displacements, lambda: sf.estimate_displacements([release()])),
    "ways": (Ways, lambda: sf.estimate_ways([release()], draws=2, rng=1)),
    "distances": (MovingAnswer, moving(sf.estimate_distances)),
    "speeds": (MovingAnswer, moving(sf.estimate_speeds)),
    "stays": (MovingAnswer, moving(sf.estimate_stays)),
    "smooth tracks": (SmoothTracks, lambda: sf.smooth(list(release().people), certificate())),
    "live circles": (LiveTracks, lambda: sf.live_circles(list(release().people), certificate())),
    "audit": (Audit, lambda: sf.protect(PEOPLE[0][1], odds=5.0).audit()),
    "audit of people": (FleetAudit, lambda: protected().audit()),  # type: ignore[attr-defined]
    "utility": (Utility, lambda: sf.utility(PEOPLE[:2], list(release().people)[:2])),
    "preview": (Preview, lambda: sf.preview(PEOPLE[:2], noise_m=[300.0])),
    "published map": (PublicTable, lambda: published(cell_m=2000, bounds=BOUNDS)),
    "published flows": (PublicTable, lambda: published(question="flows", trip="segment", cell_m=5000, bounds=BOUNDS)),
    "published counts": (PublicTable, lambda: published(question="counts", by=["segment"], values=["0", "1", "2"])),
}


@cache
def certificate() -> dict[str, object]:
    return dict(protect_fleet(Plan(noise_m=300.0), PEOPLE, rng=2).certificate)


@cache
def made(name: str) -> ShownAnswer:
    return VALUES[name][1]()


def kinds(of: type = ShownAnswer) -> Iterator[type]:
    for kind in of.__subclasses__():
        if kind.__module__.startswith("sfumato"):
            yield kind
        yield from kinds(kind)


def test_every_kind_of_answer_is_looked_at_here() -> None:
    for home in set(sf._HOMES.values()):
        import_module(home)
    # by name: a dataclass with slots is made twice
    assert {kind.__name__ for kind, _ in VALUES.values()} == {kind.__name__ for kind in kinds()}


def test_whatever_a_public_function_answers_is_an_answer() -> None:
    wings = ("sfumato.tracks.answers", "sfumato.tracks.aggregates", "sfumato.tracks.adversary")
    found = 0
    for name in sf.__all__:
        public = getattr(sf, name)
        given = None if isinstance(public, type | str) else get_type_hints(public).get("return")
        if isinstance(given, type) and given.__module__.startswith(wings) and given is not Received:
            found += 1
            assert issubclass(given, ShownAnswer) or given.__name__ == "Verdict", f"{name} answers a {given.__name__}"
    assert found >= 10


@pytest.mark.parametrize("name", VALUES)
def test_an_answer_has_a_card_that_asks_nothing_of_any_host(name: str) -> None:
    text = made(name)._repr_html_()
    assert "<strong>" in text
    assert "<svg" in text
    assert "NaN" not in text
    assert "nan" not in text
    assert not re.findall(r"https?://(?!www\.w3\.org)|<script|(?:src|href)=\"(?!data:)", text)
    assert len(text) < 400_000


@pytest.mark.parametrize("name", VALUES)
def test_what_a_reader_must_know_goes_with_an_answer_wherever_it_goes(name: str, tmp_path: Path) -> None:
    answer = made(name)
    notes = answer.notes
    assert isinstance(notes, tuple)
    assert all(escape(one) in answer._repr_html_() for one in notes)
    assert f"notes={len(notes)}" in repr(answer) or not notes
    pytest.importorskip("pandas")
    assert answer.to_frame().attrs["notes"] == list(notes)
    if not hasattr(answer, "to_table"):
        return
    assert notes, "whoever can be written to a file has something that its reader must know"
    for ending in (".csv", ".parquet", ".json"):
        write_answer(answer, tmp_path / f"answer{ending}")
        assert read_answer(tmp_path / f"answer{ending}").column_names == answer.to_table().column_names
    for rows in (read_csv(tmp_path / "answer.csv"), read_table(tmp_path / "answer.parquet")):
        assert set(rows["notes"].to_pylist()) == {" ".join(notes)}
    assert json.loads((tmp_path / "answer.json").read_text())["notes"] == list(notes)
    if isinstance(answer, EstimatedMap | Flows):
        assert all(escape(one) in picture(answer) for one in notes)


@pytest.mark.parametrize("name", VALUES)
def test_an_answer_is_one_line_where_it_is_printed(name: str) -> None:
    line = repr(made(name))
    assert "\n" not in line
    assert line.startswith(f"{VALUES[name][0].__name__}(")
    assert re.search(r"=\S", line)
    assert len(line) < 260
    assert "array(" not in line


@pytest.mark.parametrize("name", VALUES)
def test_an_answer_is_plotted_with_units(name: str) -> None:
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    plt = pytest.importorskip("matplotlib.pyplot")
    drawn = made(name).plot()
    for ax in np.atleast_1d(np.asarray(drawn, dtype=object)):
        assert ax.get_title() or ax.figure.get_suptitle()
        assert ax.get_xlabel()
        assert ax.lines or ax.collections or ax.patches
    plt.close("all")


@pytest.mark.parametrize("name", VALUES)
def test_an_answer_is_a_data_frame_and_those_with_places_a_geographic_one(name: str) -> None:
    pytest.importorskip("geopandas")
    answer = made(name)
    frame = answer.to_frame()
    assert len(frame) >= 1
    assert frame.select_dtypes("number").notna().to_numpy().any()
    if not isinstance(answer, ON_MAP) or getattr(answer, "cells", 1) is None:
        with pytest.raises(InputError, match="no place on a map"):
            answer.to_frame(geometry=True)
        return
    located = answer.to_frame(geometry=True)
    assert len(located) == len(frame)
    assert located.crs.to_epsg() == 4326
    west, south, east, north = located.total_bounds
    assert 48.5 < south < north < 49.2
    assert 1.9 < west < east < 2.9


def test_a_map_of_very_many_cells_stays_a_small_card() -> None:
    small = made("heat map")
    assert isinstance(small, EstimatedMap)
    grid = Grid.from_bounds(*BOUNDS, cell_size_m=100)
    share = np.full(grid.cells, 1 / grid.cells)
    large = replace(small, cells=grid, grid=grid, share=share, naive=share)
    assert len(large._repr_html_()) < 2_000_000
