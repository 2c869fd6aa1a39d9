"""What a routine costs: a known regular place, a repeated way, companions; exact, by brute force, on real people."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from repository import ROOT
from typer.testing import CliRunner

from sfumato.base.errors import InputError
from sfumato.base.numbers.odds import mu_of, odds_at
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.pages.report import render
from sfumato.tracks.adversary.routine import (
    ROUTE_PRIOR,
    Days,
    Hours,
    companions_cost,
    noise_law,
    place_cost,
    repeated_loss,
    route_cost,
)
from sfumato.tracks.certificates.verify import read_certificate
from sfumato.tracks.losses.gaussian_loss import basic_losses
from sfumato.tracks.people.door import protect
from sfumato.tracks.priors.kernels import Matern32

OLD = ROOT / "tests" / "golden" / "v0_1" / "multiscale.json"  # 660.27 m, the shares of the first edition
HOME, WORK = Hours.parse("home=0:00-7:00"), Hours.parse("work=10:00-18:00")


@pytest.mark.parametrize(("days", "odds"), [(5, 26.6), (20, 1825.0), (60, 7.3e6)])
def test_home_is_learnt_next_to_a_known_workplace(days: int, odds: float) -> None:
    """The first edition promised 14.7 : 1, however long or often."""
    noise, radius_m = noise_law(read_certificate(OLD))
    found = place_cost(Days(noise, radius_m, known=[WORK], days=days, every_s=3600.0), HOME)
    assert found.odds_99 == pytest.approx(odds, rel=0.005)
    alone = place_cost(Days(noise, radius_m, days=days, every_s=3600.0), HOME)
    assert alone.odds_99 <= 14.7  # what was true: one unknown place, none known


@pytest.mark.parametrize(("days", "odds"), [(10, 6.6), (20, 8.9), (250, 14.0)])
def test_the_same_way_every_day_is_learnt(days: int, odds: float) -> None:
    noise, radius_m = noise_law(read_certificate(OLD))
    assert route_cost(Days(noise, radius_m, days=days), Hours.parse("way=8:00-8:30")).odds_99 == pytest.approx(
        odds, rel=0.02
    )


def test_a_loop_in_a_known_park_is_learnt_faster_and_todays_noise_says_so() -> None:
    document = protect(Trace([48.0], [2.0], [0.0])).certificate
    noise, radius_m = noise_law(document)
    loop = Hours.parse("loop=7:00-7:40")
    odds = [
        route_cost(Days(noise, radius_m, days=days), loop, prior=Matern32(300.0, 300.0)).odds_99 for days in (1, 10, 60)
    ]
    assert odds[0] <= 5.0 < 12.0 < odds[1] < odds[2]
    wide = route_cost(Days(noise, radius_m, days=250), loop).odds_99
    assert wide <= 5.0 * 1.01  # a way anywhere in town: the balanced shares keep it


def test_places_cost_what_brute_force_says() -> None:
    document = protect(Trace([48.0], [2.0], [0.0])).certificate
    noise, radius_m = noise_law(document)
    gym = Hours.parse("gym=19:00-20:00")
    found = place_cost(Days(noise, radius_m, known=[WORK], unknown=[gym], days=3, every_s=3600.0), HOME)
    parts = [place.times_s(3, 3600.0) for place in (HOME, gym, WORK)]
    columns = np.zeros((sum(map(len, parts)), 2))
    columns[: len(parts[0]), 0] = 1.0
    columns[len(parts[0]) : len(parts[0]) + len(parts[1]), 1] = 1.0
    information = columns.T @ np.linalg.solve(noise.covariance(np.concatenate(parts)), columns)
    assert found.loss == pytest.approx(1.0 / np.linalg.inv(information)[0, 0], rel=1e-9)
    assert found.odds_99 == odds_at(mu_of(found.loss, radius_m))
    daily = place_cost(Days(noise, radius_m, known=[WORK], days=3, every_s=3600.0, separate=True), HOME)
    once = place_cost(Days(noise, radius_m, known=[WORK], days=1, every_s=3600.0), HOME)
    assert daily.loss == pytest.approx(3 * once.loss)


def test_repeated_ways_cost_what_brute_force_says() -> None:
    noise, _ = noise_law(protect(Trace([48.0], [2.0], [0.0])).certificate)
    rng = np.random.default_rng(2)
    within = np.arange(8) * 120.0
    trips = np.sort(rng.uniform(0, 86400, 4))[:, None] + 86400.0 * np.arange(4)[:, None] + within
    covariance = noise.covariance(trips.ravel())
    stacked = np.tile(np.eye(8), (4, 1))
    together = np.linalg.inv(stacked.T @ np.linalg.solve(covariance, stacked))
    expected = basic_losses(ROUTE_PRIOR.covariance(within), together).max()
    assert repeated_loss(trips, within, noise, ROUTE_PRIOR) == pytest.approx(expected, rel=1e-8)


def test_a_way_next_to_a_known_place_costs_what_brute_force_says_and_the_command_counts_it() -> None:
    """`--known` was printed beside the odds of a route and left out of them: 8.9 : 1 after 20 days instead of 186.6."""
    noise, radius_m = noise_law(protect(Trace([48.0], [2.0], [0.0])).certificate)
    way, days = Hours.parse("way=8:00-8:10"), 3
    within, trips = np.arange(11) * 60.0, way.start_s + 86400.0 * np.arange(days)[:, None] + np.arange(11) * 60.0
    gym = Hours.parse("gym=19:00-20:00")
    moments = np.concatenate([trips.ravel(), gym.times_s(days, 600.0), WORK.times_s(days, 600.0)])
    columns = np.zeros((len(moments), 12))
    columns[: trips.size, :11] = np.tile(np.eye(11), (days, 1))
    columns[trips.size : trips.size + 6 * days, 11] = 1.0
    information = columns.T @ np.linalg.solve(noise.covariance(moments), columns)
    expected = basic_losses(ROUTE_PRIOR.covariance(within), np.linalg.inv(information)[:11, :11]).max()
    found = route_cost(Days(noise, radius_m, known=[WORK], unknown=[gym], days=days), way)
    assert found.loss == pytest.approx(expected, rel=1e-7)
    asked = ["cost", str(OLD), "--repeats", "20", "--route", "commute=8:00-8:30", "--json"]
    alone, beside = (
        json.loads(CliRunner().invoke(app, words).stdout)["costs"][-1]["odds_99"]
        for words in (asked, [*asked, "--known", "work=9:00-17:00"])
    )
    assert beside > 5 * alone


def test_companions_are_as_many_looks_as_people() -> None:
    """2 people: 10.9 : 1, 20 people: 24,000 : 1, where 5 were promised."""
    document = protect(Trace([48.0], [2.0], [0.0])).certificate
    assert companions_cost(document, 1).odds_99 == pytest.approx(document["odds_99"])
    assert companions_cost(document, 2).odds_99 == pytest.approx(10.9, rel=0.01)
    assert companions_cost(document, 20).odds_99 == pytest.approx(24_000, rel=0.03)
    # Exactly: k independent noises on one path of the class never lose more than k times, and can lose nearly that.
    noise, _ = noise_law(document)
    times = np.arange(0.0, 4000.0, 60.0)
    path = Matern32(400.0, 20.0).covariance(times)
    one, two = (basic_losses(path, noise.covariance(times) / people).max() for people in (1, 2))
    assert 1.9 * one < two <= 2 * one * (1 + 1e-9)


def test_schedules_that_make_no_sense_are_refused_with_advice() -> None:
    for text in ("home", "home=25:00-7:00", "home=7-8", "home=7:00-7:00", "=7:00-8:00", "home=7:61-8:00"):
        with pytest.raises(InputError) as caught:
            Hours.parse(text)
        assert caught.value.advice
    noise, radius_m = noise_law(read_certificate(OLD))
    with pytest.raises(InputError, match="same hours"):
        place_cost(Days(noise, radius_m, known=[Hours.parse("x=6:00-8:00")], days=2), HOME)
    with pytest.raises(InputError, match="moments"):
        place_cost(Days(noise, radius_m, days=3000, every_s=1.0), HOME)
    for name in ("planar_laplace", "secrets"):
        document = read_certificate(OLD.with_name(f"{name}.json"))
        if name == "secrets":
            with pytest.raises(InputError, match="process"):
                noise_law(document)
    with pytest.raises(InputError, match="no loss"):
        companions_cost(read_certificate(OLD.with_name("planar_laplace.json")), 2)


def test_the_command_needs_nothing_but_a_certificate() -> None:
    words = ["cost", str(OLD), "--repeats", "20", "--known", "work=10:00-18:00", "--secret", "home=0:00-7:00"]
    said = CliRunner().invoke(app, [*words, "--every", "1h", "--route", "commute=8:00-8:30", "--companions", "2"])
    assert said.exit_code == 0
    assert "after 5 days      26.6 : 1" in said.output
    assert "1 830 : 1" in said.output
    assert "does not cover" in said.output
    found = json.loads(CliRunner().invoke(app, [*words, "--json"]).stdout)
    assert [row["repeats"] for row in found["costs"]] == [1, 5, 10, 20]
    assert found["covered"] is False
    assert CliRunner().invoke(app, ["cost", str(OLD)]).exception is not None


def archive(days: int, rng: np.random.Generator) -> Trace:
    """Home at night, work by day, the same way between them, every ten minutes (the way every two)."""
    rows = []
    for day in range(days):
        start = 1.7e9 - 1.7e9 % 86400 + 86400 * day
        rows += [(start + 600.0 * i, 0.0) for i in range(42)]
        rows += [(start + 8 * 3600 + 120.0 * i, i / 15) for i in range(16)]
        rows += [(start + 9 * 3600 + 600.0 * i, 1.0) for i in range(48)]
        rows += [(start + 17.5 * 3600 + 120.0 * i, 1 - i / 15) for i in range(16)]
        rows += [(start + 20 * 3600 + 600.0 * i, 0.0) for i in range(23)]
    times, share = np.array(rows).T
    jitter = rng.normal(0, 5e-5, (2, len(times)))
    return Trace(48.2 + 0.03 * share + 0.01 * np.sin(np.pi * share) + jitter[0], 16.3 + 0.05 * share + jitter[1], times)


def test_the_private_report_prices_the_archives_own_routine_and_the_public_one_is_silent() -> None:
    trace = archive(6, np.random.default_rng(1))
    done = protect(trace)
    page = render(release=done.release, certificate=done.certificate, original=trace)
    assert "What your routine gives away" in page
    assert "Home, when work is known" in page
    assert "The way from home to work, taken 6 times" in page
    assert "The same way, when work is known" in page
    assert "What your routine gives away" not in render(release=done.release, certificate=done.certificate)
    rows = dict(_rows(trace, done.certificate))
    alone = next(value for name, value in rows.items() if name.startswith("Home,") and "no other" in name)
    assert _number(alone) <= 5.0
    assert _number(rows["Home, when work is known"]) > 20.0


def _rows(trace: Trace, certificate: dict) -> list[tuple[str, str]]:
    from sfumato.pages.report.routine import routine_rows
    from sfumato.tracks.certificates.document import Certificate

    return routine_rows(trace, Certificate.of(certificate))


def _number(words: str) -> float:
    return math.inf if "million" in words else float(words.removeprefix("odds of ").split(":")[0].replace(" ", ""))


@pytest.mark.shared
def test_real_people_with_two_regular_places_are_beyond_the_promise_and_the_report_says_so() -> None:
    """The attack by exact computation on real archives: the first edition promised 14.7 : 1 for each of them."""
    pyarrow_parquet = pytest.importorskip("pyarrow.parquet")
    file = ROOT.parent / "shared" / "data" / "geolife" / "geolife_traces.parquet"
    if not file.exists():
        pytest.skip("no GeoLife file here")
    certificate = protect(Trace([48.0], [2.0], [0.0])).certificate
    beyond = 0
    for person in ("003", "065", "126"):
        table = pyarrow_parquet.read_table(file, filters=[("user_id", "=", person)])
        times, first = np.unique(table["time"].cast("int64").to_numpy() / 1000.0, return_index=True)
        lat, lon = (table[name].to_numpy()[first] / 1e6 for name in ("lat_e6", "lon_e6"))
        rows = _rows(Trace(lat[::10], lon[::10], times[::10]), certificate)
        known = [_number(value) for name, value in rows if "is known" in name]
        beyond += bool(known) and max(known) > 5.0
    assert beyond >= 1
