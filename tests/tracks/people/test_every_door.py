"""One table through every door: the same promise, the same warnings, and noise that lies is refused at each of them."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.errors import NotCertified
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.folders.rides.protect_archive import protect_archive
from sfumato.tracks.folders.rows.dataset_job import protect_dataset
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.noise.independent import IndependentNoise
from sfumato.tracks.noise.interface import AdditiveNoise
from sfumato.tracks.noise.multiscale.noise import MultiscaleNoise
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.plan import Plan, Wishes

DOORS = ("file", "csv", "frame", "table", "fleet", "folder")
# What a promise is, beside what is said of files and of the very points.
PROMISED = (
    *("epsilon", "mu", "odds_99", "worst_loss", "stay_loss", "guarantee"),
    *("noise", "parameters", "plan", "warnings"),
)


def town(people: int = 6, points: int = 90) -> pa.Table:
    """People in one town at the same moments; the first three of them on one bus."""
    rng = np.random.default_rng(4)
    along = 60.0 * np.arange(points)
    places = []
    for person in range(people):
        start = 0.0 if person < 3 else 20_000.0 * person
        places.append(np.column_stack([start + along, np.zeros(points)]) + rng.normal(0, 3, (points, 2)))
    metres = np.concatenate(places)
    times = 1_700_000_000_000 + 30_000 * np.tile(np.arange(points), people)
    return pa.table(
        {
            "user_id": pa.array(np.repeat([f"p{k}" for k in range(people)], points)),
            "time": pa.array(times).cast(pa.timestamp("ms", "UTC")),
            "lat": 48.0 + metres[:, 1] / 111_195.0,
            "lon": 2.0 + metres[:, 0] / 74_000.0,
        }
    )


def by_command(source: Path, out: Path) -> tuple[dict, list[str]]:
    words = ["protect", str(source), "-o", str(out), "--seed", "3", "--json"]
    said = json.loads(CliRunner().invoke(app, words).stdout)
    group = said["worst_group"]
    document = said["certificate"]
    return document.get("noise") if "files" in document else document, [f"{group['people']} people travel together"]


def by_call(act: Callable[[], dict]) -> tuple[dict, list[str]]:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        document = act()
    return document, [str(one.message) for one in caught if "travel together" in str(one.message)]


def through(door: str, table: pa.Table, at: Path) -> tuple[dict, list[str]]:
    """The noise's certificate and what is said of companions."""
    return way_through(door, table, at)()


def way_through(door: str, table: pa.Table, at: Path) -> Callable[[], tuple[dict, list[str]]]:
    """The same, not gone yet: what is given is there."""
    if door == "folder":
        (at / "folder").mkdir()
        pq.write_table(table.slice(0, 200), at / "folder" / "a.parquet")
        pq.write_table(table.slice(200), at / "folder" / "b.parquet")
        return lambda: by_command(at / "folder", at / "released")
    if door in ("file", "csv"):
        path = at / ("people.parquet" if door == "file" else "people.csv")
        if door == "file":
            pq.write_table(table, path)
        else:
            table.to_pandas().to_csv(path, index=False)
        return lambda: by_command(path, at / f"out{path.suffix}")
    if door == "frame":
        frame = table.to_pandas()
        return lambda: by_call(lambda: sf.protect(frame, rng=3).certificate)
    if door == "table":
        return lambda: by_call(lambda: protect_table(table, rng=3)[1])
    people = sf.read_traces(table)

    def fleet() -> tuple[dict, list[str]]:
        done = protect_fleet(Plan(), people, rng=3)
        return done.certificate, [done.group_words(done.worst_group())]

    return fleet


def test_every_door_promises_the_same_and_warns_of_the_same_companions(tmp_path: Path) -> None:
    table = town()
    found = {}
    for door in DOORS:
        (tmp_path / door).mkdir()
        found[door] = through(door, table, tmp_path / door)
    first, _ = found["frame"]
    for door, (document, said) in found.items():
        assert document["people"] == 6, door
        assert document["points"] == 540, door
        assert set(document) >= set(PROMISED), door
        assert {name: document[name] for name in PROMISED} == {name: first[name] for name in PROMISED}, door
        assert document["randomness"] == first["randomness"], door
        assert len(said) == 1, door
        assert "3 people travel together" in said[0], door


