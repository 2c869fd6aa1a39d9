"""How far, how fast, with which stays: squares without bias, the rest from paths drawn given the release."""

from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from sfumato.base.errors import InputError
from sfumato.base.things.frames import displace, snap
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.answers.intervals import quantiles_over_people, ratio_over_people
from sfumato.tracks.answers.received import NoiseLaw, Received, is_recorded
from sfumato.tracks.answers.ways.displacement import estimate_displacements
from sfumato.tracks.answers.ways.drawn_ways import estimate_ways
from sfumato.tracks.answers.ways.how_people_move import estimate_speeds
from sfumato.tracks.answers.ways.movement import plainest_path
from sfumato.tracks.io import write_trace
from sfumato.tracks.priors.kernels import Constant, Matern32, White
from sfumato.tracks.priors.statespace import sample

TIMES = np.arange(200) * 30.0
NOISE = Matern32(60.0, 100.0) + White(40.0) + Constant(80.0)


def track(path_m: np.ndarray) -> Trace:
    lat, lon = displace(np.full(len(TIMES), 0.2), np.full(len(TIMES), 10.4), path_m)
    return Trace(lat, lon, TIMES)


def fleet(seed: int, people: int = 6) -> tuple[list[np.ndarray], Received]:
    truth = [sample(TIMES, Matern32(900.0, 1500.0), coordinates=2, rng=100 * seed + k) for k in range(people)]
    noisy = [one + sample(TIMES, NOISE, coordinates=2, rng=10**6 + 100 * seed + k) for k, one in enumerate(truth)]
    found = tuple((str(k), track(one)) for k, one in enumerate(noisy))
    return truth, Received(found, NoiseLaw(NOISE, 0.0), "multiscale", False)


def test_squares_are_unbiased() -> None:
    """|z| < 3 over 60 runs for the mean squared displacement and the radius of gyration; uncorrected they fail."""
    off = []
    for seed in range(60):
        truth, received = fleet(seed)
        found = estimate_displacements([received], lags_s=(60.0, 600.0))
        real = [np.mean([np.sum((one[k:] - one[:-k]) ** 2, axis=1).mean() for one in truth]) for k in (2, 20)]
        turn = np.mean([np.sum((one - one.mean(axis=0)) ** 2, axis=1).mean() for one in truth])
        off.append(
            [found.squared_m2[0].value - real[0], found.squared_m2[1].value - real[1], found.gyration_m2.value - turn]
        )
    z = np.mean(off, axis=0) / (np.std(off, axis=0, ddof=1) / math.sqrt(len(off)))
    assert np.abs(z).max() < 3.5
    subtracted = 4 * NOISE.variance_m2 * (1 - NOISE(60.0) / NOISE.variance_m2)
    assert subtracted > 5 * np.std(np.array(off)[:, 0]) / math.sqrt(60)  # the check could fail


def test_squares_are_unbiased_after_snapping_and_at_once() -> None:
    """|z| < 3 over 200 runs of people who stand still, a second apart and on a grid of 60 m; s²/3 is needed for it."""
    grid_m, times = 60.0, np.repeat(np.arange(20) * 600.0, 2) + np.tile([0.0, 1.0], 20)
    law = NoiseLaw(Matern32(900.0, 150.0) + White(30.0), grid_m)
    factor = np.linalg.cholesky(law.kernel(times[:, None] - times[None, :]))
    lat, lon = np.full(len(times), 0.2), np.full(len(times), 10.4)
    off, rng = [], np.random.default_rng(5)
    for _ in range(200):
        people = []
        for name in "ab":
            path = factor @ rng.standard_normal((len(times), 2)) + rng.uniform(-500, 500, 2)
            people.append((name, Trace(*snap(*displace(lat, lon, path), grid_m), times)))
        found = estimate_displacements([Received(tuple(people), law, "multiscale", False)], lags_s=(1.0,))
        off.append([found.squared_m2[0].value, found.gyration_m2.value])
    error = np.std(off, axis=0, ddof=1) / math.sqrt(len(off))
    assert np.abs(np.mean(off, axis=0) / error).max() < 3
    assert grid_m**2 / 3 > 5 * error[0]  # without it the check would fail
    assert 5 * error[0] < 4 * 30.0**2  # nor does the white share vanish as the lag goes to 0


def test_somebody_who_travels_the_world_comes_back_to_where_they_were() -> None:
    """Three far places in turn: the squared radius is that of a triangle of straight lines through the earth."""
    places = np.tile([[10.0, 0.0], [10.0, 90.0], [80.0, 45.0]], (40, 1))
    trace = Trace(places[:, 0], places[:, 1], 3600.0 * np.arange(120))
    law = NoiseLaw(White(1.0), 0.0)
    found = estimate_displacements([Received(((None, trace),), law, "independent", False)], lags_s=(3600.0, 10800.0))
    lat, lon = np.radians(places[:3]).T
    points = 6.371e6 * np.column_stack([np.cos(lat) * np.cos(lon), np.cos(lat) * np.sin(lon), np.sin(lat)])
    real = float(np.sum((points - points.mean(axis=0)) ** 2, axis=1).mean())
    assert found.gyration_m2.value == pytest.approx(real, rel=0.01)
    assert found.squared_m2[1].value == pytest.approx(0.0, abs=10.0)  # every third point is the same place


