"""Verdicts that tell the truth: what was called good in 0.2.0 and is not now, and true releases that still pass.

    python benchmarks/evidence_verdicts.py [--quick] [--releases 1000000]

Originals are people of GeoLife and cabs of San Francisco (../shared/data), sealed as if they were releases. Each line
says how many of how many were called plausible, refused, and not told.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from evidence_doors import tell_doors
from evidence_geolife import _columns, _pieces
from evidence_plausible import drawn, paths, patterns
from held_out import HERE, people_in_halves
from sfumato.base.errors import NotCertified
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.routine import laps_cost
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.certificates.roughness import plausible_release
from sfumato.tracks.certificates.verdict import judge
from sfumato.tracks.noise.interface import TraceMechanism
from sfumato.tracks.noise.plausibility import (
    HALF,
    LAST,
    ORIGINAL,
    REFUSED_BELOW,
    SECOND,
    WHITE_ONLY,
    Roughness,
    spread_out,
)
from sfumato.tracks.people.door import protect
from sfumato.tracks.plan import Times

COARSE = "coarse:300s"
Change = Callable[[Trace, Trace], Trace]


def originals(step: int) -> list[Trace]:
    """Rides of people nothing was chosen on, and a day of every few cabs."""
    found = [trace for _, trace in people_in_halves()[1][:104:step]]
    cabs = list(_pieces(_columns("cabspotting/cabspotting.parquet"), ["cab_id"]))
    for _, cab in cabs[:: 2 * step]:
        order = np.argsort(cab.times_s, kind="stable")[:600]
        found.append(Trace(cab.lat_deg[order], cab.lon_deg[order], cab.times_s[order]))
    return found


def mixed(original: Trace, release: Trace, kept: np.ndarray) -> Trace:
    """The release with some of its points as they were recorded."""
    lat = np.where(kept, original.lat_deg, release.lat_deg)
    return replace(release, lat_deg=lat, lon_deg=np.where(kept, original.lon_deg, release.lon_deg))


def whitened(original: Trace, white_m: float, rng: np.random.Generator) -> Trace:
    """The original with independent noise alone."""
    step = white_m * rng.standard_normal((2, len(original))) / 111_000.0
    lon = original.lon_deg + step[1] / np.cos(np.radians(original.lat_deg))
    return replace(original, lat_deg=original.lat_deg + step[0], lon_deg=lon)


def thinned(original: Trace, step: int) -> Trace:
    """Every so many points of it."""
    return Trace(original.lat_deg[::step], original.lon_deg[::step], original.times_s[::step])


def attacks(rng: np.random.Generator) -> Iterator[tuple[str, str, Change]]:
    """What was sealed as a release: its name, how times are shown, and how it is made of original and release."""
    yield "the release itself", "keep", lambda _, release: release
    yield "the release itself, times coarse", COARSE, lambda _, release: release
    yield "the original", "keep", lambda original, _: original
    yield "the original, times coarse", COARSE, lambda original, _: original
    for times in ("keep", COARSE):
        yield (
            f"every second point original, times {times.split(':')[0]}",
            times,
            lambda original, release: mixed(original, release, np.arange(len(original)) % 2 == 0),
        )
        yield (
            f"the last 15 points original, times {times.split(':')[0]}",
            times,
            lambda original, release: mixed(original, release, np.arange(len(original)) >= len(original) - 15),
        )
    yield "the original with 158 m of white noise only", "keep", lambda original, _: whitened(original, 158.0, rng)
    yield "the original, one point in sixty", "keep", lambda original, _: thinned(original, 60)


def told(traces: list[Trace]) -> None:
    """The answers to *plausible?* for every attack."""
    rng, releases = np.random.default_rng(3), [protect(trace) for trace in traces]
    for name, shown, change in attacks(rng):
        answers = []
        for done in releases:
            sealed = change(done.original, done.release)
            if len(sealed) < 2:
                continue
            record = replace(Certificate.of(done.certificate), times=shown)
            answers.append(plausible_release(record, [Times.parse(shown).apply(sealed)]))
        counts = [sum(answer is one for answer, _, _ in answers) for one in (True, False, None)]
        whole = sum(answer is True and bool(unnoticed) for answer, _, unnoticed in answers)
        print(
            f"{name}: plausible {counts[0]} ({whole} of them as a whole only), refused {counts[1]}, "
            f"cannot be told {counts[2]}, of {len(answers)}"
        )


KINDS = {
    "709 m": {},
    "150 m": {"noise_m": 150.0},
    "50 m": {"noise_m": 50.0},
    "turning": {"turning": True},
    "rounded to 50 m": {"round_to_m": 50.0},
    "independent": {"mechanism": "independent"},
    "planar Laplace": {"mechanism": "planar-laplace"},
    "shaped by a prior": {"mechanism": "prior-shaped", "prior": "preset"},
}
SHOWN = {"times as they are": (1, None), "every third point": (3, None), "coarse:60s": (1, 60.0), COARSE: (1, 300.0)}


def noise_of(made: TraceMechanism, times: np.ndarray, count: int, rng: np.random.Generator) -> np.ndarray:
    """(n, 2, count) of its law; Gaussian noise by a dense square root, not by the walk that the door draws with."""
    kernel = made.kernel() if made.gaussian else None
    if kernel is not None:
        return drawn(kernel, times, count, rng)
    test = made.roughness(times, 0.1)
    assert test is not None
    return test.noise(count, rng)


def refused_releases(releases: int, *, seed: int = 5) -> Iterator[tuple[str, int, int]]:
    """(what, refused, tried) of true releases: every kind of noise and of times, at every pattern, on every path."""
    rng = np.random.default_rng(seed)
    times_of = patterns(rng)
    each = -(-releases // (len(KINDS) * len(SHOWN) * len(times_of) * 3))
    for kind, wish in KINDS.items():
        made, step = Certificate.of(protect(Trace([48.0], [2.0], [0.0]), **wish).certificate).mechanism, 0.1
        step = float(wish.get("round_to_m", step))
        for shown, (thin, slot_s) in SHOWN.items():
            refused, tried = 0, 0
            for every in times_of.values():
                times = every[::thin]
                seen = times if slot_s is None else spread_out(np.floor(times / slot_s) * slot_s, slot_s)
                test = made.roughness(seen, step, shown=slot_s is None)
                for path in paths(every).values():
                    released = path[::thin, :, None] + noise_of(made, times, each, rng)
                    found = None if test is None else test.p_values(step * np.round(released / step))
                    tried += 0 if found is None else each
                    refused += 0 if found is None else int(np.count_nonzero(found < REFUSED_BELOW))
            if tried:
                yield f"{kind}, {shown}", refused, tried


def refused_real(traces: list[Trace]) -> Iterator[tuple[str, int, int]]:
    """The same of real tracks, by the door and the verdict's own test; whether it has power is not asked here."""
    power = dict.fromkeys((ORIGINAL, WHITE_ONLY, SECOND, LAST, HALF), 1.0)
    with warnings.catch_warnings(), patch.object(Roughness, "power", lambda *_: power):
        warnings.simplefilter("ignore")
        for kind, wish in KINDS.items():
            for shown, (thin, slot_s) in SHOWN.items():
                times, found = "keep" if slot_s is None else f"coarse:{slot_s:.0f}s", list[bool | None]()
                for trace in traces:
                    try:
                        done = protect(thinned(trace, thin), times=times, **wish)
                    except NotCertified:  # its promise depends on times that are not shown
                        break
                    found.append(plausible_release(Certificate.of(done.certificate), [done.release])[0])
                if told := sum(answer is not None for answer in found):
                    yield f"{kind}, {shown}", found.count(False), told


