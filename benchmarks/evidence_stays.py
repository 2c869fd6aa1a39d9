"""What ``--secrets`` states about a stay, beside the exact odds on people nothing was chosen on.

    python benchmarks/evidence_stays.py [--traces 20] [--points 40]

For each trace (every second GeoLife person; see held_out.py) a stretch of about ten minutes in the middle, at least
three moments, is protected, each moment on its own, as ``sfumato protect --secrets stays:10min`` does. The certificate
is made by the shipped preset, so nothing of the person is fitted. Beside what it states stands what an adversary
computes who knows the noise: the place of the stay could be anywhere, all else moves like the preset prior (sd as
stated, and twice it), by conditioning the whole Gaussian in one piece (40 digits, no formula of the package), and the
same for an offset of the whole path. The last column is not promised: the length scale that fits this person's own
trace best, with the stated sd or more.
``first edition``: 1ᵀΓ_UU⁻¹1, which looked at the protected points alone.
"""

from __future__ import annotations

import argparse
import math
import sys
from dataclasses import dataclass

import mpmath
import numpy as np

from held_out import HERE, people_in_halves
from sfumato.base.numbers.odds import mu_of, odds_at
from sfumato.base.things.frames import unroll
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.fit_prior import fit
from sfumato.tracks.priors.kernels import Kernel, Matern32
from sfumato.tracks.secret import basic

MOST_POINTS, STAY_S = 40, 600.0
RADIUS_M = 200.0


@dataclass(frozen=True)
class Row:
    """One trace: losses per m² as stated and as computed."""

    name: str
    points: int
    stay: int
    first_edition: float
    stated: float
    exact: float
    exact_wider: float
    offset_stated: float
    offset_exact: float
    own_kernel: float


