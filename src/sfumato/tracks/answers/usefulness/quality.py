"""One answer's error, naive and corrected, and the mean of it over several releases of the same people."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from sfumato.base.things.traces import Trace
from sfumato.base.units import format_length

_KINDS = {"length": "trip length", "speed": "median speed", "heatmap": "heat map", "flows": "flows"}
People = Sequence[tuple[str | None, Trace]]


@dataclass(frozen=True, slots=True)
class Quality:
    """Errors as shares; None where there is none, for the reason in ``note``.

    ``sampling`` is half the width of a 90 % interval over people of a corrected length: how far it differs with whom
    it was measured on.
    """

    kind: str
    cell_m: float | None
    naive: float | None
    corrected: float | None
    note: str = ""
    sampling: float | None = None

    @property
    def name(self) -> str:
        """In words, with the size of the cells."""
        return _KINDS[self.kind] + ("" if self.cell_m is None else f", cells of {format_length(self.cell_m)}")

    @property
    def best(self) -> float | None:
        """The error of the better answer: the owner, who sees both, can tell receivers which to use."""
        return min((error for error in (self.corrected, self.naive) if error is not None), default=None)

    def to_dict(self) -> dict[str, object]:
        """For ``--json``."""
        plain = {"answer": self.kind, "cell_m": self.cell_m, "naive": self.naive, "corrected": self.corrected}
        return {**plain, "sampling": self.sampling, "note": self.note}


def averaged(draws: Sequence[tuple[Quality, ...]]) -> tuple[Quality, ...]:
    """The mean of every measure over several releases of the same people."""

    def mean(values: Sequence[float | None]) -> float | None:
        there = [value for value in values if value is not None]
        return float(np.mean(there)) if there else None

    return tuple(
        replace(
            rows[0], **{name: mean([getattr(row, name) for row in rows]) for name in ("naive", "corrected", "sampling")}
        )
        for rows in zip(*draws, strict=True)
    )
