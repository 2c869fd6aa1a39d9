"""How far a design may go: which epsilons can be certified, when to stop, and how far to turn a knob."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

from sfumato.base.arrays import FloatArray, positive
from sfumato.base.errors import InputError, NotCertified
from sfumato.channels.measures.discrete import epsilon_checked

LEAST_EPSILON = 1e-9
MOST_PLANE_ERROR = 0.02
CLOSE = 1e-9
"""What of the target may remain unused."""


def design_epsilon(epsilon: float, name: str = "epsilon") -> float:
    """An epsilon a design can be certified for: below 1e-9 it drowns in the rounding of the matrix."""
    eps = epsilon_checked(epsilon, name)
    if eps < LEAST_EPSILON:
        raise InputError(
            f"{name} is {eps:g}: less than {LEAST_EPSILON:g} cannot be told from 0 in doubles.",
            "Report a constant, or ask for more.",
        )
    return eps


def checked_plane_error(error: float) -> float:
    """The relative error of the plane distances are measured in; refused above 2 %."""
    if not 0 <= error <= MOST_PLANE_ERROR:
        raise InputError(
            f"Distances in the plane of these cells are off by up to {error:.0%} of those on the ground.",
            "A promise per metre needs at most 2 %: make the area smaller, or cut it into several grids.",
        )
    return error


def checked_smallest(epsilon: float, distances: FloatArray) -> None:
    """Refused where epsilon times the smallest distance is below 1e-10: it drowns in the rounding of the matrix."""
    nearest = float(distances[distances > 0].min(initial=math.inf))
    if epsilon * nearest < 1e-10:
        raise InputError(
            f"epsilon is {epsilon:g}, or {epsilon * nearest:g} at the smallest distance: that cannot be told from 0.",
            "Report a constant, or ask for more.",
        )


@dataclass(frozen=True, slots=True)
class Deadline:
    """A moment of the monotonic clock; infinite where nobody waits."""

    ends: float = math.inf

    @classmethod
    def after(cls, seconds: float | None) -> Deadline:
        """That long from now; None for no limit."""
        return cls() if seconds is None else cls(time.perf_counter() + positive(seconds, "most_seconds"))

    @property
    def passed(self) -> bool:
        """Whether it is time to stop."""
        return time.perf_counter() >= self.ends

    def share(self, part: float) -> Deadline:
        """When this part of the time that is left will have passed."""
        now = time.perf_counter()
        return Deadline(now + part * max(0.0, self.ends - now)) if math.isfinite(self.ends) else self

    def before(self, seconds: float) -> Deadline:
        """So much earlier: what is then left is kept for something else."""
        return Deadline(self.ends - seconds)

    @property
    def left_s(self) -> float:
        """Seconds left, at least 0; infinite where there is no limit."""
        return max(0.0, self.ends - time.perf_counter()) if math.isfinite(self.ends) else math.inf


NEVER = Deadline()


def largest_rate(
    measured: Callable[[float], float],
    target: float,
    *,
    low: float = 1e-3,
    high: float = 1e3,
    steps: int = 60,
    deadline: Deadline = NEVER,
) -> float:
    """A rate whose measured leakage is at most ``target``, as large as regula falsi on its logarithm finds it in time.

    Leakage may jump or fall back; what is returned has always been measured to be within the target. Every fifth step
    halves the bracket (Illinois's rule makes the others quick where the leakage is smooth); it ends within ``CLOSE``.
    """
    for _ in range(60):
        below = measured(low)
        if below <= target:
            break
        low /= 2
    else:
        raise NotCertified(f"Even at rate {low:g} the leakage exceeds {target:g}.", "Ask for a larger epsilon.")
    above = math.inf
    for _ in range(60):
        if deadline.passed:
            break
        above = measured(high)
        if above > target:
            break
        low, high, below = high, 2 * high, above
    best, a, b = low, math.log(low), math.log(high)
    aim = target * (1 - CLOSE / 2)
    left, right, moved = below - aim, above - aim, ""  # an end's value is halved where the other end moved twice
    for step in range(steps):
        if deadline.passed or below >= target * (1 - CLOSE) or b - a <= 1e-15 * max(1.0, abs(a)):
            break
        share = left / (left - right) if step % 5 < 4 and math.isfinite(right) and right > left else 0.5
        middle = a + min(max(share, 1e-6), 1 - 1e-6) * (b - a)
        rate = math.exp(middle)
        leaked = measured(rate)
        if leaked <= target:
            best, a, below, left = rate, middle, leaked, leaked - aim
            right, moved = (right / 2 if moved == "low" else right), "low"
        else:
            b, right = middle, leaked - aim
            left, moved = (left / 2 if moved == "high" else left), "high"
    return best
