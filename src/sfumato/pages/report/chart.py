"""The error by time: how far east and north of the truth the release is at each moment. Private pages only."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.drawing.scales import Scale, nice_step, nice_time_step_s, one_decimal, x_axis, y_axis
from sfumato.base.drawing.svg import element, path_data, picture, short
from sfumato.base.things.frames import differences_m
from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.io.times import format_times

WIDTH, HEIGHT = 960.0, 280.0
LEFT, RIGHT, TOP, BOTTOM = 76.0, 16.0, 14.0, 34.0


@dataclass(frozen=True, slots=True, eq=False)
class Chart:
    """The SVG, and for each drawn point its place on the time axis and its distance from the truth in metres."""

    svg: str
    slider: Mapping[str, object]
    noise_m: float


def error_chart(original: Trace, release: Trace, certificate: Certificate, shown: IntArray) -> Chart:
    """East and north error at every drawn moment, over the band that holds 68% of them."""
    errors = differences_m(
        original.lat_deg[shown], original.lon_deg[shown], release.lat_deg[shown], release.lon_deg[shown]
    )
    times = original.times_s[shown]
    order = np.argsort(times, kind="stable")
    noise_m = certificate.noise_m or 0.0
    start, span = float(times.min()), float(np.ptp(times))
    if span == 0:
        start, span = start - 30.0, 60.0  # one moment stands in the middle of a minute
    top = max(float(np.abs(errors).max()), 1.5 * noise_m, 1.0)
    step = nice_step(2 * top, 6)
    top = step * float(np.ceil(top / step))
    right, bottom = WIDTH - RIGHT, HEIGHT - BOTTOM
    along, height = Scale(start, start + span, LEFT, right), Scale(-top, top, bottom, TOP)
    x = along(times)
    segment = release.segment[shown][order]
    distance = np.hypot(errors[:, 0], errors[:, 1])
    about = "Metres east and north of the true place at each moment."
    pieces = []
    if noise_m:
        about += f" The shaded band is plus or minus {format_length(noise_m)}, one standard deviation of the noise."
        upper, lower = height([noise_m, -noise_m]).tolist()
        pieces.append(element("rect", class_="band-68", x=LEFT, y=upper, width=right - LEFT, height=lower - upper))
    rules = np.arange(-top, top + step / 2, step).round(9).tolist()
    pieces += [y_axis(height, rules, lambda value: _signed(value, step), LEFT, right), _clock(along, bottom)]
    for axis, name in ((1, "north"), (0, "east")):
        line = np.column_stack([x, height(errors[:, axis])])[order]
        pieces.append(element("path", class_=name, d=path_data(line, segment)))
    pieces.append(element("path", id="cursor", class_="cursor", d=f"M-9 {short(TOP)}V{short(bottom)}"))
    about += f" The largest distance drawn is {format_length(float(distance.max()))}."
    title = "Error of the release by time"
    svg = picture(WIDTH, HEIGHT, *pieces, title=title, about=about, named="err", class_="chart")
    slider = {
        "x": one_decimal(x),
        "away": one_decimal(distance),
        "east": one_decimal(errors[:, 0]),
        "north": one_decimal(errors[:, 1]),
    }
    return Chart(svg, slider, noise_m)


def _signed(metres: float, step: float) -> str:
    if abs(metres) < step / 1000:
        return "0 m"
    return f"{metres:+,.{0 if step >= 1 else 1}f}".replace("-", "−").replace(",", "\u202f")


def _clock(along: Scale, bottom: float) -> str:
    step = nice_time_step_s(along.high - along.low, 8)
    ticks: FloatArray = np.arange(np.ceil(along.low / step) * step, along.high + step / 1000, step)
    part = slice(0, 10) if step >= 86400 else slice(11, 16) if step >= 60 else slice(11, 19)
    return x_axis(along, ticks.tolist(), [text[part] for text in format_times(np.floor(ticks))], bottom)
