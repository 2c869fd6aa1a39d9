"""What implies what: every conversion between notions in one table, and the tightest way from one to another.

An implication takes a bound on one measure to a bound on another. ``tight`` says that for every value some channel (and
prior, where none is given) attains it. A route chains them; its value is the least over all routes, rounded outwards by
1e-13, and it is a theorem because each step is. A chain of tight steps need not be tight: the channel that attains one
step may not attain the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from sfumato.base.errors import InputError
from sfumato.channels.conversions.implications import IMPLICATIONS, Facts, Implication
from sfumato.channels.conversions.notions import NOTIONS, notion

__all__ = ["Facts", "Implication", "Route", "convert", "tightest"]

ROUNDING = 1e-13


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
