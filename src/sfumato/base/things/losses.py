"""What a release gives away, as losses: what a mechanism computes, a ledger adds up and a certificate states."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

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
