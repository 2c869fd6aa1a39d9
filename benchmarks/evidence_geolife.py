"""What a smoothing adversary keeps of real traces: GeoLife and the San Francisco cabs, under multiscale and independent
noise of the same size.

    python benchmarks/evidence_geolife.py [--traces 400] [--noise 150] [--cabs] [--presets] [--quick] [--json]

For every trace: fit Matérn-3/2 + nugget to the original (a strong adversary), draw the noise, attack with the exact
posterior, and compare with what the universal bound promises. Needs ../shared/data; exits 0 and says so without it.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

SHARED = Path(__file__).resolve().parents[1].parent / "shared" / "data"
EXPECTED = math.erf(1 / math.sqrt(2))


def _columns(name: str) -> Any:
    import pyarrow.parquet as pq

    return pq.read_table(SHARED / name)


def _pieces(table: Any, keys: list[str]) -> Iterator[tuple[str, Any]]:
    """(id, Trace) of every run of equal keys; impossible coordinates are left out, repeated times stay."""
    from sfumato.base.things.traces import Trace

    columns = [table[key].combine_chunks() for key in keys]
    words = [column.dictionary.to_pylist() for column in columns]
    codes = np.stack([column.indices.to_numpy(zero_copy_only=False) for column in columns])
    times = table["time"].cast("int64").to_numpy() / 1e3
    lat, lon = table["lat_e6"].to_numpy() / 1e6, table["lon_e6"].to_numpy() / 1e6
    cuts = np.flatnonzero(np.any(np.diff(codes, axis=1) != 0, axis=0)) + 1
    for first, last in zip(np.r_[0, cuts], np.r_[cuts, len(times)], strict=True):
        good = (np.abs(lat[first:last]) <= 90) & (np.abs(lon[first:last]) <= 180)
        if np.count_nonzero(good) == 0:
            continue
        order = np.argsort(times[first:last][good], kind="stable")
        where = np.arange(first, last)[good][order]
        name = "/".join(word[code] for word, code in zip(words, codes[:, first], strict=True))
        yield name, Trace(lat[where], lon[where], times[where])


def geolife(count: int, seed: int = 0, *, name: str = "geolife/geolife_traces.parquet") -> list[tuple[str, Any]]:
    """``count`` trajectories chosen at random."""
    pieces = list(_pieces(_columns(name), ["user_id", "trajectory_id"]))
    return [pieces[i] for i in np.random.default_rng(seed).permutation(len(pieces))[:count]]


def cabs(days_each: int = 10, seed: int = 0) -> list[tuple[str, Any]]:
    """Random UTC days of every taxi: what a person of the class ``day`` shares."""
    from sfumato.base.things.traces import Trace

    rng = np.random.default_rng(seed)
    chosen = []
    for name, trace in _pieces(_columns("cabspotting/cabspotting.parquet"), ["cab_id"]):
        day = np.floor(trace.times_s / 86400)
        days = np.unique(day)
        for one in np.sort(rng.permutation(days)[:days_each]):
            where = np.flatnonzero(day == one)
            piece = Trace(trace.lat_deg[where], trace.lon_deg[where], trace.times_s[where])
            chosen.append((f"{name}/{np.datetime64(int(one), 'D')}", piece))
    return chosen


def mechanisms(noise_m: float) -> dict[str, tuple[Any, Any]]:
    """The two noises and their certificates, as ``protect`` writes them."""
    from sfumato.base.things.traces import Trace
    from sfumato.tracks.certificates.document import Certificate
    from sfumato.tracks.people.door import protect

    still = Trace(np.zeros(2), np.zeros(2), np.array([0.0, 60.0]))
    stated = {
        name: Certificate.of(protect(still, noise_m=noise_m, mechanism=name).certificate)
        for name in ("multiscale", "independent")
    }
    return {name: (certificate.mechanism, certificate) for name, certificate in stated.items()}


def attack(traces: list[tuple[str, Any]], noise_m: float, *, seed: int = 1) -> dict[str, Any]:
    """Audit every trace under both noises; what was too short to fit is counted."""
    from sfumato.base.things.frames import displace
    from sfumato.tracks.adversary.audit import audit

    rows: list[dict[str, Any]] = []
    short = 0
    laws = mechanisms(noise_m)
    rng = np.random.default_rng(seed)
    for name, trace in traces:
        if len(np.unique(trace.times_s)) < 10:
            short += 1
            continue
        row: dict[str, Any] = {"id": name, "points": len(trace)}
        for label, (mechanism, certificate) in laws.items():
            lat, lon = displace(trace.lat_deg, trace.lon_deg, mechanism.draw(trace.times_s, rng))
            row[label] = audit(trace, trace.moved_to(lat, lon), certificate, held_out=label == "multiscale")
        rows.append(row)
    return {"rows": rows, "short": short}


def summary(found: dict[str, Any]) -> dict[str, Any]:
    """The table: errors, intervals and coverage, with standard errors between traces."""
    rows = found["rows"]
    inside = [row for row in rows if row["multiscale"].in_class]
    outside = [row for row in rows if not row["multiscale"].in_class]
    out: dict[str, Any] = {
        "traces": len(rows),
        "too_short_to_fit": found["short"],
        "in_class": len(inside),
        "outside_class": [{"id": row["id"], "because": list(row["multiscale"].outside_because)} for row in outside],
        "floor_kept": sum(bool(row["multiscale"].holds) for row in inside),
        "smallest_sd_over_floor": min(
            (row["multiscale"].smallest_interval_68_m / row["multiscale"].floor_m for row in inside), default=None
        ),
    }
    for label in ("multiscale", "independent"):
        audits = [row[label] for row in inside]
        coverage = np.array([a.coverage_68 for a in audits])
        out[label] = {
            "rms_error_raw_m": float(np.sqrt(np.mean([a.rms_error_raw_m**2 for a in audits]))),
            "rms_error_smoothed_m": float(np.sqrt(np.mean([a.rms_error_smoothed_m**2 for a in audits]))),
            "predicted_m": float(np.sqrt(np.mean([a.interval_68_m**2 for a in audits]))),
            "median_error_smoothed_m": float(np.median([a.rms_error_smoothed_m for a in audits])),
            "held_out": _held_out(audits),
            "coverage_68": float(coverage.mean()),
            "coverage_standard_error": float(coverage.std(ddof=1) / math.sqrt(len(coverage)))
            if len(audits) > 1
            else None,
        }
    return out


def _held_out(audits: list[Any]) -> dict[str, float] | None:
    """Coverage and error where each half of a trace was attacked with what fits the other half, place unknown."""
    told = [a.held_out for a in audits if a.held_out is not None]
    if len(told) < 2:
        return None
    coverage = np.array([one["coverage_68"] for one in told])
    return {
        "traces": len(told),
        "coverage_68": float(coverage.mean()),
        "coverage_standard_error": float(coverage.std(ddof=1) / math.sqrt(len(told))),
        "rms_error_smoothed_m": float(np.sqrt(np.mean([one["rms_error_smoothed_m"] ** 2 for one in told]))),
    }


def print_summary(title: str, noise_m: float, table: dict[str, Any]) -> None:
    print(f"\n{title}: {table['traces']} traces, {noise_m:g} m of noise per axis")
    print(
        f"  fitted prior in the class (10 s - 6 h): {table['in_class']}, too short to fit: {table['too_short_to_fit']}"
    )
    print(f"  posterior sd >= (worst_loss + 1/sd^2)^-1/2: {table['floor_kept']} of {table['in_class']}", end="")
    print(f" (smallest ratio {table['smallest_sd_over_floor']:.3f})")
    for item in table["outside_class"]:
        print(f"  outside the class: {item['id']}: {'; '.join(item['because'])}")
    print(f"  {'':14}{'raw':>8}{'smoothed':>10}{'predicted':>11}{'median':>8}{'coverage of 68.3%':>21}")
    for label in ("multiscale", "independent"):
        row = table[label]
        print(
            f"  {label:14}{row['rms_error_raw_m']:7.1f}m{row['rms_error_smoothed_m']:9.1f}m{row['predicted_m']:10.1f}m"
            f"{row['median_error_smoothed_m']:7.1f}m{100 * row['coverage_68']:13.1f}% +- "
            f"{100 * row['coverage_standard_error']:.1f}% "
            f"({(row['coverage_68'] - EXPECTED) / row['coverage_standard_error']:+.1f} standard errors)"
        )
        if row["held_out"] is not None:
            left = row["held_out"]
            print(
                f"    nothing fitted to what is scored, place unknown, {left['traces']} traces: smoothed "
                f"{left['rms_error_smoothed_m']:.1f}m, coverage {100 * left['coverage_68']:.1f}% +- "
                f"{100 * left['coverage_standard_error']:.1f}%"
            )


def short_fits(count: int = 1200, compared: int = 138, seed: int = 0) -> dict[str, Any]:
    """The figures of the presets: one fit per axis to the first 320 s of random trajectories, at most 50 points."""
    from sfumato.base.things.frames import unroll
    from sfumato.tracks.priors.fit_prior import fit_many

    times, values = [], []
    for _, trace in geolife(count, seed, name="geolife/geolife_first320s.parquet"):
        first = trace.times_s <= trace.times_s[0] + 320
        stride = max(1, math.ceil(np.count_nonzero(first) / 50))
        moments = trace.times_s[first][::stride]
        if len(np.unique(moments)) < 10:
            continue
        path = unroll(trace.lat_deg[first], trace.lon_deg[first])[::stride]
        times += [moments - moments[0]] * 2
        values += [path[:, 0], path[:, 1]]
    fits = fit_many(times, values)
    kernels = ("matern12", "matern32", "matern52", "rbf")
    some = [fit_many(times[: 2 * compared], values[: 2 * compared], kernel=kernel) for kernel in kernels]
    per_axis = np.array([[fitted.log_likelihood for fitted in one] for one in some])
    likelihoods = per_axis[:, ::2] + per_axis[:, 1::2]
    best = np.argmax(likelihoods, axis=0)
    return {
        "traces": len(times) // 2,
        "median_length_scale_s": float(np.median([f.kernel.to_dict()["length_scale_s"] for f in fits])),
        "median_sd_m": float(np.median([f.kernel.to_dict()["sd_m"] for f in fits])),
        "median_nugget_m": float(np.median([f.nugget_m for f in fits])),
        "compared": likelihoods.shape[1],
        "best_likelihood": {kernel: int(np.count_nonzero(best == i)) for i, kernel in enumerate(kernels)},
        "mean_negative_log_likelihood": dict(zip(kernels, (-per_axis.mean(axis=1)).tolist(), strict=True)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=int, default=400)
    parser.add_argument("--noise", type=float, default=150.0)
    parser.add_argument("--cabs", action="store_true", help="also ten days of every taxi")
    parser.add_argument("--presets", action="store_true", help="also the figures of the presets")
    parser.add_argument("--quick", action="store_true", help="40 traces, no taxis")
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not SHARED.exists():
        print("skipped: ../shared/data is not here")
        return 0
    started = time.perf_counter()
    count = 40 if options.quick else options.traces
    results = {"GeoLife": summary(attack(geolife(count), options.noise))}
    if options.cabs and not options.quick:
        results["Cabs, one day each"] = summary(attack(cabs(), options.noise))
    presets = short_fits() if options.presets else None
    failed = False
    for title, table in results.items():
        if not options.json:
            print_summary(title, options.noise, table)
        multiscale, independent = table["multiscale"], table["independent"]
        failed |= table["floor_kept"] != table["in_class"]
        failed |= multiscale["rms_error_smoothed_m"] <= independent["rms_error_smoothed_m"]
    if options.json:
        print(json.dumps({**results, "presets": presets}, indent=2))
    else:
        if presets is not None:
            print(f"\nFits to the first 320 s: {json.dumps(presets, indent=2)}")
        print(f"\n{'FAILED' if failed else 'ok'}: every floor kept and multiscale noise harder to smooth away "
              f"({time.perf_counter() - started:.0f} s)")  # fmt: skip
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
