"""The papers' figures, tables and statements: drawn, printed, and every claim checked against what is computed.

Each reproduction is a function ``(quick: bool) -> Reproduction``; its name is what ``sfumato reproduce`` takes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import NamedTuple

from sfumato.base.errors import InputError
from sfumato.papers.claims import Claim, as_expected
from sfumato.papers.picture import Picture

Row = Mapping[str, object]


@dataclass(frozen=True, slots=True, eq=False)
class Reproduction:
    """One figure, table or section: its rows, the claims with what became of each, notes and what there is to draw."""

    name: str
    title: str
    tables: Mapping[str, Sequence[Row]]
    claims: Sequence[Claim]
    picture: Picture | None = None
    notes: tuple[str, ...] = ()
    numbers: Mapping[str, object] = field(default_factory=dict)

    @property
    def as_expected(self) -> bool:
        """Whether every verdict is the one recorded: a paper's known failure is expected."""
        return as_expected(self.claims)

    def to_dict(self) -> dict[str, object]:
        """Everything but the picture."""
        return {
            "name": self.name,
            "title": self.title,
            "tables": dict(self.tables),
            "claims": [claim.to_dict() for claim in self.claims],
            "as_expected": self.as_expected,
            "notes": list(self.notes),
            "numbers": dict(self.numbers),
        }


class Entry(NamedTuple):
    """Where a reproduction is, what it shows, and under which heading: a paper, or our own studies."""

    target: str
    words: str
    heading: str


TRACES = "Location Trace Privacy Under Conditional Priors [Meehan2020, Meehan2021]"
PRIVIC = "PRIVIC [Biswas2023]"
CONTEXT = "Context-Aware Local Information Privacy [Jiang2021]"
_FOLDERS = ("cip", "lip", "privic")
STUDIES = "Our own studies: no paper claims these numbers"


def _entry(target: str, words: str, heading: str) -> Entry:
    folder, _, _ = target.partition("_")
    return Entry(f"sfumato.papers.{f'{folder}.' if folder in _FOLDERS else ''}{target}", words, heading)


# Name of a reproduction -> where it is. Imported only when run.
REPRODUCTIONS: dict[str, Entry] = {
    "cip-theorems": _entry("cip_theorems:run", "every theorem, with Approaches A to C and the errata", TRACES),
    "cip-programs": _entry(
        "cip_programs:run", "Section 4 and appendix 7.3: the programs, as printed and coded", TRACES
    ),
    "cip-figure-2": _entry("cip_figure_2:run", "posterior intervals, the eight panels of Figure 2", TRACES),
    "cip-workshop-figure-2": _entry("cip_workshop:run", "the workshop's Figure 2: what dependence adds", TRACES),
    "cip-covariances": _entry("cip_covariances:run", "the noise covariances of appendix 7.1.2", TRACES),
    "cip-illustration": _entry("cip_illustration:run", "appendix 7.1.1 on a sample trace", TRACES),
    "cip-home-temperature": _entry(
        "home_temperature:run", "home temperature: which column, which length scale", TRACES
    ),
    "l-eff": _entry("l_eff:run", "effective length scales of GeoLife (needs ../shared/data)", TRACES),
    "cip-axes": _entry("cip_axes:run", "latitude and longitude of GeoLife (needs ../shared/data)", TRACES),
    "privic-small": _entry("privic_small:run", "Example 1.1, questions (Sec. 3.2), Theorems 3.1 and 5.1", PRIVIC),
    "privic-figure-2": _entry("privic_figure_2:run", "Figure 2: elasticity around an island", PRIVIC),
    "privic-figure-3": _entry("privic_figure_3:run", "Figure 3: BA and Laplace compared", PRIVIC),
    "privic-duality": _entry("privic_duality:run", "Section 4: BA and the Bayesian update are one, Figure 4", PRIVIC),
    "privic-chain": _entry("privic_chain:run", "Section 6: the chain of estimates, exactly, Figure 5", PRIVIC),
    "privic-starts": _entry("privic_starts:run", "Section 6 on two cities: does the start matter?", PRIVIC),
    "privic-maps": _entry("privic_maps:run", "Figures 1, 6 and 7: true and estimated maps", PRIVIC),
    "privic-table-2": _entry("privic_tables:table_2", "Table 2: Paris, every cycle", PRIVIC),
    "privic-table-3": _entry("privic_tables:table_3", "Table 3: San Francisco, every cycle", PRIVIC),
    "privic-figure-8": _entry("privic_figures_8_9:figure_8", "Figure 8: Paris by cycle", PRIVIC),
    "privic-figure-9": _entry("privic_figures_8_9:figure_9", "Figure 9: San Francisco by cycle", PRIVIC),
    "privic-figure-10": _entry("privic_figure_10:run", "Figure 10: the last cycle by beta", PRIVIC),
    "privic-appendix-c": _entry("privic_appendix_c:run", "Appendix C: continuity, as printed and as it holds", PRIVIC),
    "lip-theorems": _entry("lip_theorems:run", "every statement of the supplement, as printed and corrected", CONTEXT),
    "lip-figure-3": _entry("lip_figure_3:run", "Figure 3: the slope of context-aware Laplace noise", CONTEXT),
    "lip-comparison": _entry("lip_comparison:run", "nine mechanisms at equal LIP leakage on a 6 x 6 city", STUDIES),
}


def reproduce(name: str, *, quick: bool = False) -> Reproduction:
    """Run one reproduction by name."""
    if name not in REPRODUCTIONS:
        raise InputError(f"There is no reproduction called '{name}'.", f"Choose one of: {', '.join(REPRODUCTIONS)}.")
    module, _, function = REPRODUCTIONS[name].target.partition(":")
    result: Reproduction = getattr(import_module(module), function)(quick=quick)
    return result
