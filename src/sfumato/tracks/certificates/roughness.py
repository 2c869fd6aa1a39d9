"""Whether the tracks of a release could hold the noise that its certificate states, and which of many are looked at."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping, Sequence

import numpy as np

from sfumato.base.arrays import FloatArray
from sfumato.base.things.frames import unroll
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.noise.plausibility import (
    ENOUGH_POWER,
    HALF,
    ORIGINAL,
    PARTS,
    REFUSED_BELOW,
    WHOLE,
    Roughness,
    moments_of,
    spread_out,
)
from sfumato.tracks.plan import Times

Answer = bool | None  # None: cannot be told
LOOKED_AT_PEOPLE, TESTED_PEOPLE, TESTED_POINTS = 100, 8, 5000  # of many people


def chosen_tracks(people: Sequence[tuple[str | None, Trace]]) -> list[Trace]:
    """The longest tracks of a hundred people whom a public hash of their ids chooses; of longer ones, 5,000 points.

    These are in a row, from where the hash says.
    """
    drawn = sorted(people, key=lambda one: public_hash(one[0] or ""))[:LOOKED_AT_PEOPLE]
    longest = sorted(drawn, key=lambda one: len(one[1]), reverse=True)[:TESTED_PEOPLE]
    return [_in_a_row(trace, int.from_bytes(public_hash(f"{person} from")[:8])) for person, trace in longest]


def _in_a_row(trace: Trace, drawn: int) -> Trace:
    if len(trace) <= TESTED_POINTS:
        return trace
    first = drawn % (len(trace) - TESTED_POINTS + 1)
    order = np.argsort(trace.times_s, kind="stable")[first : first + TESTED_POINTS]
    return Trace(trace.lat_deg[order], trace.lon_deg[order], trace.times_s[order])


def looked_at_words(tracks: Sequence[Trace]) -> str:
    """What :func:`chosen_tracks` chose."""
    return f"{sum(map(len, tracks)):,} points in the tracks of {len(tracks)} people, by a public hash"


def public_hash(name: str) -> bytes:
    """What chooses the parts and people that are looked at: whoever made them cannot."""
    return hashlib.sha256(b"sfumato looks at 1\0" + name.encode()).digest()


def plausible_release(
    record: Certificate, traces: Sequence[Trace], *, some: bool = False
) -> tuple[Answer, str, tuple[str, ...]]:
    """Whether every person's positions could hold the stated noise, why, and which forged parts nobody would notice.

    Bonferroni over people. Where an ordinary original at the same times would pass, as it was or with white noise only,
    nothing can be told; of ``some`` people out of many it is enough that it would be refused for one of them: power is
    found for the densest track first, and for others until there is one.
    """
    limit, told, tests = REFUSED_BELOW / max(1, len(traces)), list[float](), list[Roughness | None]()
    for trace in traces:
        test, path = _roughness(record, trace)
        found = None if test is None else test.p_values(path[:, :, None])
        tests.append(None if found is None else test)
        told += [] if found is None else [float(found[0])]
    if told and min(told) < limit:
        return (
            False,
            "It is smoother than the stated noise allows: a true release would look so at most once in "
            f"{1 / max(min(told) * len(traces), 1e-12):,.0f}. It was never protected, or smoothed afterwards.",
            (),
        )
    powers = list[Mapping[str, float]]()
    for test in sorted(tests, key=_apart_s) if some else tests:
        powers.append({ORIGINAL: 0.0} if test is None else test.power(limit))
        if some and min(powers[-1].get(name, 1.0) for name in WHOLE) >= ENOUGH_POWER:
            break
    known = {name: [power[name] for power in powers if name in power] for name in (*WHOLE, *PARTS, HALF)}
    least = {name: max(of) if some else min(of) for name, of in known.items() if of}
    passing = [name for name in WHOLE if least.get(name, 1.0) < ENOUGH_POWER]
    if passing or not powers:
        weak = sum(any(power.get(name, 1.0) < ENOUGH_POWER for name in WHOLE) for power in powers)
        whose = "" if len(traces) < 2 else f" (of {weak} of {len(traces)} tracks)"
        return (
            None,
            f"So could look {' or '.join(passing) or ORIGINAL}{whose}: too few points, too far apart, coarse times or "
            "too coarse a grid. Only who made it can tell you: ask for a signature, and name the signer (--signer).",
            (),
        )
    refused = [name for name in (*WHOLE, *PARTS) if least.get(name, 0.0) >= ENOUGH_POWER]
    unnoticed = tuple(name for name in PARTS if least[name] < ENOUGH_POWER)
    return (
        True,
        f"Refused would be {' and '.join(refused)}; {HALF}, {100 * least[HALF]:.0f} times in 100."
        + (f" Not noticed would be {' or '.join(unnoticed)}." if unnoticed else ""),
        unnoticed,
    )


def _apart_s(test: Roughness | None) -> float:
    """How far apart half of the points are at most."""
    return math.inf if test is None or test.times_s.size < 2 else float(np.median(np.diff(test.times_s)))


def _roughness(record: Certificate, trace: Trace) -> tuple[Roughness | None, FloatArray]:
    """The test of one track, and the positions it is for: one for each moment, or all where times are coarse."""
    order = np.argsort(trace.times_s, kind="stable")
    times_s, path = trace.times_s[order], unroll(trace.lat_deg[order], trace.lon_deg[order])
    times = Times.parse(record.times)
    if times.same_intervals:
        times_s, path = moments_of(times_s, path)
        return record.mechanism.roughness(times_s, record.snap_m), path
    if times.step_s is None:
        return None, path
    times_s = spread_out(times_s, times.step_s)
    return record.mechanism.roughness(times_s, record.snap_m, shown=False), path


def shared_moments(record: Certificate, traces: Sequence[Trace]) -> str:
    """How many points share their noise with another at the same moment: the shape between them is exact."""
    if not Times.parse(record.times).same_intervals:
        return ""
    points = sum(len(trace) for trace in traces)
    shared = 0
    for trace in traces:
        _, back, counts = np.unique(trace.times_s, return_inverse=True, return_counts=True)
        shared += int(np.count_nonzero(counts[back] > 1))
    if not shared:
        return ""
    return f"{shared} of {points} points share a moment with others, and so their noise: the way between them is exact."
