"""A picture of an answer: an SVG of cells, darker where more people are, or of the strongest flows. It asks nobody."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.files import write_text
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.base.things.grid import metres_per_degree
from sfumato.base.units import format_length
from sfumato.tracks.answers.flows.flows import Flows
from sfumato.tracks.answers.maps.outlines import Rings, outlines

WIDTH = 720.0
MOST_FLOWS = 200
_INK = np.array([44.0, 82.0, 130.0])


def write_picture(answer: EstimatedMap | Flows, path: str | Path) -> None:
    """Write the SVG."""
    if Path(path).suffix != ".svg":
        raise InputError(f"Pictures are not written as '{Path(path).suffix}'.", "Use .svg.")
    write_text(Path(path), picture(answer))


def picture(answer: EstimatedMap | Flows) -> str:
    """The SVG's text."""
    shapes = outlines(answer.cells)
    sheet = _Sheet(shapes)
    if isinstance(answer, EstimatedMap):
        top, title = float(answer.share.max()), "Where people are"
        body = [_cell(sheet, shape, float(share), top) for shape, share in zip(shapes, answer.share, strict=True)]
    else:
        body = [_cell(sheet, shape, 0.0, 1.0) for shape in shapes] + _arrows(sheet, answer)
        title = "From where to where"
    bar_m, bar = sheet.scale_bar()
    height = sheet.height + 34
    about = f"{title}, from protected releases with the blur of the noise taken out; darker is more."
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH:.0f} {height:.0f}" role="img" '
        f'font-family="sans-serif" font-size="12"><title>{title}</title><desc>{about}</desc>'
        f'<rect width="100%" height="100%" fill="white"/>{"".join(body)}'
        f'<path d="M10 {height - 12:.1f}h{bar:.1f}" stroke="#333" stroke-width="2"/>'
        f'<text x="{16 + bar:.1f}" y="{height - 8:.1f}" fill="#333">{format_length(bar_m)}</text></svg>\n'
    )


class _Sheet:
    """Degrees to the picture's own units, unrolled around the first cell."""

    def __init__(self, shapes: list[list[Rings]]) -> None:
        every = np.concatenate([ring for shape in shapes for rings in shape for ring in rings])
        self._lon = float(every[0, 0])
        north, east = metres_per_degree(float(every[:, 1].mean()))
        self._metres = np.array([east, -north])
        at = self._plane(every)
        self._low, span = at.min(axis=0), np.maximum(np.ptp(at, axis=0), 1.0)
        self._scale = float((WIDTH - 20) / span[0])
        self.height = float(min(span[1] * self._scale, 4 * WIDTH)) + 20

    def _plane(self, ring: FloatArray) -> FloatArray:
        across = (ring[:, 0] - self._lon + 180.0) % 360.0 - 180.0
        return np.asarray(np.column_stack([across, ring[:, 1]]) * self._metres)

    def points(self, ring: FloatArray) -> FloatArray:
        """Places on the picture."""
        return np.asarray((self._plane(ring) - self._low) * self._scale + 10)

    def scale_bar(self) -> tuple[float, float]:
        """A round length of at most a quarter of the width: metres, and its length on the picture."""
        most = WIDTH / 4 / self._scale
        power = 10.0 ** math.floor(math.log10(most))
        metres = next(step * power for step in (5.0, 2.0, 1.0) if step * power <= most)
        return metres, metres * self._scale


def depth(share: float, top: float) -> float:
    """How dark a cell is, 0 to 1: by the square root, so that small shares can be told apart."""
    return math.sqrt(max(share, 0.0) / top) if top > 0 else 0.0


def _cell(sheet: _Sheet, shape: list[Rings], share: float, top: float) -> str:
    red, green, blue = (255 + (_INK - 255) * depth(share, top)).astype(int)
    rings = [ring for one in shape for ring in one]
    path = "".join("M" + "L".join(f"{x:.1f} {y:.1f}" for x, y in sheet.points(ring)[:-1]) + "Z" for ring in rings)
    return (
        f'<path d="{path}" fill="rgb({red},{green},{blue})" fill-rule="evenodd" stroke="#ddd" stroke-width=".4">'
        f"<title>{100 * share:.3g} %</title></path>"
    )


def _arrows(sheet: _Sheet, answer: Flows) -> list[str]:
    lat, lon = answer.cells.centres_deg()
    at = sheet.points(np.column_stack([lon, lat]))
    top = float(answer.share.max())
    out = []
    for place in np.argsort(answer.share, axis=None)[::-1][:MOST_FLOWS][::-1]:
        start, end = divmod(int(place), len(at))
        share = float(answer.share[start, end])
        if not share > 0:
            continue
        wide = 0.6 + 7 * math.sqrt(share / top)
        words = f"<title>{100 * share:.3g} %</title>"
        (x, y), (to_x, to_y) = at[start], at[end]
        if start == end:
            out.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{wide:.1f}" fill="#2c5282">{words}</circle>')
            continue
        bend_x, bend_y = (x + to_x) / 2 + 0.12 * (to_y - y), (y + to_y) / 2 - 0.12 * (to_x - x)
        out.append(
            f'<path d="M{x:.1f} {y:.1f}Q{bend_x:.1f} {bend_y:.1f} {to_x:.1f} {to_y:.1f}" fill="none" stroke="#2c5282" '
            f'stroke-opacity=".45" stroke-width="{wide:.1f}" stroke-linecap="round">{words}</path>'
        )
    return out
