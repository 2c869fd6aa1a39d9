"""Geo-indistinguishable channels of many places (being built): for now nothing beyond the trivial channels is found."""

from __future__ import annotations

from sfumato.arrays import FloatArray
from sfumato.mechanisms.channels.candidates import Candidate
from sfumato.mechanisms.channels.deadline import Deadline


def first_order(
    p: FloatArray, d: FloatArray, far: FloatArray, g: float, *, gap: float, most_steps: int, deadline: Deadline
) -> tuple[list[Candidate], float, int]:
    """No candidate and no bound: the caller then says that the gap is 1."""
    return [], 0.0, 0
