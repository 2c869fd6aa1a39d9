"""Places cut out of a dataset: the same rows as ride by ride, and nothing that tells of the rest."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
import pytest
from command import run
from people_rows import by_person, written

from sfumato.base.errors import InputError, NotCertified, VerificationFailed
from sfumato.base.things.traces import Trace
from sfumato.tracks.folders.rows import dataset, dataset_job
from sfumato.tracks.folders.rows.hide_dataset import DatasetLeaks, hide_dataset, places_in
from sfumato.tracks.folders.verify_folder import verify_folder
from sfumato.tracks.people.layout import TableReading
from sfumato.tracks.places.places_file import Place, Places, place_at, save_places
from sfumato.tracks.places.withhold import withhold
from sfumato.tracks.plan import Times

PEOPLE, POINTS = 6, 300


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many units and buckets for a few rows."""
    monkeypatch.setattr(dataset, "ROUND_ROWS", 400)
    monkeypatch.setattr(dataset_job, "PART_ROWS", 500)


def homes() -> dict[str, Place]:
    return {f"u{who}": place_at("home", 48.5 + 0.1 * who, 2.5, radius_m=400.0, rng=who) for who in range(PEOPLE)}


def rides(seed: int = 0, home_points: int = 40) -> pa.Table:
    """Everybody walks away from a place of their own, where they stay for a while first."""
    rng = np.random.default_rng(seed)
    parts = []
    for who in range(PEOPLE):
        away = np.concatenate([np.zeros(home_points), np.linspace(0.0, 0.05, POINTS - home_points)])
        wobble = rng.normal(size=(POINTS, 2)) * 1e-5
        wobble[:home_points] = rng.normal(size=(home_points, 2)) * 1e-4
        parts.append(
            pa.table(
                {
                    "user_id": [f"u{who}"] * POINTS,
                    "time": pa.array(1_700_000_000_000 + np.arange(POINTS) * 30_000).cast(pa.timestamp("ms", "UTC")),
                    "lat": 48.5 + 0.1 * who + away + wobble[:, 0],
                    "lon": 2.5 + wobble[:, 1],
                    "speed": rng.uniform(0, 9, POINTS),
                }
            )
        )
    return pa.concat_tables(parts).sort_by("time").combine_chunks()


def folder_of_places(folder: Path, homes: dict[str, Place]) -> Path:
    folder.mkdir()
    for person, home in homes.items():
        save_places(folder / f"{person}.places", Places.none().add(home))
    return folder


def test_what_is_left_is_what_is_left_of_every_ride(tmp_path: Path) -> None:
    table, heard = rides(), list[DatasetLeaks]()
    files = folder_of_places(tmp_path / "places", homes())
    folder, out = written(tmp_path / "in", table), tmp_path / "out"
    done = hide_dataset(folder, out, places_in(files), keep=["speed"], ids="keep", cores=2, tested=heard.append)
    found, before = by_person(ds.dataset(out).to_table()), by_person(table)
    assert ds.dataset(out).schema.remove_metadata() == table.schema.remove_metadata()
    for person, mine in before.items():
        lat, lon, ms = (mine.column(name).to_numpy(zero_copy_only=False) for name in ("lat", "lon", "time"))
        trace = Trace(lat, lon, ms.astype("datetime64[ms]").astype(np.int64) / 1000.0)
        kept = withhold(trace, places_in(files)[str(person)].zones).kept
        assert 0 < len(kept) < POINTS - 40
        released = found[person]
        assert released.column("lat").to_numpy().tolist() == lat[kept].tolist()
        assert released.column("time").equals(mine.take(pa.array(kept)).column("time"))
        near = released.column("speed").is_null().to_numpy(zero_copy_only=False)
        assert near[0]
        assert near.sum() == 2  # less than a minute from the cut
        assert released.column("speed").drop_null().equals(mine.take(pa.array(kept)).slice(2).column("speed"))
    assert (done.released, done.people) == (sum(mine.num_rows for mine in found.values()), PEOPLE)
    assert heard[0].people == heard[0].places == PEOPLE
    assert verify_folder(out / "_certificate.json", out).checks
    assert done.document["noise"] is None
    assert done.document["withheld"]


def test_the_release_is_a_function_of_what_lies_outside(tmp_path: Path) -> None:
    """Other rows inside the zones, bad ones among them, and the same bytes come out."""
    files = folder_of_places(tmp_path / "places", homes())
    table = rides()
    inside = rides(seed=5)
    stays = np.tile(np.arange(POINTS) < 40, 1)
    row = np.arange(table.num_rows) // PEOPLE
    at_home = stays[row]
    lat = np.where(at_home, inside.column("lat").to_numpy(), table.column("lat").to_numpy())
    lat[np.flatnonzero(at_home)[7]] = np.nan
    other = table.set_column(2, "lat", pa.array(lat))
    for name, rows in (("one", table), ("two", other)):
        hide_dataset(written(tmp_path / name, rows), tmp_path / f"{name}.out", places_in(files), ids="keep")
    names = sorted(path.name for path in (tmp_path / "one.out").iterdir())
    assert names == sorted(path.name for path in (tmp_path / "two.out").iterdir())
    assert not any(name == "_rejects" for name in names)
    for name in names:
        assert (tmp_path / "one.out" / name).read_bytes() == (tmp_path / "two.out" / name).read_bytes()
    said = json.loads((tmp_path / "one.out" / "_manifest.json").read_text())
    assert not {"rows_read", "rows_rejected"} & said.keys()


