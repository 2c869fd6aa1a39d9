"""A clock that does not jump: the machine's time, but never faster or slower than time passes.

    now = the machine's time, as long as it agrees (within ``tolerance_s``) with what has passed since it was last asked
        = what it was, plus what has passed since, while it does not

Small corrections are followed; a step (an operator's mistake, a broken time server, a machine that wakes up in 1970) is
said once and ignored until the clock agrees again, :meth:`adopt` accepts it, or the server is started again.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable

_log = logging.getLogger("sfumato.collect.service")
_TOLERANCE_S = 300.0


def passed_s() -> float:
    """Seconds since the machine started, sleep included where the system says."""
    return time.clock_gettime(time.CLOCK_BOOTTIME) if hasattr(time, "CLOCK_BOOTTIME") else time.monotonic()


class SteadyClock:
    """Call it for the time in Unix seconds."""

    def __init__(
        self,
        *,
        wall: Callable[[], float] = time.time,
        passed: Callable[[], float] = passed_s,
        tolerance_s: float = _TOLERANCE_S,
    ) -> None:
        self._wall = wall
        self._passed = passed
        self._tolerance_s = tolerance_s
        self.stepped_by_s = 0.0
        self.adopt()

    def adopt(self) -> None:
        """Take the machine's time as it is now."""
        self._then, self._since = self._wall(), self._passed()
        self.stepped_by_s = 0.0

    def __call__(self) -> float:
        """The time."""
        wall, passed = self._wall(), self._passed()
        expected = self._then + (passed - self._since)
        if abs(wall - expected) <= self._tolerance_s:
            if self.stepped_by_s:
                _log.warning("The machine's clock agrees again.")
            self._then, self._since, self.stepped_by_s = wall, passed, 0.0
            return wall
        if not self.stepped_by_s:
            _log.error(
                "The machine's clock stepped by %.0f s; the collector goes on without it. If the new time is right: "
                "sfumato campaign reschedule NAME, or start the collector again.",
                wall - expected,
            )
        self.stepped_by_s = wall - expected
        return expected
