"""Turn a knob until a measured leakage is just below a target, and check that it is."""

from __future__ import annotations

import math
from collections.abc import Callable

from sfumato.errors import NotCertified
from sfumato.mechanisms.channels.deadline import NEVER, Deadline


def largest_rate(
    measured: Callable[[float], float],
    target: float,
    *,
    low: float = 1e-3,
    high: float = 1e3,
    steps: int = 60,
    deadline: Deadline = NEVER,
) -> float:
    """A rate whose measured leakage is at most ``target``, as large as bisection on the logarithm finds it in time.

    Leakage may jump or fall back; what is returned has always been measured to be within the target.
    """
    for _ in range(60):
        if measured(low) <= target:
            break
        low /= 2
    else:
        raise NotCertified(f"Even at rate {low:g} the leakage exceeds {target:g}.", "Ask for a larger epsilon.")
    for _ in range(60):
        if deadline.passed or measured(high) > target:
            break
        low, high = high, 2 * high
    a, b = math.log(low), math.log(high)
    for _ in range(steps):
        if deadline.passed:
            break
        middle = 0.5 * (a + b)
        if measured(math.exp(middle)) <= target:
            a = middle
        else:
            b = middle
    return math.exp(a) if a > math.log(low) else low