def test_quantiles_come_with_intervals_over_people() -> None:
    rng = np.random.default_rng(0)
    people = [(rng.exponential(10.0, 200), np.ones(200)) for _ in range(40)]
    (median,) = quantiles_over_people(people, (0.5,), 0.9)
    assert median.low < 10 * math.log(2) < median.high
    assert median.value == pytest.approx(10 * math.log(2), rel=0.1)
    assert math.isnan(quantiles_over_people(people[:3], (0.5,), 0.9)[0].low)
    assert math.isnan(quantiles_over_people([(np.zeros(0), np.zeros(0))], (0.5,), 0.9)[0].value)


def test_lengths_come_back_and_the_model_is_named() -> None:
    truth, received = fleet(1)
    real = sum(np.linalg.norm(np.diff(one, axis=0), axis=1).sum() for one in truth)
    found = estimate_ways([received], draws=10, rng=1)
    assert 0.85 < found.total_length_m / real < 1.15
    assert not found.mostly_model
    assert found.trip_length_m.low < found.trip_length_m.value < found.trip_length_m.high
    still = tuple((str(k), track(sample(TIMES, NOISE, coordinates=2, rng=k))) for k in range(3))
    nothing = estimate_ways([Received(still, NoiseLaw(NOISE, 0.0), "multiscale", False)], draws=10, rng=1)
    assert nothing.stay_share.value > 0.5
    assert math.isnan(nothing.trip_length_m.low)  # three people: no interval


def test_speeds_leave_pauses_out() -> None:
    """Two rides at 10 m/s with a night between them: nobody knows what happened in it."""
    times = np.r_[np.arange(40), 40_000 + np.arange(40)] * 30.0
    path = np.column_stack([300.0 * np.r_[np.arange(40), np.arange(40)[::-1]], np.zeros(80)])
    lat, lon = displace(np.full(80, 0.2), np.full(80, 10.4), path)
    received = Received((("a", Trace(lat, lon, times)),), NoiseLaw(White(20.0), 0.0), "independent", False)
    found = estimate_ways([received], draws=5, rng=1)
    assert found.speed_m_s.value == pytest.approx(10, rel=0.1)
    assert found.speed_quantiles_m_s[1] == pytest.approx(10, rel=0.1)
    sparse = np.array([7200.0, 3600.0, 9000.0])
    assert is_recorded(sparse).all()  # somebody who checks in has no other steps


def test_commuters_who_mostly_stay_are_called_the_models() -> None:
    """Two rides a day between long stays have nearly all squares, which the release tells; the rest is drawn."""
    hours = np.arange(200) / 200 * 24
    there = np.clip((hours - 8) / 0.5, 0, 1) - np.clip((hours - 17) / 0.5, 0, 1)
    truth = np.column_stack([4000.0 * there, 1500.0 * there])
    times, noise = 3600 * hours, Matern32(900.0, 200.0) + White(100.0) + Constant(150.0)
    lat, lon = displace(np.full(200, 0.2), np.full(200, 10.4), truth + sample(times, noise, coordinates=2, rng=3))
    received = Received((("a", Trace(lat, lon, times)),), NoiseLaw(noise, 0.0), "multiscale", False)
    found = estimate_ways([received], draws=10, rng=1)
    real = np.linalg.norm(np.diff(truth, axis=0), axis=1).sum()
    assert found.total_length_m > 1.5 * real
    assert found.stays_per_day.value > 2 * 3
    assert found.told > 0.5  # the squares alone would not say so
    assert found.mostly_model
    assert found.stays_mostly_model


def test_intervals_need_five_people_and_a_confidence() -> None:
    ones = np.ones(5)
    assert ratio_over_people(np.arange(5.0), ones, 0.9).low < 2 < ratio_over_people(np.arange(5.0), ones, 0.9).high
    assert math.isnan(ratio_over_people(np.arange(4.0), ones[:4], 0.9).low)
    assert math.isnan(ratio_over_people(ones, 0 * ones, 0.9).value)
    with pytest.raises(InputError, match="confidence"):
        ratio_over_people(ones, ones, 1.0)
    with pytest.raises(InputError, match="lag"):
        estimate_displacements([fleet(1)[1]], lags_s=(0.0,))


def test_the_commands(tmp_path: Path) -> None:
    original, release, certificate = (tmp_path / name for name in ("a.gpx", "r.gpx", "c.json"))
    write_trace(track(sample(TIMES, Matern32(900.0, 1500.0), coordinates=2, rng=4)), original)
    cli = CliRunner()
    done = cli.invoke(app, ["protect", str(original), "-o", str(release), "--certificate", str(certificate)])
    assert done.exit_code == 0, done.output
    for question, word in (("distances", "gyration"), ("speeds", "slower than"), ("stays", "stays a day")):
        told = cli.invoke(app, ["estimate", question, str(release), "-c", str(certificate)])
        assert told.exit_code == 0, told.output
        assert word in told.stdout
        said = " ".join(told.stdout.split())
        assert "of the squared steps" in said
        assert "of the length" in said
        assert ("of the stays" in said) == (question == "stays")
    found = cli.invoke(app, ["estimate", "distances", str(release), "-c", str(certificate), "--json"])
    assert json.loads(found.stdout)["mean_squared_displacement_m2"][0]["low"] is None


