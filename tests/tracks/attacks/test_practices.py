"""What people use today: sized as they say, promising nothing, and compared on somebody's own data."""

from __future__ import annotations

import csv
import json

import made_town as town
import numpy as np
import pytest
from typer.testing import CliRunner

from sfumato.base.errors import InputError
from sfumato.cli import app
from sfumato.tracks.attacks.compare import CompareAsked, compare_mechanisms
from sfumato.tracks.attacks.practices.registry import MECHANISMS_COMPARED, RMS, mechanism_compared
from sfumato.tracks.attacks.truths import true_positions
from sfumato.tracks.io import write_trace

TRACES = [town.person(seed, days=1) for seed in range(6)]
PRACTICES = [row for row in MECHANISMS_COMPARED.values() if row.ours is None and row.name != "chosen secrets"]


def drawn(row, size_m=300.0, seed=0):
    return row.practice(TRACES, size_m, np.random.default_rng(seed))


@pytest.mark.parametrize("row", PRACTICES, ids=lambda row: row.name)
def test_a_seed_says_it_all_and_sizes_are_what_they_say(row):
    size = 400.0 if row.sized != RMS else 300.0
    first, again = drawn(row, size), drawn(row, size)
    assert len(first) == len(TRACES)
    assert [trace is None for trace in first] == [trace is None for trace in again]
    for one, other in zip(first, again, strict=True):
        assert one is None or np.array_equal(one.lat_deg, other.lat_deg)
    if row.sized == RMS:
        off = [town.CENTRE.to_metres(b.lat_deg, b.lon_deg) - true_positions(a, town.CENTRE, b.times_s)
               for a, b in zip(TRACES, first, strict=True) if b is not None]  # fmt: skip
        rms = float(np.sqrt(np.mean(np.concatenate(off) ** 2)))
        if row.name in ("H3", "rounding", "squares", "memoised per place", "hide and blur"):
            assert 120.0 < rms < 600.0  # steps: few places stand for a whole track
        else:
            assert rms == pytest.approx(size, rel=0.05)


def test_what_is_cut_is_cut_and_what_is_shifted_stays_in_place():
    trimmed = drawn(MECHANISMS_COMPARED["end trimming"], 400.0)
    assert all(trace is None or len(trace) < len(own) for trace, own in zip(trimmed, TRACES, strict=True))
    for trace, own in zip(drawn(MECHANISMS_COMPARED["centred zones"], 400.0), TRACES, strict=True):
        home = town.CENTRE.to_metres(own.lat_deg, own.lon_deg)[0]
        assert trace is None or np.hypot(*(town.CENTRE.to_metres(trace.lat_deg, trace.lon_deg) - home).T).min() > 390
    for trace, own in zip(drawn(MECHANISMS_COMPARED["time shift"]), TRACES, strict=True):
        shift = trace.times_s - own.times_s
        assert np.ptp(shift) < 1e-3
        assert 3600 <= abs(shift[0]) <= 3 * 3600


def test_hide_and_blur_leaves_nothing_in_its_zones_and_chosen_secrets_move_stays():
    hidden = drawn(MECHANISMS_COMPARED["hide and blur"], 50.0)
    for trace, own in zip(hidden, TRACES, strict=True):
        home = town.CENTRE.to_metres(own.lat_deg, own.lon_deg)[0]
        assert trace is None or np.hypot(*(town.CENTRE.to_metres(trace.lat_deg, trace.lon_deg) - home).T).min() > 100
    [stays] = MECHANISMS_COMPARED["chosen secrets"].practice(TRACES[:1], 0.0, np.random.default_rng(0))
    assert stays is not None
    assert len(stays) == 150
    off = town.CENTRE.to_metres(stays.lat_deg, stays.lon_deg) - true_positions(TRACES[0], town.CENTRE, stays.times_s)
    assert np.sqrt(np.mean(off**2)) > 100.0


def test_cloaked_points_stand_for_five_people():
    for trace in drawn(MECHANISMS_COMPARED["5-anonymous cloaking"]):
        assert trace is None or len(np.unique(trace.lat_deg)) <= len(np.unique(np.floor(trace.times_s / 600.0)))


def test_practices_promise_nothing_and_ours_name_their_class():
    promised = {row.name: row.promises for row in MECHANISMS_COMPARED.values()}
    assert {name for name, words in promised.items() if words == "nothing"} >= {
        "independent Gaussian", "donut", "rounding", "squares", "H3", "end trimming", "centred zones", "time shift",
        "memoised per place", "5-anonymous cloaking",
    }  # fmt: skip
    assert "class" in promised["multiscale"]


def test_independent_noise_loses_to_multiscale_at_the_same_size_and_odds_are_only_for_who_promises():
    asked = CompareAsked(
        mechanisms=["multiscale", "independent Gaussian", "nothing"],
        attackers=["as released", "fitted smoothing", "nights averaged"],
        sizes_m=[300.0],
    )
    rows = compare_mechanisms([(str(k), trace) for k, trace in enumerate(TRACES)], asked)
    assert [(row.mechanism, row.at) for row in rows] == [
        ("multiscale", "300 m RMS"), ("multiscale", "5 : 1"), ("independent Gaussian", "300 m RMS"),
        ("nothing", "as it is"),
    ]  # fmt: skip
    ours, odds, plain, nothing = rows
    assert ours.rms_m == pytest.approx(300.0, rel=0.4)
    assert plain.rms_m == pytest.approx(300.0, rel=0.1)
    assert plain.found("home") == (1.0, "nights averaged")
    assert ours.found("moments")[0] < plain.found("moments")[0]
    assert odds.found("moments")[0] < ours.found("moments")[0]
    assert nothing.rms_m == 0.0
    assert nothing.useful["trip length"] == 0.0
    assert not any(attempt.beats for row in rows for attempt in row.attempts)


def own_mechanism(people, size_m, rng):
    """Everybody keeps every second point."""
    return [trace.moved_to(trace.lat_deg, trace.lon_deg) for trace in people]


def test_the_command_writes_table_picture_and_json_with_a_mechanism_of_ones_own(tmp_path):
    files = []
    for number, trace in enumerate(TRACES[:1]):
        files.append(str(tmp_path / f"{number}.gpx"))
        write_trace(trace, files[-1])
    table, drawing = tmp_path / "a.csv", tmp_path / "a.svg"
    asked = ["--mechanisms", f"donut;{__name__}:own_mechanism", "--rms", "100m,300m", "--attacks", "as released"]
    result = CliRunner().invoke(app, ["audit", "compare", *files, *asked, "--csv", str(table), "--svg", str(drawing)])
    assert result.exit_code == 0, result.output
    rows = list(csv.DictReader(table.open()))
    assert [row["mechanism"] for row in rows] == ["donut", "donut", *[f"{__name__}:own_mechanism"] * 2]
    assert rows[0]["promises"] == "nothing"
    assert rows[2]["promises"] == "not stated"
    assert "<svg" in drawing.read_text()
    said = CliRunner().invoke(app, ["audit", "compare", *files, *asked, "--json"])
    assert len(json.loads(said.output)["rows"]) == 4
    with pytest.raises(InputError):
        mechanism_compared("magic")
    with pytest.raises(InputError):
        mechanism_compared("no.such:thing")
