"""Whose rows these are: trips are no people, and a release carries nobody's name unless its owner says so."""

from __future__ import annotations

import csv
import json
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.cli import app
from sfumato.tracks.certificates.person_ids import StatedIds, given_among, list_beside
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.io.telltale import names_trips
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.plan import Plan

PEOPLE = ["jean.dupont00@example.org", "marie.curie@example.org", "paul@example.org"]


def town(people: list[str] = PEOPLE, points: int = 300, *, who: str = "user_id") -> pd.DataFrame:
    rng = np.random.default_rng(0)
    start, steps = 5000 * rng.normal(size=(len(people), 1, 2)), rng.normal(0, 30, (len(people), points, 2))
    metres = (start + steps.cumsum(1)).reshape(-1, 2)
    return pd.DataFrame(
        {
            who: np.repeat(people, points),
            "time": pd.to_datetime(1_700_000_000 + 30 * np.tile(np.arange(points), len(people)), unit="s", utc=True),
            "lat": 48.85 + metres[:, 1] / 111_195.0,
            "lon": 2.35 + metres[:, 0] / 73_000.0,
        }
    )


def trips(count: int = 12, points: int = 20) -> pd.DataFrame:
    """One person's trips, each beginning where the last one ended, hours later."""
    rng = np.random.default_rng(1)
    steps = rng.normal(0, 80, (count * points, 2))
    steps[::points] /= 20
    metres = steps.cumsum(0)
    seconds = 1_700_000_000 + 14_400 * np.repeat(np.arange(count), points) + 30 * np.tile(np.arange(points), count)
    return pd.DataFrame(
        {
            "trip_id": np.repeat([f"t{k}" for k in range(count)], points),
            "time": pd.to_datetime(seconds, unit="s", utc=True),
            "lat": 48.85 + metres[:, 1] / 111_195.0,
            "lon": 2.35 + metres[:, 0] / 73_000.0,
        }
    )