def thinned(trace: Trace, most: int = MOST_POINTS) -> tuple[Trace, list[int]]:
    """At most so many moments of it, and which of them, in the middle, are the stay."""
    times, first = np.unique(np.round(trace.times_s, 3), return_index=True)
    stride = max(1, times.size // most)
    keep = first[::stride][:most]
    some = Trace(trace.lat_deg[keep], trace.lon_deg[keep], trace.times_s[keep])
    middle = len(keep) // 2
    inside = np.flatnonzero(np.abs(some.times_s - some.times_s[middle]) <= STAY_S / 2)
    inside = inside if inside.size >= 3 else np.arange(middle - 1, middle + 2)
    inside = inside[: max(3, len(keep) // 2)]
    return some, [int(i) for i in inside]


def exact_loss(prior: np.ndarray, noise: np.ndarray, stay: list[int], *, whole: bool = False) -> float:
    """1/V - 1/Var of the place, by conditioning: the place has variance v → ∞ (10¹² m²), the rest goes on from it."""
    n, anywhere = len(noise), mpmath.mpf(10) ** 12
    mpmath.mp.dps = 40
    path = mpmath.matrix(prior.tolist())
    if whole:  # every point moves along with the place
        belief = mpmath.matrix(n, n)
        across = mpmath.matrix([anywhere] * n)
        for i in range(n):
            for j in range(n):
                belief[i, j] = anywhere
    else:  # condition the prior on the stay's points being one place, then let that place be anywhere
        rest = [i for i in range(n) if i not in stay]
        inner = mpmath.matrix(len(stay), len(stay))
        for a, i in enumerate(stay):
            for b, j in enumerate(stay):
                inner[a, b] = path[i, j]
        follows = {i: mpmath.mpf(1) for i in stay}
        ones = mpmath.lu_solve(inner, mpmath.matrix([1] * len(stay)))
        solved = {}
        for i in rest:
            row = mpmath.matrix([path[i, j] for j in stay])
            follows[i] = sum(row[a] * ones[a] for a in range(len(stay)))
            solved[i] = mpmath.lu_solve(inner, row)
        belief = mpmath.matrix(n, n)
        for i in range(n):
            for j in range(n):
                belief[i, j] = anywhere * follows[i] * follows[j]
        for i in rest:
            for j in rest:
                told = sum(path[j, stay[a]] * solved[i][a] for a in range(len(stay)))
                belief[i, j] += path[i, j] - told
        across = mpmath.matrix([anywhere * follows[i] for i in range(n)])
    seen = belief + mpmath.matrix(noise.tolist())
    learned = (across.T * mpmath.lu_solve(seen, across))[0]
    return float(1 / (anywhere - learned) - 1 / anywhere)


def own_prior(trace: Trace, sd_m: float) -> Kernel:
    """Matérn-3/2 with the length scale that fits this trace best, and its sd or the stated limit, whichever is more."""
    path = unroll(trace.lat_deg, trace.lon_deg)
    found = fit(trace.times_s, path, unknown_mean=True).kernel.to_dict()
    return Matern32(float(found["length_scale_s"]), max(float(found["sd_m"]), sd_m))


def row(name: str, trace: Trace, stay: list[int]) -> Row:
    """What the certificate of one trace states, and what is true."""
    done = protect(trace, secrets=[basic(i) for i in stay])
    mechanism = Certificate.of(done.certificate).mechanism
    noise, times = np.asarray(mechanism.covariance_m2()), mechanism.times_s
    prior = mechanism.prior.covariance(times)
    own = own_prior(trace, math.sqrt(mechanism.prior.variance_m2)).covariance(times)
    inside = noise[np.ix_(stay, stay)]
    return Row(
        name,
        times.size,
        len(stay),
        float(np.linalg.solve(inside, np.ones(len(stay))).sum()),
        float(done.certificate["stay_loss"]),
        exact_loss(prior, noise, stay),
        exact_loss(4 * prior, noise, stay),
        float(done.certificate["secrets"]["offset_loss"]),
        exact_loss(prior, noise, stay, whole=True),
        exact_loss(own, noise, stay),
    )


def table(count: int, *, most_points: int = MOST_POINTS) -> list[Row]:
    """The rows of ``count`` held-out traces, one per person."""
    seen: dict[str, tuple[str, Trace]] = {}
    for name, trace in people_in_halves(fewest=25)[1]:
        seen.setdefault(name.split("/")[0], (name, trace))
    return [row(name, *thinned(trace, most_points)) for name, trace in list(seen.values())[:count]]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=20)
    parser.add_argument("--points", type=int, default=MOST_POINTS, help="at most so many moments of each")
    options = parser.parse_args()
    if not HERE:
        print("skipped: ../shared/data is not here")
        return 0
    rows = table(options.traces, most_points=options.points)

    def said(loss: float) -> str:
        odds = odds_at(mu_of(loss, RADIUS_M))
        return f"{odds:11.1f}" if odds < 1e6 else "       > 1e6"

    heads = ("first ed.", "stated", "exact", "sd × 2", "offset said", "exact", "own kernel")
    print(f"{'trace':>8} {'points':>6} {'stay':>4} " + " ".join(f"{head:>11}" for head in heads))
    for i, r in enumerate(rows):
        values = (r.first_edition, r.stated, r.exact, r.exact_wider, r.offset_stated, r.offset_exact, r.own_kernel)
        print(f"{i:>8} {r.points:>6} {r.stay:>4} " + " ".join(said(v) for v in values))
    over = sum(r.exact > r.stated * (1 + 1e-6) or r.exact_wider > r.stated * (1 + 1e-6) for r in rows)
    off = sum(r.offset_exact > r.offset_stated * (1 + 1e-6) for r in rows)
    print(
        f"first edition's number exceeded: {sum(r.exact > r.first_edition * (1 + 1e-6) for r in rows)} of {len(rows)}"
    )
    print(f"stated now exceeded: stay {over}, whole path {off} of {len(rows)}")
    print(f"not promised, the person's own kernel: above what is stated for the stay "
          f"{sum(r.own_kernel > r.stated * (1 + 1e-6) for r in rows)}, above the whole path's "
          f"{sum(r.own_kernel > r.offset_stated * (1 + 1e-6) for r in rows)}")  # fmt: skip
    return int(over + off > 0)


if __name__ == "__main__":
    sys.exit(main())
