"""How much a person's own track turns one way round: one number fitted to it, and what that makes of the odds.

East and north of somebody who tends to turn left depend on each other. For a law that no rotation of the map changes,
z = east + i·north has the spectral density k(ω)(1 + ρ(ω)), ρ odd, and the loss is at most 1 + ρ² times that of
independent coordinates (:mod:`sfumato.tracks.noise.multiscale.universal_bound`). Fitted is the one number of
ρ(ω) = ρ sign ω, by the likelihood of z given the kernel k that was fitted to the track: E[z_s z_t*] = 2(k + iρh)(s - t)
with the Hilbert transform h(d) = ∫ k(ω) sin(ωd) dω/π over ω > 0. The interval holds all ρ whose likelihood is within
1.92 of the best (95 %).
"""

from __future__ import annotations

import math
from typing import TypedDict

import numpy as np
from scipy.linalg import LinAlgError, cholesky, solve_triangular
from scipy.special import dawsn, exp1, expi

from sfumato.base.arrays import FloatArray
from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import odds_at, odds_words
from sfumato.tracks.priors.kernels import Kernel, Scaled, Sum

RUN, FEWEST = 100, 10  # moments of each of three runs, and of all
_TRIED = np.linspace(-0.98, 0.98, 50)
_FAR, _TERMS = 40.0, 12


class Turning(TypedDict):
    """ρ with its interval, and the odds of the certificate for somebody who turns so much."""

    rho: float
    rho_low: float
    rho_high: float
    loss_factor: float
    odds_99: float | None


def fitted_turning(times_s: FloatArray, path_m: FloatArray, kernel: Kernel, mu: float | None) -> Turning | None:
    """The track's own ρ and what it makes of μ, that of independent coordinates; None: too few points, or no member."""
    parts = kernel.parts if isinstance(kernel, Sum) else (kernel,)
    main = next((part for part in parts if isinstance(part, Scaled)), None)
    moments, first = np.unique(times_s, return_index=True)
    if main is None or main.name == "matern12" or moments.size < FEWEST or not main.variance_m2 > 0:
        return None
    starts = {0, max(0, (moments.size - RUN) // 2), max(0, moments.size - RUN)}
    found = np.zeros(_TRIED.size)
    for start in sorted(starts):
        run = slice(start, start + RUN)
        found += _likelihoods(moments[run], path_m[first[run]], kernel, main)
    if not np.isfinite(found).any():
        return None
    inside = _TRIED[found >= found.max() - 1.92]
    rho = float(_TRIED[found.argmax()])
    factor = 1.0 + rho * rho
    odds = None if mu is None else odds_at(mu * math.sqrt(factor))
    return Turning(rho=rho, rho_low=float(inside[0]), rho_high=float(inside[-1]), loss_factor=factor, odds_99=odds)


def turning_words(turning: Turning | None) -> str:
    """A sentence where the track turns beyond doubt; nothing else."""
    if turning is None or turning["rho_low"] <= 0.0 <= turning["rho_high"]:
        return ""
    way = "left" if turning["rho"] > 0 else "right"
    odds = "" if turning["odds_99"] is None else f", odds of {odds_words(turning['odds_99'])}"
    return (
        f" The track tends to turn {way} (ρ = {turning['rho']:.2f}, {turning['rho_low']:.2f} to "
        f"{turning['rho_high']:.2f}): {turning['loss_factor']:.2f} times the loss of independent coordinates{odds}."
    )


def _likelihoods(times_s: FloatArray, path_m: FloatArray, kernel: Kernel, main: Scaled) -> FloatArray:
    """The log-likelihood of one run for every ρ tried, up to a constant; the place of the run is not known."""
    even, odd = even_and_odd(main, times_s)
    rest = kernel.covariance(times_s) - main.covariance(times_s)  # the nugget
    place = 1e4 * (kernel.variance_m2 + float(np.ptp(path_m, axis=0).max()) ** 2)
    even = even + rest + place + 1e-6 * main.variance_m2 * np.eye(times_s.size)
    z = path_m[:, 0] + 1j * path_m[:, 1]
    z = z - z.mean()
    out = np.full(_TRIED.size, -np.inf)
    for number, rho in enumerate(_TRIED):
        try:
            factor = cholesky(2.0 * (even + 1j * rho * odd), lower=True)
        except LinAlgError:
            continue
        white = solve_triangular(factor, z, lower=True)
        out[number] = -2.0 * float(np.sum(np.log(np.diag(factor).real))) - float(np.vdot(white, white).real)
    return out


def even_and_odd(kernel: Scaled, times_s: FloatArray) -> tuple[FloatArray, FloatArray]:
    """k and h between all times, (n, n) each, in closed form: k + iρh is a covariance for all |ρ| ≤ 1.

    With G = e^{−u}Ei(u) + e^{u}E₁(u), D = e^{−u}Ei(u) − e^{u}E₁(u) and u = √3 d/l (√5 d/l): πh = G + uD for Matérn-3/2,
    3πh = 3(G + uD) + u²G − 2u for Matérn-5/2, and √π h = 2 × Dawson's function of d/(√2 l) for RBF.
    """
    lags = times_s[:, None] - times_s[None]
    apart, which = np.unique(np.abs(lags), return_inverse=True)
    distance = apart / kernel.length_scale_s
    if kernel.name == "rbf":
        odd = 2.0 / math.sqrt(math.pi) * dawsn(distance / math.sqrt(2.0))
    elif kernel.name in ("matern32", "matern52"):
        odd = _matern_odd(math.sqrt(3.0 if kernel.name == "matern32" else 5.0) * distance, kernel.name)
    else:
        raise InputError(f"Turning knows no kernel '{kernel.name}'.", "Use matern32, matern52 or rbf.")
    return kernel.covariance(times_s), kernel.variance_m2 * np.sign(lags) * odd[which.reshape(lags.shape)]


def _matern_odd(u: FloatArray, name: str) -> FloatArray:
    """h of unit variance; far away by the asymptotic series Σ (2n)! / u^{2n+1}, where the terms cancel."""
    near = np.clip(u, 1e-12, _FAR)
    rise, fall = np.exp(-near) * expi(near), np.exp(near) * exp1(near)
    both = rise + fall + near * (rise - fall)
    far, beyond, factor = 1.0 / np.maximum(u, _FAR), np.zeros_like(u), 2.0
    for n in range(_TERMS):  # the same sums, term by term: G gives (2n)!, uD (2n + 1)!, and u²G (2n + 2)!
        times = 2 * n + 2
        whole = times if name == "matern32" else 3.0 * times + times * (times - 1)
        beyond += factor * whole * far ** (2 * n + 1)
        factor *= (2 * n + 1) * (2 * n + 2)
    if name == "matern52":
        both, beyond = both + (near**2 * (rise + fall) - 2.0 * near) / 3.0, beyond / 3.0
    return np.asarray(np.where(u > _FAR, beyond, np.where(u > 0, both, 0.0)) / math.pi)
