"""From values to places on a picture: round steps and ticks, scales and axes.

Colours can be read on white and on black: a notebook's card has no paper of its own.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.drawing.svg import element, label, short

COLOURS = (
    *("#2a7fc4", "#c8611f", "#2f9551", "#7d7d7d", "#c0457c", "#94831f"),
    *("#17a2a2", "#d04a3a", "#6a7de0", "#b98700", "#6f9a2a", "#a86bb0"),
)
OURS = "#8a5fb5"  # the same in every panel
_TIME_STEPS_S = (1, 2, 5, 10, 15, 30, 60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400)


def nice_step(span: float, most: int) -> float:
    """The smallest of 1, 2, 5 times a power of ten that cuts ``span`` into at most ``most`` pieces."""
    if span <= 0:
        return 1.0
    rough = span / most
    power = 10.0 ** math.floor(math.log10(rough))
    return next(step * power for step in (1.0, 2.0, 5.0, 10.0) if step * power >= rough * (1 - 1e-12))


def nice_time_step_s(span_s: float, most: int) -> float:
    """A step that people read on a clock."""
    for step in _TIME_STEPS_S:
        if span_s / step <= most:
            return float(step)
    return max(math.ceil(span_s / most / 86400), 1) * 86400.0


def ticks(low: float, high: float, *, log: bool = False) -> list[float]:
    """Round numbers between two ends, about four of them; powers of ten on a log axis that holds two of them."""
    if log:
        powers = [10.0**k for k in range(math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9) + 1)]
        if len(powers) >= 2:
            return powers[:: -(-len(powers) // 5)]
    step = nice_step(high - low, 4)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [k * step for k in range(first, last + 1)]


@dataclass(frozen=True, slots=True)
class Scale:
    """Values ``low`` .. ``high`` on pixels ``first`` .. ``last``, evenly, or evenly in ``bend`` of them (log, root)."""

    low: float
    high: float
    first: float
    last: float
    bend: Callable[[FloatArray], FloatArray] = np.asarray

    def __call__(self, values: npt.ArrayLike) -> FloatArray:
        """Pixels of values; a scale of one value has it in the middle."""
        low, high = (float(self.bend(np.array(end))) for end in (self.low, self.high))
        if high == low:
            return np.full(np.shape(values), (self.first + self.last) / 2)
        share = (self.bend(np.asarray(values, dtype=np.float64)) - low) / (high - low)
        return np.asarray(self.first + share * (self.last - self.first))


def y_axis(
    scale: Scale, values: Iterable[float], words: Callable[[float], str], left: float, right: float, **ink: object
) -> str:
    """Rules across the picture, each with its value at the left; the one at 0 is of class ``zero``."""
    rows = []
    for value in values:
        y, kind = float(scale(value)), "rule" if abs(value) > 1e-9 else "zero"
        rows.append(element("path", class_=kind, d=f"M{short(left)} {short(y)}H{short(right)}", **ink))
        rows.append(label(left - 6, y + 4, words(value), anchor="end", class_="tick"))
    return "".join(rows)


def x_axis(scale: Scale, values: Sequence[float], words: Sequence[str], bottom: float, **ink: object) -> str:
    """Short ticks under the picture with their values."""
    rows = []
    for x, said in zip(scale(values).tolist(), words, strict=True):
        rows.append(element("path", class_="rule", d=f"M{short(x)} {short(bottom)}v5", **ink))
        rows.append(label(x, bottom + 18, said, anchor="middle", class_="tick"))
    return "".join(rows)


def one_decimal(values: FloatArray) -> Sequence[float]:
    """Numbers for a page's script, one decimal."""
    result: list[float] = np.round(values, 1).tolist()
    return result
