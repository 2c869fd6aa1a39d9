"""The probability simplex of three cells as a triangle of dots, each as large as its mass."""

from __future__ import annotations

import html
import math

from sfumato.base.arrays import FloatArray

_SIDE, _LEFT, _TOP = 420.0, 60.0, 50.0


def simplex_svg(
    states: FloatArray, mass: FloatArray, *, title: str, names: tuple[str, str, str] = ("0", "1", "2")
) -> str:
    """One dot per state in barycentric coordinates; area follows the mass, and small rings mark every state."""
    height = _SIDE * math.sqrt(3) / 2
    corners = ((_LEFT, _TOP + height), (_LEFT + _SIDE, _TOP + height), (_LEFT + _SIDE / 2, _TOP))
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_SIDE + 2 * _LEFT:.0f} {height + 2 * _TOP:.0f}" '
        'font-family="sans-serif" font-size="12"><rect width="100%" height="100%" fill="white"/>',
        f'<text x="12" y="20" font-size="14">{html.escape(title)}</text>',
        f'<polygon points="{" ".join(f"{x:.1f},{y:.1f}" for x, y in corners)}" fill="none" stroke="#999"/>',
    ]
    for (x, y), name, down in zip(corners, names, (18, 18, -8), strict=True):
        parts.append(f'<text x="{x:.1f}" y="{y + down:.1f}" text-anchor="middle">cell {html.escape(name)}</text>')
    largest = float(mass.max()) or 1.0
    for state, share in zip(states, mass, strict=True):
        x = sum(float(weight) * corner[0] for weight, corner in zip(state, corners, strict=True))
        y = sum(float(weight) * corner[1] for weight, corner in zip(state, corners, strict=True))
        radius = 14 * math.sqrt(float(share) / largest)
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2" fill="none" stroke="#bbb"/>')
        parts.append(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="{radius:.2f}" fill="#1b6ca8" fill-opacity="0.6"/>')
    return "".join([*parts, "</svg>"])
