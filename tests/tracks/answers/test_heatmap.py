"""Heat maps from releases and certificates alone: nearer to the truth than counting, and honest about the rest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from city import BOUNDS, fleet, received
from typer.testing import CliRunner

from sfumato.base.errors import InputError, VerificationFailed
from sfumato.base.things.estimated_map import EstimatedMap
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.answers.answer_files import read_answer, write_answer
from sfumato.tracks.answers.maps.cells import extent_of
from sfumato.tracks.answers.maps.deconvolution import Spread
from sfumato.tracks.answers.maps.heatmap import estimate_heatmap
from sfumato.tracks.answers.received import NoiseLaw, receive
from sfumato.tracks.people.door import protect, protect_fleet
from sfumato.tracks.plan import Plan
from sfumato.tracks.priors.kernels import White


def apart(found: EstimatedMap, people: list[tuple[str, Trace]]) -> tuple[float, float]:
    """Total variation from the truth: ours, and of counting released points."""
    cells = np.concatenate([found.grid.locate(trace.lat_deg, trace.lon_deg) for _, trace in people])
    truth = np.bincount(cells[cells >= 0], minlength=found.grid.cells) / (cells >= 0).sum()
    return 0.5 * float(abs(found.picture - truth).sum()), 0.5 * float(abs(found.counted - truth).sum())


@pytest.mark.parametrize("wish", [{}, {"mechanism": "independent"}, {"mechanism": "planar-laplace"}])
def test_the_map_comes_nearer_to_the_truth_than_counting(wish: dict[str, object]) -> None:
    people = fleet(60)
    found = estimate_heatmap([received(people, **wish)], cell_m=600, bounds=BOUNDS)
    ours, naive = apart(found, people)
    assert ours < 0.75 * naive
    assert found.share.sum() == pytest.approx(1)
    assert found.people == 60
    assert (found.low <= found.share).all()
    assert (found.share <= found.high).all()
    assert (found.low_alike <= found.low).all()
    assert (found.high <= found.high_alike).all()
    assert found.latent_m < 300


def test_intervals_widen_with_fewer_people_and_are_refused_for_one() -> None:
    many, few = (estimate_heatmap([received(fleet(n))], cell_m=1500, bounds=BOUNDS) for n in (80, 12))
    assert few.cells.cells < many.cells.cells
    assert float(np.median(few.high - few.low)) > 1.3 * float(np.median(many.high - many.low))
    assert float(np.median(few.high_alike - few.low_alike)) > 1.3 * float(np.median(many.high_alike - many.low_alike))
    (only,) = fleet(1)
    done = protect(only[1], noise_m=300, rng=3)
    one = estimate_heatmap([receive(done.release, done.certificate)], cell_m=1500, bounds=BOUNDS)
    assert np.isnan(one.low).all()
    again = protect(only[1], noise_m=300, rng=4)
    two = [receive(one.release, one.certificate) for one in (done, again)]
    assert estimate_heatmap(two, cell_m=1500, bounds=BOUNDS).people == 1
    assert estimate_heatmap(two, cell_m=1500, bounds=BOUNDS, each_release_a_person=True).people == 2


@pytest.mark.slow
def test_releases_with_noises_of_several_sizes_each_keep_their_own_law() -> None:
    people = fleet(60)
    mixed = [received(people[:30], noise_m=200.0), received(people[30:], noise_m=500.0)]
    found = estimate_heatmap(mixed, cell_m=600, bounds=BOUNDS)
    ours, naive = apart(found, people)
    assert ours < 0.8 * naive
    assert len(found.noise_m) == 2
    wrong = [mixed[0], Lying.of(mixed[1], 100.0)]
    assert apart(estimate_heatmap(wrong, cell_m=600, bounds=BOUNDS), people)[0] > ours


class Lying:
    """A release under another law than its own."""

    @staticmethod
    def of(received_: object, noise_m: float) -> object:
        from dataclasses import replace

        return replace(received_, law=NoiseLaw(White(noise_m), 1.0))  # type: ignore[type-var]


@pytest.mark.slow
def test_time_weights_undo_a_person_who_samples_faster() -> None:
    rng = np.random.default_rng(0)
    still = [
        Trace(np.full(n, lat), np.full(n, 2.3), 1.7e9 + np.linspace(0, 7200, n))
        for n, lat in ((40, 48.82), (400, 48.88))
    ]
    people = [(f"q{i}", trace) for i, trace in enumerate([still[i % 2] for i in range(20)])]
    release = received(people, noise_m=200.0, seed=int(rng.integers(99)))
    north = {}
    for weight in ("points", "time", "people"):
        found = estimate_heatmap([release], cell_m=2000, bounds=BOUNDS, weight=weight)  # type: ignore[arg-type]
        north[weight] = float(found.picture[found.grid.centres_deg()[0] > 48.85].sum())
    assert north["points"] == pytest.approx(10 / 11, abs=0.03)
    assert north["time"] == pytest.approx(0.5, abs=0.05)
    assert north["people"] == pytest.approx(0.5, abs=0.05)


def test_the_spread_has_the_variance_of_the_noise_and_loses_only_what_leaves_the_window() -> None:
    for law in (NoiseLaw(White(300.0), 10.0), NoiseLaw(White(300.0), 0.0, 3**0.5 / 300)):
        spread = Spread.of(law, 101, 91, 100.0, 120.0)
        point = np.zeros((101, 91))
        point[50, 45] = 1.0
        seen = spread.spread(point)
        steps = (np.arange(101) - 50.0) * 100
        assert seen.sum() == pytest.approx(1, abs=1e-4)
        assert float(steps**2 @ seen.sum(axis=1)) == pytest.approx(law.variance_m2 + 100**2 / 6, rel=2e-3)
        assert spread.share_inside()[50, 45] == pytest.approx(1, abs=1e-4)
        assert spread.share_inside()[0, 45] == pytest.approx(0.5, abs=0.1)


def test_a_release_without_its_certificate_or_without_a_law_is_refused() -> None:
    people = fleet(3)
    one = protect_fleet(Plan(noise_m=300), people, rng=1)
    other = protect_fleet(Plan(noise_m=300), people, rng=2)
    with pytest.raises(VerificationFailed, match="not this release's"):
        receive(list(one.releases), other.certificate)
    changed = {**one.certificate, "snap_m": 2.0}
    with pytest.raises(VerificationFailed, match="own hash"):
        receive(list(one.releases), changed)
    times = people[0][1].times_s
    short = Trace(people[0][1].lat_deg[:20], people[0][1].lon_deg[:20], times[:20])
    designed = protect(short, mechanism="secrets", secrets="windows:10min", noise_m=300, rng=1)
    with pytest.raises(InputError, match="no one law"):
        receive(designed.release, designed.certificate)
    with pytest.raises(InputError, match="would need"):
        estimate_heatmap([received(people)], cell_m=1, bounds=BOUNDS)


def test_a_stray_point_does_not_make_the_map_a_country() -> None:
    trace = fleet(1, stays=100)[0][1]
    lat = trace.lat_deg.copy()
    lat[0] = 20.0
    south, _, north, _ = extent_of([Trace(lat, trace.lon_deg, trace.times_s)])
    assert north - south < 0.2


def test_the_command_writes_shares_at_the_centres_and_says_what_it_did(tmp_path: Path) -> None:
    people = fleet(10)
    lines = ["user_id,time,lat,lon"]
    lines += [
        f"{person},{np.datetime64(int(t), 's')}Z,{lat:.6f},{lon:.6f}"
        for person, trace in people
        for lat, lon, t in zip(trace.lat_deg, trace.lon_deg, trace.times_s, strict=True)
    ]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    run = CliRunner().invoke
    files = [str(tmp_path / name) for name in ("in.csv", "r.csv", "c.json", "heat.csv", "heat.geojson")]
    protected = run(app, ["protect", files[0], "-o", files[1], "--certificate", files[2], "--noise", "300m"])
    assert protected.exit_code == 0, protected.output
    done = run(app, ["estimate", "heatmap", files[1], "--certificate", files[2], "--cell", "1km", "-o", files[3]])
    assert done.exit_code == 0, done.output
    assert "90 % intervals: low to high of these people" in done.output
    table = read_answer(Path(files[3]))
    assert table.column_names == ["cell", "lat", "lon", "share", "low", "high", "low_alike", "high_alike"]
    assert sum(table["share"].to_pylist()) == pytest.approx(1)
    said = run(app, ["estimate", "heatmap", files[1], "-c", files[2], "--cell", "1km", "-o", files[4], "--json"])
    assert json.loads(said.stdout)["people"] == 10
    drawn = json.loads(Path(files[4]).read_text())["features"]
    assert len(drawn) == table.num_rows
    nothing = run(app, ["estimate", "heatmap", files[1], files[1], "-c", files[2]])
    assert nothing.exit_code != 0
    assert "2 releases and 1 certificate." in str(nothing.exception)
    for wrong, word in ((["--certificate", files[2], files[1]], "given twice"), (["-o", files[0] + ".xlsx"], "xlsx")):
        refused = run(app, ["estimate", "heatmap", files[1], "-c", files[2], *wrong])
        assert word in str(refused.exception)


def test_an_ending_that_is_not_written_leaves_nothing(tmp_path: Path) -> None:
    found = estimate_heatmap([received(fleet(6))], cell_m=3000, bounds=BOUNDS)
    with pytest.raises(InputError, match=r"\.xlsx"):
        write_answer(found, tmp_path / "heat.xlsx")
    assert list(tmp_path.iterdir()) == []
