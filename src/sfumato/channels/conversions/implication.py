"""One implication between notions, and the facts that implications may need besides the bound they start from."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, finite
from sfumato.base.errors import InputError
from sfumato.base.things.channel import checked_probabilities


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
