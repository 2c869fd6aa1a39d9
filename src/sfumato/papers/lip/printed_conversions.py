"""The conversions of [Jiang2021] as printed, beside the tightest known: what a reader of the paper would compute."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.channels.conversions.routes import Facts


@dataclass(frozen=True, slots=True)
class Printed:
    """One printed conversion: where it stands, its formula and value, and what is wrong with it, if anything."""

    source: str
    target: str
    place: str
    formula: str
    value: Callable[[float, Facts], float]
    erratum: str = ""


def _spread(facts: Facts) -> float:
    assert facts.prior is not None
    inside = facts.prior[facts.prior > 0]
    return math.log(float(inside.max() / inside.min()))


def _log_ratio(e: float, p: float) -> float:
    """ln((e^ε - 1 + p)/p), also where e^ε is no number."""
    return math.log(math.expm1(e) / p + 1) if e <= 700 else e - math.log(p)


def _log_mixed(p: float, e: float) -> float:
    """ln(p + (1 - p) e^ε), likewise."""
    return math.log(p + (1 - p) * math.exp(e)) if e <= 700 or p == 1 else e + math.log1p(-p)


PRINTED: tuple[Printed, ...] = (
    Printed(
        "lip", "ldp", "Prop. 1", "min{2ε, ln((e^ε - 1 + p_min)/p_min)}",
        lambda e, f: min(2 * e, _log_ratio(e, f.smallest)),
    ),
    Printed(
        "lip", "ldp", "Thm 2", "ln min{2ε, (e^ε - 1 + p_min)/p_min}",
        lambda e, f: min(math.log(2 * e), _log_ratio(e, f.smallest)) if e > 0 else 0.0,
        "E2: a typo, e^(2ε) is meant; to the letter not a bound",
    ),
    Printed(
        "ldp", "lip", "Prop. 1", "ln(p_min + e^ε (1 - p_min))",
        lambda e, f: _log_mixed(f.smallest, e),
    ),
    Printed("lip", "di", "Thm 3", "2ε + ln(p_max/p_min)", lambda e, f: 2 * e + _spread(f)),
    Printed(
        "di", "lip", "Thm 3", "ln(p_min + (1 - p_min) e^(ε + ln p_max/p_min))",
        lambda e, f: _log_mixed(f.smallest, e + _spread(f)),
    ),
    Printed("lip", "mutual_information_nats", "Thm 3", "ε", lambda e, f: e),
    Printed("lip", "maximal_leakage", "Thm 3", "ε", lambda e, f: e),
)  # fmt: skip


def printed_between(source: str, target: str) -> list[Printed]:
    """What the paper prints from one notion to another."""
    return [one for one in PRINTED if one.source == source and one.target == target]
