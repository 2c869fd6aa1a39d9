"""What implies what: every conversion between notions in one table, and the tightest way from one to another.

An implication takes a bound on one measure to a bound on another. ``tight`` says that for every value some channel (and
prior, where none is given) attains it. A route chains them; its value is the least over all routes, rounded outwards by
1e-13, and it is a theorem because each step is. A chain of tight steps need not be tight: the channel that attains one
step may not attain the next.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from sfumato.base.errors import InputError
from sfumato.channels.conversions.implications import IMPLICATIONS, Facts, Implication

__all__ = ["Facts", "Implication", "Route", "convert", "tightest"]


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
    usable = [edge for edge in IMPLICATIONS if all(known.has(need) for need in edge.needs)]
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
    missing = sorted({need for edge in between for need in edge.needs if not known.has(need)})
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
    return value * (1 + 1e-13) if larger_is_worse else value * (1 - 1e-13)


Group = Literal["every prior", "one prior", "a guess", "the average", "graded by distance", "a trusted mixer"]


@dataclass(frozen=True, slots=True)
class Notion:
    """``key`` as in JSON, a name, what it bounds, for whom, and the unit; ``parameter`` names what fixes it further."""

    key: str
    name: str
    bounds: str
    group: Group
    unit: str = "nats"
    parameter: str = ""
    larger_is_worse: bool = True


_ALL = (
    Notion("ldp", "local differential privacy", "how much better any input explains a report than any other",
           "every prior"),
    Notion("approximate_ldp", "(ε, δ)-LDP", "the same, except with probability δ", "every prior", parameter="delta"),
    Notion("renyi_ldp", "Rényi LDP", "the Rényi divergence between the reports of two inputs", "every prior",
           parameter="order"),
    Notion("gaussian_ldp", "Gaussian LDP (f-LDP)", "telling two inputs apart, as hard as two normals μ apart",
           "every prior", unit="standard deviations"),
    Notion("total_variation", "total variation", "the advantage in telling two inputs apart", "every prior",
           unit="probability"),
    Notion("alpha_beta_leakage", "maximal (α, β)-leakage", "between maximal leakage and LDP, by two orders",
           "every prior", parameter="order, second_order"),
    Notion("geo_epsilon_per_m", "geo-indistinguishability", "LDP per metre: near places look alike",
           "graded by distance", unit="nats per metre"),
    Notion("lip", "local information privacy", "how far a report moves the belief in any symbol", "one prior"),
    Notion("pointwise_maximal_leakage", "pointwise maximal leakage", "how far a report raises a belief (LIP, up)",
           "one prior"),
    Notion("lip_low", "pointwise maximal cost", "how far a report lowers a belief (LIP, low)", "one prior"),
    Notion("lip_delta", "(ε, δ)-LIP", "LIP, except with probability δ", "one prior", parameter="delta"),
    Notion("di", "differential identifiability", "how unequal the belief in two symbols may become", "one prior"),
    Notion("maximal_leakage", "maximal leakage", "the gain in guessing any function of the symbol, on average",
           "the average"),
    Notion("maximal_alpha_leakage", "maximal α-leakage", "the same for an adversary of order α", "the average",
           parameter="order"),
    Notion("capacity", "Shannon capacity", "what reports tell on average, whatever the prior", "the average"),
    Notion("sibson_information", "Sibson's information", "what reports tell, of order α", "the average",
           parameter="order"),
    Notion("alpha_leakage", "α-leakage", "the gain of an adversary of order α about the symbol", "the average",
           parameter="order"),
    Notion("mutual_information_nats", "mutual information", "what reports tell on average", "the average"),
    Notion("g_leakage", "g-leakage, any gain of at least 0", "the factor by which reports help any adversary",
           "a guess"),
    Notion("min_entropy_leakage", "min-entropy leakage", "the factor by which reports help one guess", "a guess"),
    Notion("bayes_vulnerability", "Bayes vulnerability", "how often the best guess is right (1 - Bayes risk)",
           "a guess", unit="probability"),
    Notion("guessing_entropy", "guessing entropy", "how many guesses it takes on average", "a guess", unit="guesses",
           larger_is_worse=False),
    Notion("shuffled_epsilon", "central (ε, δ)-DP of shuffled reports", "one person's part in all reports",
           "a trusted mixer", parameter="delta, people"),
)  # fmt: skip

NOTIONS: dict[str, Notion] = {notion.key: notion for notion in _ALL}


def notion(key: str) -> Notion:
    """The notion of that key."""
    if key not in NOTIONS:
        raise InputError(f"There is no notion '{key}'.", f"Use one of: {', '.join(NOTIONS)}.")
    return NOTIONS[key]
