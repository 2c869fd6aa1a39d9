"""Print why the noise is not made periodic: the numbers of docs/adversary.md.

A share p of the noise is a process that repeats every day: the shipped ladder of the class ``day``, wrapped around
24 h. Its Fourier coefficients are the ladder's density g at ω_n = 2πn/T, over T. For a path that repeats every day
exactly, kernel k wrapped likewise and scaled to variance 1, the loss is at most Σ_n k_n²/g_n / p: the universal bound,
a sum for an integral. Where the routine drifts (kernel times a slow one) and the noise is the product with a ladder
for the drift, the bounds multiply. The last rows leave the class: a known workplace, home at night and, on two days a
week, home at the hours of work; computed densely, Γ⁻¹ at all moments, recorded every hour.
"""

from __future__ import annotations

import math

import numpy as np

from sfumato.base.things.traces import Trace
from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
from sfumato.tracks.noise.multiscale.solve import design_ladder
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.classes import DAY
from sfumato.tracks.priors.kernels import Matern32, kernel_named

DAY_S = 86400.0
MODES = 2.0 * np.pi / DAY_S * np.arange(0, 200_001)  # up to a period of half a second
TWICE = np.where(np.arange(MODES.size) == 0, 1.0, 2.0)  # ω and -ω


def ladder_density() -> np.ndarray:
    """The day's ladder at the modes, for unit variance."""
    ladder = shipped_ladder("day")
    scales, weights = np.asarray(ladder.length_scales_s), np.asarray(ladder.weights)
    return sum(w * Matern32(float(s), 1.0).spectral_density(MODES) for s, w in zip(scales, weights, strict=True))


def repeated_bound(name: str, length_scale_s: float, density: np.ndarray) -> float:
    """Σ k_n²/g_n of one kernel wrapped around the day, variance 1."""
    own = kernel_named(name, length_scale_s=length_scale_s, sd_m=1.0).spectral_density(MODES)
    variance = np.sum(TWICE * own) / DAY_S
    return float(np.sum(TWICE * own**2 / density) / DAY_S / variance**2)


def wrapped(lag_s: np.ndarray) -> np.ndarray:
    """The periodic noise's covariance, unit share."""
    ladder = shipped_ladder("day")
    out = np.zeros_like(lag_s)
    for scale, weight in zip(ladder.length_scales_s, ladder.weights, strict=True):
        kernel = Matern32(float(scale), math.sqrt(weight))
        out += sum(kernel(np.abs(lag_s % DAY_S + turn * DAY_S)) for turn in range(-8, 9))
    return out


def weekends(weeks: int, shares: tuple[float, float, float, float]) -> float:
    """Home with work known, × the floor: home every night and on two days a week at the hours of work."""
    path, white, constant, periodic = shares
    days = np.arange(7 * weeks)
    night = (DAY_S * days[:, None] + 3600.0 * np.arange(0, 7)).ravel()
    free = days[days % 7 >= 5]
    noon = (DAY_S * free[:, None] + 3600.0 * np.arange(9, 17)).ravel()
    work = (DAY_S * days[days % 7 < 5][:, None] + 3600.0 * np.arange(9, 17)).ravel()
    times = np.concatenate([night, noon, work])
    home = np.concatenate([np.ones(night.size + noon.size), np.zeros(work.size)])
    lag = np.abs(times[:, None] - times[None])
    ladder = shipped_ladder("day")
    noise = constant + white * (lag == 0) + periodic * wrapped(lag)
    for scale, weight in zip(ladder.length_scales_s, ladder.weights, strict=True):
        noise = noise + path * Matern32(float(scale), math.sqrt(weight))(lag)
    return float(home @ np.linalg.solve(noise, home))


def main() -> None:
    density = ladder_density()
    found = {
        name: [repeated_bound(name, s, density) for s in np.geomspace(*DAY.length_scales_s, 60)] for name in DAY.kernels
    }
    exact = max(map(max, found.values()))
    print("exactly repeated days, loss × p over the floor:")
    for name, values in found.items():
        print(f"  {name:10} {min(values):.2f} to {max(values):.2f}")
    white = shipped_ladder("day").white_share
    now = protect(Trace([48.0], [2.0], [0.0])).certificate
    ladder = float(now["loss_over_floor"]) * shipped_ladder("day").moving_share
    print(f"bound {exact:.2f}/p; now {now['loss_over_floor']:.2f} over the floor, {now['rms_noise_m']:.0f} m")

    def noise_m(periodic: float) -> float:
        """Three shares with equal bounds: path, place and repeated days."""
        return float(now["rms_noise_m"]) * math.sqrt((ladder + 1 + periodic) / (1 - white) / now["loss_over_floor"])

    print(f"the same odds for repeated days: {noise_m(exact):.0f} m")
    for years in (1, 5):
        slow = design_ladder(DAY.kernels, DAY_S, years * 365 * DAY_S)
        bound = exact * float(slow.objective)
        print(f"days that drift over a day to {years} year(s): {bound:.1f}/p, {noise_m(bound):.0f} m")
    total = ladder + 1 + exact
    shares = ((1 - white) * ladder / total, white, (1 - white) / total, (1 - white) * exact / total)
    for weeks in (4, 8):
        print(f"work known, home also at work's hours, {weeks} weeks: {weekends(weeks, shares):.0f} × the floor")


if __name__ == "__main__":
    main()
