"""A heat map as SVG: every cell as dark as its share. Made from a release and its certificate alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.scales import nice_step
from sfumato.base.drawing.svg import depth, element, label, picture, scale_bar
from sfumato.base.errors import InputError
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.base.things.grid import Grid
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.answers.maps.cells import extent_of
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
from sfumato.tracks.answers.received import Received

WIDTH, MARGIN, MOST_CELLS = 960.0, 20.0, 60
STYLE = (
    ".cell{fill:var(--release);stroke:none}.heat .sea{fill:var(--sea)}"
    ".heat text{fill:var(--soft);font:13px system-ui,sans-serif}"
)


@dataclass(frozen=True, slots=True)
class HeatPicture:
    """The SVG and its caption; both empty where no map can be made."""

    svg: str = ""
    caption: str = ""


def heat_picture(traces: Sequence[Trace], received: Received | None) -> HeatPicture:
    """The corrected heat map, or the counted one where there is no law to correct by; cells of about the noise."""
    cell_m, bounds = nice_step(300.0 if received is None else max(received.law.noise_m, 100.0), 1), extent_of(traces)
    grid = Grid.from_bounds(*bounds, cell_size_m=cell_m)
    while max(grid.rows, grid.columns) > MOST_CELLS:
        cell_m *= 2
        grid = Grid.from_bounds(*bounds, cell_size_m=cell_m)
    if received is not None:
        try:
            found: EstimatedMap = estimate_heatmap([received], cell_m=cell_m, bounds=bounds)
            steps = f"{found.steps} step{'s' * (found.steps != 1)}"
            words = (
                f"Where people are: shares of cells of {format_length(cell_m)}, corrected for the noise from the "
                f"release and its certificate alone ({steps}, by {found.steps_by})."
            )
            return HeatPicture(_svg(found.grid, found.picture, "Corrected heat map"), words)
        except InputError:
            pass
    cells = np.concatenate([grid.locate(trace.lat_deg, trace.lon_deg) for trace in traces])
    counts = np.bincount(cells[cells >= 0], minlength=grid.cells)
    if not counts.sum():
        return HeatPicture()
    words = f"Where released points are, counted in cells of {format_length(cell_m)} and not corrected."
    return HeatPicture(_svg(grid, counts / counts.sum(), "Heat map of the release"), words)


def _svg(grid: Grid, share: FloatArray, title: str) -> str:
    side = (WIDTH - 2 * MARGIN) / max(grid.columns, grid.rows * 1.5)
    left, height = (WIDTH - side * grid.columns) / 2, side * grid.rows + 2 * MARGIN + 24
    most = float(share.max())
    pieces = [element("rect", class_="sea", width=WIDTH, height=height)]
    for cell in np.flatnonzero(share > 0.002 * most):
        row, column = divmod(int(cell), grid.columns)
        at = {"x": left + column * side, "y": MARGIN + row * side, "width": side, "height": side}
        pieces.append(element("rect", class_="cell", **at, opacity=0.05 + 0.95 * depth(float(share[cell]), most)))
    pieces.append(scale_bar(MARGIN, height - 16, grid.cell_width / side, WIDTH / 4))
    pieces.append(label(WIDTH - MARGIN, height - 16, f"darkest cell: {100 * most:.1f} %", anchor="end"))
    words = f"{title}: the darkest cell holds {100 * most:.1f} % of everything. North is up."
    return picture(WIDTH, height, *pieces, title=words, class_="map heat")
