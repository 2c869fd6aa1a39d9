"""Several guarantees about one person as one guarantee: one composition rule per notion, and none for the others.

Mechanisms state what one report promises (:class:`~sfumato.guarantees.Guarantee`); only here do statements become
totals. A notion without a rule is refused, and so are statements of different notions or units: what is unknown is
never guessed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Literal

from sfumato.errors import InputError
from sfumato.guarantees import Guarantee

Reporting = Literal["once", "every-cycle"]
"""Whether a person reports once, in one of several disjoint cohorts, or in every cycle, so that reports add up."""

CompositionRule = Callable[[Sequence[Guarantee], Reporting], Guarantee]

GEO = "geo-indistinguishability"


def composed(guarantees: Sequence[Guarantee], *, reporting: Reporting) -> Guarantee:
    """What holds for one person after all of these, by the rule of their notion; refused where there is none."""
    if not guarantees:
        raise InputError("There is no guarantee to compose.", "Somebody must report first.")
    notions = {guarantee.notion for guarantee in guarantees}
    if len(notions) > 1:
        raise InputError(
            f"Guarantees of different notions have no total: {', '.join(sorted(notions))}.", "Account for each apart."
        )
    return rule_for(guarantees[0].notion)(guarantees, checked_reporting(reporting))


def rule_for(notion: str) -> CompositionRule:
    """The composition rule of a notion, or InputError."""
    if notion not in RULES:
        raise InputError(
            f"There is no composition rule for '{notion}'.",
            f"Rules are known for: {', '.join(RULES)}; local information privacy adds only where each report is "
            "designed for the posterior (PosteriorAdaptive).",
        )
    return RULES[notion]


def checked_reporting(reporting: str) -> Reporting:
    """Once or every-cycle, or InputError."""
    if reporting not in ("once", "every-cycle"):
        raise InputError(f"The reporting is '{reporting}'.", "It is 'once' or 'every-cycle'.")
    return "once" if reporting == "once" else "every-cycle"


def total_epsilon(epsilons: Sequence[float]) -> float:
    """Sequential composition of geo-indistinguishability: the epsilons of reports about one place add."""
    return math.fsum(epsilons)


def _geo_indistinguishable(guarantees: Sequence[Guarantee], reporting: Reporting) -> Guarantee:
    units = {_unit_of(guarantee) for guarantee in guarantees}
    if len(units) > 1:
        raise InputError(f"The guarantees are per {' and per '.join(sorted(units))}.", "Compose one unit only.")
    (unit,) = units
    epsilons = [float(guarantee.parameters[f"epsilon_per_{unit}"]) for guarantee in guarantees]
    total = max(epsilons) if reporting == "once" else total_epsilon(epsilons)
    return geo_total(guarantees, reporting, unit=unit, epsilon=total)


def geo_total(guarantees: Sequence[Guarantee], reporting: Reporting, *, unit: str, epsilon: float) -> Guarantee:
    """The statement for a person's reports together, at ``epsilon``: that of the rule, or a sharper one proved."""
    reports = 1 if reporting == "once" else len(guarantees)
    return Guarantee(
        notion=GEO,
        parameters={f"epsilon_per_{unit}": epsilon, "reports": reports},
        assumes=tuple(dict.fromkeys(words for guarantee in guarantees for words in guarantee.assumes)),
        covers=(
            "any one report of a person who reports once"
            if reporting == "once"
            else f"all {reports} reports together, of a person who stays in one place",
        ),
        not_covered=tuple(dict.fromkeys(words for guarantee in guarantees for words in guarantee.not_covered)),
        numerics=guarantees[0].numerics,
    )


def _unit_of(guarantee: Guarantee) -> str:
    units = [name.removeprefix("epsilon_per_") for name in guarantee.parameters if name.startswith("epsilon_per_")]
    known = [unit for unit in units if unit != "ground_m"]
    if len(known) != 1:
        raise InputError("A guarantee does not say its epsilon.", "It needs one epsilon_per_UNIT.")
    return known[0]


RULES: Mapping[str, CompositionRule] = MappingProxyType({GEO: _geo_indistinguishable})
