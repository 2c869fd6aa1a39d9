"""The error by time: how far east and north of the truth the release is at each moment. Private pages only."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.drawing.drawing import escape, nice_step, nice_time_step_s, one_decimal, path_data, short
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
    top = step * np.ceil(top / step)
    x = LEFT + (times - start) / span * (WIDTH - LEFT - RIGHT)

    def height(metres: npt.ArrayLike) -> FloatArray:
        return np.asarray(TOP + (top - np.asarray(metres)) / (2 * top) * (HEIGHT - TOP - BOTTOM))

    segment = release.segment[shown][order]
    lines = "".join(
        f'<path class="{name}" d="{path_data(np.column_stack([x, height(errors[:, axis])])[order], segment)}"/>'
        for axis, name in ((1, "north"), (0, "east"))
    )
    band, of_band = "", ""
    if noise_m:
        of_band = (
            f" The shaded band is plus or minus {escape(format_length(noise_m))}, one standard deviation of the noise."
        )
        band = _band(float(height(noise_m)), float(height(-noise_m)))
    cursor = f'<path id="cursor" class="cursor" d="M-9 {short(TOP)}V{short(HEIGHT - BOTTOM)}"/>'
    largest = format_length(float(np.hypot(errors[:, 0], errors[:, 1]).max()))
    svg = (
        f'<svg class="chart" viewBox="0 0 {short(WIDTH)} {short(HEIGHT)}" role="img" aria-labelledby="err-t err-d">'
        f'<title id="err-t">Error of the release by time</title><desc id="err-d">Metres east and north of the true '
        f"place at each moment.{of_band} The largest distance drawn is {escape(largest)}.</desc>"
        f"{band}{_grid(top, step, height)}{_clock(start, span)}{lines}{cursor}</svg>"
    )
    distance = np.hypot(errors[:, 0], errors[:, 1])
    slider = {
        "x": one_decimal(x),
        "away": one_decimal(distance),
        "east": one_decimal(errors[:, 0]),
        "north": one_decimal(errors[:, 1]),
    }
    return Chart(svg, slider, noise_m)


def _band(upper: float, lower: float) -> str:
    across = f'x="{short(LEFT)}" y="{short(upper)}" width="{short(WIDTH - LEFT - RIGHT)}"'
    return f'<rect class="band-68" {across} height="{short(lower - upper)}"/>'


def _grid(top: float, step: float, height: Callable[[npt.ArrayLike], FloatArray]) -> str:
    pieces = []
    for value in np.arange(-top, top + step / 2, step):
        y = short(float(height(value)))
        kind = "zero" if abs(value) < step / 1000 else "rule"
        pieces.append(
            f'<path class="{kind}" d="M{short(LEFT)} {y}H{short(WIDTH - RIGHT)}"/>'
            f'<text class="tick" x="{short(LEFT - 8)}" y="{y}" text-anchor="end" dominant-baseline="middle">'
            f"{_signed(value, step)}</text>"
        )
    return "".join(pieces)


def _signed(metres: float, step: float) -> str:
    if abs(metres) < step / 1000:
        return "0 m"
    return f"{metres:+,.{0 if step >= 1 else 1}f}".replace("-", "−").replace(",", "\u202f")


def _clock(start: float, span: float) -> str:
    step = nice_time_step_s(span, 8)
    ticks: FloatArray = np.arange(np.ceil(start / step) * step, start + span + step / 1000, step)
    pieces = []
    for tick, text in zip(ticks.tolist(), format_times(np.floor(ticks)), strict=True):
        x = short(LEFT + (tick - start) / span * (WIDTH - LEFT - RIGHT))
        label = text[:10] if step >= 86400 else (text[11:16] if step >= 60 else text[11:19])
        pieces.append(
            f'<path class="rule" d="M{x} {short(HEIGHT - BOTTOM)}v5"/>'
            f'<text class="tick" x="{x}" y="{short(HEIGHT - 12)}" text-anchor="middle">{label}</text>'
        )
    return "".join(pieces)
