"""The suite end to end: what is said, what fails a pipeline, what the certificate allows, and bounded digests."""

from __future__ import annotations

import json
from dataclasses import replace

import made_town as town
import numpy as np
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.pages.report.attacks_page import attacks_page
from sfumato.tracks.adversary.releases.moments import known_moments, roads
from sfumato.tracks.adversary.releases.moments.roads import Roads
from sfumato.tracks.adversary.releases.regular import zone_inversion
from sfumato.tracks.adversary.releases.seen import MOST_ENDS, MOST_MOMENTS, MOST_RIDES, Knowledge
from sfumato.tracks.attacks.knows import Knows, roads_of
from sfumato.tracks.attacks.outcomes import Attempt, Finding, Limit, allowed_share, interval
from sfumato.tracks.attacks.practices.registry import MECHANISMS_COMPARED
from sfumato.tracks.attacks.suite import SuiteAsked, attack_releases, better_of_two
from sfumato.tracks.attacks.truths import ReleasedDigest, person_of, true_positions
from sfumato.tracks.io import write_trace
from sfumato.tracks.priors.kernels import White

RUN = CliRunner()


def noisy(trace: Trace, seed: int, noise_m: float = 300.0) -> Trace:
    return town.moved(trace, np.random.default_rng(seed).normal(0, noise_m, (len(trace), 2)))


@pytest.mark.slow
def test_independent_noise_is_averaged_away_and_multiscale_noise_keeps_what_its_certificate_allows():
    people = [town.person(seed, days=3) for seed in range(8)]
    names = ["nights averaged", "fitted smoothing"]
    plain = attack_releases([(str(k), one, noisy(one, k)) for k, one in enumerate(people)], SuiteAsked(names))
    home = plain.outcomes[0]
    assert home.goal == "home"
    assert home.after is not None
    assert home.after.share == 1.0
    assert home.finds
    assert "STILL FOUND" in plain.headline()
    done = [sf.protect(one, rng=k) for k, one in enumerate(people)]
    asked = SuiteAsked(names, certificate=done[0].certificate)
    ours = attack_releases(
        [(str(k), *pair) for k, pair in enumerate(zip(people, [d.release for d in done], strict=True))], asked
    )
    assert not ours.beaten
    for one in ours.outcomes:
        assert one.after is not None
        assert one.allowed is not None
        assert one.after.low <= one.allowed
        assert "the certificate allows up to" in one.sentence()


def test_more_than_the_certificate_allows_is_told_as_a_fault():
    """A certificate of 709 m beside originals: every attacker inside its class is past what it allows."""
    people = [town.person(seed, days=1) for seed in range(8)]
    certificate = sf.protect(people[0], rng=0).certificate
    pairs = [(str(k), one, one) for k, one in enumerate(people)]
    found = attack_releases(pairs, SuiteAsked(["as released"], certificate=certificate))
    assert [one.attacker for one in found.beaten] == ["as released"]
    assert "please report it" in found.outcomes[0].sentence()


def test_what_is_allowed_is_the_best_guess_of_a_gaussian_posterior():
    rng = np.random.default_rng(0)
    loss, sd, within = 4.7 / 709.0**2, 1500.0, 200.0
    left = 1.0 / np.sqrt(loss + 1 / sd**2)
    hits = np.mean(np.hypot(*rng.normal(0, left, (2, 400_000))) <= within)
    luck = 1 - np.exp(-(within**2) / (2 * sd**2))
    assert allowed_share(luck, loss, within) == pytest.approx(hits, abs=0.002)
    assert allowed_share(0.1, None, within) is None


def test_intervals_hold_what_they_say():
    rng = np.random.default_rng(1)
    draws = rng.random((2000, 40)) < 0.3
    inside = [low <= 0.3 <= high for low, high in (interval(row.astype(float), 1.96) for row in draws)]
    assert 0.92 < np.mean(inside) < 0.98
    assert interval(np.array([1.0]), 1.96) == (0.0, 1.0)
    yes, shares = Finding.of([1.0] * 6 + [0.0] * 14), Finding.of(0.3 + 0.01 * np.arange(20))
    assert yes.more_than(0.05, 0.001)
    assert not yes.more_than(0.2, 0.05)
    assert shares.more_than(0.3, 0.001)
    assert not shares.more_than(0.39, 0.05)
    assert not Finding.of([1.0, *[0.0] * 6]).more_than(0.005, 0.05 / 20)