@pytest.mark.parametrize("times", ["relative", "shift", "coarse:60min", "drop"])
def test_times_are_released_as_asked(tmp_path: Path, times: str) -> None:
    files = folder_of_places(tmp_path / "places", homes())
    out = tmp_path / "out"
    hide_dataset(written(tmp_path / "in", rides()), out, places_in(files), times=Times.parse(times))
    released = ds.dataset(out).to_table()
    assert ("time" in released.column_names) == (times != "drop")
    if times == "relative":
        for mine in by_person(released).values():
            assert mine.column("time").cast(pa.int64())[0].as_py() == 0
    assert verify_folder(out / "_certificate.json", out).checks


def test_whoever_has_no_places_is_left_out_and_strangers_to_a_zone_stay(tmp_path: Path) -> None:
    some = {person: home for person, home in homes().items() if person != "u3"}
    heard = list[DatasetLeaks]()
    out = tmp_path / "out"
    files = folder_of_places(tmp_path / "places", some)
    done = hide_dataset(written(tmp_path / "in", rides()), out, places_in(files), ids="keep", tested=heard.append)
    assert set(by_person(ds.dataset(out).to_table())) == set(some)
    assert heard[0].left_out == 1
    assert done.people == PEOPLE - 1


def test_refusals_leave_nothing(tmp_path: Path) -> None:
    folder, out = written(tmp_path / "in", rides()), tmp_path / "out"
    files = folder_of_places(tmp_path / "places", homes())

    def refuse(leaks: DatasetLeaks) -> None:
        raise NotCertified(f"{leaks.places} found.", "No.")

    with pytest.raises(NotCertified):
        hide_dataset(folder, out, places_in(files), tested=refuse)
    with pytest.raises(InputError, match="cannot stay"):
        hide_dataset(written(tmp_path / "n", rides().rename_columns(["user_id", "time", "lat", "lon", "steps"])), out,
                     places_in(files), keep=["steps"])  # fmt: skip
    with pytest.raises(InputError, match="one person's"):
        hide_dataset(folder, out, Places.none().add(homes()["u1"]))
    with pytest.raises(InputError, match="no folder of places"):
        places_in(folder)
    assert not out.exists()
    assert not out.with_name("out.private").exists()


def test_one_persons_dataset_takes_one_places_file(tmp_path: Path) -> None:
    mine = by_person(rides())["u1"].drop_columns(["user_id"])
    places = Places.none().add(homes()["u1"])
    out = tmp_path / "out"
    done = hide_dataset(written(tmp_path / "in", mine), out, places, reading=TableReading(one_person=True))
    assert 0 < done.released < POINTS
    assert verify_folder(out / "_certificate.json", out).checks
    (out / "part-00000.parquet").unlink()
    with pytest.raises(VerificationFailed):
        verify_folder(out / "_certificate.json", out)


def test_the_command_hides_a_dataset(tmp_path: Path) -> None:
    folder, out = written(tmp_path / "in", rides()), tmp_path / "out"
    files = folder_of_places(tmp_path / "places", homes())
    asked = ("hide", folder, "-o", out, "--places", files, "--user-column", "user_id")
    code, told, error = run(*asked, "--blur", "200m")
    assert code == 2
    assert "--blur" in error
    code, told, _ = run(*asked)
    assert code == 0
    assert "6 places of 6 people" in told
    code, told, _ = run("verify", out)
    assert (code, "A simulation" in told) == (1, True)  # the homes' zones are seeded


@pytest.mark.parametrize("ids", ["random", "keep"])
def test_a_place_that_is_named_after_a_dataset_was_hidden_lies_open_in_it(tmp_path: Path, ids: str) -> None:
    written(tmp_path / "rides", rides())
    people = {who: Places.none(rng=1).add(home) for who, home in homes().items()}
    reading = TableReading({"id": "user_id"})
    hide_dataset(tmp_path / "rides", tmp_path / "out", people, ids=ids, reading=reading)
    with pytest.raises(InputError, match="no row of it lies inside a zone of today"):
        hide_dataset(tmp_path / "rides", tmp_path / "out", people, ids=ids, reading=reading)
    people["u3"] = people["u3"].add(place_at("school", 48.5 + 0.3 + 0.05, 2.5, radius_m=400.0, rng=9))
    with pytest.raises(NotCertified, match=r"STILL FOUND: .* rows of 1 people"):
        hide_dataset(tmp_path / "rides", tmp_path / "out", people, ids=ids, reading=reading)
    elsewhere = homes()["u3"]
    people["u2"] = people["u2"].add(place_at("school", elsewhere.lat_deg + 0.05, 2.5, radius_m=400.0, rng=9))
    with pytest.raises(NotCertified, match="rows of 1 people"):  # each held against their own zones
        hide_dataset(tmp_path / "rides", tmp_path / "out", people, ids=ids, reading=reading)
