"""A guarantee is a statement: what is promised, under which assumptions, for what, and what is not covered.

Mechanisms emit guarantees, the accountant alone composes them, and certificates print them. Nothing here computes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Any

from sfumato.base.arrays import jsonable
from sfumato.base.errors import InputError

IDEALISED = "idealised: proved for exact real numbers; drawn and computed in double precision"


@dataclass(frozen=True, slots=True, eq=False)
class Guarantee:
    """One promise. ``notion`` names it, ``parameters`` are its numbers (units in their names)."""

    notion: str
    parameters: Mapping[str, Any]
    assumes: tuple[str, ...] = ()
    covers: tuple[str, ...] = ()
    not_covered: tuple[str, ...] = ()
    numerics: str = IDEALISED
    simulation: bool = False
    details: Mapping[str, object] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.notion:
            raise InputError("A guarantee needs a notion.", "Name what is promised.")
        object.__setattr__(self, "parameters", MappingProxyType(dict(self.parameters)))
        object.__setattr__(self, "details", MappingProxyType(dict(self.details)))
        for name in ("assumes", "covers", "not_covered"):
            object.__setattr__(self, name, tuple(getattr(self, name)))

    def assuming(self, *words: str) -> Guarantee:
        """The same promise with further assumptions said."""
        return replace(self, assumes=(*self.assumes, *words))

    def to_dict(self) -> dict[str, object]:
        """Plain JSON, without NaN or infinities."""
        return {
            "notion": self.notion,
            "parameters": jsonable(dict(self.parameters)),
            "assumes": list(self.assumes),
            "covers": list(self.covers),
            "not_covered": list(self.not_covered),
            "numerics": self.numerics,
            "simulation": self.simulation,
            "details": jsonable(dict(self.details)),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Guarantee:
        """The guarantee that :meth:`to_dict` wrote; unknown fields are refused."""
        known = {"notion", "parameters", "assumes", "covers", "not_covered", "numerics", "simulation", "details"}
        unknown = set(values) - known
        if unknown or "notion" not in values:
            raise InputError(f"This is not a guarantee: unknown or missing fields {sorted(unknown)}.")
        return cls(**dict(values))


def snapped_numerics(snap_m: float) -> str:
    """How far the numbers of a release of positions are idealised."""
    return (
        f"{IDEALISED}; released positions are snapped after the noise to a public grid of {snap_m:g} m, which is fine "
        "beside the noise; after coarsening, the odds of an event of probability 1 in 100 are at most "
        "odds_99_after_coarsening"
    )


Together = Callable[[float], float]  # the loss of all announced releases, from that of one: linear


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """What is given away, J per m² of one coordinate.

    ``worst_loss`` holds for the whole prior class at any timestamps (None where there is no such bound),
    ``stay_loss`` for one constant unknown place, ``loss_at_times`` at the release's own times on the stated grid.
    ``basis`` is the loss that ε, μ and the odds are computed from; None for a mechanism that is not Gaussian, which
    may state ``pure_epsilon_per_m`` instead. ``floor_loss`` is what no noise of this size could stay below.
    """

    worst_loss: float | None
    stay_loss: float | None
    loss_at_times: float | None
    floor_loss: float | None
    basis: float | None
    basis_name: str
    warnings: tuple[str, ...] = ()
    pure_epsilon_per_m: float | None = None
