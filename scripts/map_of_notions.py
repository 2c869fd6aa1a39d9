"""The map of notions: one picture of what implies what, drawn from the table of implications that `convert` reads.

    python scripts/map_of_notions.py docs

A solid arrow is attained by some channel, a dashed one is only valid. A test draws it again and compares.
"""

from __future__ import annotations

import math
import sys
from pathlib import Path
from xml.sax.saxutils import escape

from sfumato.channels.conversions.implications import IMPLICATIONS
from sfumato.channels.conversions.routes import NOTIONS, Implication

_COLUMN, _ROW, _LEFT, _TOP = 172.0, 112.0, 100.0, 96.0
_WIDTH, _HEIGHT, _LINE = 154.0, 40.0, 15.0
_PLACES: dict[str, tuple[float, float]] = {
    "geo_epsilon_per_m": (0.0, 0.0),
    "ldp": (2.6, 0.0),
    "shuffled_epsilon": (5.3, 0.0),
    "di": (0.0, 1.25),
    "lip": (1.2, 1.25),
    "alpha_beta_leakage": (3.08, 1.25),
    "renyi_ldp": (4.12, 1.25),
    "gaussian_ldp": (5.3, 0.9),
    "approximate_ldp": (5.3, 1.9),
    "lip_low": (0.0, 2.4),
    "pointwise_maximal_leakage": (1.2, 2.4),
    "lip_delta": (0.0, 3.4),
    "maximal_leakage": (1.85, 3.35),
    "maximal_alpha_leakage": (3.2, 3.0),
    "capacity": (4.35, 3.0),
    "total_variation": (5.3, 3.6),
    "g_leakage": (1.2, 4.35),
    "alpha_leakage": (3.05, 4.35),
    "sibson_information": (4.1, 4.35),
    "min_entropy_leakage": (1.2, 5.3),
    "mutual_information_nats": (4.1, 5.3),
    "bayes_vulnerability": (2.45, 6.2),
    "guessing_entropy": (4.0, 6.2),
}
_COLOURS = {
    "every prior": "#dbe9f6",
    "one prior": "#e3f1df",
    "the average": "#fbf0d5",
    "a guess": "#f6e0e0",
    "graded by distance": "#e9e2f3",
    "a trusted mixer": "#e8e8e8",
}
_STYLE = (
    "text{font-family:system-ui,sans-serif;font-size:12.5px;fill:#222}.k{font-size:12px}.h{font-size:17px}"
    "path{fill:none;stroke:#456;stroke-width:1.3}.d{stroke-dasharray:5 4;stroke:#789}rect{stroke:#567;stroke-width:1}"
)


def draw() -> str:
    """The picture as SVG: the same bytes for the same table."""
    if set(_PLACES) != set(NOTIONS):
        raise AssertionError(f"no place for {sorted(set(NOTIONS) ^ set(_PLACES))}")
    wide = _LEFT + 5.3 * _COLUMN + _WIDTH / 2 + 30
    high = _TOP + 6.2 * _ROW + 90
    pairs = {(edge.source, edge.target) for edge in IMPLICATIONS}
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:.0f} {high:.0f}" role="img" '
        'aria-label="The map of notions: which privacy notion bounds which">',
        f"<style>{_STYLE}</style>",
        '<defs><marker id="a" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" markerHeight="7" orient="auto">'
        '<path d="M0 0L8 4L0 8z" style="fill:#456;stroke:none"/></marker></defs>',
        f'<rect width="{wide:.0f}" height="{high:.0f}" style="fill:#fff;stroke:none"/>',
        '<text class="h" x="22" y="30">The map of notions: a bound on one gives a bound on another</text>',
        *(_arrow(edge, (edge.target, edge.source) in pairs) for edge in IMPLICATIONS),
        *(_box(key) for key in _PLACES),
        *_legend(high),
        "</svg>",
    ]
    return "\n".join(parts) + "\n"


def _centre(key: str) -> tuple[float, float]:
    column, row = _PLACES[key]
    return _LEFT + column * _COLUMN, _TOP + row * _ROW


