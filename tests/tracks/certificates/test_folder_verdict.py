"""One verdict for files, tables, folders and datasets: the same lines, demands, records and exit codes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner, Result

import sfumato as sf
from sfumato.base.things.frames import snap
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.certificates.document import Certificate
from sfumato.tracks.certificates.roughness import (
    TESTED_PEOPLE,
    TESTED_POINTS,
    chosen_tracks,
    looked_at_words,
    plausible_release,
)
from sfumato.tracks.noise.interface import AdditiveNoise
from sfumato.tracks.noise.plausibility import GaussianRoughness
from sfumato.tracks.people import noise as drawing
from sfumato.tracks.people.noise import Noise, PeopleRows

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

KINDS = ("file", "table", "folder", "dataset")
LABELS = [
    *("Unchanged?", "Clean?", "Plausible?", "Protection", "Promise", "It holds over", "Also in it, exact", "Signed by"),
    "Releases",
]


def town(people: int, points: int = 240) -> pa.Table:
    """Drives through a town, a point every ten seconds."""
    rng = np.random.default_rng(0)
    velocity, metres = rng.normal(0, 8, (people, 2)), np.zeros((people, points, 2))
    for k in range(1, points):
        velocity = 0.9 * velocity + rng.normal(0, 3, (people, 2))
        metres[:, k] = metres[:, k - 1] + 10 * velocity
    where = (5000 * rng.normal(size=(people, 1, 2)) + metres).reshape(-1, 2)
    times = 1_700_000_000_000 + 10_000 * np.tile(np.arange(points), people)
    return pa.table(
        {
            "user_id": np.repeat([f"p{k}" for k in range(people)], points),
            "time": pa.array(times).cast(pa.timestamp("ms", "UTC")),
            "lat": np.round(48.85 + where[:, 1] / 111_195.0, 7),
            "lon": np.round(2.35 + where[:, 0] / 73_000.0, 7),
        }
    )


def ride(table: pa.Table) -> Trace:
    return sf.read_trace(table.select(["lat", "lon", "time"]), one_person=True)


def given(kind: str, folder: Path) -> Path:
    """The input of one kind."""
    table, source = town(5), folder / ("in.gpx" if kind == "file" else "in.parquet" if kind == "table" else "in")
    if kind == "file":
        sf.write_trace(ride(table.slice(0, 240)), source)
    elif kind == "table":
        pq.write_table(table, source)
    else:
        source.mkdir()
        if kind == "dataset":
            pq.write_table(table, source / "a.parquet")
        else:
            for k in range(2):
                sf.write_trace(ride(table.slice(120 * k, 120)), source / f"{k}.gpx")
    return source


def command(*words: object) -> Result:
    return CliRunner().invoke(app, [str(word) for word in words])


def released(kind: str, folder: Path, *more: object) -> tuple[Path, Path]:
    source, certificate = given(kind, folder), folder / "out.json"
    out = folder / f"out{source.suffix}"
    done = command("protect", source, "-o", out, "--certificate", certificate, *more)
    assert done.exit_code == 0, done.output
    return certificate, out


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_gets_the_same_lines_demands_and_record(kind: str, tmp_path: Path) -> None:
    """0.2.0 refused --require and --report for folders, and said less of them."""
    certificate, out = released(kind, tmp_path)
    page, record = tmp_path / "verdict.html", tmp_path / "verdict.json"
    words = ("verify", certificate, "--release", out, "--require", "odds=5,radius=200m,class=day,no-kept")
    for report in (page, record):
        done = command(*words, "--report", report)
        assert done.exit_code == 0, done.output
    assert done.output.startswith("Good")
    lines = [line[2:20].strip() for line in done.output.splitlines()[1:] if not line.startswith(("  -", "  note"))]
    assert [label for label in lines if label in LABELS] == LABELS
    said = json.loads(record.read_text())
    assert said["verdict"]["ok"] is True
    assert said["demanded"] == {"require": "odds=5,radius=200m,class=day,no-kept", "signer": None}
    assert said["sfumato"]
    assert said["when"].endswith("+00:00")
    assert any(file["name"].startswith("out") for file in said["files"])
    assert all(len(file["sha256"]) == 64 for file in said["files"])
    assert all(file["sha256"] in page.read_text() for file in said["files"])
    assert "Content-Security-Policy" in page.read_text()
    done = command(*words[:-1], "odds=2")
    assert done.exit_code == 1
    assert "odds=2: it states 5" in done.output


@pytest.mark.parametrize("kind", ["folder", "dataset"])
def test_a_changed_folder_is_answered_like_a_changed_file(kind: str, tmp_path: Path) -> None:
    certificate, out = released(kind, tmp_path)
    file = next(path for path in sorted(out.iterdir()) if not path.name.startswith("_"))
    file.write_bytes(file.read_bytes() + b" ")
    done = command("verify", certificate, "--release", out, "--json")
    said = json.loads(done.stdout)
    assert done.exit_code == 1
    assert said["unchanged"] is False
    assert "missing or not the file" in said["error"]


@pytest.mark.parametrize("kind", ["table", "folder", "dataset"])
def test_originals_sealed_as_a_release_are_not_plausible(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """0.2.0 accepted raw originals resealed as a dataset: parts were not tested."""

    def unmoved(self: Noise, rows: PeopleRows) -> tuple[np.ndarray, np.ndarray]:
        return snap(rows.lat_deg, rows.lon_deg, float(self.plan.snap_m))

    def as_it_was(self: object, trace: Trace, rng: object = None) -> tuple[np.ndarray, np.ndarray]:
        return trace.lat_deg, trace.lon_deg

    monkeypatch.setattr(Noise, "move", unmoved)
    monkeypatch.setattr(AdditiveNoise, "release", as_it_was)
    monkeypatch.setattr(drawing, "check_drawn", lambda *_, **__: None)
    certificate, out = released(kind, tmp_path)
    monkeypatch.undo()
    done = command("verify", certificate, "--release", out)
    assert done.exit_code == 1
    assert "NOT GOOD" in done.output
    assert "smoother than the stated noise allows" in done.output


def test_what_cannot_be_told_is_not_good_in_a_folder_either(tmp_path: Path) -> None:
    certificate, out = released("folder", tmp_path, "--times", "drop")
    done = command("verify", certificate, "--release", out)
    assert done.exit_code == 1
    assert "cannot be told. Files without times are no tracks." in done.output


def test_hidden_places_are_judged_by_the_same_verdict(tmp_path: Path) -> None:
    source, places = given("folder", tmp_path), tmp_path / "me.places"
    first = sf.read_trace(source / "0.gpx")
    at = f"{first.lat_deg[0]},{first.lon_deg[0]}"
    assert command("places", "add", "home", at, "--places", places).exit_code == 0
    done = command("hide", source, "-o", tmp_path / "out", "--places", places, "--certificate", tmp_path / "out.json")
    assert done.exit_code == 0, done.output
    done = command("verify", tmp_path / "out.json", "--release", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "places withheld. What is left is exact." in done.output
    assert "every position that is left" in done.output
    done = command("verify", tmp_path / "out.json", "--release", tmp_path / "out", "--require", "odds=5")
    assert done.exit_code == 1
    assert "odds: it states no noise" in done.output


def test_of_many_people_so_many_points_in_a_row_are_tested_as_a_public_hash_says() -> None:
    times = np.arange(9000) * 10.0
    tracks = [
        (f"p{k}", Trace(np.full(9000 - 100 * k, 48.0), np.full(9000 - 100 * k, 2.0), times[: 9000 - 100 * k]))
        for k in range(30)
    ]
    chosen = chosen_tracks(tracks)
    assert [len(track) for track in chosen] == [TESTED_POINTS] * TESTED_PEOPLE
    assert all(np.all(np.diff(track.times_s) == 10.0) for track in chosen)
    begins = [track.times_s[0] for track in chosen]
    assert len(set(begins)) > 4
    assert begins == [track.times_s[0] for track in chosen_tracks(tracks[::-1])]
    assert len(chosen_tracks([*tracks[:1], ("q", tracks[1][1])])) == 2
    assert "40,000 points in the tracks of 8 people" in looked_at_words(chosen)


def test_power_is_found_for_the_densest_of_many_tracks_and_for_others_until_there_is_one(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """One that would be refused is enough; eight powers took most of the time of a dataset's verdict."""
    done = [sf.protect(ride(town(1, points)), rng=k) for k, points in enumerate((240, 240, 240))]
    two_hours = sf.protect(Trace(np.full(60, 48.8), np.full(60, 2.3), np.arange(60) * 7200.0), rng=9)
    found, asked = GaussianRoughness.power, list[float]()

    def counted(self: GaussianRoughness, refused_below: float) -> dict[str, float]:
        asked.append(float(np.median(np.diff(self.times_s))))
        return found(self, refused_below)

    monkeypatch.setattr(GaussianRoughness, "power", counted)
    record = Certificate.of(done[0].certificate)
    answer, why, _ = plausible_release(record, [two_hours.release, *(one.release for one in done)], some=True)
    assert answer is True, why
    assert asked == [10.0]
    asked.clear()
    assert plausible_release(record, [two_hours.release, done[0].release])[0] is None
    assert asked == [7200.0, 10.0]
