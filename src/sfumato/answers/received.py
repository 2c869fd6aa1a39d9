"""A release as its receiver holds it: released people, and the law of the noise, from the certificate alone.

Every answer begins here. The certificate must be whole (its seal), must belong to this very release (the hash of its
positions and times), and must state a noise whose law is the same for everybody and known: a kernel per coordinate, or
planar Laplace steps. Noise designed for chosen secrets and rounding have no such law, and are refused.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from sfumato.arrays import FloatArray
from sfumato.certificates.verify import opened
from sfumato.errors import InputError
from sfumato.mechanisms.traces.interface import TraceMechanism
from sfumato.mechanisms.traces.planar_laplace import LaplaceNoise
from sfumato.priors.kernels import Kernel, White, kernel_from_dict
from sfumato.traces import Trace


@dataclass(frozen=True, slots=True)
class NoiseLaw:
    """The noise of one release, per coordinate, before it was snapped to a public grid of ``snap_m``.

    ``epsilon_per_m`` is set for planar Laplace steps (independent, not Gaussian); ``kernel`` is the covariance.
    """

    kernel: Kernel
    snap_m: float
    epsilon_per_m: float | None = None

    @property
    def variance_m2(self) -> float:
        """Of one released coordinate around the true one: the noise, and s²/12 for the snapping."""
        return self.kernel.variance_m2 + self.snap_m**2 / 12

    @property
    def noise_m(self) -> float:
        """The root of it."""
        return math.sqrt(self.variance_m2)

    def of_variance(self, variance_m2: float) -> NoiseLaw:
        """Noise of another variance (snapping included), independent from moment to moment."""
        return NoiseLaw(White(math.sqrt(variance_m2)), 0.0)

    def correlation(self, lags_s: npt.ArrayLike) -> FloatArray:
        """ρ(d) of the noise of one coordinate at two moments d seconds apart (1 at the same moment)."""
        return np.asarray(self.kernel(lags_s)) / self.kernel.variance_m2


@dataclass(frozen=True, slots=True, eq=False)
class Received:
    """One certified release: (id, trace) of each person, and the law of its noise."""

    people: tuple[tuple[str | None, Trace], ...]
    law: NoiseLaw
    mechanism: str
    continuing: bool
    times: str = "keep"

    @property
    def points(self) -> int:
        """All people's points."""
        return sum(len(trace) for _, trace in self.people)


def receive(
    release: str | Path | Trace | Sequence[tuple[str | None, Trace]],
    certificate: str | Path | Mapping[str, Any],
    *,
    format: str | None = None,
) -> Received:
    """The release and the law its certificate states; refused where the two do not belong together."""
    terms, people = opened(certificate, release, format=format)
    law = law_of(terms.mechanism, terms.snap_m)
    return Received(tuple(people), law, terms.mechanism.name, terms.mechanism.continuing, terms.times)


def law_of(mechanism: TraceMechanism, snap_m: float) -> NoiseLaw:
    """The law of a mechanism's noise; refused where there is none that holds at any time for everybody."""
    described = mechanism.law() or {}
    if isinstance(mechanism, LaplaceNoise):
        return NoiseLaw(mechanism.kernel(), snap_m, mechanism.epsilon_per_m)
    try:
        kernel = kernel_from_dict(described)
    except InputError:
        kernel = None
    if kernel is None or not kernel.variance_m2 > 0 or not mechanism.gaussian:
        raise InputError(
            f"The noise of '{mechanism.name}' has no one law that a receiver could take out.",
            "Answers need multiscale, prior-shaped, mixed, independent or planar-laplace releases.",
        )
    return NoiseLaw(kernel, snap_m)