@pytest.mark.slow
def test_the_worst_case_costs_about_the_same_at_every_door(tmp_path: Path) -> None:
    """2,000 people in one town at the same moments, 600,000 rows."""
    rng, people, points = np.random.default_rng(0), 2000, 300
    metres = rng.normal(0, 100, (people, points, 2)).cumsum(1) + rng.normal(0, 1500, (people, 1, 2))
    times = 1_700_000_000_000 + 60_000 * np.tile(np.arange(points), people)
    table = pa.table(
        {
            "user_id": pa.array(np.repeat([f"u{k:05d}" for k in range(people)], points)),
            "time": pa.array(times).cast(pa.timestamp("ms", "UTC")),
            "lat": 48.85 + metres[..., 1].ravel() / 111_195.0,
            "lon": 2.35 + metres[..., 0].ravel() / 73_000.0,
        }
    )
    through("frame", table.slice(0, 6000), tmp_path)  # compiled
    spent = dict.fromkeys(("file", "frame", "table", "folder"), np.inf)
    for turn, door in product(range(3), tuple(spent)):  # what else the machine does is in one of three turns
        (tmp_path / f"{door}{turn}").mkdir()
        way = way_through(door, table, tmp_path / f"{door}{turn}")
        begun = time.process_time()
        way()
        spent[door] = min(spent[door], time.process_time() - begun)
    assert max(spent.values()) < 15.0, spent
    assert max(spent.values()) < 1.5 * min(spent.values()), spent


def honest_draw(self: AdditiveNoise, times_s: np.ndarray, rng: object = None) -> np.ndarray:
    return self.size_m * np.random.default_rng(7).normal(size=(len(times_s), 2))  # type: ignore[attr-defined]


def lies(share: float) -> Callable[..., np.ndarray]:
    """Independent noise of the stated size times ``share``."""
    return lambda self, times_s, rng=None: share * honest_draw(self, times_s)


def walk(points: int = 150) -> Trace:
    return Trace(48.0 + 1e-4 * np.arange(points), np.full(points, 2.0), 1.7e9 + 20.0 * np.arange(points))


@pytest.mark.parametrize("share", [0.0, 0.01, 0.5])
def test_noise_smaller_than_stated_leaves_by_no_door(
    share: float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(IndependentNoise, "draw", lies(share))
    wish: Wishes = {"mechanism": "independent", "noise_m": 100.0}
    table = town(4, 60)
    (tmp_path / "rides").mkdir()
    sf.write_trace(walk(), tmp_path / "rides" / "a.gpx")
    out = tmp_path / "out"
    doors: tuple[Callable[[], object], ...] = (
        lambda: sf.protect(walk(), **wish),
        lambda: sf.protect(table, **wish),
        lambda: protect_table(table, Plan(**wish)),
        lambda: protect_fleet(Plan(**wish), sf.read_traces(table)),
        lambda: protect_archive([tmp_path / "rides"], out, Plan(**wish)),
    )
    for door in doors:
        with pytest.raises(NotCertified, match="Nothing is released"):
            door()
    pq.write_table(table, tmp_path / "people.parquet")
    for source in (tmp_path / "rides" / "a.gpx", tmp_path / "people.parquet"):
        release = tmp_path / f"r{source.suffix}"
        words = ["protect", str(source), "-o", str(release), "--mechanism", "independent", "--noise", "100m"]
        assert isinstance(CliRunner().invoke(app, words).exception, NotCertified)
        assert not release.exists()
    assert not out.exists() or not any(out.iterdir())


@pytest.mark.parametrize("lie", ["white", "half"])
def test_multiscale_noise_of_another_law_leaves_no_folder(
    lie: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.tracks.people import noise as drawing

    truth = drawing.streamed_paths

    def drawn(ladder: object, times_ms: np.ndarray, *rest: object) -> np.ndarray:
        honest = truth(ladder, times_ms, *rest)  # type: ignore[arg-type]
        return 0.5 * honest if lie == "half" else np.random.default_rng(1).normal(size=honest.shape)

    monkeypatch.setattr(drawing, "streamed_paths", drawn)
    (tmp_path / "in").mkdir()
    pq.write_table(town(), tmp_path / "in" / "a.parquet")
    with pytest.raises(NotCertified, match="another law"):
        protect_dataset(tmp_path / "in", tmp_path / "out", Plan())
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())
    assert not list(tmp_path.glob("out.private/*")), "what was drawn is not kept for another try"
    with pytest.raises(NotCertified, match="another law"):
        sf.protect(town())


def test_an_archive_of_continuing_noise_that_lies_is_refused_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    truth = MultiscaleNoise.draw
    monkeypatch.setattr(MultiscaleNoise, "draw", lambda self, times_s, rng=None: 0.5 * truth(self, times_s, rng))
    (tmp_path / "rides").mkdir()
    for name in "ab":
        sf.write_trace(walk(), tmp_path / "rides" / f"{name}.gpx")
    with pytest.raises(NotCertified, match="another law"):
        protect_archive([tmp_path / "rides"], tmp_path / "out", Plan())
    assert not (tmp_path / "out").exists() or not any((tmp_path / "out").iterdir())


def test_the_names_of_wishes_are_those_of_a_plan() -> None:
    from dataclasses import fields

    assert set(Wishes.__annotations__) == {field.name for field in fields(Plan)} | {"level"}
