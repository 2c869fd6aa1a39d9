"""What implies what: every conversion between notions in one table, and the tightest way from one to another.

An implication takes a bound on one measure to a bound on another. ``tight`` says that for every value some channel (and
prior, where none is given) attains it. A route chains them; its value is the least over all routes, rounded outwards by
1e-13, and it is a theorem because each step is. A chain of tight steps need not be tight: the channel that attains one
step may not attain the next.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.arrays import FloatArray, finite
from sfumato.channel import checked_probabilities
from sfumato.errors import InputError
from sfumato.leakage.notions import NOTIONS, notion

ROUNDING = 1e-13


@dataclass(frozen=True, slots=True, eq=False)
class Facts:
    """What is known besides the bound: each implication says which of these it needs."""

    prior: FloatArray | None = None
    distances_m: FloatArray | None = None
    symbols: int | None = None
    order: float | None = None
    second_order: float | None = None
    delta: float | None = None
    people: int | None = None
    shuffler: str | None = None

    def __post_init__(self) -> None:
        if self.prior is not None:
            prior = checked_probabilities(self.prior, self.symbols)
            object.__setattr__(self, "prior", prior)
            object.__setattr__(self, "symbols", prior.size)
        if self.distances_m is not None:
            d = finite(self.distances_m, "The distances", dimensions=2)
            count = d.shape[0] if self.symbols is None else self.symbols
            if d.shape != (count, count) or count == 0 or d.min() < 0:
                raise InputError("The distances do not fit.", "Give one of at least 0 per pair of symbols.")
            object.__setattr__(self, "distances_m", d)
            object.__setattr__(self, "symbols", count)
        for name, low in (("order", 0.0), ("second_order", 1.0)):
            value = getattr(self, name)
            if value is not None and (math.isnan(value) or value < low or value == 0):
                raise InputError(f"The {name.replace('_', ' ')} is {value}.", f"It must be a number above {low:g}.")
        if self.delta is not None and not 0 <= self.delta <= 1:
            raise InputError(f"delta is {self.delta}.", "It lies between 0 and 1.")

    def known(self, name: str) -> bool:
        """Whether this fact is given; "full prior" is one without zeros, "no zeros" that or no prior at all."""
        if name == "no zeros":
            return self.prior is None or bool(np.all(self.prior > 0))
        if name == "full prior":
            return self.prior is not None and bool(np.all(self.prior > 0))
        if name == "order >= 1":
            return self.order is not None and self.order >= 1
        if name == "order > 1":
            return self.order is not None and self.order > 1
        if name == "shuffler":
            return bool(self.shuffler and self.shuffler.strip())
        return getattr(self, name) is not None

    @property
    def smallest(self) -> float:
        """The smallest positive prior probability."""
        assert self.prior is not None
        return float(self.prior[self.prior > 0].min())


@dataclass(frozen=True, slots=True)
class Implication:
    """A bound on ``source`` gives a bound on ``target``: the formula, whether attained, whose it is, when it holds."""

    source: str
    target: str
    formula: str
    bound: Callable[[float, Facts], float]
    tight: bool
    reference: str
    holds: str = "always"
    needs: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """The tightest bound found and the steps to it, each with the value it reached."""

    source: str
    target: str
    given: float
    value: float
    steps: tuple[tuple[Implication, float], ...]

    @property
    def tight(self) -> bool:
        """Attained by some channel: no step, or a single one that is tight."""
        return len(self.steps) == 0 or (len(self.steps) == 1 and self.steps[0][0].tight)

    def to_dict(self) -> dict[str, object]:
        """Plain JSON; an infinite bound is null."""
        return {
            "from": self.source,
            "to": self.target,
            "given": self.given,
            "value": self.value if math.isfinite(self.value) else None,
            "unit": notion(self.target).unit,
            "tight": self.tight,
            "steps": [
                {
                    "from": step.source,
                    "to": step.target,
                    "formula": step.formula,
                    "value": value if math.isfinite(value) else None,
                    "tight": step.tight,
                    "holds": step.holds,
                    "reference": step.reference,
                }
                for step, value in self.steps
            ],
        }


def tightest(value: float, source: str, facts: Facts | None = None) -> dict[str, Route]:
    """The tightest bound on every notion that follows from this one; notions that do not follow are missing."""
    from sfumato.leakage.implications import IMPLICATIONS

    known = Facts() if facts is None else facts
    notion(source)
    given = float(value)
    if math.isnan(given) or given < 0:
        raise InputError(f"The given {source} is {value}.", "It must be a number of at least 0.")
    routes = {source: Route(source, source, given, given, ())}
    usable = [edge for edge in IMPLICATIONS if all(known.known(need) for need in edge.needs)]
    for _ in range(len(NOTIONS)):
        changed = False
        for edge in usable:
            start = routes.get(edge.source)
            if start is None or any(step.source == edge.target for step, _ in start.steps):
                continue
            reached = _outwards(edge.bound(start.value, known), notion(edge.target).larger_is_worse)
            if math.isnan(reached):
                continue
            old = routes.get(edge.target)
            if old is None or _better(reached, len(start.steps) + 1, old):
                routes[edge.target] = Route(source, edge.target, given, reached, (*start.steps, (edge, reached)))
                changed = True
        if not changed:
            break
    return routes


def convert(value: float, source: str, target: str, facts: Facts | None = None) -> Route:
    """The tightest bound on ``target`` that follows from ``value`` of ``source``; refused where nothing follows."""
    known = Facts() if facts is None else facts
    notion(target)
    routes = tightest(value, source, known)
    if target in routes:
        return routes[target]
    between = [edge for edge in _leading_to(target) if edge.source in _following_from(source)]
    missing = sorted({need for edge in between for need in edge.needs if not known.known(need)})
    advice = f"It might with: {', '.join(missing)}." if missing else "No theorem leads there from it."
    raise InputError(f"Nothing follows about {target} from {source} with what is given.", advice)


def _leading_to(target: str) -> list[Implication]:
    from sfumato.leakage.implications import IMPLICATIONS

    reached, found = {target}, []
    grown = True
    while grown:
        grown = False
        for edge in IMPLICATIONS:
            if edge.target in reached and edge not in found:
                found.append(edge)
                grown = True
                reached.add(edge.source)
    return found


def _following_from(source: str) -> set[str]:
    from sfumato.leakage.implications import IMPLICATIONS

    reached, size = {source}, 0
    while len(reached) > size:
        size = len(reached)
        reached |= {edge.target for edge in IMPLICATIONS if edge.source in reached}
    return reached


def _better(value: float, steps: int, old: Route) -> bool:
    """A tighter bound, or the same (to rounding) in fewer steps."""
    room = 1e-11 * abs(old.value) if math.isfinite(old.value) else 0.0
    if value == old.value or abs(value - old.value) <= room:
        return steps < len(old.steps)
    return value < old.value if notion(old.target).larger_is_worse else value > old.value


def _outwards(value: float, larger_is_worse: bool) -> float:
    if not math.isfinite(value) or value == 0:
        return value
    return value * (1 + ROUNDING) if larger_is_worse else value * (1 - ROUNDING)
