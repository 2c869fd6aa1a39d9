"""What to say about a cycle's reports: they fit, the map changed, or they are reports no map explains.

Two tests, in this order. *No map at all* (:mod:`sfumato.estimation.rings`) is exact and holds however people move
between cycles: what fails it was not drawn by honest devices, and is called forged. *Not the average map* (Pearson's
and the most excessive cell, :func:`~sfumato.collection.defences.residual_test`) says that this cycle differs from the
others: people moved, or somebody forged reports that look like people. Reports alone cannot tell which; the words say
so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.arrays import FloatArray
from sfumato.collection.defences import ResidualTest, residual_test
from sfumato.estimation.rings import Excess, impossible_excess
from sfumato.estimation.tally import Tally

Kind = Literal["fits", "changed", "forged"]


@dataclass(frozen=True, slots=True, eq=False)
class Verdict:
    """``kind`` and why: p values of both tests, the cell that stands out, one sentence for a page."""

    kind: Kind
    p_no_map: float
    p_average: float
    cell: int
    words: str
    residual: ResidualTest

    @property
    def alarm(self) -> bool:
        """Only reports that no map explains raise an alarm."""
        return self.kind == "forged"


def judge_cycle(tallies: Sequence[Tally], average: FloatArray, *, alarm_p: float) -> Verdict:
    """Judge the last of these tallies, the earlier ones beside it; ``average`` is the map of all of them."""
    last, earlier = tallies[-1], tallies[:-1]
    residual = residual_test(last, average, earlier=earlier, alarm_p=alarm_p)
    excess = _no_map(last, earlier)
    if excess.p_value < alarm_p:
        kind: Kind = "forged"
        words = (
            f"No map explains these reports (p = {excess.p_value:.1e}): cell {excess.cell} was reported "
            f"{excess.reported} times, and its surroundings allow {excess.at_most:.0f}. They are forged, or a device "
            "is broken."
        )
    elif residual.alarm:
        kind = "changed"
        words = (
            f"This cycle differs from the average of all (p = {residual.p_value:.1e}), most at cell "
            f"{residual.worst_cell}. People moved, or reports were forged to look like people: reports cannot tell."
        )
    else:
        kind, words = "fits", "The reports fit the average map."
    cell = excess.cell if kind == "forged" else residual.worst_cell
    return Verdict(kind, excess.p_value, residual.p_value, cell, words, residual)


def _no_map(last: Tally, earlier: Sequence[Tally]) -> Excess:
    """The exact test of this cycle and, where there are others, of all together: twice the smaller p."""
    alone = impossible_excess([last])
    if not any(tally.total for tally in earlier):
        return alone
    together = impossible_excess([*earlier, last])
    # An old forgery must not accuse a new cycle: together counts only where this cycle adds to the same cell.
    if int(last.counts[together.cell]) < together.at_most / (1 + len(earlier)):
        together = alone
    smaller = min(alone, together, key=lambda one: one.p_value)
    return Excess(min(1.0, 2 * smaller.p_value), smaller.cell, smaller.reported, smaller.at_most)


def suspicious_cycles(tallies: Sequence[Tally], *, alarm_p: float) -> tuple[int, ...]:
    """Which of these cycles hold reports that no map explains, each judged by itself."""
    found = [impossible_excess([tally]).p_value if tally.total else 1.0 for tally in tallies]
    return tuple(int(index) for index in np.flatnonzero(np.array(found) < alarm_p))
