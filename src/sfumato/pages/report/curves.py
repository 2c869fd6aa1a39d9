"""Curves of error against noise as SVG: corrected answers as lines, naive ones dashed. No script, no request."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from sfumato.base.drawing.drawing import escape, short
from sfumato.base.units import format_length

WIDTH, HEIGHT = 470.0, 300.0
LEFT, RIGHT, TOP, BOTTOM = 52.0, 14.0, 30.0, 54.0
TICKS = (0.0, 0.1, 0.25, 0.5, 0.75, 1.0)
INKS = ("east", "north", "third")
STYLE = (
    ".curves{display:grid;grid-template-columns:repeat(auto-fit,minmax(18rem,1fr));gap:.6rem}"
    ".curves svg{font:12px system-ui,sans-serif}.curves .rule{stroke:var(--line);fill:none}"
    ".curves path.east,.curves path.north,.curves path.third{fill:none;stroke-width:2.2}"
    ".curves path.east{stroke:var(--east)}.curves path.north{stroke:var(--north)}"
    ".curves path.third{stroke:var(--original)}.curves path.naive{stroke-dasharray:5 4;stroke-width:1.6}"
    ".curves text{fill:var(--soft)}.curves text.east{fill:var(--east);stroke:none}"
    ".curves text.north{fill:var(--north);stroke:none}.curves text.third{fill:var(--original);stroke:none}"
    ".curves .title{fill:var(--ink);font-weight:600}.sheet th{width:auto}.sheet td{overflow-wrap:normal}"
    ".sheet td+td,.sheet th+th{white-space:nowrap;text-align:right}"
)


@dataclass(frozen=True, slots=True)
class Curve:
    """One answer's errors at each size of the noise, as shares; None where there is none."""

    label: str
    naive: Sequence[float | None]
    corrected: Sequence[float | None]


def panel(title: str, noises_m: Sequence[float], radii_m: Sequence[float], curves: Sequence[Curve]) -> str:
    """One chart; errors of more than 100 % are drawn at the upper edge."""
    low, high = math.log(noises_m[0]), math.log(noises_m[-1])
    span = max(high - low, 1e-9)

    def x(noise_m: float) -> float:
        share = 0.5 if len(noises_m) == 1 else (math.log(noise_m) - low) / span
        return LEFT + 12 + share * (WIDTH - LEFT - RIGHT - 24)

    def y(error: float) -> float:
        return TOP + (1 - math.sqrt(min(error, 1.0))) * (HEIGHT - TOP - BOTTOM)

    pieces = [f'<text class="title" x="{short(LEFT)}" y="18">{escape(title)}</text>']
    for tick in TICKS:
        pieces.append(
            f'<path class="rule" d="M{short(LEFT)} {short(y(tick))}H{short(WIDTH - RIGHT)}"/>'
            f'<text x="{short(LEFT - 6)}" y="{short(y(tick) + 4)}" text-anchor="end">{100 * tick:g} %</text>'
        )
    last = -100.0
    for noise_m, radius_m in zip(noises_m, radii_m, strict=True):
        if x(noise_m) - last < 52:
            continue
        last = x(noise_m)
        pieces.append(
            f'<text x="{short(last)}" y="{short(HEIGHT - BOTTOM + 18)}" text-anchor="middle">'
            f'{escape(format_length(noise_m))}</text><text x="{short(last)}" y="{short(HEIGHT - BOTTOM + 34)}" '
            f'text-anchor="middle">r {escape(format_length(radius_m))}</text>'
        )
    for ink, curve in zip(INKS, curves, strict=False):
        for kind, values in (("naive", curve.naive), ("corrected", curve.corrected)):
            points = [(x(n), y(v)) for n, v in zip(noises_m, values, strict=True) if v is not None]
            if points:
                data = "M" + "L".join(f"{short(a)} {short(b)}" for a, b in points)
                pieces.append(f'<path class="{ink} {kind}" d="{data}"/>')
    named = [(ink, curve.label) for ink, curve in zip(INKS, curves, strict=False) if curve.label]
    for k, (ink, label) in enumerate(named):
        at = LEFT + k * (WIDTH - LEFT) / 3
        pieces.append(f'<text class="{ink}" x="{short(at)}" y="{short(HEIGHT - 4)}">{escape(label)}</text>')
    words = f"{title}: error of naive answers (dashed) and corrected ones (lines) by noise"
    return (
        f'<svg viewBox="0 0 {short(WIDTH)} {short(HEIGHT)}" role="img" aria-label="{escape(words)}">'
        f"{''.join(pieces)}</svg>"
    )
