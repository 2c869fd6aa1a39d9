"""What to say about a cycle's reports: they fit, the map changed, or they are reports no map explains.

Two questions, in this order. *No map at all?* Rings (:mod:`sfumato.collect.estimation.rings`) answer exactly; beside
them the cycle is tested against the map that fits its own reports best, which sees what is impossible only as a whole
(fitted to the same reports, it finds too little rather than too much). Both hold however people move between cycles:
what fails was not drawn by honest devices, and is called forged. *Not the average map* (Pearson's and the most
excessive cell, :func:`~sfumato.collect.loop.defences.residual_test`) says that this cycle differs from the others:
people moved, or somebody forged reports that look like people. Reports alone cannot tell which; the words say so.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.collect.estimation.joint import joint
from sfumato.collect.estimation.rings import Excess, impossible_excess
from sfumato.collect.estimation.tally import Tally, merged
from sfumato.collect.loop.defences import ResidualTest, residual_test

Kind = Literal["fits", "changed", "forged"]
_FITTED_UP_TO = 2_500


@dataclass(frozen=True, slots=True, eq=False)
class CycleVerdict:
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


def judge_cycle(
    tallies: Sequence[Tally],
    average: FloatArray,
    *,
    alarm_p: float,
    beside: tuple[Sequence[Tally], FloatArray] | None = None,
) -> CycleVerdict:
    """Judge the last of these tallies, the earlier ones beside it; ``average`` is the map of all of them.

    ``beside``: the tallies of the last one's class (it among them, last) and their map, where classes are declared: a
    weekend that differs from the average of all days is no news.
    """
    last, earlier = tallies[-1], tallies[:-1]
    alike, expected = (tallies, average) if beside is None else beside
    residual = residual_test(last, expected, earlier=alike[:-1], alarm_p=alarm_p)
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
        whom = "all" if beside is None else "its class"
        words = (
            f"This cycle differs from the average of {whom} (p = {residual.p_value:.1e}), most at cell "
            f"{residual.worst_cell}. People moved, or reports were forged to look like people: reports cannot tell."
        )
    else:
        kind, words = "fits", f"The reports fit the {'average map' if beside is None else 'map of their class'}."
    cell = excess.cell if kind == "forged" else residual.worst_cell
    return CycleVerdict(kind, excess.p_value, residual.p_value, cell, words, residual)


def _no_map(last: Tally, earlier: Sequence[Tally]) -> Excess:
    """This cycle and, where there are others, all together: rings and the best-fitting map, Bonferroni over all."""
    found = [impossible_excess([last]), _no_best_map(last)]
    if any(tally.total for tally in earlier):
        everything = [*(tally for tally in earlier if tally.total), last]
        pooled = [impossible_excess(everything)]
        through_one = merged(everything)
        # Through one channel the sum of maps that change is one map: their average.
        if len(through_one) == 1:
            pooled.append(_no_best_map(through_one[0]))
        # An old forgery must not accuse a new cycle: together counts only where this cycle adds to the same cell.
        found += [one for one in pooled if int(last.counts[one.cell]) * len(everything) > one.at_most]
    smallest = min(found, key=lambda one: one.p_value)
    return Excess(min(1.0, len(found) * smallest.p_value), smallest.cell, smallest.reported, smallest.at_most)


def _no_best_map(tally: Tally) -> Excess:
    """The residual test against the map of greatest likelihood; none above 2,500 cells, where it would take minutes."""
    if tally.channel.cells > _FITTED_UP_TO:
        return Excess(1.0, 0, int(tally.counts[0]), float(tally.counts[0]))
    best = joint([tally], stop="converge", gap=1e-4, most_steps=1_000).probabilities
    test = residual_test(tally, best)
    expected = tally.total * float(tally.channel.report_distribution(best)[test.worst_cell])
    return Excess(test.p_value, test.worst_cell, int(tally.counts[test.worst_cell]), expected)


def suspicious_cycles(tallies: Sequence[Tally], *, alarm_p: float) -> tuple[int, ...]:
    """Which of these cycles hold reports that no map explains, each judged by itself."""
    found = [_no_map(tally, ()).p_value if tally.total else 1.0 for tally in tallies]
    return tuple(int(index) for index in np.flatnonzero(np.array(found) < alarm_p))
