"""Linear programs for channels, built sparse and solved by HiGHS: any prior set, and a latent variable.

Variables are Q (n k of them, row by row) and, per output, an upper and a lower level of the output's probability over
the prior set. For x in the union of supports:  Q[x, y] <= e^up lower_y  and  Q[x, y] >= e^-low upper_y, where
upper_y >= sup_P P.Q_y and lower_y <= inf_P P.Q_y are imposed by the vertices of the set, or by the dual of its support
function: box  sup = min_t t + hi.(q - t)^+ - lo.(t - q)^+; ball  sup = phat.q + min_{a, th, v >= 0} radius th + phat.v
with q - a - th <= 0 and a - q - v <= 0.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import NotConverged
from sfumato.channels.designs.limits import NEVER, Deadline
from sfumato.channels.priors.prior_sets import Box, EveryPrior, Known, Polytope, PriorSet, TVBall

_Entries = tuple[IntArray, IntArray, FloatArray]
"""Rows, columns and values of some entries of a sparse matrix."""


@dataclass(slots=True, eq=False)
class _Program:
    """Columns and sparse rows, gathered block by block."""

    columns: int = 0
    cost: list[FloatArray] = field(default_factory=list)
    lower: list[FloatArray] = field(default_factory=list)
    rows: dict[str, int] = field(default_factory=lambda: {"ub": 0, "eq": 0})
    entries: dict[str, list[tuple[IntArray, IntArray, FloatArray]]] = field(
        default_factory=lambda: {"ub": [], "eq": []}
    )
    right: dict[str, list[FloatArray]] = field(default_factory=lambda: {"ub": [], "eq": []})

    def variables(self, shape: tuple[int, ...], *, cost: FloatArray | None = None, free: bool = False) -> IntArray:
        count = int(np.prod(shape))
        index = np.arange(self.columns, self.columns + count, dtype=np.int64).reshape(shape)
        self.columns += count
        self.cost.append(np.zeros(count) if cost is None else np.asarray(cost, dtype=np.float64).ravel())
        self.lower.append(np.full(count, -np.inf if free else 0.0))
        return index

    def constraint(self, kind: str, right: npt.ArrayLike, *terms: tuple[IntArray, npt.ArrayLike]) -> None:
        """Each term is (columns, values) of shape (rows, ...): entries of the same block of rows."""
        b = np.atleast_1d(np.asarray(right, dtype=np.float64))
        count = max([b.size, *(columns.shape[0] for columns, _ in terms)])
        row = np.arange(self.rows[kind], self.rows[kind] + count)
        for columns, values in terms:
            flat = columns.reshape(count, -1)
            value = np.broadcast_to(np.asarray(values, dtype=np.float64), columns.shape).reshape(count, -1)
            self.entries[kind].append((np.repeat(row, flat.shape[1]), flat.ravel(), value.ravel()))
        self.right[kind].append(np.broadcast_to(b, (count,)))
        self.rows[kind] += count

    def solve(self, deadline: Deadline) -> tuple[FloatArray | None, float, int]:
        """The solution (None when time ran out first), a lower bound proved from the multipliers, and the steps.

        Every program here has an optimum with all variables in [-1, 1], those that are not free in [0, 1] (they are
        probabilities, thresholds among them, or differences of the two). So for *any* y with y_ub <= 0 and reduced
        costs r = c - A' y, the optimum is at least b.y + sum_j min over that interval of r_j x_j. Nothing is believed
        of the solver but its numbers.
        """
        solver: Any = scipy.optimize.linprog  # its stubs know no sparse matrix

        def matrix(kind: str) -> Any:
            if not self.entries[kind]:
                return None
            row, column, value = (np.concatenate(part) for part in zip(*self.entries[kind], strict=True))
            return scipy.sparse.csr_matrix((value, (row, column)), shape=(self.rows[kind], self.columns))

        upper, equal = matrix("ub"), matrix("eq")
        cost, lowest = np.concatenate(self.cost), np.concatenate(self.lower)
        right = np.concatenate(self.right["ub"]), np.concatenate(self.right["eq"])
        for accuracy in (1e-9, 1e-7):  # what HiGHS calls feasible; where 1e-9 is out of reach its default is used
            result: Any = solver(
                cost,
                A_ub=upper,
                b_ub=right[0],
                A_eq=equal,
                b_eq=right[1],
                bounds=np.column_stack([np.maximum(lowest, -1.0), np.ones(self.columns)]),
                method="highs",
                options={
                    "primal_feasibility_tolerance": accuracy,
                    "dual_feasibility_tolerance": accuracy,
                    **({"time_limit": max(deadline.left_s, 1e-3)} if math.isfinite(deadline.left_s) else {}),
                },
            )
            if result.status == 0:
                break
            if deadline.passed or (result.status == 1 and math.isfinite(deadline.left_s)):  # its clock may be ahead
                return None, 0.0, int(result.nit or 0)
        else:
            raise NotConverged(
                f"The linear program was not solved: {result.message}", "Try a smaller problem or another prior set."
            )
        y_ub = np.minimum(np.asarray(result.ineqlin.marginals), 0.0)
        y_eq = np.asarray(result.eqlin.marginals)
        reduced = cost - upper.T @ y_ub - equal.T @ y_eq
        worst = np.minimum(reduced, 0.0) - np.where(np.isinf(lowest), np.maximum(reduced, 0.0), 0.0)
        size = np.abs(cost) + abs(upper).T @ -y_ub + abs(equal).T @ np.abs(y_eq)
        rounding = 1e-15 * float(size.sum() + np.abs(y_eq).sum())
        bound = float(right[0] @ y_ub + right[1] @ y_eq + worst.sum()) - rounding
        return np.asarray(result.x), bound, int(result.nit)


def best_over_set(
    prior: FloatArray,
    distortion: FloatArray,
    priors: PriorSet,
    *,
    up: float,
    low: float,
    deadline: Deadline = NEVER,
) -> tuple[FloatArray | None, float, int]:
    """The channel of least average distortion under ``prior`` that is (up, low)-LIP at every prior of the set.

    Also a proved lower bound of that distortion, and the solver's steps.
    """
    n, k = distortion.shape
    program, q, scale = _started(prior, distortion)
    least, most = program.variables((k,)), program.variables((k,))
    _levels(program, q, least, most, priors)
    cells, outputs = q.reshape(-1, 1), np.tile(np.arange(k), n)
    program.constraint("ub", np.zeros(n * k), (cells, 1.0), (least[outputs][:, None], -math.exp(up)))
    if math.isfinite(low):
        program.constraint("ub", np.zeros(n * k), (cells, -1.0), (most[outputs][:, None], math.exp(-low)))
    solution, bound, steps = program.solve(deadline)
    return None if solution is None else solution[q], bound * scale, steps


def best_for_latent(
    prior: FloatArray,
    distortion: FloatArray,
    given: FloatArray,
    *,
    up: float,
    low: float,
    deadline: Deadline = NEVER,
) -> tuple[FloatArray | None, float, int]:
    """The same with the promise about a latent S only: e^-low m_y <= sum_x P(x | s) Q[x, y] <= e^up m_y."""
    k, secrets = distortion.shape[1], given.shape[0]
    program, q, scale = _started(prior, distortion)
    m = program.variables((k,))
    program.constraint("eq", np.zeros(k), (q.T, np.tile(prior, (k, 1))), (m[:, None], -1.0))
    columns = np.tile(q.T, (secrets, 1))
    weights = np.repeat(given, k, axis=0)
    levels = np.tile(m, secrets)[:, None]
    program.constraint("ub", np.zeros(secrets * k), (columns, weights), (levels, -math.exp(up)))
    if math.isfinite(low):
        program.constraint("ub", np.zeros(secrets * k), (columns, -weights), (levels, math.exp(-low)))
    solution, bound, steps = program.solve(deadline)
    return None if solution is None else solution[q], bound * scale, steps


def _started(prior: FloatArray, distortion: FloatArray) -> tuple[_Program, IntArray, float]:
    """A program over the rows of a channel, those rows, and the unit of its cost: that of the best constant report.

    HiGHS's tolerances are absolute, so costs must be of the order of 1.
    """
    constant = float((prior @ distortion).min())
    scale = constant if constant > 0 else float(distortion.max()) or 1.0
    program = _Program()
    q = program.variables(distortion.shape, cost=prior[:, None] * (distortion / scale))
    program.constraint("eq", np.ones(prior.size), (q, 1.0))
    return program, q, scale


def _levels(program: _Program, q: IntArray, least: IntArray, most: IntArray, priors: PriorSet) -> None:
    n, k = q.shape
    cells = q.reshape(-1, 1)
    outputs = np.tile(np.arange(k), n)
    match priors:
        case Known(prior=p):
            for level in (least, most):
                program.constraint("eq", np.zeros(k), (q.T, np.tile(p, (k, 1))), (level[:, None], -1.0))
        case Polytope(vertices=vertices):
            for p in vertices:
                weights = np.tile(p, (k, 1))
                program.constraint("ub", np.zeros(k), (least[:, None], 1.0), (q.T, -weights))
                program.constraint("ub", np.zeros(k), (most[:, None], -1.0), (q.T, weights))
        case EveryPrior():
            program.constraint("ub", np.zeros(n * k), (least[outputs][:, None], 1.0), (cells, -1.0))
            program.constraint("ub", np.zeros(n * k), (most[outputs][:, None], -1.0), (cells, 1.0))
        case Box(low=low, high=high):
            for level, sign, over, under in ((most, 1.0, high, low), (least, -1.0, low, high)):
                t = program.variables((k,), free=True)
                above, below = program.variables((n, k)), program.variables((n, k))
                program.constraint(
                    "eq",
                    np.zeros(n * k),
                    (cells, 1.0),
                    (t[outputs][:, None], -1.0),
                    (above.reshape(-1, 1), -1.0),
                    (below.reshape(-1, 1), 1.0),
                )
                # most >= t + high.above - low.below;   least <= t + low.above - high.below
                program.constraint(
                    "ub",
                    np.zeros(k),
                    (level[:, None], -sign),
                    (t[:, None], sign),
                    (above.T, sign * np.tile(over, (k, 1))),
                    (below.T, -sign * np.tile(under, (k, 1))),
                )
        case TVBall(centre=centre, radius=radius):
            for level, sign in ((most, 1.0), (least, -1.0)):
                a, th = program.variables((k,), free=True), program.variables((k,))
                v = program.variables((n, k))
                program.constraint(
                    "ub", np.zeros(n * k), (cells, sign), (a[outputs][:, None], -1.0), (th[outputs][:, None], -1.0)
                )
                program.constraint(
                    "ub", np.zeros(n * k), (cells, -sign), (a[outputs][:, None], 1.0), (v.reshape(-1, 1), -1.0)
                )
                weights = np.tile(centre, (k, 1))
                program.constraint(
                    "ub",
                    np.zeros(k),
                    (level[:, None], -sign),
                    (q.T, sign * weights),
                    (th[:, None], radius),
                    (v.T, weights),
                )
