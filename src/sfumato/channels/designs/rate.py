"""Turn a knob until a measured leakage is just below a target, and check that it is."""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.base.errors import NotCertified
from sfumato.channels.designs.lip.deadline import NEVER, Deadline

CLOSE = 1e-9
"""What of the target may remain unused."""


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