def riders(noise: White, ride_s: float, people: int = 6) -> tuple[float, Received]:
    """Rides at 10 m/s and more between stays of half an hour, a point a minute; metres of all."""
    at, found, metres = np.arange(350) * 60.0, [], 0.0
    whole = 1800.0 + ride_s
    along = 10.0 * (ride_s * (at // whole) + np.maximum(at % whole - 1800.0, 0.0))
    for k in range(people):
        truth = np.column_stack([along, 0 * along]) * (1 + k / 10)
        lat, lon = displace(np.full(350, 0.2), np.full(350, 10.4), truth + sample(at, noise, coordinates=2, rng=k))
        found.append((str(k), Trace(lat, lon, at)))
        metres += float(np.linalg.norm(np.diff(truth, axis=0), axis=1).sum())
    return metres, Received(tuple(found), NoiseLaw(noise, 0.0), "multiscale", False)


def test_what_noise_hides_has_a_flag_and_no_interval() -> None:
    """People who mostly stay: the model draws restlessness into their way, and its likeliest path holds some of it."""
    metres, received = riders(White(60.0), 300.0)
    found = estimate_ways([received], draws=5, rng=1)
    assert found.total_length_m > 1.1 * metres
    assert found.mostly_model
    assert math.isnan(found.speed_m_s.low)
    assert all(found.models("speed_m_s"))
    assert all(math.isnan(one.high) for one in found.speed_quantiles)
    _, exact = riders(White(1.0), 1200.0)
    seen = estimate_ways([exact], draws=5, rng=1)
    assert not seen.mostly_model
    assert seen.models("speed_m_s") == (True, True, False)  # whoever stands still has no speed that noise does not hide
    assert seen.speed_quantiles[2].low <= 10 * 1.2 <= seen.speed_quantiles[2].high
    answer = estimate_speeds([received], rng=1)
    assert answer.to_table()["mostly_model"].to_pylist() == [True] * 4
    assert answer.to_table()["low"].null_count == 4
    assert "MOSTLY THE MODEL" in answer.notes[-1]


def test_a_flag_of_single_quantiles_is_said_in_words() -> None:
    """Fast rides are told, the slow half of the time is not."""
    found = estimate_ways([riders(White(1.0), 1200.0)[1]], draws=5, rng=1)
    assert "MOSTLY THE MODEL, without intervals: the quantiles 10 % of speeds, 50 % of speeds." in found.told_words(
        stays=False
    )


def test_people_count_by_what_they_recorded_or_all_the_same() -> None:
    """Somebody who rides slowly for four hours, and four who ride fast for one."""
    people = []
    for k, (speed, minutes) in enumerate([(2.0, 240), *[(10.0, 60)] * 4]):
        at = 60.0 * np.arange(minutes)
        lat, lon = displace(np.full(minutes, 0.2), np.full(minutes, 10.4), np.column_stack([speed * at, 0 * at]))
        people.append((str(k), Trace(lat, lon, at)))
    received = Received(tuple(people), NoiseLaw(White(1.0), 0.0), "independent", False)
    pooled, each = (estimate_ways([received], draws=3, rng=1, weight=one) for one in ("pooled", "per-person"))
    assert pooled.speed_m_s.value == pytest.approx(6.0, rel=0.02)
    assert each.speed_m_s.value == pytest.approx(8.4, rel=0.02)
    assert (pooled.speed_quantiles_m_s[1], each.speed_quantiles_m_s[1]) == pytest.approx((2.0, 10.0), rel=0.2)
    assert "Pooled over people" in pooled.notes[0]
    assert "Per person" in each.notes[0]
    with pytest.raises(InputError, match="no weight 'mean'"):
        estimate_ways([received], weight="mean")  # type: ignore[arg-type]


def test_a_path_is_as_plain_as_its_uncertainty_allows() -> None:
    """Wiggles smaller than the ruler are gone, what is larger stays, and every trip keeps its ends."""
    at = np.arange(100.0)
    far = np.column_stack([10.0 * np.minimum(at, 50), 10.0 * np.maximum(at - 50, 0) + 6.0 * (-1) ** at])
    drawn = far + np.random.default_rng(0).normal(0, 10.0, (30, 100, 2))
    trips = (at >= 50).astype(np.int64)
    plain = plainest_path(at, far, drawn, trips)
    length = float(np.linalg.norm(np.diff(plain, axis=0), axis=1).sum())
    assert length == pytest.approx(1000, rel=0.05)
    assert np.linalg.norm(np.diff(far, axis=0), axis=1).sum() > 1.15 * length
    assert plain[[0, 49, 50, 99]] == pytest.approx(far[[0, 49, 50, 99]])
