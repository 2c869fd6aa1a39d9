"""When a solver must stop: what was found by then is certified like anything else, with the gap reached."""

from __future__ import annotations

import math
import time
from dataclasses import dataclass

from sfumato.base.arrays import positive


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