def tell_refused(name: str, found: Iterator[tuple[str, int, int]]) -> tuple[int, int]:
    """Print every kind of which one was refused, and the sum."""
    rows = list(found)
    refused, tried = sum(row[1] for row in rows), sum(row[2] for row in rows)
    some = "; ".join(f"{what}: {bad} of {of}" for what, bad, of in rows if bad)
    print(
        f"{name} refused: {refused} of {tried:,} in {len(rows)} kinds (once in 10,000 is allowed){some and ': '}{some}"
    )
    return refused, tried


def promises(traces: list[Trace]) -> None:
    """What is good against whom, and what turning makes of the odds."""
    good = 0
    for trace in traces:
        done = protect(trace, mechanism="planar-laplace")
        good += judge(done.certificate, release=done.release).ok
    print(f"planar Laplace noise on a track called good: {good} of {len(traces)}")
    plain, turning = protect(traces[0]).certificate, protect(traces[0], turning=True).certificate
    print(
        f"odds of somebody who turns one way round: {plain['if_turning']['odds_99']:.3g} : 1 at "
        f"{plain['rms_noise_m']:.0f} m; {turning['odds_99']:.3g} : 1 with --turning at {turning['rms_noise_m']:.0f} m"
    )
    print(f"5-minute laps: {laps_cost(plain, 300.0).loss * plain['rms_noise_m'] ** 2:.0f} times the floor")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--releases", type=int, default=1_000_000)
    options = parser.parse_args()
    releases = 4000 if options.quick else options.releases
    refused, tried = tell_refused("simulated true releases", refused_releases(releases))
    if HERE:
        tell_doors(quick=options.quick)
        traces = originals(8 if options.quick else 2)
        more = tell_refused("true releases of real tracks", refused_real(traces if options.quick else originals(1)))
        refused, tried = refused + more[0], tried + more[1]
        told(traces)
        promises(traces[::4])
    return int(refused > 2 + 3 * tried * REFUSED_BELOW)


if __name__ == "__main__":
    sys.exit(main())
