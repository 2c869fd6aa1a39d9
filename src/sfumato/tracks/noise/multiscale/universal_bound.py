"""The universal bound: the most that multiscale noise can give away, over a whole class of priors and any timestamps.

More observations never tell less, so the loss at any finite set of times is at most the loss when the whole noisy
path is seen. With the unit prior density k(ω) (∫ k dω/2π = 1), the noise density g(ω) of the ladder's share alone
and any path sd σ,

    V_f = ∫ σ²k g / (σ²k + g) dω/2π,    J_f = 1/V_f − 1/σ²  ≤  J(k) = ∫ k²/g dω/2π            (every σ).

Write h_J(v) = v / (1 + J v), P = 1/(ψo) and C = 1/(χo). The components of the prior (path σ², nugget τ², constant
offset v) each meet their own share of the noise, so V_X ≥ h_J(σ²) + h_P(τ²) + h_C(v), and a loss of at most J' is
V_X ≥ h_J'(σ² + τ² + v). Since h_J'(s+v) − h_J'(s) = v / ((1 + J's)(1 + J'(s+v))),

  * a nugget of at most ρσ adds nothing beyond J' = max(J, P ρ² / (2 + ρ²)), whatever σ is:
    (1 + J'σ²)(1 + J'(σ² + τ²)) ≥ 1 + 2J'σ² + J'τ² ≥ 1 + Pτ²;
  * an offset of at most ρ_v times the path's sd adds nothing while ρ_v² ≤ 2J'/(C − J'), and an offset of any size
    adds nothing once σ² ≥ (C − J')/J'²;
  * whatever the sizes, the loss is at most max(J', C): C = 1/(χo) is ``stay_loss``.

All this is for one coordinate: two that are independent in some fixed rotation keep it, because the noise is the same
in every direction. *Turning:* let east + i·north be stationary with a law that no rotation changes (people who tend to
turn one way round). Its spectral density is k(ω)(1 + ρ(ω)) with k of the class and ρ odd, |ρ| ≤ 1, and the same
argument, which never used that k is even, gives ∫ k²(1 + ρ)²/g = ∫ k²(1 + ρ²)/g ≤ 2 J(k): the odd term vanishes. It is
attained at ρ = sign ω (north the Hilbert transform of east). The nugget and the offset are as before. Laps are no such
law (their spectrum has a peak that no member has), and north(t) = east(t − lag) has no bound at all.

The maximum over the *continuous* range of length scales is certified: with u = log l, J is a sum of positive terms
with −J'' ≤ c J, c = 4 (Matérn-3/2), 6 (Matérn-5/2), 5 (RBF), so between grid points a step δ apart
J ≤ (largest value on the grid) / (1 − c δ²/8). The integral is a trapezoidal sum in log ω: the integrand is analytic
and g has no zero for |arg ω| < π/4, so its error falls like exp(−π²/(2 h)) (h = 0.1: 1e-21); both tails are bounded
in closed form and added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from sfumato.base.arrays import FloatArray, jsonable, positive
from sfumato.base.errors import InputError, NotCertified
from sfumato.tracks.noise.multiscale.ladder import Ladder
from sfumato.tracks.priors.classes import PriorClass

LOG_STEP = 0.1
SCALE_STEP = 0.004
TURNING = 2.0  # what coordinates that turn together can multiply a path's loss by
RELATIVE_MARGIN = 1e-9  # for rounding in the sums themselves
_CURVATURE = {"matern32": 4.0, "matern52": 6.0, "rbf": 5.0}


def unit_density(kernel: str, omega: FloatArray, length_scale_s: FloatArray | float) -> FloatArray:
    """The spectral density k(ω) of the unit-variance kernel, ∫ k dω/2π = 1; broadcasts over both arguments."""
    scale = np.asarray(length_scale_s, dtype=np.float64)
    if kernel == "matern32":
        a = math.sqrt(3.0) / scale
        return np.asarray(4.0 * a**3 / (a * a + omega**2) ** 2)
    if kernel == "matern52":
        a = math.sqrt(5.0) / scale
        return np.asarray((16.0 / 3.0) * a**5 / (a * a + omega**2) ** 3)
    if kernel == "rbf":
        return np.asarray(math.sqrt(2.0 * math.pi) * scale * np.exp(-0.5 * (omega * scale) ** 2))
    raise InputError(
        f"The universal bound knows no kernel '{kernel}'.",
        "Use matern32, matern52 or rbf; Matérn-1/2 has no bound that holds for every sd.",
    )


def frequencies(shortest_s: float, longest_s: float, step: float = LOG_STEP) -> tuple[FloatArray, FloatArray]:
    """Nodes ω and weights of ∫ · dω/2π over all of R, for even integrands living between two length scales."""
    low, high = math.log(1e-9 / longest_s), math.log(3e4 / shortest_s)
    omega = np.exp(np.arange(low, high + step, step))
    return omega, omega * (step / math.pi)


def path_losses(
    ladder_scales_s: FloatArray,
    variances: FloatArray,
    kernel: str,
    length_scales_s: FloatArray,
    *,
    step: float = LOG_STEP,
) -> FloatArray:
    """J(k) = ∫ k²/g dω/2π for each length scale, tails included, rounded up.

    ``variances`` are those of the ladder's scales; with shares of the noise variance o the result is J × o.
    """
    shortest = float(min(ladder_scales_s.min(), length_scales_s.min()))
    longest = float(max(ladder_scales_s.max(), length_scales_s.max()))
    omega, weight = frequencies(shortest, longest, step)
    noise = variances @ unit_density("matern32", omega[None, :], ladder_scales_s[:, None])
    out = np.empty(length_scales_s.size)
    for start in range(0, out.size, 512):
        scales = length_scales_s[start : start + 512, None]
        out[start : start + 512] = unit_density(kernel, omega[None, :], scales) ** 2 @ (weight / noise)
    at_zero = unit_density(kernel, np.zeros(1), length_scales_s)
    low_tail = at_zero**2 / noise[0] * omega[0] / math.pi
    rate = np.sqrt(3.0) / ladder_scales_s
    asymptote = float(variances @ (4.0 * rate**3)) / (1.0 + (rate.max() / omega[-1]) ** 2) ** 2  # g >= asymptote/ω⁴
    if kernel == "matern32":
        high_tail = 16.0 * (math.sqrt(3.0) / length_scales_s) ** 6 / (3.0 * omega[-1] ** 3)
    elif kernel == "matern52":
        high_tail = (256.0 / 9.0) * (math.sqrt(5.0) / length_scales_s) ** 10 / (7.0 * omega[-1] ** 7)
    else:  # beyond ω l = 3e4 the Gaussian is exactly zero in double precision
        high_tail = np.zeros_like(length_scales_s)
    return np.asarray((out + low_tail + high_tail / asymptote / math.pi) * (1.0 + RELATIVE_MARGIN))


@dataclass(frozen=True, slots=True, eq=False)
class UniversalBound:
    """Every number is a loss times the noise variance o, so that 1 is the floor."""

    path_loss: float  # max over kernels and length scales of ∫ k²/g, certified over the continuous range
    worst_loss: float  # with every nugget of the class
    stay_loss: float | None  # 1/χ: a constant unknown place, seen for ever; None when χ = 0
    white_loss: float | None  # 1/ψ
    worst_kernel: str
    worst_length_scale_s: float
    margin: float  # relative, already added
    free_nugget_share: float | None  # largest τ/σ that adds nothing, for every σ
    free_offset_share: float | None  # largest offset sd / path sd that adds nothing, for every σ
    free_offset_sd: float | None  # path sd / √o above which an offset of any size adds nothing

    def to_dict(self) -> dict[str, object]:
        """Plain JSON."""
        return dict(jsonable(self))


def universal_bound(
    ladder: Ladder, prior_class: PriorClass, *, scale_step: float = SCALE_STEP, turning: bool = False
) -> UniversalBound:
    """The certified maximum of the loss over the class, times o, for noise drawn from ``ladder``.

    With ``turning`` over all members whose coordinates turn together, too: the path's loss is twice as large.
    """
    return _bound(
        tuple(ladder.length_scales_s.tolist()),
        tuple(ladder.variances.tolist()),
        ladder.white_share,
        ladder.constant_share,
        prior_class,
        scale_step,
        TURNING if turning else 1.0,
    )


@lru_cache(maxsize=64)
def _bound(
    ladder_scales_s: tuple[float, ...],
    ladder_variances: tuple[float, ...],
    psi: float,
    chi: float,
    prior_class: PriorClass,
    scale_step: float,
    factor: float,
) -> UniversalBound:
    low, high = (float(value) for value in prior_class.length_scales_s)
    positive(low, "The shortest length scale of the class")
    if not low <= high < math.inf:
        raise InputError(f"The class runs from {low:g} s to {high:g} s.", "Give the shorter length scale first.")
    count = max(2, math.ceil(math.log(high / low) / scale_step) + 1)
    scales = np.geomspace(low, high, count)
    step = math.log(high / low) / (count - 1)
    variances, ladder_scales = np.array(ladder_variances), np.array(ladder_scales_s)
    path_loss, worst_kernel, worst_scale, margin = 0.0, "", low, 0.0
    for kernel in prior_class.kernels:
        if kernel not in _CURVATURE:
            raise NotCertified(
                f"The class holds '{kernel}', which has no bound that is valid for every sd and any timestamps.",
                "Use matern32, matern52 and rbf.",
            )
        losses = path_losses(ladder_scales, variances, kernel, scales)
        stretch = 1.0 / (1.0 - _CURVATURE[kernel] * step**2 / 8.0)
        at = int(losses.argmax())
        if losses[at] * stretch > path_loss:
            path_loss, worst_kernel, worst_scale = float(losses[at] * stretch), kernel, float(scales[at])
            margin = stretch * (1.0 + RELATIVE_MARGIN) - 1.0
    if not math.isfinite(path_loss):
        raise NotCertified("The universal bound is infinite for this ladder.", "Cover the class's length scales.")
    path_loss *= factor
    rho = float(prior_class.nugget_share)
    worst = path_loss
    if rho > 0:
        if psi == 0:
            raise NotCertified(
                "The class allows a nugget but the noise has no white share.",
                "Give a white share above 0, or a class without a nugget.",
            )
        worst = max(path_loss, rho**2 / (2.0 + rho**2) / psi)
    if prior_class.offset and chi == 0:
        raise NotCertified(
            "The class allows an unknown offset but the noise has no constant share.",
            "Give a constant share above 0, or a class without an offset.",
        )
    return UniversalBound(
        path_loss=path_loss,
        worst_loss=worst,
        stay_loss=1.0 / chi if chi else None,
        white_loss=1.0 / psi if psi else None,
        worst_kernel=worst_kernel,
        worst_length_scale_s=worst_scale,
        margin=margin,
        free_nugget_share=_free_share(worst, psi),
        free_offset_share=_free_share(worst, chi),
        free_offset_sd=math.sqrt(max(1.0 / chi - worst, 0.0)) / worst if chi else None,
    )


def _free_share(loss: float, share: float) -> float | None:
    """√(2J/(1/share − J)): the largest sd, relative to the path's, of a component that this share hides for free."""
    if share == 0:
        return None
    return math.inf if share * loss >= 1 else math.sqrt(2.0 * loss / (1.0 / share - loss))


def restart_multiplier(gap_s: float, longest_s: float) -> float:
    """What restarting the process after a silent gap can multiply any path loss by: 1 + 2 Σ_m ρ(mT).

    ρ(x) = e^{−x}(x + √(1 + x²)) with x = √3 T / l_longest bounds the norm of the correlation between the states.
    """
    x = math.sqrt(3.0) * positive(gap_s, "gap_s") / positive(longest_s, "longest_s")
    total, m = 0.0, 1
    while True:
        term = math.exp(-m * x) * (m * x + math.sqrt(1.0 + (m * x) ** 2))
        total += term
        if term < 1e-15 or m > 100_000:
            return 1.0 + 2.0 * total
        m += 1
