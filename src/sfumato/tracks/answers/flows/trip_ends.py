"""Where trips begin and where they end, each by itself: known far better than which start goes with which end.

Flows are worked out on coarse latent cells, since pairs of fine ones are too many; and people do not stand evenly over
a coarse cell, so its starts and ends come out wrong by what the noise carries over its border. The two maps by
themselves are heat maps, which fine cells cost nothing (:mod:`~sfumato.tracks.answers.maps.deconvolution`). So flows
are raked to them: rows and columns are scaled in turn until their sums are those of the two maps (iterative
proportional fitting [Deming1940], the flows nearest to the old ones in relative entropy that have these sums
[Csiszar1975]).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.tracks.answers.flows.trips import Trips
from sfumato.tracks.answers.maps.cells import LATENT_OF_NOISE, Window
from sfumato.tracks.answers.maps.deconvolution import Spread, fit_density
from sfumato.tracks.answers.received import NoiseLaw, day_groups, days_of, other_by_day

STEPS_FOR_ONE = 20
_RAKINGS = 12
_NEAR = 1e-4


Ends = tuple[FloatArray, FloatArray]  # shares of starts and of ends on the latent cells, (rows, columns)


@dataclass(frozen=True, slots=True, eq=False)
class TripEnds:
    """Where trips begin and end; the same walked once more from itself, and without each group of people."""

    found: Ends
    again: Ends
    without: tuple[Ends, ...]


def rake(flows: FloatArray, both: Ends) -> FloatArray:
    """The flows nearest to these, (row, row, column, column), that begin and end there."""
    starts, ends = both
    for _ in range(_RAKINGS):
        have = flows.sum(axis=(1, 3))
        flows = flows * (starts / np.maximum(have, 1e-300))[:, None, :, None]
        have = flows.sum(axis=(0, 2))
        off = 0.5 * float(np.abs(have - ends).sum())
        flows *= (ends / np.maximum(have, 1e-300))[None, :, None, :]
        if off < _NEAR:
            break
    return np.asarray(flows / flows.sum())


def trip_ends(
    trips: Trips,
    laws: Sequence[NoiseLaw],
    window: Window,
    groups: IntArray,
    *,
    leave_out: bool,
    on_step: Callable[[], None] | None = None,
) -> TripEnds:
    """Both maps, judged by days (or people) left out; ``groups`` of people, numbered from 0, are left out in turn."""
    rows, columns = window.shape
    finer = max(1, math.ceil(max(window.latent_m) / (LATENT_OF_NOISE * min(law.noise_m for law in laws))))
    sizes = np.array(window.latent_m) / finer
    spreads = [Spread.of(law, rows * finer, columns * finer, *sizes) for law in laws]
    day = groups
    if other_by_day(laws):
        day = day_groups(days_of(trips.person, trips.times_s), int(groups.max()) + 1)

    def coarse(fine: FloatArray) -> FloatArray:
        summed = fine.reshape(*fine.shape[:-2], rows, finer, columns, finer).sum(axis=(-3, -1))
        return np.asarray(summed / summed.sum(axis=(-2, -1), keepdims=True))

    def count_ends(at_m: FloatArray, group: IntArray) -> list[FloatArray]:
        out = np.zeros((len(laws), int(group.max()) + 1, rows * finer, columns * finer))
        row, column = (
            np.minimum((at_m[:, axis] / sizes[axis]).astype(np.int64), out.shape[2 + axis] - 1) for axis in (0, 1)
        )
        np.add.at(out, (trips.law, group, row, column), 1.0)
        return list(out)

    found, again, without = [], [], []
    for at_m in (trips.start_m, trips.end_m):
        people = count_ends(at_m, groups) if leave_out else None
        judged_by = people if people is not None and day is groups else count_ends(at_m, day)
        (one,) = fit_density(spreads, judged_by, people, coarse, steps_for_one=STEPS_FOR_ONE, on_step=on_step)
        found.append(coarse(one.density))
        again.append(coarse(one.again))
        without.append(one.without)
    return TripEnds((found[0], found[1]), (again[0], again[1]), tuple(zip(*without, strict=True)))
