"""What ``sfumato live`` gives away and how well it shows: zones without a future, a month of stream, the 68 % circle.

    python benchmarks/evidence_live.py [zones|circle|month] [--tracks 60] [--people 12]

*Zones*: how long positions wait after leaving one, on real tracks (../shared/data): a zone is drawn at each track's
first point, of 400, 800 and 1,600 m, and what the gate sends is held against what ``hide`` leaves of the whole track.

*Circle*: how often the circle that is shown holds the true place, over all moments of a track, on people and cabs that
its kernels of movement were not chosen on, on made-up lives, and on paths drawn from those kernels (68 is exact there).

*Month*: people with a home, a work, a way between them and weekends, and people of GeoLife stretched over 30 days, sent
at a point a minute through the bridge to two blurred audiences (900 m and 2 km) and one that is told zones. Every
attacker of the suite that applies is run on what each saw, and on what both saw together (weighed by their variance,
the best of one moment), against the certificates; ``audit`` against the floor, with the kernel that fits the truth
best; and whoever takes the border of a zone, when its name ends, for a known position. Exits 1 where more is found.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq

from sfumato.base.things.frames import displace
from sfumato.base.things.traces import Trace
from sfumato.tracks.adversary.audit import audit
from sfumato.tracks.adversary.known_point import known_point_loss
from sfumato.tracks.attacks.outcomes import allowed_share, attackers_named
from sfumato.tracks.attacks.suite import SuiteAsked, attack_releases
from sfumato.tracks.live.audiences import load_config
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.calm import MOVEMENT, CalmView
from sfumato.tracks.live.chain import Chain, LiveNoise
from sfumato.tracks.live.gate import Fate, Gate, Track
from sfumato.tracks.live.positions import Position
from sfumato.tracks.live.promises import RADIUS_M
from sfumato.tracks.live.store import LiveStore, live_key
from sfumato.tracks.people.noise import protect_by
from sfumato.tracks.places.globe import Around, distances_m
from sfumato.tracks.places.places_file import Places, place_at, save_places
from sfumato.tracks.places.withhold import withhold
from sfumato.tracks.places.zones import RADII_M, draw_zone
from sfumato.tracks.plan import plan_of
from sfumato.tracks.priors.kernels import Kernel, Matern32

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"
DAY_S, MINUTE_S, DAYS, START_S = 86400, 60, 30, 1_790_035_200
SIZES_M = (900.0, 2000.0)
NOT_HERE = ("kept fields", "kept altitude", "learned path")
NORMAL_95 = 1.96
Person = tuple[Trace, tuple[tuple[float, float], ...]]
CONFIG = """
[bridge]
folder = "live"
{places}
[audience.near]
sees = "blurred"
noise = "900m"
keep = "1000week"
[audience.far]
sees = "blurred"
noise = "2km"
keep = "1000week"
[audience.names]
sees = "{names}"
keep = "1000week"
"""


def main() -> int:
    """Print what was asked for."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="?", choices=("zones", "circle", "month"), default="zones")
    parser.add_argument("--tracks", type=int, default=60)
    parser.add_argument("--people", type=int, default=12)
    asked = parser.parse_args()
    if not SHARED.exists():
        raise SystemExit(f"{SHARED} is not here.")
    if asked.what == "zones":
        zones(asked.tracks)
        return 0
    return circle(asked.tracks) if asked.what == "circle" else month(asked.people)


