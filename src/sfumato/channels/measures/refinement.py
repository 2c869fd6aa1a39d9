"""Is one channel never better than another, for any adversary? The Blackwell order, with a proof either way.

A is refined by B (B never leaks more) iff B = A R for a channel R: whoever sees A can produce B [Blackwell1953]. By
the coriaceous theorem [McIver2014] this holds iff V_g(p, B) <= V_g(p, A) for every prior and gain function. So the
answer comes as R, or as a gain function that B serves better than A under a uniform prior.

Columns of A independent: R can only be the left inverse times B. If R[z, y] < 0, the row u of the inverse with u A =
e_z gives the guess -u (against the guess 0), worth nothing with A and -R[z, y] with B; if B leaves the column space
of A, so does a residual. Otherwise one linear program, min ||A R - B||_1 over stochastic R, whose dual is the gain
function. Neither is believed: R is multiplied out, the two vulnerabilities are computed again, in fractions where
they are close.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from scipy.linalg.lapack import dgesv
from scipy.optimize import linprog
from scipy.sparse import coo_array, eye_array, hstack, kron, vstack

from sfumato.base.arrays import FloatArray, positive, read_only
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.things.channel import Channel
from sfumato.channels.measures.discrete import ChannelLike, matrix_of

TOLERANCE = 1e-9
MOST_VARIABLES = 400_000
_WELL_CONDITIONED = 1e-6
_CLEAR = 1e-12
"""A separation above this many times the entries is beyond the rounding of doubles."""


@dataclass(frozen=True, slots=True, eq=False)
class Refinement:
    """Whether the first channel is refined by the second, and the proof.

    ``holds``: ``post_processing`` is R with max |A R - B| = ``residual``. Otherwise ``gain`` is a table (guesses by
    symbols, values in [0, 1]) for which, with a uniform prior, B gives the adversary ``advantage`` more than A.
    """

    holds: bool
    post_processing: Channel | None
    residual: float
    gain: FloatArray | None
    advantage: float


def refined_by(first: ChannelLike, second: ChannelLike, *, tolerance: float = TOLERANCE) -> Refinement:
    """Does ``second`` never leak more than ``first``? R within ``tolerance`` per entry, or a gain that says no."""
    a, b = matrix_of(first), matrix_of(second)
    positive(tolerance, "tolerance", at_most=1.0)
    if a.shape[0] != b.shape[0]:
        raise InputError(
            f"The channels have {a.shape[0]} and {b.shape[0]} inputs.", "They must be about the same symbols."
        )
    quick = _by_solving(a, b, tolerance)
    if quick is not None:
        return quick
    left, singular, right = np.linalg.svd(a, full_matrices=False)
    if a.shape[1] <= a.shape[0] and singular[-1] > _WELL_CONDITIONED * singular[0]:
        inverse = (right.T / singular) @ left.T
        made, gains = inverse @ b, _guess_from_inverse(a, b, inverse)
    else:
        made, gains = _program(a, b)
    r, residual = _multiplied_out(a, b, made)
    if residual <= tolerance:
        return Refinement(True, Channel(r), residual, None, 0.0)
    largest = float(np.abs(gains).max())
    table: FloatArray = read_only((gains / largest + 1.0) / 2.0 if largest > 0 else gains)
    advantage = separation(a, b, table)
    if advantage <= 0:
        raise NotCertified(
            f"Neither a post-processing (residual {residual:.3g}) nor a separating gain could be verified.",
            f"The channels agree to within {residual:.3g}: set a tolerance above it, or use exact fractions.",
        )
    return Refinement(False, None, residual, table, advantage)


def separation(first: FloatArray, second: FloatArray, gain: FloatArray) -> float:
    """V_g(uniform, second) - V_g(uniform, first); 0 unless it is positive beyond doubt (in fractions when close)."""
    n = first.shape[0]
    apart = float(((gain @ second).max(axis=0).sum() - (gain @ first).max(axis=0).sum()) / n)
    if abs(apart) > _CLEAR * (first.size + second.size):
        return max(0.0, apart)
    exact = (_vulnerability(second, gain) - _vulnerability(first, gain)) / n
    return float(exact) if exact > 0 else 0.0


def _by_solving(a: FloatArray, b: FloatArray, tolerance: float) -> Refinement | None:
    """A square A solved for R; whether A was well conditioned does not matter once R has been multiplied out."""
    if a.shape[0] != a.shape[1]:
        return None
    _, _, made, singular = dgesv(a, b)
    if singular:
        return None
    r, residual = _multiplied_out(a, b, made)
    return Refinement(True, Channel(r), residual, None, 0.0) if residual <= tolerance else None


def _multiplied_out(a: FloatArray, b: FloatArray, made: FloatArray) -> tuple[FloatArray, float]:
    """The nearest channel to R in shape, and max |A R - B|."""
    r = np.maximum(made, 0.0)
    sums = r.sum(axis=1)
    if not sums.min() > 0:
        r[sums <= 0] = 1.0
        sums = r.sum(axis=1)
    r /= sums[:, None]
    return r, float(np.abs(a @ r - b).max())


def _guess_from_inverse(a: FloatArray, b: FloatArray, inverse: FloatArray) -> FloatArray:
    """Two guesses, one of them worth 0: from what B has outside the columns of A, or from the most negative R."""
    made = inverse @ b
    beyond = b - a @ made
    beyond = beyond - a @ (inverse @ beyond)  # once more: orthogonal to rounding
    most = int(np.argmax(np.abs(beyond).sum(axis=0)))
    z, y = np.unravel_index(int(np.argmin(made)), made.shape)
    row = inverse[z]
    largest = float(np.abs(beyond[:, most]).max())
    outside = float(beyond[:, most] @ b[:, most]) / largest if largest > 1e-11 else 0.0  # less is rounding
    below = -float(made[z, y]) / float(np.abs(row).max())
    guess = beyond[:, most] if outside > below else -row
    return np.stack([guess, np.zeros_like(guess)])


def _program(a: FloatArray, b: FloatArray) -> tuple[FloatArray, FloatArray]:
    (rows, outs), targets = a.shape, b.shape[1]
    if outs * targets + 2 * rows * targets > MOST_VARIABLES:
        raise InputError(
            f"The program would have {outs * targets} unknowns.",
            "Merge cells first, or compare single measures (each is a necessary condition).",
        )
    product = kron(coo_array(a), eye_array(targets))  # (A R)[x, y], R in row-major order
    slack = eye_array(rows * targets)
    sums = kron(eye_array(outs), coo_array(np.ones((1, targets))))
    equations = vstack([hstack([product, slack, -slack]), hstack([sums, coo_array((outs, 2 * rows * targets))])])
    solved = linprog(  # type: ignore[call-overload]
        np.concatenate([np.zeros(outs * targets), np.ones(2 * rows * targets)]), A_eq=equations,
        b_eq=np.concatenate([b.ravel(), np.ones(outs)]), method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )  # fmt: skip
    if solved.status != 0:
        raise NotCertified(f"The program was not solved: {solved.message}", "Merge outputs, or report this.")
    made: FloatArray = solved.x[: outs * targets].reshape(outs, targets)
    gains: FloatArray = solved.eqlin.marginals[: rows * targets].reshape(rows, targets).T
    return made, gains


def _vulnerability(matrix: FloatArray, gain: FloatArray) -> Fraction:
    """sum_y max_w sum_x g(w, x) Q(y | x) for the stored doubles, rows divided by their exact sums."""
    g = [[Fraction(float(v)) for v in row] for row in gain]
    q = [[Fraction(float(v)) for v in row] for row in matrix]
    q = [[v / sum(row) for v in row] for row in q]
    total = Fraction(0)
    for column in zip(*q, strict=True):
        total += max(sum((v * c for v, c in zip(row, column, strict=True) if c), Fraction(0)) for row in g)
    return total
