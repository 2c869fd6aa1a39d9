"""One noise is for one person: files that say somebody was in two places at one time are two people's.

Files under one noise move together. Whoever knows where one of them truly was then knows
the noise of that moment, and with it where the other was; the difference between two files of one moment is released as
it is. So files that no one person can have recorded are refused, unless their owner says otherwise. Two recorders on
one ride agree within a kilometre and pass; people who were never out at the same time cannot be told apart here.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import FloatArray, evenly
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.tracks.places.globe import surface

KEPT = 64  # moments of each file that are looked at
APART_M = 1000.0  # two recorders of one ride are nearer than this
FLYING_M = 50_000.0  # up to here nobody is faster than FAST_M_S, beyond nobody faster than FLYING_M_S
FAST_M_S, FLYING_M_S = 100.0, 300.0
SURE = 3  # single bad fixes are no people


class Whereabouts:
    """A few moments of every file, and whether one person can have been there."""

    def __init__(self) -> None:
        self._times_s: list[FloatArray] = []
        self._points_m: list[FloatArray] = []

    def add(self, trace: Trace) -> None:
        """One file more."""
        chosen = evenly(len(trace), KEPT)
        self._times_s.append(trace.times_s[chosen])
        self._points_m.append(surface(trace.lat_deg[chosen], trace.lon_deg[chosen]))

    def refuse_two_people(self) -> None:
        """:class:`~sfumato.base.errors.InputError` where one person would have had to be in two places."""
        if len(self._times_s) < 2:
            return
        files = np.repeat(np.arange(len(self._times_s)), [len(times) for times in self._times_s])
        times, points = np.concatenate(self._times_s), np.concatenate(self._points_m)
        order = np.argsort(times, kind="stable")
        files, times, points = files[order], times[order], points[order]
        apart = np.linalg.norm(np.diff(points, axis=0), axis=1)
        limit = np.where(apart < FLYING_M, FAST_M_S, FLYING_M_S)
        jumps = (np.diff(files) != 0) & (apart > APART_M) & (apart > limit * np.diff(times))
        if int(np.count_nonzero(jumps)) >= SURE:
            raise InputError(
                "Some files are in two places at the same time: they are not one person's, and one noise over all of "
                "them would give away how far people were from each other.",
                "Protect each person's files by themselves, or a table with a column of people; --one-person says that "
                "all of them are one person's all the same. Nothing was written.",
            )