def recorded(name: str, who: str, ride: str | None) -> Iterator[tuple[str, Trace]]:
    """Every track of real people, or of cabs by day."""
    frame = pq.read_table(SHARED / name).to_pandas()
    frame = frame[frame.lat_e6.abs() <= 90e6]
    seconds = frame.time.dt.tz_localize(None).to_numpy().astype("datetime64[ms]").astype(np.int64) / 1000.0
    frame = frame.assign(seconds=seconds, day=(seconds // DAY_S).astype(int))
    for (person, _), rows in frame.groupby([who, ride or "day"]):
        rows = rows.sort_values("seconds").drop_duplicates("seconds")
        yield str(person), Trace(rows.lat_e6.to_numpy() / 1e6, rows.lon_e6.to_numpy() / 1e6, rows.seconds.to_numpy())


def people_of_geolife() -> Iterator[tuple[str, Trace]]:
    """By trajectory."""
    return recorded("geolife/geolife_traces.parquet", "user_id", "trajectory_id")


def zones(count: int) -> None:
    """Print a line for each radius."""
    traces = [trace for _, trace in people_of_geolife()]
    some = np.random.default_rng(30).permutation(len(traces))[:count]
    for radius in RADII_M:
        waits, sent, more, less = [], 0, 0, 0
        for number in some.tolist():
            trace = traces[number]
            lat, lon, times = trace.lat_deg, trace.lon_deg, trace.times_s
            zone = draw_zone(float(lat[0]), float(lon[0]), radius_m=radius, rng=number)
            left, waited = live(Gate((("home", zone),)), lat, lon, times)
            kept = set(withhold(Trace(lat, lon, np.arange(len(lat), dtype=np.float64)), [zone]).kept.tolist())
            waits += waited
            sent, more, less = sent + len(left), more + len(left - kept), less + len(kept - left)
        quantiles = np.quantile(waits, [0.5, 0.9]) if waits else [0.0, 0.0]
        print(
            f"zone {radius:g} m: {sent} positions sent, {more} that hide cuts, {less} not that hide keeps; a run waits "
            f"{quantiles[0]:.0f} s (median) and {quantiles[1]:.0f} s (90 %) after leaving"
        )


def live(gate: Gate, lat: np.ndarray, lon: np.ndarray, times: np.ndarray) -> tuple[set[int], list[float]]:
    """Which points left, by number, and how long each run's first point waited."""
    track, left, waited = Track(), set[int](), []
    for at in range(len(lat)):
        found = gate.take(track, at, float(lat[at]), float(lon[at]))
        left |= set(found.leave_ms)
        if found.fate is Fate.PASSES:
            left.add(at)
        if found.leave_ms:
            waited.append(float(times[at] - times[found.leave_ms[0]]))
    return left, waited


# The circle.


def circle(count: int) -> int:
    """A line for each world and size: how often the circle held, and how large it was."""
    worlds: dict[str, Callable[[], list[Trace]]] = {
        "GeoLife": lambda: _some([trace for _, trace in people_of_geolife()], count),
        "cabs": lambda: _some([t for _, t in recorded("cabspotting/cabspotting.parquet", "cab_id", None)], count),
        "made-up lives, 6 to 14 h": lambda: [_morning(1000 + number) for number in range(count)],
        "drawn from the kernels": lambda: [drawn(number) for number in range(count)],
    }
    short = 0
    for name, world in worlds.items():
        traces = [one for one in map(a_minute, world()) if len(one) >= 20]
        for size in (300.0, *SIZES_M):
            shares, radii = zip(*(held(one, size, number) for number, one in enumerate(traces)), strict=True)
            mean, spread = float(np.mean(shares)), float(np.std(shares, ddof=1)) / math.sqrt(len(shares))
            short += not 0.60 <= mean <= 0.76
            print(
                f"{name}, {size:g} m: the circle holds {100 * mean:.1f} (± {100 * NORMAL_95 * spread:.1f}) of 100 "
                f"moments of {len(traces)} tracks, radius {np.median(radii):.0f} m (median)",
                flush=True,
            )
    return int(short > 0)


def _some(traces: list[Trace], count: int) -> list[Trace]:
    order = np.random.default_rng(68).permutation(len(traces)).tolist()
    return [traces[at] for at in order if traces[at].times_s[-1] - traces[at].times_s[0] > 1800.0][:count]


def _cut(trace: Trace, first_day: int, last_day: int) -> Trace:
    day = (trace.times_s - trace.times_s[0]) // DAY_S
    keep = (day >= first_day) & (day < last_day)
    return Trace(trace.lat_deg[keep], trace.lon_deg[keep], trace.times_s[keep])


def _morning(seed: int) -> Trace:
    trace = made_up(seed)[0]
    some = slice(1440 * (3 + seed % 5) + 360, 1440 * (3 + seed % 5) + 840)
    return Trace(trace.lat_deg[some], trace.lon_deg[some], trace.times_s[some])


def a_minute(trace: Trace) -> Trace:
    """At most one point a minute, the first of each, and eight hours."""
    _, first = np.unique(trace.times_s // MINUTE_S, return_index=True)
    first = first[:480]
    return Trace(trace.lat_deg[first], trace.lon_deg[first], np.rint(trace.times_s[first]))


def drawn(seed: int, count: int = 600) -> Trace:
    """A path that is drawn from the circle's own kernels."""
    times = MINUTE_S * np.arange(float(count))
    law = MOVEMENT(times[:, None] - times[None, :]) - MOVEMENT(np.array([1e12]))[0] + 1e-3 * np.eye(count)
    path = np.linalg.cholesky(law) @ np.random.default_rng(seed).standard_normal((count, 2))
    return Trace(*displace(np.full(count, 48.85), np.full(count, 2.35), path), START_S + times)


def held(trace: Trace, size_m: float, number: int) -> tuple[float, float]:
    """The share of moments at which the circle held the truth, and its median radius."""
    chain, times_ms = Chain((size_m,)), np.rint(1000 * trace.times_s).astype(np.int64)
    noise = LiveNoise(chain, number.to_bytes(32, "big"))
    lat, lon = noise.release(["me"] * len(trace), times_ms, trace.lat_deg, trace.lon_deg)[size_m]
    view = CalmView(chain.mechanism(size_m).kernel())
    shown = [view.add(*one) for one in zip(times_ms.tolist(), lat.tolist(), lon.tolist(), strict=True)]
    at = np.array([(one.lat_deg, one.lon_deg, one.radius_m) for one in shown])
    away = [
        float(distances_m(*at[k : k + 1, :2].T, *true)[0])
        for k, true in enumerate(zip(trace.lat_deg, trace.lon_deg, strict=True))
    ]
    return float(np.mean(np.array(away) <= at[:, 2])), float(np.median(at[:, 2]))


# A month.


def made_up(seed: int) -> Person:
    """Thirty days at a point a minute, and where home and work are."""
    rng = np.random.default_rng(seed)
    around = Around(48.85, 2.35)
    home = rng.uniform(-10e3, 10e3, 2)
    turn, far = rng.uniform(0, 2 * math.pi), rng.uniform(3e3, 15e3)
    work = home + far * np.array([math.cos(turn), math.sin(turn)])
    shops = [home + rng.normal(0, 2500, 2) for _ in range(5)]
    legs: list[tuple[float, np.ndarray]] = [(0.0, home)]  # when somebody is where; straight ways between corners

    def go(hour: float, to: np.ndarray, km_h: float) -> float:
        """Leave then, by two corners; when they arrive."""
        at, place = hour, legs[-1][1]
        legs.append((at, place))
        for corner in (np.array([to[0], place[1]]) + rng.normal(0, 60, 2), to):
            at += float(np.hypot(*(corner - place))) / 1000.0 / km_h + 1 / 120
            legs.append((at, corner))
            place = corner
        return at

    for day in range(DAYS):
        noon = 24.0 * day
        if day % 7 < 5:
            go(noon + rng.normal(7.8, 0.2), work, 28.0)
            if rng.random() < 0.4:
                go(noon + rng.normal(12.5, 0.1), work + rng.normal(0, 400, 2), 4.5)
                go(noon + rng.normal(13.3, 0.1), work, 4.5)
            back = go(noon + rng.normal(17.5, 0.3), home, 28.0)
            if rng.random() < 0.35:
                go(max(back + 0.3, noon + 19.0), shops[int(rng.integers(5))], 15.0)
                go(noon + 21.5, home, 15.0)
        else:
            go(noon + rng.normal(10.5, 0.5), home + rng.normal(0, 8e3, 2), 35.0)
            go(noon + rng.normal(16.5, 0.5), home, 35.0)
    hours, places = np.array([at for at, _ in legs]), np.array([place for _, place in legs])
    times = MINUTE_S * np.arange(float(DAYS * 1440))
    path = np.stack([np.interp(times / 3600.0, hours, places[:, axis]) for axis in (0, 1)], axis=1)
    lat, lon = around.to_degrees(path + rng.normal(0, 5.0, path.shape))
    kept = tuple((float(a[0]), float(b[0])) for a, b in (around.to_degrees(one[None]) for one in (home, work)))
    return Trace(lat, lon, START_S + times), kept


def stretched(rides: list[Trace]) -> Trace:
    """Days of one person one after another, at a point a minute; between rides they stay where they are."""
    whole = np.concatenate([one.times_s for one in rides])
    order = np.argsort(whole, kind="stable")
    lat, lon = (np.concatenate([getattr(one, axis) for one in rides])[order] for axis in ("lat_deg", "lon_deg"))
    _, day = np.unique(whole[order] // DAY_S, return_inverse=True)
    times = START_S + DAY_S * day + whole[order] % DAY_S
    asked = START_S + MINUTE_S * np.arange(float((min(int(day.max()), DAYS - 1) + 1) * 1440))
    last = np.clip(np.searchsorted(times, asked, side="right") - 1, 0, None)
    return Trace(lat[last], lon[last], asked)


def month(count: int) -> int:
    """Every attacker on every stream."""
    rides: dict[str, list[Trace]] = {}
    for person, trace in people_of_geolife():
        rides.setdefault(person, []).append(trace)
    busiest = sorted(rides.values(), key=lambda some: -len({t.times_s[0] // DAY_S for t in some}))[:count]
    worlds = {
        "made-up": [made_up(number) for number in range(count)],
        "GeoLife": [(stretched(some), ()) for some in busiest],
    }
    failed = list[str]()
    for world, people in worlds.items():
        points = sum(len(trace) for trace, _ in people)
        print(f"{world}: {len(people)} people, {points} positions", flush=True)
        for zoned in (False, True):
            if zoned and world == "GeoLife":
                continue
            failed += attacked(world, people, zoned=zoned)
    for words in failed:
        print(f"MISSED {words}")
    return int(bool(failed))


def attacked(world: str, people: list[Person], *, zoned: bool) -> list[str]:
    """What each attacker finds in what audiences saw."""
    streams = [streamed(number, *one, zoned=zoned) for number, one in enumerate(people)]
    failed = list[str]()
    for name, size in (("near", SIZES_M[0]), ("far", SIZES_M[1]), ("together", SIZES_M[0])):
        plan = plan_of({"noise_m": size, "prior_class": "year"})
        certificate = protect_by(plan, _cut(people[0][0], 0, 1), rng=1).certificate
        if not zoned:
            kept = [_every(people[at][0], streams[at][name], 10) for at in range(len(people))]
            broken = sum(audit(*one, certificate, held_out=False).holds is False for one in kept)
            print(f"{world}, {name}: audit with the kernel that fits each truth best: floor broken for {broken}")
            failed += [f"{world}, {name}: audit broken for {broken}"] * bool(broken)
        pairs = [(str(at), people[at][0], one[name]) for at, one in enumerate(streams)]
        names = [one for one in attackers_named("all") if one not in NOT_HERE]
        suite = attack_releases(pairs, SuiteAsked(names, certificate=certificate, before=False))
        for one in suite.outcomes:
            print(f"{world}, {name}{', zones' if zoned else ''}: {one.sentence()}", flush=True)
        failed += [f"{world}, {name}: {one.sentence()}" for one in suite.beaten]
    return failed + (borders(people, streams) if zoned else [])


def _every(truth: Trace, seen: Trace, step: int) -> tuple[Trace, Trace]:
    some = np.arange(0, len(seen), step)
    first, second = (Trace(t.lat_deg[some], t.lon_deg[some], t.times_s[some]) for t in (truth, seen))
    return first, second


def streamed(number: int, trace: Trace, places: tuple[tuple[float, float], ...], *, zoned: bool) -> dict[str, Trace]:
    """What the audiences saw of one person, through the bridge; of names, the moments and 1 for a zone."""
    with tempfile.TemporaryDirectory() as chosen:
        folder, zone = Path(chosen), ""
        if zoned:
            kept = Places.none(rng=number)
            for name, (lat, lon) in zip(("home", "work"), places, strict=True):
                kept = kept.add(place_at(name, lat, lon, radius_m=800.0, rng=7 * number + len(name)))
            save_places(folder / "p", kept)
            zone = 'places = "p"'
        (folder / "live.toml").write_text(CONFIG.format(places=zone, names="zone" if zoned else "nothing"))
        config = load_config(folder / "live.toml")
        key = live_key(config.folder)
        bridge = Bridge(config, key, LiveStore(config.folder, key, durable=False), clock=lambda: START_S + 1e8)
        rows = [
            Position("me", int(1000 * time), lat, lon)
            for time, lat, lon in zip(trace.times_s, trace.lat_deg.tolist(), trace.lon_deg.tolist(), strict=True)
        ]
        for start in range(0, len(rows), 1440):
            bridge.take(rows[start : start + 1440])
        seen = {one.name: bridge.view(one, "me", most=10**6) for one in config.audiences}
    out = {}
    for name in ("near", "far"):
        lat, lon = (np.array([getattr(one, axis) for one in seen[name]]) for axis in ("lat_deg", "lon_deg"))
        out[name] = Trace(lat, lon, np.array([one.time_ms / 1000.0 for one in seen[name]]))
    near, far, (a, b) = out["near"], out["far"], (1 / SIZES_M[0] ** 2, 1 / SIZES_M[1] ** 2)
    both = (near.lat_deg * a + far.lat_deg * b) / (a + b), (near.lon_deg * a + far.lon_deg * b) / (a + b)
    out["together"] = Trace(*both, near.times_s)
    if zoned:
        times = np.array([one.time_ms / 1000.0 for one in seen["names"]])
        inside = np.array([float(one.name != "away") for one in seen["names"]])
        out["names"] = Trace(inside, np.zeros(len(inside)), times)
    return out


def borders(people: list[Person], streams: list[dict[str, Trace]]) -> list[str]:
    """Where a zone's name ends, somebody is where they were then: the noise of the next release is known from there."""
    prior, failed = Matern32(600.0, 4000.0), list[str]()
    noise = Chain(SIZES_M).mechanism(SIZES_M[0]).kernel()
    for lag_s in (120.0, 600.0):
        hits = [
            hit
            for (truth, _), seen in zip(people, streams, strict=True)
            for hit in _from_borders(truth, seen, noise, prior, lag_s)
        ]
        wide_m2 = prior.variance_m2 * (1 - (float(prior(np.array([lag_s]))[0]) / prior.variance_m2) ** 2)
        luck = 1 - math.exp(-(RADIUS_M**2) / (2 * wide_m2))
        allowed = allowed_share(luck, known_point_loss(noise, prior, lag_s), RADIUS_M) or 1.0
        share = float(np.mean(hits))
        error = NORMAL_95 * math.sqrt(share * (1 - share) / len(hits))
        print(
            f"a zone's end known exactly, {lag_s / 60:g} min later: found within {RADIUS_M:g} m {100 * share:.1f} "
            f"(± {100 * error:.1f}) of 100, {len(hits)} ends; the odds that `check` states allow {100 * allowed:.1f}"
        )
        failed += [f"{lag_s / 60:g} min after a border"] * (share - error > allowed)
    return failed


def _from_borders(truth: Trace, seen: dict[str, Trace], noise: Kernel, prior: Kernel, lag_s: float) -> Iterator[float]:
    """Whether the guess from each border was near enough; the position there is told exactly, more than a border is."""
    names, near = seen["names"], seen["near"]
    ends = names.times_s[1:][(names.lat_deg[:-1] == 1) & (names.lat_deg[1:] == 0)]
    shared, moves = (float(law(np.array([lag_s]))[0]) / law.variance_m2 for law in (noise, prior))
    free_m2, wide_m2 = (law.variance_m2 * (1 - rho**2) for law, rho in ((noise, shared), (prior, moves)))
    for end in ends.tolist():
        first = int(np.searchsorted(near.times_s, end))
        later = int(np.searchsorted(near.times_s, end + lag_s))
        if later >= len(near) or near.times_s[first] > end + 120 or near.times_s[later] != near.times_s[first] + lag_s:
            continue
        known, asked = (int(np.searchsorted(truth.times_s, near.times_s[at])) for at in (first, later))
        around = Around(float(truth.lat_deg[known]), float(truth.lon_deg[known]))
        was, now = (around.to_metres(near.lat_deg[[at]], near.lon_deg[[at]])[0] for at in (first, later))
        true = around.to_metres(truth.lat_deg[[asked]], truth.lon_deg[[asked]])[0]
        guess = (now - was * shared) * wide_m2 / (wide_m2 + free_m2)
        yield float(np.hypot(*(guess - true)) <= RADIUS_M)


if __name__ == "__main__":
    sys.exit(main())
