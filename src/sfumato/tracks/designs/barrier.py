"""The engine behind `convex`: a barrier Newton method for any set of secrets, on as few unknowns as they need.

With U the union of the secrets, the design is Γ = (H_U M H_Uᵀ - P_U)₊ for a matrix M ⪰ 0 over U (`exact_designs`),
and its trace φ(M) is convex in M: |U|(|U|+1)/2 unknowns however long the trace is. With Z = M + Σ_UU and
V_k = Σ_kk - Σ_kU Z⁻¹ Σ_Uk, secret k keeps λ_max(J_k) ≤ t·e_k exactly when Q_k = V_k - (Σ_kk⁻¹ + t·e_k·I)⁻¹ ⪰ 0.
So minimise

    τ·t - log(B - φ(M)) - log det M - Σ_k log det Q_k        (least loss t at the budget B)
    τ·φ(M)              - log det M - Σ_k log det Q_k        (least noise with t = 1)

for growing τ. Derivatives: φ' = Hᵀ Π H with Π the projector on the positive eigenvectors g_i (eigenvalues c_i), and
φ''[dM,dM] = 2 Σ_{i+,j-} (g_iᵀH dM Hᵀg_j)²/(c_i - c_j); dQ_k = Y_kᵀ dM Y_k and d²Q_k = -2Y_kᵀ dM Z⁻¹ dM Y_k with
Y_k = Z⁻¹Σ_{Uk}. Several priors at once have no common reduction: then U is every point, M = Γ and φ = tr.
In the coordinates dR = Aᵀ dM A, A = Hᵀ[g_1 ...], φ'' falls apart into one small matrix per row of dR.
The multipliers of a stage, D_k = X_kX_kᵀ with X_k = (Σ+Γ)⁻¹Σ_{:k} Q_k^{-1/2}, give the lower bound (`lower_bound`).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigvalsh

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.tracks.designs.lower_bound import Multipliers
from sfumato.tracks.designs.noise_design import Problem, regression

_NEWTON_STEPS = 60
_CENTRED = 1e-5  # squared Newton decrement: multipliers are then right to about its root


@dataclass(frozen=True, slots=True, eq=False)
class _Group:
    """Secrets of one size under one prior, stacked: places in U, (K, p); spectra of Σ_kk; targets."""

    prior: int
    members: IntArray
    places: IntArray
    values: FloatArray
    vectors: FloatArray
    targets: FloatArray

    def limits_at(self, t: float) -> tuple[FloatArray, FloatArray, FloatArray]:
        """F = (Σ_kk⁻¹ + t·e·I)⁻¹ and its first and second derivative in t, each (K, p, p), the signs of -F."""
        e = self.targets[:, None]
        f = 1.0 / (1.0 / self.values + t * e)
        return self._matrix(f), self._matrix(e * f * f), self._matrix(2 * e * e * f**3)

    def _matrix(self, diagonal: FloatArray) -> FloatArray:
        return np.asarray((self.vectors * diagonal[:, None, :]) @ self.vectors.transpose(0, 2, 1))


@dataclass(slots=True, eq=False)
class Program:
    """One design problem, ready for Newton steps. ``budget`` None means: least noise with losses ≤ targets."""

    priors: tuple[FloatArray, ...]
    secrets: tuple[IntArray, ...]
    targets: FloatArray
    budget: float | None

    union: IntArray = None  # type: ignore[assignment]
    inner: list[FloatArray] = None  # type: ignore[assignment]
    groups: list[_Group] = None  # type: ignore[assignment]
    slopes: FloatArray | None = None
    rest: FloatArray | None = None

    def __post_init__(self) -> None:
        n = len(self.priors[0])
        self.union = np.unique(np.concatenate(self.secrets)) if len(self.priors) == 1 else np.arange(n)
        if len(self.priors) == 1 and len(self.union) < n:
            self.slopes, self.rest = regression(self.priors[0], self.union)
        self.inner = [prior[np.ix_(self.union, self.union)] for prior in self.priors]
        place = np.zeros(n, dtype=np.int64)
        place[self.union] = np.arange(len(self.union))
        self.groups = []
        sizes = np.array([len(s) for s in self.secrets])
        for number, prior in enumerate(self.inner):
            for size in np.unique(sizes):
                members = np.flatnonzero(sizes == size)
                places = np.stack([place[self.secrets[k]] for k in members])
                own = prior[places[:, :, None], places[:, None, :]]
                values, vectors = np.linalg.eigh(own)
                self.groups.append(
                    _Group(number, members, places, np.maximum(values, 1e-300), vectors, self.targets[members])
                )
        self._pairs()

    # The symmetric unknown dR in the basis of its entries i ≤ j.
    _rows: IntArray = None  # type: ignore[assignment]
    _columns: IntArray = None  # type: ignore[assignment]
    _number: IntArray = None  # type: ignore[assignment]
    _weight: FloatArray = None  # type: ignore[assignment]

    def _pairs(self) -> None:
        u = len(self.union)
        self._rows, self._columns = np.triu_indices(u)
        self._number = np.zeros((u, u), dtype=np.int64)
        self._number[self._rows, self._columns] = np.arange(self._rows.size)
        self._number[self._columns, self._rows] = np.arange(self._rows.size)
        self._weight = np.where(self._rows == self._columns, 0.5, 1.0)

    @property
    def degree(self) -> int:
        """The barrier's parameter: the gap of a central point is at most this over τ."""
        return len(self.priors) * sum(len(s) for s in self.secrets) + len(self.union) + 1

    # ------------------------------------------------------------------ the objective
    def indefinite_noise(self, m: FloatArray) -> FloatArray:
        """N = HMHᵀ - P, (n, n), whose positive part is the noise."""
        if self.slopes is None or self.rest is None:
            return m
        matrix = self.slopes @ m @ self.slopes.T - self.rest
        return np.asarray((matrix + matrix.T) / 2)

    def trace(self, m: FloatArray) -> float:
        """φ(M) = tr N₊."""
        if self.slopes is None:
            return float(np.trace(m))

        n, u = len(self.slopes), len(self.union)
        return float(np.sum(np.maximum(eigvalsh(self.indefinite_noise(m), subset_by_index=[n - u, n - 1]), 0.0)))

    def noise(self, m: FloatArray) -> FloatArray:
        """Γ = N₊, (n, n)."""
        values, vectors = np.linalg.eigh(self.indefinite_noise(m))
        kept = values > 0
        return np.asarray((vectors[:, kept] * values[kept]) @ vectors[:, kept].T)

    def value(self, m: FloatArray, t: float, tau: float) -> float:
        """The barrier function, infinite outside its domain."""
        try:
            own = np.linalg.cholesky(m)
            total = -2.0 * float(np.sum(np.log(np.diag(own))))
            spreads = [prior - prior @ np.linalg.solve(m + prior, prior) for prior in self.inner]
            for group in self.groups:
                spread = spreads[group.prior][group.places[:, :, None], group.places[:, None, :]]
                factor = np.linalg.cholesky(spread - group.limits_at(t)[0])
                total -= 2.0 * float(np.sum(np.log(np.diagonal(factor, axis1=1, axis2=2))))
        except np.linalg.LinAlgError:
            return np.inf
        if self.budget is None:
            return total + tau * self.trace(m)
        left = self.budget - self.trace(m)
        return total + tau * t - float(np.log(left)) if left > 0 and t > 0 else np.inf

    # ------------------------------------------------------------------ Newton
    def step(self, m: FloatArray, t: float, tau: float) -> tuple[FloatArray, float, float]:
        """The Newton direction (dM, dt) and the squared decrement."""
        u, pairs = len(self.union), self._rows.size
        with_t = self.budget is not None
        hessian = np.zeros((pairs + with_t, pairs + with_t))
        gradient = np.zeros(pairs + with_t)
        basis = self._add_noise_term(m, tau, hessian, gradient)  # A⁻¹: everything below is in dR = Aᵀ dM A
        own = basis @ np.linalg.inv(m) @ basis.T
        gradient[:pairs] -= self._flat(own)
        hessian[:pairs, :pairs] += 0.5 * self._paired(own, own)
        for number, prior in enumerate(self.inner):
            inverse = np.linalg.inv(m + prior)
            inverse = (inverse + inverse.T) / 2
            reach = inverse @ prior
            spread = prior - prior @ reach
            pull = np.zeros((u, u))
            for group in (g for g in self.groups if g.prior == number):
                pull += self._add_secrets(group, basis @ reach, spread, t, hessian, gradient)
            gradient[:pairs] -= self._flat(pull)
            hessian[:pairs, :pairs] += self._paired(pull, basis @ inverse @ basis.T)
        if with_t:
            gradient[-1] += tau
        hessian = (hessian + hessian.T) / 2
        move = _solve(hessian, -gradient)
        change = move[:pairs][self._number]
        direction = basis.T @ change @ basis
        return (direction + direction.T) / 2, float(move[-1]) if with_t else 0.0, float(-gradient @ move)

    def _add_noise_term(self, m: FloatArray, tau: float, hessian: FloatArray, gradient: FloatArray) -> FloatArray:
        """Add the trace's part and return the change of basis A⁻¹, (u, u)."""
        u, pairs = len(self.union), self._rows.size
        slack = None if self.budget is None else self.budget - self.trace(m)
        scale = tau if slack is None else 1.0 / slack
        if self.slopes is None:
            values, vectors = np.linalg.eigh(m)
            basis = (vectors / np.sqrt(values)).T  # any square root balances the unknowns
            first = self._flat(basis @ basis.T)
        else:
            values, vectors = np.linalg.eigh(self.indefinite_noise(m))
            seen = self.slopes.T @ vectors
            basis = np.linalg.inv(seen[:, -u:])
            hidden = basis @ seen[:, :-u]
            weights = 2.0 * scale / (values[-u:, None] - np.minimum(values[None, :-u], 0.0))
            for i in range(u):
                rows = self._number[i]
                hessian[np.ix_(rows, rows)] += (hidden * weights[i]) @ hidden.T
            first = self._flat(np.eye(u))
        gradient[:pairs] += scale * first
        if slack is not None:
            hessian[:pairs, :pairs] += scale * scale * np.outer(first, first)
        return np.asarray(basis)

    def _add_secrets(
        self, group: _Group, reach: FloatArray, spread: FloatArray, t: float, hessian: FloatArray, gradient: FloatArray
    ) -> FloatArray:
        """Add -log det Q_k of a group; returns Σ Y_kQ_k⁻¹Y_kᵀ, (u, u)."""
        with_t = self.budget is not None
        places = group.places
        allowed, first, second = group.limits_at(t)
        room = spread[places[:, :, None], places[:, None, :]] - allowed
        root = np.linalg.inv(np.linalg.cholesky((room + room.transpose(0, 2, 1)) / 2))  # (K, p, p)
        y = np.einsum("ikp,kqp->kiq", reach[:, places], root)  # (K, u, p)
        size = places.shape[1]
        a, b = np.triu_indices(size)
        rows = y[:, self._rows][:, :, a] * y[:, self._columns][:, :, b]
        rows += y[:, self._columns][:, :, a] * y[:, self._rows][:, :, b]
        rows *= self._weight[None, :, None]
        twice = np.where(a == b, 1.0, np.sqrt(2.0))
        rows *= twice
        flat = rows.transpose(0, 2, 1).reshape(-1, self._rows.size)
        if with_t:
            slide = root @ first @ root.transpose(0, 2, 1)
            flat = np.concatenate([flat, (slide[:, a, b] * twice).reshape(-1, 1)], axis=1)
            gradient[-1] -= float(np.trace(slide, axis1=1, axis2=2).sum())
            hessian[-1, -1] += float(np.trace(root @ second @ root.transpose(0, 2, 1), axis1=1, axis2=2).sum())
        hessian += flat.T @ flat
        return np.asarray(np.einsum("kip,kjp->ij", y, y))

    def _flat(self, matrix: FloatArray) -> FloatArray:
        """⟨matrix, dR⟩ as a vector over the entries i ≤ j."""
        return np.asarray((matrix[self._rows, self._columns] + matrix[self._columns, self._rows]) * self._weight)

    def _paired(self, a: FloatArray, c: FloatArray) -> FloatArray:
        """Twice the form tr(dR·a·dR·c) over the entries i ≤ j (to be symmetrised)."""
        rows, columns = self._rows, self._columns
        a_rows, a_columns, c_rows, c_columns = a[:, rows], a[:, columns], c[:, rows], c[:, columns]
        out = np.empty((rows.size, rows.size))
        start = 0
        for i in range(len(a)):
            stop = start + len(a) - i
            part = out[start:stop]
            np.multiply(a_rows[i:], c_columns[i], out=part)
            part += a_columns[i:] * c_rows[i]
            part += a_rows[i] * c_columns[i:]
            part += a_columns[i] * c_rows[i:]
            start = stop
        out *= 2.0 * self._weight[:, None]
        out *= self._weight
        return out

    # ------------------------------------------------------------------ the dual
    def multipliers(
        self, m: FloatArray, t: float, change: FloatArray | None = None, change_t: float = 0.0
    ) -> Multipliers:
        """X_k = (Σ+Γ)⁻¹Σ_{:k}Λ_k^{1/2} for every prior and secret, (n, |S_k|) each, with Λ_k = Q_k⁻¹.

        Given the Newton step (dM, dt), Λ_k = Q_k⁻¹ - Q_k⁻¹dQ_kQ_k⁻¹ instead: right to second order off the centre.
        """
        factors: list[FloatArray] = [np.empty(0)] * (len(self.priors) * len(self.secrets))
        noise = self.noise(m) if self.slopes is not None else m
        for number, (prior, inner) in enumerate(zip(self.priors, self.inner, strict=True)):
            if self.slopes is None:
                reach = np.linalg.solve(prior + noise, prior[:, self.union])
            else:
                reach = self._reach(m, inner)
            seen = np.linalg.solve(m + inner, inner)
            spread = inner - inner @ seen
            moved = None if change is None else seen.T @ change @ seen
            for group in (g for g in self.groups if g.prior == number):
                block = (group.places[:, :, None], group.places[:, None, :])
                allowed, slide, _ = group.limits_at(t)
                values, vectors = np.linalg.eigh(spread[block] - allowed)
                floor = 1e-15 * np.maximum(values[:, -1:], 1e-300)
                roots = vectors / np.sqrt(np.maximum(values, floor))[:, None, :]
                if moved is not None:
                    shift = roots.transpose(0, 2, 1) @ (moved[block] + change_t * slide) @ roots
                    shrunk, axes = np.linalg.eigh(np.eye(shift.shape[1]) - (shift + shift.transpose(0, 2, 1)) / 2)
                    roots = roots @ (axes * np.sqrt(np.maximum(shrunk, 0.0))[:, None, :])
                for k, places, root in zip(group.members, group.places, roots, strict=True):
                    factors[number * len(self.secrets) + int(k)] = reach[:, places] @ root
        return tuple(factors)

    def _reach(self, m: FloatArray, inner: FloatArray) -> FloatArray:
        """(Σ+Γ)⁻¹Σ_{:U} = G(MA)⁻¹V_UU without inverting Σ+Γ, G the positive eigenvectors and A = HᵀG."""
        assert self.slopes is not None
        u = len(self.union)
        _, vectors = np.linalg.eigh(self.indefinite_noise(m))
        positive = vectors[:, -u:]
        spread = inner - inner @ np.linalg.solve(m + inner, inner)
        return np.asarray(positive @ np.linalg.solve(m @ (self.slopes.T @ positive), spread))

    # ------------------------------------------------------------------ where to begin
    def start(self, noise: FloatArray) -> tuple[FloatArray, float]:
        """(M, t) strictly inside, from any noise covariance of at most half the budget."""
        if self.slopes is None or self.rest is None:
            m = noise
        else:
            m = np.linalg.inv(self.slopes.T @ np.linalg.solve(self.rest + noise, self.slopes))
        m = (m + m.T) / 2
        worst = 0.0
        for prior, group in ((self.inner[g.prior], g) for g in self.groups):
            spread = prior - prior @ np.linalg.solve(m + prior, prior)
            own = spread[group.places[:, :, None], group.places[:, None, :]]
            inverse = (group.vectors / group.values[:, None, :]) @ group.vectors.transpose(0, 2, 1)
            losses = np.linalg.eigvalsh(np.linalg.inv(own) - inverse)[:, -1]
            worst = max(worst, float(np.max(losses / group.targets)))
        return m, worst


