"""The papers' figures and tables: drawn, printed and asserted.

Each reproduction is a function ``(quick: bool) -> Reproduction``; its name is what ``sfumato reproduce`` takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module

from sfumato.errors import InputError

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction:
    """One figure or table: its rows, the paper's claims with whether each held, notes and the picture (SVG)."""

    name: str
    title: str
    tables: Mapping[str, Sequence[Row]]
    claims: Mapping[str, bool]
    picture_svg: str = ""
    notes: tuple[str, ...] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)

    def to_dict(self) -> dict[str, object]:
        """Everything but the picture."""
        return {
            "name": self.name,
            "title": self.title,
            "tables": dict(self.tables),
            "claims": dict(self.claims),
            "all_claims_hold": all(self.claims.values()),
            "notes": list(self.notes),
            "numbers": dict(self.numbers),
        }


# Name of a reproduction -> (module:function, one line of help). Imported only when run.
REPRODUCTIONS: dict[str, tuple[str, str]] = {
    "cip-figure-2": ("sfumato.reproductions.cip_figure_2:run", "posterior intervals, the eight panels of Figure 2"),
    "cip-workshop-figure-2": (
        "sfumato.reproductions.cip_workshop:run",
        "the workshop's Figure 2: what dependence adds",
    ),
    "cip-covariances": ("sfumato.reproductions.cip_covariances:run", "the noise covariances of appendix 7.1.2"),
    "cip-illustration": ("sfumato.reproductions.cip_illustration:run", "appendix 7.1.1 on a sample trace"),
    "privic-table-2": ("sfumato.reproductions.privic_tables:table_2", "PRIVIC, Table 2: Paris, every cycle"),
    "privic-table-3": ("sfumato.reproductions.privic_tables:table_3", "PRIVIC, Table 3: San Francisco, every cycle"),
    "privic-figure-2": ("sfumato.reproductions.privic_figure_2:run", "PRIVIC, Figure 2: elasticity around an island"),
    "privic-figure-3": ("sfumato.reproductions.privic_figure_3:run", "PRIVIC, Figure 3: BA and Laplace compared"),
    "privic-figure-8": ("sfumato.reproductions.privic_figures_8_9:figure_8", "PRIVIC, Figure 8: Paris by cycle"),
    "privic-figure-9": (
        "sfumato.reproductions.privic_figures_8_9:figure_9",
        "PRIVIC, Figure 9: San Francisco by cycle",
    ),
    "privic-figure-10": ("sfumato.reproductions.privic_figure_10:run", "PRIVIC, Figure 10: the last cycle by beta"),
    "lip-comparison": ("sfumato.reproductions.lip_comparison:run", "mechanisms at equal LIP leakage on a 6 x 6 city"),
    "l-eff": ("sfumato.reproductions.l_eff:run", "effective length scales of GeoLife (needs ../shared/data)"),
}


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    """Run one reproduction by name."""
    if name not in REPRODUCTIONS:
        raise InputError(f"There is no reproduction called '{name}'.", f"Choose one of: {', '.join(REPRODUCTIONS)}.")
    module, _, function = REPRODUCTIONS[name][0].partition(":")
    result: Reproduction = getattr(import_module(module), function)(quick=quick)
    return result
