"""Live positions: nothing of the future is used, and the circles hold the truth 68 times in 100."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow.csv
import pytest
from typer.testing import CliRunner

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.things.frames import differences_m, displace
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.answers.received import NoiseLaw
from sfumato.tracks.answers.ways.live import IN_SDS, LiveView, live_circles, live_track
from sfumato.tracks.io import write_trace
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.kernels import Constant, Matern32, White
from sfumato.tracks.priors.statespace import sample, smooth

TIMES = np.arange(120) * 20.0
NOISE = Matern32(60.0, 100.0) + White(40.0) + Constant(60.0)
LAW = NoiseLaw(NOISE, 0.0)


def at(path_m: np.ndarray, points: int = len(TIMES)) -> Trace:
    lat, lon = displace(np.full(points, 40.0), np.full(points, 3.0), path_m[:points])
    return Trace(lat, lon, 1.7e9 + TIMES[:points])


def noisy(seed: int) -> tuple[np.ndarray, np.ndarray]:
    truth = sample(TIMES, Matern32(900.0, 1500.0), coordinates=2, rng=seed)
    return truth, truth + sample(TIMES, NOISE, coordinates=2, rng=1000 + seed)


def test_a_causal_posterior_is_the_dense_one_of_what_was_released_by_then() -> None:
    times = np.cumsum(np.random.default_rng(0).exponential(15.0, 40))
    values, prior = np.random.default_rng(1).normal(size=(40, 2)) * 100, Matern32(300.0, 500.0) + Constant(1e4)
    found = smooth(times, values, prior=prior, noise=NOISE, causal=True)
    for last in (0, 7, 39):
        until = times[: last + 1]
        apart = np.abs(until[:, None] - until[None, :])
        own, both = prior(apart), prior(apart) + NOISE(apart)
        weights = np.linalg.solve(both, own[:, -1])
        assert found.mean_m[last] == pytest.approx(weights @ values[: last + 1], abs=1e-4)
        assert found.variance_m2[last] == pytest.approx(own[-1, -1] - own[-1] @ weights, rel=1e-6)


def test_what_comes_later_changes_nothing_of_what_was_known() -> None:
    _, release = noisy(1)
    whole, radius = live_track(at(release), LAW)
    part, less = live_track(at(release, 70), LAW)
    assert np.array_equal(whole.lat_deg[:70], part.lat_deg)
    assert np.array_equal(radius[:70], less)


def test_the_circles_hold_the_truth_about_68_times_in_100() -> None:
    held, near, dots = [], [], []
    for seed in range(40):
        truth, release = noisy(seed)
        track, radius = live_track(at(release), LAW)
        goal = at(truth)
        off = np.linalg.norm(differences_m(goal.lat_deg, goal.lon_deg, track.lat_deg, track.lon_deg), axis=1)
        held.append(np.mean(off <= radius))
        near.append(np.median(off))
        dots.append(np.median(np.linalg.norm(release - truth, axis=1)))
        assert radius.max() < 1.3 * IN_SDS * LAW.noise_m
    assert np.mean(held) == pytest.approx(0.68, abs=0.08)
    assert np.median(near) < np.median(dots)


def test_a_stream_gives_a_circle_for_each_position_and_refuses_what_is_none() -> None:
    _, release = noisy(3)
    trace, view = at(release, 30), LiveView(LAW)
    places = zip(trace.lat_deg.tolist(), trace.lon_deg.tolist(), trace.times_s.tolist(), strict=True)
    circles = [view.add(*one) for one in places]
    whole, _ = live_track(trace, LAW)
    assert circles[0].lat_deg == pytest.approx(float(whole.lat_deg[0]), abs=1e-6)
    assert all(0 < one.radius_m < 1.3 * IN_SDS * LAW.noise_m for one in circles)
    for wrong in ((float("nan"), 3.0, 1.8e9), (40.0, 3.0, float("nan")), (40.0, 3.0, 1.0)):
        with pytest.raises(InputError):
            view.seen(*wrong)  # the name of 0.2.0


def test_the_command_writes_a_table_and_refuses_in_words(tmp_path: Path) -> None:
    truth, _ = noisy(2)
    done = protect(at(truth), noise_m=150, rng=1)
    other = protect(at(truth), noise_m=150, rng=2)
    write_trace(done.release, tmp_path / "r.gpx")
    for name, one in (("c", done), ("d", other)):
        (tmp_path / f"{name}.json").write_text(json.dumps(one.certificate))
    base = ["smooth", str(tmp_path / "r.gpx"), "--live", "-o"]
    said = CliRunner().invoke(app, [*base, str(tmp_path / "live.csv"), "-c", str(tmp_path / "c.json"), "--json"])
    assert said.exit_code == 0, said.output
    table = pyarrow.csv.read_csv(tmp_path / "live.csv")
    assert table.column_names == ["lat", "lon", "time", "segment", "radius_68_m", "notes"]
    assert len(table) == len(TIMES) == json.loads(said.stdout)["points"]
    for out, more, why in (
        ("x.csv", [], "no known law"),
        ("x.gpx", ["-c", "c.json"], "Name an output ending in .csv"),
        ("x.csv", ["-c", "d.json"], "not this release's"),
    ):
        asked = [str(tmp_path / one) if one.endswith(".json") else one for one in more]
        refused = CliRunner().invoke(app, [*base, str(tmp_path / out), *asked])
        assert why in str(refused.exception), out
        assert not (tmp_path / out).exists()
    with pytest.raises(VerificationFailed):
        live_circles(done.release, other.certificate)