def run(*words: object) -> str:
    done = CliRunner().invoke(app, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.mark.parametrize("name", ["trip_id", "tripid", "TripID", "ride", "rideNo", "session_id", "segments", "tid"])
def test_columns_of_trips_are_known_by_their_names(name: str) -> None:
    assert names_trips(name)


@pytest.mark.parametrize("name", ["user_id", "rider_id", "cab_id", "id", "driver", "trip_user", "tracker_id"])
def test_columns_of_people_are_not_taken_for_trips(name: str) -> None:
    assert not names_trips(name)


def test_trips_are_refused_as_people_and_offered_as_trips(tmp_path: Path) -> None:
    """0.2.0 gave every trip noise of its own, which averages away."""
    with pytest.raises(InputError, match="names 12 trips, and nothing says whose they are") as refused:
        sf.protect(trips())
    assert "--one-person" in refused.value.advice
    assert "person='trip_id'" in refused.value.advice
    trips().to_csv(tmp_path / "trips.csv", index=False)
    done = CliRunner().invoke(app, ["protect", str(tmp_path / "trips.csv"), "-o", str(tmp_path / "out.csv")])
    assert done.exit_code != 0
    assert not (tmp_path / "out.csv").exists()


def test_trips_named_as_people_are_said_in_the_certificate() -> None:
    with pytest.warns(UserWarning, match="begin within 50 m of where another ended"):
        done = sf.protect(trips(), person="trip_id")
    assert done.certificate["ids"]["of"] == "trips"
    assert "each trip by itself" in done.certificate["ids"]["meaning"]
    assert len(done.done.labels) == 12


def test_one_trip_or_one_person_needs_no_name_of_a_person() -> None:
    assert sf.protect(trips(count=1)).certificate["people"] == 1
    assert sf.protect(trips(), one_person=True).certificate["people"] == 1


def test_people_who_end_anywhere_are_not_taken_for_trips() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        sf.protect(town([f"p{k}" for k in range(20)], 60))


def test_a_file_of_people_leaves_with_new_ids_and_a_private_list(tmp_path: Path) -> None:
    """0.2.0 released jean.dupont00@... and called it clean."""
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    town().to_parquet(source)
    said = run("protect", source, "-o", out, "--certificate", tmp_path / "out.json")
    released = set(pq.read_table(out).column("id").to_pylist())
    assert given_among(sorted(released)) is None
    assert len(released) == 3
    assert not any(name.encode() in out.read_bytes() for name in PEOPLE)
    certificate = json.loads((tmp_path / "out.json").read_text())
    assert certificate["ids"]["released"] == "random"
    assert set(certificate["columns"]) == {"id", "lat", "lon", "time", "segment"}
    assert "are new" in said
    held = list_beside(out)
    assert held.stat().st_mode & 0o077 == 0
    with held.open(newline="") as lines:
        pairs = dict(list(csv.reader(lines))[1:])
    assert set(pairs) == set(PEOPLE)
    assert set(pairs.values()) == released
    verdict = run("verify", tmp_path / "out.json", "--release", out)
    assert "nothing but times, gaps and the number of points" in verdict
    run("audit", source, out, "--certificate", tmp_path / "out.json")


def test_kept_ids_are_named_in_every_place(tmp_path: Path) -> None:
    source, out = tmp_path / "in.parquet", tmp_path / "out.parquet"
    town().to_parquet(source)
    words = ("--certificate", tmp_path / "out.json", "--public-report", tmp_path / "out.html")
    said = run("protect", source, "-o", out, "--ids", "keep", *words)
    assert "are those that were given" in (tmp_path / "out.html").read_text()
    assert "those that were given" in said
    assert set(pq.read_table(out).column("id").to_pylist()) == set(PEOPLE)
    assert not list_beside(out).exists()
    assert "ids as they were given (id)" in run("verify", tmp_path / "out.json", "--release", out)
    done = CliRunner().invoke(
        app, ["verify", str(tmp_path / "out.json"), "--release", str(out), "--require", "no-kept"]
    )
    assert done.exit_code == 1
    assert "no-kept: it holds ids as they were given (id)" in done.output


def test_ids_that_are_not_new_are_not_called_clean(tmp_path: Path) -> None:
    """A release whose certificate says random, with the names put back and everything sealed again."""
    people = [(name, trace) for name, trace in sf.read_traces(pa.Table.from_pandas(town()))]
    done = protect_fleet(Plan(ids="random"), people)
    assert given_among([str(name) for name, _ in done.releases]) is None
    assert given_among(PEOPLE) == "3 of 3 ids are not new ones, as the certificate says they are."


def test_a_state_gives_the_same_person_the_same_new_id(tmp_path: Path) -> None:
    source = tmp_path / "in.parquet"
    town().to_parquet(source)
    ids = []
    for k in range(2):
        run("protect", source, "-o", tmp_path / f"out{k}.parquet", "--state", tmp_path / "noise.state")
        ids.append(pq.read_table(tmp_path / f"out{k}.parquet").column("id").to_pylist())
    run("protect", source, "-o", tmp_path / "other.parquet")
    assert ids[0] == ids[1]
    assert set(ids[0]) != set(pq.read_table(tmp_path / "other.parquet").column("id").to_pylist())


def test_a_dataset_leaves_with_new_ids_of_its_type_and_a_list_beside_it(tmp_path: Path) -> None:
    for name, people in (("texts", PEOPLE), ("numbers", [3, 5, 8])):
        folder, out = tmp_path / name, tmp_path / f"{name}-out"
        folder.mkdir()
        town(people).to_parquet(folder / "a.parquet")  # type: ignore[arg-type]
        done = protect_dataset(folder, out, Plan())
        released = ds.dataset(out, exclude_invalid_files=True).to_table().column("user_id")
        assert released.type == pq.read_schema(folder / "a.parquet").field("user_id").type
        assert not set(released.to_pylist()) & set(people)
        assert done.document["ids"]["released"] == "random"
        with list_beside(out).open(newline="") as lines:
            pairs = dict(list(csv.reader(lines))[1:])
        assert set(pairs) == {str(person) for person in people}
        assert set(pairs.values()) == {str(one) for one in released.to_pylist()}
        assert "every byte of 1 part" in run("verify", out)


def test_a_frame_keeps_its_ids_unless_they_are_addresses() -> None:
    plain = sf.protect(town(["ann", "bob", "cleo"]))
    assert set(plain.frame["user_id"]) == {"ann", "bob", "cleo"}
    assert StatedIds.of(plain.certificate["ids"]) == StatedIds("user_id", kept=True)
    assert "are those that were given" in plain.certificate._repr_html_()
    for people in (PEOPLE, ["+49 170 1234567", "+49 170 7654321"]):
        with pytest.raises(InputError, match="e-mail addresses or telephone numbers"):
            sf.protect(town(people))
        assert set(sf.protect(town(people), ids="keep").frame["user_id"]) == set(people)
        assert not set(sf.protect(town(people), ids="random").frame["user_id"]) & set(people)
