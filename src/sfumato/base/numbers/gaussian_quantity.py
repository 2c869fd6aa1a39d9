"""What a Gaussian report Y = X + noise of a Gaussian X tells, in (epsilon, delta) terms that can be promised.

For X ~ N(0, s2_x) and noise variance s2, f_Y = N(0, s2_x + s2) and f_{Y|x} = N(x, s2). The hockey-stick divergence
E_gamma(f_Y || f_{Y|x}) grows with |x| and tends to 1: *no* noise gives any delta < 1 for all x. What can be
promised is ``range`` (|x| <= r), ``average`` (over x) or ``mass`` (events of prior probability at least eta).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise

from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import k0e, log_ndtr, ndtr, ndtri
from scipy.stats import multivariate_normal

from sfumato.base.arrays import positive
from sfumato.base.errors import InputError


def hockey_stick(mean_1: float, sd_1: float, mean_2: float, sd_2: float, gamma: float) -> float:
    """E_gamma(N(mean_1, sd_1^2) || N(mean_2, sd_2^2)) for sd_1 > sd_2.

    ``B = 2 (s1^2 - s2^2) ln(gamma s1/s2) + (mu1 - mu2)^2``; if B <= 0 it is 1 - gamma (a case the source leaves out,
    E18), else the mass of the first outside [y_l, y_u] less gamma times that of the second,
    ``y = (s1^2 mu2 - s2^2 mu1 -+ s1 s2 sqrt(B)) / (s1^2 - s2^2)``.
    """
    if not 0 < sd_2 < sd_1:
        raise InputError("The first Gaussian must be the wider one.", "Swap them and use the reverse identity.")
    positive(gamma, "gamma")
    between = _roots(mean_1, sd_1, mean_2, sd_2, gamma)
    if between is None:
        return 1.0 - gamma
    low, high = between
    first = _cdf((low - mean_1) / sd_1) + _cdf(-(high - mean_1) / sd_1)
    second = _cdf((low - mean_2) / sd_2) + _cdf(-(high - mean_2) / sd_2)
    return max(0.0, first - gamma * second)


def delta_at(x: float, *, prior_variance: float, noise_variance: float, epsilon: float) -> tuple[float, float]:
    """(delta_low, delta_up) when X = x: how much an event can lose, and gain, beyond a factor e^eps.

    The upper side is written without cancellation: with the roots at gamma = e^-eps it is the mass of f_{Y|x} between
    them less e^eps times that of f_Y, and 0 when there are no roots.
    """
    spread, noise, eps = _sds(prior_variance, noise_variance, epsilon)
    low = hockey_stick(0.0, spread, x, noise, math.exp(eps))
    between = _roots(0.0, spread, x, noise, math.exp(-eps))
    if between is None:
        return low, 0.0
    a, b = between
    inside = _interval((a - x) / noise, (b - x) / noise)
    up = inside - math.exp(eps) * _interval(a / spread, b / spread)
    return low, max(0.0, up)


def delta_average(*, prior_variance: float, noise_variance: float, epsilon: float) -> tuple[float, float, float]:
    """(delta_low, delta_up, P(|i| > eps)) averaged over X: exact, by one integral over the information density.

    i(X; Y) = I + rho Z1 Z2 with rho^2 = s2_x/(s2_x + s2), I = -1/2 ln(1 - rho^2); t = rho Z1 Z2 has density
    K0(|t|/rho)/(pi rho). UP = int (1 - e^(eps - I - t))^+, LOW = int (e^(-I - t) - e^eps)^+.
    """
    eps = positive(epsilon, "epsilon", at_most=700)
    sx2, s2 = positive(prior_variance, "prior_variance"), positive(noise_variance, "noise_variance")
    rho2 = sx2 / (sx2 + s2)
    rho = math.sqrt(rho2)
    information = 0.5 * math.log1p(sx2 / s2)
    above, below = eps - information, -eps - information

    def density(t: float) -> float:
        return _k0e(abs(t) / rho) * math.exp(-abs(t) / rho) / (math.pi * rho)

    up = _integral(lambda t: -math.expm1(above - t) * density(t), above, math.inf, rho)
    # For LOW the exponent of the density and of e^(-I - t) are joined before either can overflow.
    low = _integral(
        lambda t: (
            _k0e(abs(t) / rho)
            / (math.pi * rho)
            * (math.exp(-information - t - abs(t) / rho) - math.exp(eps - abs(t) / rho))
        ),
        -math.inf,
        below,
        rho,
    )
    probability = _integral(density, above, math.inf, rho) + _integral(density, -math.inf, below, rho)
    return max(0.0, low), max(0.0, up), min(1.0, probability)


def delta_mass(
    *, prior_variance: float, noise_variance: float, epsilon: float, least_mass: float
) -> tuple[float, float]:
    """(delta_low, delta_up) over events {X in S} of prior probability at least ``least_mass``.

    The half-line of exactly that mass is the worst (Borell); given it, Y has density
    f_Y(y) P(X > c | y) / eta, so the likelihood ratio is increasing in y and each side is one Gaussian integral.
    """
    eta = positive(least_mass, "least_mass", at_most=1.0)
    spread, _, eps = _sds(prior_variance, noise_variance, epsilon)
    if eta >= 1:
        return 0.0, 0.0
    sx2, s2 = float(prior_variance), float(noise_variance)
    edge = -float(ndtri(eta)) * math.sqrt(sx2)
    shrink, left = sx2 / (sx2 + s2), math.sqrt(sx2 * s2 / (sx2 + s2))

    def log_ratio(y: float) -> float:
        return float(log_ndtr((shrink * y - edge) / left)) - math.log(eta)

    def upper_tail(y: float) -> float:
        # P(X > edge, Y > y), a bivariate normal probability.
        rho = math.sqrt(shrink)
        return float(
            multivariate_normal.cdf(
                [-edge / math.sqrt(sx2), -y / spread], mean=[0, 0], cov=[[1, rho], [rho, 1]], abseps=1e-13, releps=1e-13
            )
        )

    reach = 60 * spread
    up = 0.0
    if log_ratio(reach) > eps:
        root = float(brentq(lambda y: log_ratio(y) - eps, -reach, reach, xtol=1e-14, rtol=1e-15))
        up = upper_tail(root) / eta - math.exp(eps) * float(ndtr(-root / spread))
    low = 0.0
    if log_ratio(-reach) < -eps:
        root = float(brentq(lambda y: log_ratio(y) + eps, -reach, reach, xtol=1e-14, rtol=1e-15))
        below = float(ndtr(root / spread))
        low = below - math.exp(eps) * (eta - upper_tail(root)) / eta
    return max(0.0, low), max(0.0, up)


def _roots(mean_1: float, sd_1: float, mean_2: float, sd_2: float, gamma: float) -> tuple[float, float] | None:
    if abs(mean_1 - mean_2) > 1e100 or max(sd_1, sd_2) > 1e100:
        raise InputError("The means lie too far apart for doubles.", "Use another unit.")
    apart = (sd_1 - sd_2) * (sd_1 + sd_2)
    b = 2 * apart * (math.log(gamma) + math.log(sd_1 / sd_2)) + (mean_1 - mean_2) ** 2
    if b <= 0:
        return None
    middle = (sd_1 * sd_1 * mean_2 - sd_2 * sd_2 * mean_1) / apart
    half = sd_1 * sd_2 * math.sqrt(b) / apart
    return middle - half, middle + half


def _cdf(z: float) -> float:
    return 0.5 * math.erfc(-z / math.sqrt(2))


def _interval(a: float, b: float) -> float:
    # Phi(b) - Phi(a) from the side where both tails are small.
    return _cdf(-a) - _cdf(-b) if a > 0 else _cdf(b) - _cdf(a)


def _k0e(z: float) -> float:
    return float(k0e(z)) if z > 0 else math.inf


def _integral(f: Callable[[float], float], low: float, high: float, scale: float) -> float:
    """The integral with the logarithmic singularity at 0 and the exponential tail each on their own interval."""
    # The tail is like e^(-|t| (1/rho - 1)) at worst; it is cut where that is below 1e-18.
    reach = 45.0 / max(1.0 / scale - 1.0, 1e-4)
    start, stop = max(low, -reach - 60), min(high, reach + 60)
    if start >= stop:
        return 0.0
    knots = sorted({start, stop, *(t for t in (-8 * scale, -scale, 0.0, scale, 8 * scale) if start < t < stop)})
    return float(sum(quad(f, a, b, limit=400, epsabs=1e-14, epsrel=1e-12)[0] for a, b in pairwise(knots)))


def _sds(prior_variance: float, noise_variance: float, epsilon: float) -> tuple[float, float, float]:
    sx2, s2 = positive(prior_variance, "prior_variance"), positive(noise_variance, "noise_variance")
    if not 1e-100 <= min(sx2, s2) <= max(sx2, s2) <= 1e100 or not 1e-14 <= s2 / sx2 <= 1e14:
        raise InputError(
            f"The variances are {sx2:g} and {s2:g}.", "Doubles tell ratios of 1e-14 .. 1e14 apart: use another unit."
        )
    return math.sqrt(sx2 + s2), math.sqrt(s2), positive(epsilon, "epsilon", at_most=700)
