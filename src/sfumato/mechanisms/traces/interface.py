"""What every mechanism for traces offers: noise at given times, its law, and what it gives away.

A mechanism is a value. ``draw`` is its function, ``losses`` its price; both read the same numbers, so what is
certified is what is shipped.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from sfumato.arrays import FloatArray
from sfumato.randomness import Random


@dataclass(frozen=True, slots=True, eq=False)
class Losses:
    """What one release gives away, J per m² of one coordinate.

    ``worst_loss`` holds for the whole prior class at any timestamps (None where there is no such bound),
    ``stay_loss`` for one constant unknown place, ``loss_at_times`` at the release's own times on the stated grid.
    ``basis`` is the loss that ε, μ and the odds are computed from; None for a mechanism that is not Gaussian.
    """

    worst_loss: float | None
    stay_loss: float | None
    loss_at_times: float | None
    floor_loss: float
    basis: float | None
    basis_name: str
    warnings: tuple[str, ...] = ()


class TraceNoise(ABC):
    """Noise for both coordinates of a trace."""

    __slots__ = ()
    name: ClassVar[str]

    @property
    @abstractmethod
    def noise_m(self) -> float:
        """Its standard deviation per coordinate."""

    @abstractmethod
    def draw(self, times_s: FloatArray, rng: Random = None) -> FloatArray:
        """(n, 2) east and north metres at any times in any order; equal times get equal noise."""

    @abstractmethod
    def law(self) -> dict[str, Any]:
        """The noise per coordinate as a kernel description (metres), for whoever recomputes."""

    @abstractmethod
    def parameters(self) -> dict[str, Any]:
        """What :func:`sfumato.mechanisms.traces.trace_registry.mechanism_from_dict` rebuilds the mechanism from."""

    @abstractmethod
    def losses(self, times_s: Sequence[FloatArray]) -> Losses:
        """What a release of these people's times (one array each) gives away about any one of them."""