def _solve(hessian: FloatArray, right: FloatArray) -> FloatArray:
    scale = 1.0 / np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    balanced = hessian * scale[:, None]
    balanced *= scale
    for ridge in (1e-14, 1e-12, 1e-10, 1e-8):
        balanced.flat[:: len(balanced) + 1] += ridge
        try:
            factor = cho_factor(balanced, lower=True, check_finite=False)
        except LinAlgError:
            continue
        return np.asarray(scale * cho_solve(factor, scale * right, check_finite=False))
    raise np.linalg.LinAlgError("The Newton system is singular.")


def centre(program: Program, m: FloatArray, t: float, tau: float) -> tuple[FloatArray, float, int]:
    """Damped Newton to the central point of ``tau``; returns it and the steps taken."""
    for steps in range(1, _NEWTON_STEPS + 1):
        change, change_t, decrement = program.step(m, t, tau)
        # Near the centre the barrier's own rounding hides the decrease: there full steps only need to stay inside.
        near = decrement < 0.1
        current = np.inf if near else program.value(m, t, tau)
        along = 1.0
        while along > 1e-9:
            new = program.value(m + along * change, t + along * change_t, tau)
            if np.isfinite(new) and (near or new <= current - 1e-3 * along * decrement):
                break
            along *= 0.5
        else:
            return m, t, steps
        m, t = m + along * change, t + along * change_t
        if decrement < _CENTRED:
            break
    return m, t, steps


def union_size(problem: Problem) -> int:
    """How many points M ranges over: the union of the secrets, or every point where there are several priors."""
    several = len(problem.priors) > 1
    return problem.points if several else int(np.unique(np.concatenate(problem.secrets)).size)
