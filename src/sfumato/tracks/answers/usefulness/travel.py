"""Lengths and speeds that a release gives beside the true ones: of the trips together, and of each person.

Corrected answers need paths drawn given the release, a fit for each person: of a large fleet some people and their
first points are taken, and how far the answer would differ with other people is said (jackknife over people).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from sfumato.base.arrays import evenly
from sfumato.base.errors import InputError
from sfumato.base.randomness import randomness
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.fleet import first_points
from sfumato.tracks.answers.intervals import ratio_over_people
from sfumato.tracks.answers.received import Person, Received, is_recorded
from sfumato.tracks.answers.usefulness.measures import People, Quality
from sfumato.tracks.answers.ways.drawn_ways import DRAWS, DrawnWays, drawn_ways, ways_over
from sfumato.tracks.answers.ways.smooth_tracks import path_by_time, with_intervals

MOST_POINTS, MOST_POINTS_QUICK = 20_000, 8_000  # whose paths are drawn
AT_ONCE, AT_ONCE_QUICK = 20, 12  # people among whom these are shared out
QUICK_DRAWS = 6


@dataclass(frozen=True, slots=True, eq=False)
class Travel:
    """People, their releases, and paths drawn once for whoever asks; nothing is ``received`` without a law."""

    originals: People
    releases: People
    received: Sequence[Received]
    quick: bool = False
    _drawn: dict[tuple[int, int], DrawnWays] = field(default_factory=dict)

    def everybody(self) -> tuple[tuple[Quality, Quality], list[str]]:
        """Total length and median speed of (some) people together, and who they are where not all."""
        chosen, cut = self._some(len(self.originals))
        notes = []
        if len(chosen) < len(self.originals) or any(len(trace) > cut for _, trace in self.originals):
            whose = f"{len(chosen)} of {len(self.originals)} people" if len(self.originals) > 1 else "the track"
            notes.append(f"Lengths and speeds are of {whose}, up to {cut} points each.")
        return self._rows(chosen, cut), notes

    def person(self, k: int) -> tuple[Quality, Quality]:
        """Of one."""
        return self._rows([k], self._some(len(self.originals) if self.quick else 1)[1])

    def _some(self, among: int) -> tuple[list[int], int]:
        """Which people, evenly chosen, and how many of each one's points."""
        most, at_once = (MOST_POINTS_QUICK, AT_ONCE_QUICK) if self.quick else (MOST_POINTS, AT_ONCE)
        cut = max(most // min(among, at_once), 200)
        number = len(self.originals)
        total = sum(min(len(trace), cut) for _, trace in self.originals)
        kept = number if total <= most else max(1, number * most // total)
        return evenly(number, kept).tolist(), cut

    def _rows(self, chosen: Sequence[int], cut: int) -> tuple[Quality, Quality]:
        true_length, true_speed = _travelled([first_points(self.originals[k][1], cut) for k in chosen])
        length, speed = _travelled([first_points(self.releases[k][1], cut) for k in chosen])
        rows = (
            Quality("length", None, _off(length, true_length), None, "" if true_length else "nobody moved"),
            Quality("speed", None, _off(speed, true_speed), None, "" if true_speed else "the median speed is 0"),
        )
        if not self.received:
            return rows
        try:
            for release in self.received:
                with_intervals(release)
            drawn = [self._paths(k, cut) for k in chosen]
        except InputError as error:
            note = f"not corrected: {error.what.rstrip('.')}"
            return replace(rows[0], note=note), replace(rows[1], note=note)
        found = ways_over(drawn)
        values = (found.total_length_m, true_length), (found.speed_quantiles_m_s[1], true_speed)
        models = found.mostly_model, found.models("speed_m_s")[1]
        one, two = (
            replace(row, corrected=_off(*pair), note=row.note or ("mostly the model" if model else ""))
            for row, pair, model in zip(rows, values, models, strict=True)
        )
        return replace(one, sampling=self._sampling(chosen, cut, drawn)), two

    def _paths(self, k: int, cut: int) -> DrawnWays:
        if (k, cut) not in self._drawn:
            law, trace = [(one.law, trace) for one in self.received for _, trace in one.people][k]
            person = Person(((law, first_points(trace, cut)),))
            draws = QUICK_DRAWS if self.quick else DRAWS
            self._drawn[k, cut] = drawn_ways(person, draws, randomness(None), stays=False)
        return self._drawn[k, cut]

    def _sampling(self, chosen: Sequence[int], cut: int, drawn: Sequence[DrawnWays]) -> float | None:
        """Half the width of a 90 % interval over people of the corrected length, as a share of the truth."""
        true = np.array([_travelled([first_points(self.originals[k][1], cut)])[0] for k in chosen])
        found = ratio_over_people(np.array([one.length_m for one in drawn]), true, 0.9)
        return None if math.isnan(found.high) else (found.high - found.low) / 2


def _travelled(traces: Sequence[Trace]) -> tuple[float, float]:
    """Metres, and the median over time of the speed of steps, pauses left out."""
    total, steps, seconds = 0.0, [np.zeros(0)], [np.zeros(0)]
    for trace in traces:
        order, every, walk = path_by_time(trace)
        times, first = np.unique(every, return_index=True)
        same = np.diff(trace.segment[order][first]) == 0
        step, gap = np.linalg.norm(np.diff(walk[first], axis=0), axis=1)[same], np.diff(times)[same]
        total += float(step.sum())
        steps.append(step[is_recorded(gap)])
        seconds.append(gap[is_recorded(gap)])
    length, gaps = np.concatenate(steps), np.concatenate(seconds)
    if not length.size:
        return 0.0, 0.0
    speeds = length / gaps
    order = np.argsort(speeds)
    passed = np.cumsum(gaps[order])
    return total, float(speeds[order][int(np.searchsorted(passed, passed[-1] / 2))])


def _off(answer: float, truth: float) -> float | None:
    return abs(answer / truth - 1.0) if truth > 0 else None
