"""Multiscale noise: one public process, valid for any timestamps and any sd of the path, fitted to nothing private."""

from __future__ import annotations

from dataclasses import dataclass

from sfumato.arrays import FloatArray, finite
from sfumato.errors import InputError


@dataclass(frozen=True, slots=True, eq=False)
class Ladder:
    """Length scales and their weights (summing to 1), beside a white and a constant share of the noise variance.

    The noise per coordinate is o · [(1 − ψ − χ) Σ_m w_m M_m(t) + ψ W(t) + χ C] in variance: independent unit
    Matérn-3/2 processes M_m with length scales l_m, white noise W per distinct time, one constant C per person.
    """

    length_scales_s: FloatArray
    weights: FloatArray
    white_share: float = 0.05
    constant_share: float = 0.1

    def __post_init__(self) -> None:
        scales = finite(self.length_scales_s, "length_scales_s", dimensions=1)
        weights = finite(self.weights, "weights", dimensions=1)
        if scales.size == 0 or scales.shape != weights.shape or (scales <= 0).any() or (weights < 0).any():
            raise InputError("A ladder needs as many positive length scales as non-negative weights.")
        if abs(float(weights.sum()) - 1.0) > 1e-9:
            raise InputError(f"The ladder's weights sum to {float(weights.sum()):.9g}.", "They must sum to 1.")
        psi, chi = float(self.white_share), float(self.constant_share)
        if not (0 <= psi < 1 and 0 <= chi < 1 and psi + chi < 1):
            raise InputError(f"White share {psi:g} and constant share {chi:g} do not fit.", "Both >= 0, sum below 1.")
        object.__setattr__(self, "length_scales_s", scales)
        object.__setattr__(self, "weights", weights)
        object.__setattr__(self, "white_share", psi)
        object.__setattr__(self, "constant_share", chi)

    @property
    def moving_share(self) -> float:
        """1 − ψ − χ: the share of the variance that the ladder carries."""
        return 1.0 - self.white_share - self.constant_share

    @property
    def variances(self) -> FloatArray:
        """Variance of each scale as a share of the whole, summing to 1 − ψ − χ."""
        return self.weights * self.moving_share

    @property
    def longest_s(self) -> float:
        """The longest length scale, which the gap rule counts in."""
        return float(self.length_scales_s.max())