def _lines(key: str) -> list[str]:
    lines = [""]
    for word in NOTIONS[key].name.split():
        if lines[-1] and len(lines[-1]) + len(word) > 21:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _height(key: str) -> float:
    return max(_HEIGHT, _LINE * len(_lines(key)) + 12)


def _box(key: str) -> str:
    (x, y), notion, tall = _centre(key), NOTIONS[key], _height(key)
    lines = _lines(key)
    start = y - (len(lines) - 1) * _LINE / 2 + 4
    words = "".join(
        f'<text x="{x:.1f}" y="{start + i * _LINE:.1f}" text-anchor="middle">{escape(line)}</text>'
        for i, line in enumerate(lines)
    )
    return (
        f"<g><title>{escape(notion.key)}: {escape(notion.bounds)} ({escape(notion.unit)})</title>"
        f'<rect x="{x - _WIDTH / 2:.1f}" y="{y - tall / 2:.1f}" width="{_WIDTH:.0f}" height="{tall:.0f}" rx="6" '
        f'fill="{_COLOURS[notion.group]}"/>{words}</g>'
    )


def _arrow(edge: Implication, both_ways: bool) -> str:
    (x1, y1), (x2, y2) = _centre(edge.source), _centre(edge.target)
    length = math.hypot(x2 - x1, y2 - y1)
    across = (y1 - y2) / length, (x2 - x1) / length
    bend = 18.0 if both_ways else min(26.0, 0.06 * length)
    middle = (x1 + x2) / 2 + bend * across[0], (y1 + y2) / 2 + bend * across[1]
    start, end = _border(edge.source, middle), _border(edge.target, middle)
    kind = "" if edge.tight else ' class="d"'
    words = f"{edge.source} → {edge.target}: {edge.formula} [{edge.reference}] {edge.holds}"
    return (
        f'<path{kind} marker-end="url(#a)" d="M{start[0]:.1f} {start[1]:.1f}Q{middle[0]:.1f} {middle[1]:.1f} '
        f'{end[0]:.1f} {end[1]:.1f}"><title>{escape(words)}</title></path>'
    )


def _border(key: str, toward: tuple[float, float]) -> tuple[float, float]:
    """Where the line from the centre of a box toward a point leaves it."""
    (x, y), tall = _centre(key), _height(key)
    dx, dy = toward[0] - x, toward[1] - y
    scale = min(
        (_WIDTH / 2 + 2) / abs(dx) if dx else math.inf,
        (tall / 2 + 2) / abs(dy) if dy else math.inf,
    )
    return x + scale * dx, y + scale * dy


def _legend(high: float) -> list[str]:
    found, x, y = [], 24.0, high - 26
    for words, colour in _COLOURS.items():
        found.append(f'<rect x="{x:.0f}" y="{y - 11:.0f}" width="14" height="14" rx="3" fill="{colour}"/>')
        found.append(f'<text class="k" x="{x + 20:.0f}" y="{y:.0f}">{words}</text>')
        x += 36 + 6.3 * len(words)
    for words, kind in (("attained by some channel", ""), ("valid, not attained", ' class="d"')):
        found.append(f'<path{kind} marker-end="url(#a)" d="M{x:.0f} {y - 4:.0f}L{x + 34:.0f} {y - 4:.0f}"/>')
        found.append(f'<text class="k" x="{x + 42:.0f}" y="{y:.0f}">{words}</text>')
        x += 58 + 6.3 * len(words)
    return found


def table() -> str:
    """The implications as a Markdown table, in the order of the code."""
    rows = ["| from | to | bound | attained | holds | needs | source |", "|---|---|---|---|---|---|---|"]
    for edge in IMPLICATIONS:
        needs = ", ".join(edge.needs) or "–"
        rows.append(
            f"| {NOTIONS[edge.source].name} | {NOTIONS[edge.target].name} | {edge.formula.replace('|', '∣')} | "
            f"{'yes' if edge.tight else 'no'} | {edge.holds} | {needs.replace('_m', ' (m)')} | [{edge.reference}] |"
        )
    return "\n".join(rows) + "\n"


def main(docs: Path) -> None:
    """Write the picture into the documentation; ``scripts/made_tables.py`` puts the table into its page."""
    (docs / "images" / "map_of_notions.svg").write_text(draw(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1] if len(sys.argv) > 1 else "docs"))
