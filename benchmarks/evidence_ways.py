"""Do intervals of lengths, speeds and stays hold, where no flag says that they are mostly the model's? On real people.

    python benchmarks/evidence_ways.py [--noise 30 100 300] [--fleets 40] [--people 20] [--weight per-person] [NAME ...]

NAME: ``first`` and ``second`` half of GeoLife's people (the rules were chosen on the first), ``cabs`` (days of San
Francisco), ``riders`` (made up: rides at 5 m/s between stays, a point a minute). All people are released once; the
fleets are drawn from them. *Held*: of the fleets without a flag, how many intervals hold the truth of these people;
*off*: the answer over the truth, with a flag in the last column. Exits with 1 where a row without a flag in at least
five fleets holds less than 86 %. Needs ../shared/data, but for riders.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable

import numpy as np

from evidence_geolife import cabs
from held_out import people_in_halves
from sfumato.base.randomness import randomness
from sfumato.base.things.frames import displace
from sfumato.base.things.traces import Trace
from sfumato.tracks.answers.received import NoiseLaw, Person, people_of, receive
from sfumato.tracks.answers.ways.drawn_ways import KINDS, QUANTILES, Counted, Ways, drawn_ways, ways_over
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.kernels import White

MOST_POINTS, LEAST_HELD, FEWEST_FLEETS = 1500, 0.86, 5
People = list[tuple[str, Trace]]


def _half(which: int) -> People:
    """Up to three tracks of each person, one segment each; overlapping ones left out."""
    tracks: dict[str, list[Trace]] = {}
    for name, trace in people_in_halves()[which]:
        tracks.setdefault(name.split("/")[0], []).append(trace)
    people = []
    for name, own in tracks.items():
        kept: list[Trace] = []
        for one in sorted(own, key=lambda trace: float(trace.times_s[0])):
            cut = Trace(one.lat_deg[:MOST_POINTS], one.lon_deg[:MOST_POINTS], one.times_s[:MOST_POINTS])
            if not kept or cut.times_s[0] > kept[-1].times_s[-1]:
                kept.append(cut)
        columns = (np.concatenate([getattr(one, name) for one in kept]) for name in ("lat_deg", "lon_deg", "times_s"))
        people.append((name, Trace(*columns, np.repeat(np.arange(len(kept)), [len(one) for one in kept]))))
    return people


def _riders(people: int = 60) -> People:
    """Three places each; rides at 5 m/s along two streets between stays of 20 to 120 minutes, for ten hours."""
    rng, made = np.random.default_rng(5), []
    for number in range(people):
        own, times, path = rng.uniform(-4000, 4000, (3, 2)), [0.0], [np.zeros(2)]
        path[0] = own[0]
        while times[-1] < 36_000:
            stay, there = 60 * rng.integers(20, 120), own[rng.integers(3)]
            corner = np.array([there[0], path[-1][1]])
            for end in (path[-1], corner, there):  # first the stay
                took = stay if end is path[-1] else float(np.linalg.norm(end - path[-1])) / 5.0
                times.append(times[-1] + max(took, 1.0))
                path.append(end)
        at = np.arange(0.0, times[-1], 60.0)
        along = np.column_stack([np.interp(at, times, np.array(path)[:, axis]) for axis in (0, 1)])
        lat, lon = displace(np.full(len(at), 46.0), np.full(len(at), 8.0), along)
        made.append((f"rider{number}", Trace(lat, lon, at)))
    return made


WORLDS: dict[str, Callable[[], People]] = {
    "first": lambda: _half(0),
    "second": lambda: _half(1),
    "cabs": lambda: [(name.replace("/", "_"), trace) for name, trace in cabs(2)],
    "riders": _riders,
}


def _released(people: People, noise_m: float) -> list[Person]:
    done = protect_fleet(Plan(noise_m=noise_m), people, rng=round(noise_m) + len(people))
    return people_of([receive(list(done.releases), done.certificate)], each_release_a_person=False)


def _numbers(ways: Ways) -> dict[str, tuple[float, float, float, bool]]:
    """Value, low, high and flag of every row."""
    means = {
        "trip length": (ways.trip_length_m, ways.mostly_model),
        "speed": (ways.speed_m_s, ways.mostly_model),
        "stays a day": (ways.stays_per_day, ways.stays_mostly_model),
        "share in stays": (ways.stay_share, ways.stays_mostly_model),
    }
    for name in KINDS:
        rows = zip(QUANTILES, ways.distributions()[name], ways.models(name), strict=True)
        means |= {f"{name} {q}": (one, model) for q, one, model in rows}
    return {name: (one.value, one.low, one.high, model) for name, (one, model) in means.items()}


def table(world: str, noise_m: float, fleets: int, size: int, weight: Counted) -> bool:
    """Print the rows of one world under one noise; whether all of them hold or are flagged."""
    began, people, source = time.process_time(), WORLDS[world](), randomness(7)
    found = [drawn_ways(person, 12, source) for person in _released(people, noise_m)]
    exactly = NoiseLaw(White(0.01), 0.0)
    true = [drawn_ways(Person(((exactly, trace),)), 2, source) for _, trace in people]
    rng, seen = np.random.default_rng(0), dict[str, list[tuple[bool, bool, float]]]()
    for _ in range(fleets):
        some = rng.permutation(len(people))[:size]
        truth, ours = (_numbers(ways_over([every[k] for k in some], weight=weight)) for every in (true, found))
        for name, (value, low, high, model) in ours.items():
            real = truth[name][0]
            seen.setdefault(name, []).append((model, low <= real <= high, value / real if real else math.nan))
    good = True
    for name, rows in seen.items():
        told = [held for model, held, _ in rows if not model]
        held = float(np.mean(told)) if told else math.nan
        bad = len(told) >= FEWEST_FLEETS and held < LEAST_HELD
        good &= not bad
        off = np.nanmedian([ratio for *_, ratio in rows])
        said = f"{100 * held:.0f} %{' MISSED' if bad else ''}" if told else "-"
        print(f"| {world} | {noise_m:.0f} m | {name} | {said} | {off:.2f} | {len(rows) - len(told)} of {fleets} |")
    print(f"  {len(people)} people, {time.process_time() - began:.0f} s CPU", flush=True)
    return good


def main() -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("worlds", nargs="*", default=list(WORLDS), choices=[*WORLDS, []], metavar="NAME")
    parser.add_argument("--noise", type=float, nargs="+", default=[30.0, 100.0, 300.0])
    parser.add_argument("--fleets", type=int, default=40)
    parser.add_argument("--people", type=int, default=20)
    parser.add_argument("--weight", choices=["pooled", "per-person"], default="pooled")
    asked = parser.parse_args()
    print("| people | noise | number | 90 % held, unflagged | off | mostly the model |\n|---|---|---|---|---|---|")
    every = [
        table(world, noise_m, asked.fleets, asked.people, asked.weight)
        for world in asked.worlds
        for noise_m in asked.noise
    ]
    return 0 if all(every) else 1


if __name__ == "__main__":
    raise SystemExit(main())
