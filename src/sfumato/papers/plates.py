"""The papers' pictures by matplotlib, as SVG without a request: notebooks' panels, and what only papers draw."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

import matplotlib as mpl
import numpy as np
from matplotlib.figure import Figure

from sfumato.base.drawing.scales import COLOURS
from sfumato.pages.notebook.figure import STYLE, draw_part
from sfumato.papers.picture import BandPanel, CellMap, NoiseMap, Part, PathMap, Picture, Simplex

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
_BARE = dict.fromkeys(("Creator", "Date", "Format", "Type"))  # no metadata, which names hosts


def svg_of(picture: Picture) -> str:
    """The picture's text; the same for the same picture."""
    rows = -(-len(picture.parts) // picture.columns)
    with mpl.rc_context({**STYLE, "svg.hashsalt": picture.title}):
        figure = Figure(figsize=(4.2 * picture.columns, 3.1 * rows), layout="constrained")
        axes = figure.subplots(rows, picture.columns, squeeze=False).ravel()
        figure.suptitle(picture.title, fontsize=11)
        for ax, part in zip(axes, picture.parts, strict=False):
            _draw(ax, part)
        for ax in axes[len(picture.parts) :]:
            ax.set_axis_off()
        text = io.StringIO()
        figure.savefig(text, format="svg", metadata=_BARE)
    _, begins, rest = text.getvalue().partition("<svg")  # without the address of a document type
    return begins + rest.replace(' xmlns:xlink="http://www.w3.org/1999/xlink"', "").replace("xlink:href", "href")


def _draw(ax: Axes, part: Part) -> None:
    if isinstance(part, CellMap | PathMap | Simplex):
        ax.set_title(part.title)
        ax.set_axis_off()
    if isinstance(part, CellMap):
        ax.imshow(np.sqrt(part.shares), cmap="Blues", vmin=0.0, interpolation="nearest")
    elif isinstance(part, PathMap):
        _path(ax, part)
    elif isinstance(part, Simplex):
        _simplex(ax, part)
    else:
        draw_part(ax, part)
    if isinstance(part, BandPanel):
        ax.axvspan(*part.shaded, color="#ececec", zorder=0)
    if isinstance(part, NoiseMap) and part.sample is not None:
        under = ax.inset_axes((0.0, -0.5, 1.0, 0.3))
        under.plot(part.sample, color=COLOURS[0], linewidth=1.0)
        under.set_axis_off()


def _path(ax: Axes, part: PathMap) -> None:
    for place, radius in zip(part.path, part.radii, strict=True):
        ax.add_patch(mpl.patches.Circle(tuple(place), float(radius), color=COLOURS[2], alpha=0.12, linewidth=0))
    ax.plot(*part.path.T, color="#666666", linewidth=1.0)
    ax.plot(*part.released.T, color=COLOURS[1], linewidth=1.0, linestyle="--")
    ax.plot(*part.path[list(part.marked)].T, "o", color=COLOURS[1], markeredgecolor=COLOURS[0])
    ax.set_aspect("equal")


def _simplex(ax: Axes, part: Simplex) -> None:
    ax.plot(*_CORNERS[[0, 1, 2, 0]].T, color="#999999", linewidth=1.0)
    at = part.states @ _CORNERS
    ax.scatter(at[:, 0], at[:, 1], s=6.0, facecolors="none", edgecolors="#bbbbbb", linewidths=0.6)
    area = 400.0 * part.mass / (float(part.mass.max()) or 1.0)
    ax.scatter(at[:, 0], at[:, 1], s=area, color=COLOURS[0], alpha=0.8, linewidths=0)
    for number, corner in enumerate(_CORNERS):
        ax.annotate(
            f"cell {number}", tuple(corner), (0, 8 if number == 2 else -14), textcoords="offset points", ha="center"
        )
    ax.set_aspect("equal")
