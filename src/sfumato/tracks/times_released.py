"""Which times a release shows: as recorded, shifted by a secret, from the start of each ride, coarse, or none at all.

Whatever is done to times afterwards is post-processing: what is promised about positions stays true. What it hides is
*when*, and only from those who do not know better: a race, a sunset or a photograph dates a ride, and the way from one
point to the next tells its pace wherever fixes came once a second.
"""

from __future__ import annotations

import hmac
from dataclasses import dataclass, replace

import numpy as np

from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.base.units import duration_s, format_duration

KINDS = ("keep", "shift", "relative", "drop", "coarse")
_TEN_YEARS_S = 3652 * 86400
AS_RECORDED = "Times are as recorded."
_WORDS = {
    "keep": AS_RECORDED,
    "shift": "All times are shifted by one secret, the same for every ride: dates are hidden, intervals are not.",
    "relative": "Every ride's times count from its first published point: when it was is hidden, its pace is not.",
    "drop": "No times are released; the order of points is.",
}


@dataclass(frozen=True, slots=True)
class Times:
    """``kind`` is one of :data:`KINDS`; ``step_s`` is what coarse times are rounded down to."""

    kind: str = "keep"
    step_s: float | None = None

    def __post_init__(self) -> None:
        if self.kind not in KINDS:
            raise InputError(f"Times cannot be released as '{self.kind}'.", f"Choose from {', '.join(KINDS)}:5min.")
        if (self.step_s is not None) != (self.kind == "coarse"):
            raise InputError("Only coarse times have a step, and they need one.", "Write coarse:5min.")
        if self.step_s is not None and not 0.001 <= self.step_s <= 366 * 86400:
            raise InputError(f"Times cannot be rounded to {self.step_s:g} s.", "Use 1 ms to a year, e.g. coarse:5min.")

    @classmethod
    def parse(cls, text: str | Times) -> Times:
        """``keep``, ``shift``, ``relative``, ``drop`` or ``coarse:5min``."""
        if isinstance(text, Times):
            return text
        kind, _, step = text.partition(":")
        return cls(kind, duration_s(step) if step else None)

    def __str__(self) -> str:
        return self.kind if self.step_s is None else f"{self.kind}:{self.step_s:g}s"

    @property
    def shown(self) -> bool:
        """Whether any times are written."""
        return self.kind != "drop"

    @property
    def same_intervals(self) -> bool:
        """Whether intervals within one ride are those recorded, so that losses at its times can be recomputed."""
        return self.kind in ("keep", "shift", "relative")

    def sentence(self) -> str:
        """What readers of the release should know."""
        if self.step_s is None:
            return _WORDS[self.kind]
        return f"Times are rounded down to {format_duration(self.step_s)}; the order of points is as recorded."

    def apply(self, trace: Trace, key: bytes = b"") -> Trace:
        """The trace at the times released; a shift is drawn from ``key``, a function of nothing else."""
        if self.kind == "shift":
            if not key:
                raise InputError("A shift of times needs a secret.", "Use a places file or a noise state.")
            word = int.from_bytes(hmac.digest(key, b"sfumato shift of times", "sha256")[:8], "big")
            return replace(trace, times_s=trace.times_s - float(word % _TEN_YEARS_S))
        if self.kind == "relative":
            return replace(trace, times_s=trace.times_s - trace.times_s.min())
        if self.kind == "drop":
            return replace(trace, times_s=np.zeros(len(trace)))
        if self.step_s is not None:
            return replace(trace, times_s=np.floor(trace.times_s / self.step_s) * self.step_s)
        return trace