def test_a_known_workplace_takes_the_constant_part_of_the_noise_off_home():
    """Noise that continues is one unknown shift over days: at work it shows, so home is found."""
    one = town.person(3, days=4)
    shift = np.tile([420.0, -310.0], (len(one), 1))
    release = town.moved(one, shift + np.random.default_rng(0).normal(0, 30, shift.shape))
    person = person_of(None, one, release)
    assert person.after is not None
    assert person.home is not None
    from_work = Knows("work").moments(person, person.after)
    assert from_work[0] is not None
    plain = attack_releases([(None, one, release)], SuiteAsked(["nights averaged"])).outcomes[0]
    certificate = sf.protect(one, mechanism="multiscale", noise_m=500, rng=0).certificate
    asked = SuiteAsked(["known place"], Knows("work"), certificate=certificate)
    told = attack_releases([(None, one, release)], asked).outcomes[0]
    assert plain.after is not None
    assert told.after is not None
    assert plain.after.median_error_m is not None
    assert told.after.median_error_m is not None
    assert plain.after.median_error_m > 450
    assert told.after.median_error_m < 100


def test_a_digest_is_bounded_and_its_truths_are_read_between_points():
    rng = np.random.default_rng(0)
    times = 1.7e9 + np.arange(60_000.0)
    where = np.cumsum(rng.normal(0, 2, (60_000, 2)), axis=0)
    lat, lon = town.CENTRE.to_degrees(where)
    person = person_of("a", Trace(lat, lon, times, np.arange(60_000) // 60), None)
    assert person.after is None
    assert len(person.before.times_s) == MOST_MOMENTS
    assert len(person.before.ends) <= MOST_ENDS
    assert len(person.before.shapes) == MOST_RIDES
    assert len(person.before.slot_s) == 101
    found = true_positions(Trace(lat, lon, times), town.CENTRE, np.array([times[5] + 0.5, times[0] - 3600]))
    assert np.allclose(found[0], (where[5] + where[6]) / 2, atol=0.01)
    assert np.isnan(found[1]).all()


def test_limits_are_read_and_say_what_is_past():
    good = Attempt("a", "home", 200.0, None, Finding(0.5, 0.3, 0.7, 20), 0.05, finds=True)
    luck = Attempt("b", "home", 200.0, None, Finding(0.1, 0.0, 0.3, 20), 0.05)
    suite = attack_releases([("x", town.person(0, 1), None)], SuiteAsked(["as released"]))
    suite = replace(suite, outcomes=(good, luck))
    assert Limit.parse("home<200m").past(suite) == [good]
    assert Limit.parse("home < 0.2km : 5%").past(suite) == [good, luck]
    assert Limit.parse("home<200m:60%").past(suite) == []
    for wrong in ("home", "office<200m", "identity<200m", "home<200m:"):
        with pytest.raises(InputError):
            Limit.parse(wrong)


def test_what_is_known_is_parsed_and_roads_are_read_from_geojson_and_graphml(tmp_path):
    line = {"type": "LineString", "coordinates": [[16.37, 48.2], [16.38, 48.2]]}
    geojson, graphml = tmp_path / "a.geojson", tmp_path / "b.graphml"
    geojson.write_text(json.dumps({"type": "FeatureCollection", "features": [{"type": "Feature", "geometry": line}]}))
    graphml.write_text(
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns"><key id="d0" for="node" attr.name="x"/>'
        '<key id="d1" for="node" attr.name="y"/><graph><node id="1"><data key="d0">16.37</data><data key="d1">48.2'
        '</data></node><node id="2"><data key="d0">16.38</data><data key="d1">48.2</data></node>'
        '<edge source="1" target="2"/></graph></graphml>'
    )
    one, other = roads_of(geojson), roads_of(graphml)
    assert np.allclose(one[0], other[0])
    knows = Knows.parse(f"place=work,day=2024-03-04,roads={geojson}")
    assert knows.place == "work"
    assert knows.days == (town.MONDAY_S,)
    roads = Roads.along([town.CENTRE.metres_of(way) for way in knows.roads], np.full(2, -1e4), np.full(2, 1e4))
    assert roads is not None
    assert np.allclose(np.asarray(roads.onward.sum(axis=1)), 1.0)
    for wrong in ("place=gym", "day=tomorrow", "roads=", f"roads={tmp_path / 'none.geojson'}"):
        with pytest.raises(InputError):
            Knows.parse(wrong)


def test_the_command_takes_a_file_that_another_tool_made_and_fails_a_pipeline(tmp_path):
    one = town.person(1, days=3)
    original, release, page = tmp_path / "ride.gpx", tmp_path / "blurred.gpx", tmp_path / "page.html"
    write_trace(one, original)
    write_trace(noisy(one, 0), release)
    files = ["audit", str(original), str(release)]
    chosen = ["--attacks", "nights averaged,smoothing", "--fail-if", "home<200m"]
    result = RUN.invoke(app, [*files, *chosen, "--json", "--report", str(page)])
    assert result.exit_code == 1, result.output
    said = json.loads(result.output)
    assert said["failed"][0][0] == "home<200m"
    assert said["outcomes"][1]["after"]["share"] == 1.0
    text = page.read_text()
    assert "Private" in text
    assert "<svg" in text
    assert "true home" in text
    assert "home? nights averaged" in text
    kept = RUN.invoke(
        app, ["audit", str(original), str(original), "--attacks", "smoothing", "--fail-if", "identity:1%"]
    )
    assert kept.exit_code == 0, kept.output
    assert kept.output.startswith("Private")
    public = RUN.invoke(app, [*files, *chosen[:2], "--public", "--report", str(page)])
    assert isinstance(public.exception, InputError)
    for wrong in (["--knows", "place=work"], ["--attacks", "magic"], ["--attacks", "no.such:thing"], []):
        assert isinstance(RUN.invoke(app, [*files, *wrong]).exception, InputError)


def test_the_map_is_on_the_private_page_alone():
    people = [town.person(seed, days=1) for seed in range(20)]
    found = attack_releases(
        [(str(k), one, noisy(one, k)) for k, one in enumerate(people)], SuiteAsked(["nights averaged"])
    )
    assert "<svg" in attacks_page(found, public=False)
    public = attacks_page(found, public=True)
    assert "<svg" not in public
    assert "true home" not in public


def test_moments_that_are_told_are_no_finds():
    """Who is told the first of two days is asked about the second alone."""
    one = town.person(2, days=2)
    release = town.moved(one, np.random.default_rng(0).normal(0, 3000, (len(one), 2)))
    names = SuiteAsked(["known moments"], Knows(days=(town.MONDAY_S, town.MONDAY_S + town.DAY_S)))
    [both] = attack_releases([(None, one, release)], names).outcomes
    [first] = attack_releases([(None, one, release)], replace(names, knows=Knows(days=(town.MONDAY_S,)))).outcomes
    assert both.after is None or both.after.share < 0.5
    assert first.after is not None
    assert first.after.share < 0.5


def test_ends_that_rounding_put_on_two_points_are_no_circle():
    """Ten ends head inward from two rounded places, a third makes a circle with them: the attack ended in an error."""
    rows = np.zeros((11, 7))
    rows[:10, 0], rows[:10, 2] = np.repeat([-400.0, 400.0], 5), np.repeat([1.0, -1.0], 5)
    rows[10, 1], rows[10, 3] = 400.0, 1.0
    seen = replace(ReleasedDigest.of(town.person(0, days=1)).seen, ends=rows, end_s=np.zeros(11))
    seen = replace(seen, path_m=seen.path_m + 1e5, slots_m=seen.slots_m + 1e5)
    assert zone_inversion.guess(seen, Knowledge()) == pytest.approx(np.array([[-400.0, 0.0]]), abs=1.0)


def test_a_shift_of_all_times_does_not_hide_who_it_is():
    """Four true moments keep their intervals: of people who never stand still one in four was found before."""
    people, rng = [], np.random.default_rng(0)
    for _ in range(12):
        where = np.cumsum(rng.normal(0, 300, (600, 2)), axis=0)
        people.append(Trace(*town.CENTRE.to_degrees(where), town.MONDAY_S + 60.0 * np.arange(600)))
    shifted = MECHANISMS_COMPARED["time shift"].practice(people, 0.0, rng)
    pairs = [(str(k), *pair) for k, pair in enumerate(zip(people, shifted, strict=True))]
    [found] = attack_releases(pairs, SuiteAsked(["few moments"], before=False)).outcomes
    assert found.after is not None
    assert found.after.share > 0.8


def test_a_folder_of_nine_redrawn_releases_is_nearer_than_one_of_them(tmp_path):
    one, shared = town.person(1, days=1), tmp_path / "shared"
    shared.mkdir()
    write_trace(one, tmp_path / "ride.gpx")
    for seed in range(9):
        write_trace(noisy(one, seed), shared / f"{seed}.gpx")
    result = RUN.invoke(
        app, ["audit", str(tmp_path / "ride.gpx"), str(shared), "--attacks", "as released,repeated releases", "--json"]
    )
    assert result.exit_code == 0, result.output
    off = [row["after"]["median_error_m"] for row in json.loads(result.output)["outcomes"]]
    assert off[0] > 250.0
    assert off[1] < 110.0


@pytest.mark.parametrize("certified", [pytest.param(False, marks=pytest.mark.slow), True])
def test_fields_that_a_table_kept_are_attacked_with_and_without_its_certificate(tmp_path, certified):
    rows = ["id,lat,lon,time,speed,course,elevation"]
    for k in range(3):
        one = town.person(k, days=1)
        where = town.CENTRE.to_metres(one.lat_deg, one.lon_deg)
        step, height = np.gradient(where, one.times_s, axis=0), town.height_m(where)
        speed, course = np.hypot(*step.T), np.degrees(np.arctan2(step[:, 0], step[:, 1])) % 360
        columns = (one.lat_deg, one.lon_deg, one.times_s, speed, course, height)
        rows += [f"p{k},{','.join(f'{x:.7f}' for x in row)}" for row in zip(*columns, strict=True)]
    people, shared = tmp_path / "people.csv", tmp_path / "shared.csv"
    people.write_text("\n".join(rows))
    kept = [word for name in ("speed", "course", "elevation") for word in ("--keep", name)]
    made = RUN.invoke(app, ["protect", str(people), "-o", str(shared), "--ids", "keep", *kept])
    assert made.exit_code == 0, made.output
    files = ["audit", str(people), str(shared), "--attacks", "kept fields,kept altitude", "--json"]
    told = ["--certificate", f"{shared}.certificate.json"] if certified else []
    said = json.loads(RUN.invoke(app, [*files, *told]).output)
    assert all(one["after"] is not None for one in said["outcomes"]), said


def own_attacker(seen, told):
    """Everybody is in the middle of the release."""
    return np.tile(seen.path_m.mean(axis=0), (len(seen.path_m), 1))


def test_an_attacker_of_ones_own_is_named_by_module_and_object():
    one = town.person(2, days=1)
    found = attack_releases([(None, one, one)], SuiteAsked([f"{__name__}:own_attacker"]))
    assert found.outcomes[0].after is not None
    assert found.outcomes[0].after.share > 0


def test_an_attacker_takes_releases_at_their_word_where_that_finds_more_of_others():
    """Not of the one attacked: person 0 would be found by guessing, but all others at their word."""
    truth, far, all_of_it = np.zeros((4, 2)), np.full((4, 2), 900.0), np.ones(4, dtype=bool)
    rows = [(0, far, truth, truth, all_of_it), *((k, truth, far, truth, all_of_it) for k in range(1, 8))]
    assert all(row[2] is row[1] for row in better_of_two(rows, 200.0))
    assert better_of_two(rows[:5], 200.0)[0][2] is truth  # two others are no reason
    better = [(k, far, truth, truth, all_of_it) for k in range(8)]
    assert all(row[2] is truth for row in better_of_two(better, 200.0))


def test_a_point_a_minute_is_not_drawn_straight_between_the_few_that_are_matched_to_roads():
    """It was: 120 of 1,500 looks were matched, the others interpolated; .31 of a cab's moments for .61 as released."""
    rng, times = np.random.default_rng(3), 1.7e9 + 60.0 * np.arange(1500)
    turns = rng.choice([-1.0, 1.0], (1500, 2)) * (rng.random((1500, 1)) < [[0.5, 0.5]])
    turns[np.arange(1500), rng.integers(0, 2, 1500)] = 0.0  # along one of the two axes, 500 m a minute
    path = 500.0 * np.cumsum(turns, axis=0)
    seen = ReleasedDigest.of(Trace(*town.CENTRE.to_degrees(path + rng.normal(0, 150, path.shape)), times))
    truth = seen.around.to_metres(*town.CENTRE.to_degrees(path))
    streets = [seen.around.to_metres(*town.CENTRE.to_degrees(path[k : k + 60])) for k in range(0, 1500, 60)]
    told = Knowledge(law=White(150.0), ways_m=streets, known_s=times[:1], known_m=truth[:1])
    raw = np.sqrt(np.mean((seen.seen.path_m - truth) ** 2))
    for attack in (roads.guess, known_moments.guess):
        assert np.sqrt(np.mean((attack(seen.seen, told) - truth) ** 2)) < raw


def test_a_folder_is_held_to_its_certificate_and_files_that_cannot_be_read_are_told(tmp_path):
    """It was not: any certificate's odds stood beside the attacks, and a damaged original was left out in silence."""
    one, rides, shared = town.person(1, days=1), tmp_path / "rides", tmp_path / "shared"
    rides.mkdir()
    write_trace(one, rides / "a.gpx")
    made = RUN.invoke(app, ["protect", str(rides), "-o", str(shared)])
    assert made.exit_code == 0, made.output
    (rides / "b.gpx").write_text("not a track")
    words = [
        "audit",
        str(rides),
        str(shared),
        "--attacks",
        "as released",
        "--certificate",
        f"{shared}.certificate.json",
    ]
    said = RUN.invoke(app, words)
    assert said.exit_code == 0, said.output
    assert "1 file could not be read as tracks and left out: rides/b.gpx" in said.output
    [file] = shared.glob("*.gpx")
    file.write_text(file.read_text() + " ")
    assert RUN.invoke(app, words).exit_code == 1


def test_of_one_person_what_is_found_is_found_whoever_many_try():
    """It passed a pipeline: of one person chance can always say yes."""
    yes, no = Finding.of([1.0]), Finding.of([0.3])
    assert yes.more_than(0.05, 0.05 / 20)
    assert not no.more_than(0.05, 0.05 / 20)
    assert not yes.more_than(1.0, 0.05)
