"""A sheet by matplotlib, fit to print: axes with units, round ticks, and legends beside the axes, never on the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.collections import LineCollection, PolyCollection
from matplotlib.ticker import MaxNLocator

from sfumato.base.drawing.panels import Bars, HeatMap, Panel, Tracks
from sfumato.base.drawing.scales import COLOURS, OURS
from sfumato.base.errors import InputError
from sfumato.base.things.grid import metres_per_degree
from sfumato.pages.notebook.contents import Part, Sheet
from sfumato.pages.notebook.sheet import sheet_of
from sfumato.tracks.answers.answer_files import MOST_FLOWS
from sfumato.tracks.answers.maps.cells import outlines

if TYPE_CHECKING:
    from matplotlib.axes import Axes

STYLE = {
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.titlesize": 9,
    "legend.frameon": False,
    "svg.fonttype": "none",
    "pdf.fonttype": 42,
}
_TRACKS = {"original (private)": COLOURS[1]}


def plot(value: object, *, original: bool = False, ax: Axes | None = None) -> Axes:
    """The picture of a value on ``ax``, or on a figure of its own; the axes (an array of several)."""
    sheet = sheet_of(value, original=original)
    if sheet.on_map is not None:
        with plt.rc_context(STYLE):
            return draw_map(plt.figure(layout="constrained").subplots() if ax is None else ax, sheet)
    if not sheet.parts:
        raise InputError("There is nothing to plot here.", "Print it, or show it in a notebook.")
    if ax is not None:
        if len(sheet.parts) > 1:
            raise InputError(f"This has {len(sheet.parts)} pictures and one axes.", "Leave ax out.")
        with plt.rc_context(STYLE):
            draw_part(ax, sheet.parts[0])
        return ax
    # Made before the style is borrowed: a notebook's backend turns itself on with the first figure, and giving the
    # style back would turn it off again, so that no later plot were shown.
    figure = plt.figure(figsize=(4.6 * len(sheet.parts), 3.4), layout="constrained")
    with plt.rc_context(STYLE):
        axes = figure.subplots(1, len(sheet.parts), squeeze=False)
        figure.suptitle(sheet.title, fontsize=10)
        for place, part in zip(axes[0], sheet.parts, strict=True):
            draw_part(place, part)
    drawn: Axes = axes[0, 0] if len(sheet.parts) == 1 else axes[0]
    return drawn


def draw_map(ax: Axes, sheet: Sheet) -> Axes:
    """Cells, darker where more is, or lines between their middles, wider where more is; in kilometres."""
    answer = sheet.on_map
    assert answer is not None
    assert answer.cells is not None
    shapes, pairs = outlines(answer.cells), getattr(answer, "pairs", None)
    every = np.concatenate([ring for shape in shapes for rings in shape for ring in rings])
    corner = every.min(axis=0)
    north, east = metres_per_degree(float(every[:, 1].mean()))
    scale = np.array([east, north]) / 1000.0
    rings = [(rings[0] - corner) * scale for shape in shapes for rings in shape]
    of_ring = np.repeat(np.arange(len(shapes)), [len(shape) for shape in shapes])
    if pairs is None:
        cells = PolyCollection(rings, array=answer.drawn[of_ring], cmap="Blues", edgecolor="#dddddd", linewidth=0.3)
        cells.set_clim(0.0, float(answer.drawn.max(initial=0.0)) or 1.0)
        ax.figure.colorbar(ax.add_collection(cells), ax=ax, shrink=0.9)
    else:
        ax.add_collection(PolyCollection(rings, facecolor="none", edgecolor="#dddddd", linewidth=0.3))
        lat, lon = answer.cells.centres_deg()
        at = (np.column_stack([lon, lat]) - corner) * scale
        strongest = np.argsort(answer.drawn)[-MOST_FLOWS:]
        wide = 0.3 + 5.0 * answer.drawn[strongest] / max(float(answer.drawn.max(initial=0.0)), 1e-300)
        ax.add_collection(LineCollection(at[pairs[strongest]], linewidths=wide, colors=COLOURS[0], alpha=0.5))
    ax.autoscale_view()
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(title=sheet.title, xlabel="east (km)", ylabel="north (km)")
    return ax


def draw_part(ax: Axes, part: Part) -> None:
    """A part with its title, units and legend."""
    ax.set_title(part.title)
    if isinstance(part, Bars):
        _bars(ax, part)
    elif isinstance(part, HeatMap):
        _matrix(ax, part)
    else:
        _tracks(ax, part) if isinstance(part, Tracks) else _panel(ax, part)
        if len(part.lines) > 1:
            ax.legend(loc="upper left", bbox_to_anchor=(1.01, 1.0), borderaxespad=0.0)


def _tracks(ax: Axes, part: Tracks) -> None:
    reach = max(float(np.nanmax(line)) for line in part.lines.values())
    unit, size = ("km", 1000.0) if reach >= 2000 else ("m", 1.0)
    for name, line in part.lines.items():
        colour = _TRACKS.get(name, COLOURS[0])
        ax.plot(line[:, 0] / size, line[:, 1] / size, color=colour, linewidth=1.0, label=name)
    ax.set_aspect("equal", adjustable="datalim")
    ax.set(xlabel=f"east ({unit})", ylabel=f"north ({unit})")


def _panel(ax: Axes, part: Panel) -> None:
    for number, (name, values) in enumerate(part.lines.items()):
        there, dash = np.isfinite(values), "-" if number < len(COLOURS) else "--"
        colour = OURS if name.startswith("ours") else COLOURS[number % len(COLOURS)]
        (line,) = ax.plot(part.x[there], values[there], label=name, color=colour, linestyle=dash, linewidth=1.4)
        line.set_marker("o" if len(part.x) <= 12 else "")
    if part.dashed is not None:
        ax.axvline(part.dashed, color="#333333", linestyle="--", linewidth=0.8)
    ax.set(yscale="log" if part.log_y else "linear", xlabel=part.x_label, ylabel=part.y_label)
    if np.array_equal(part.x, np.rint(part.x)):
        ax.xaxis.set_major_locator(MaxNLocator(6, integer=True))


def _matrix(ax: Axes, part: HeatMap) -> None:
    span = float(np.max(np.abs(part.matrix))) or 1.0
    low = 0.0 if float(np.min(part.matrix)) >= 0 else -span
    shown = ax.imshow(part.matrix, cmap="Reds" if low == 0 else "RdBu_r", vmin=low, vmax=span, interpolation="nearest")
    ax.set(aspect="auto", xlabel=part.x_label, ylabel=part.y_label)
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_locator(MaxNLocator(6, integer=True))
    ax.figure.colorbar(shown, ax=ax, shrink=0.9)


def _bars(ax: Axes, part: Bars) -> None:
    names = list(part.values)
    ax.barh(names, list(part.values.values()), color=COLOURS[0], height=0.6)
    ax.invert_yaxis()
    ax.set_xlabel(part.unit)
