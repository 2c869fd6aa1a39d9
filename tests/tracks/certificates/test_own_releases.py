"""Every kind of release, by every door, verifies: nothing that we write is called changed, unclean or smoothed."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from command import run

import sfumato as sf
from sfumato.base.things.traces import Trace
from sfumato.tracks.certificates.document import with_file, with_seal
from sfumato.tracks.certificates.verdict import judge
from sfumato.tracks.io import write_trace

pytestmark = pytest.mark.usefixtures("roads_lead_nowhere")

COUNT = 400


def ride(seed: int = 0, *, day: int = 0, **columns: np.ndarray) -> Trace:
    rng = np.random.default_rng(seed)
    steps = np.cumsum(rng.normal(size=(COUNT, 2)).cumsum(axis=0) * 1e-6, axis=0)
    return Trace(
        48.5 + 0.2 * seed + steps[:, 0],
        2.5 + steps[:, 1],
        1.7e9 + 86400.0 * day + np.arange(COUNT) * 10.0,
        None,
        columns,  # type: ignore[arg-type]
    )


def people(count: int = 3) -> pd.DataFrame:
    rows = []
    for number in range(count):
        one = ride(number)
        trips = [f"t{number}-{i // 50}" for i in range(COUNT)]
        when = pd.to_datetime(one.times_s, unit="s", utc=True)
        rows.append(
            pd.DataFrame(
                {"user_id": f"u{number}", "trip_id": trips, "lat": one.lat_deg, "lon": one.lon_deg, "time": when}
            )
        )
    return pd.concat(rows, ignore_index=True)


MADE = {
    "as it is": {},
    "turning": {"turning": True},
    "rounded": {"round_to_m": 50.0},
    "coarse": {"times": "coarse:300s"},
    "shifted": {"times": "shift"},
    "relative": {"times": "relative"},
    "one of three": {"redraws": 3},
    "a year": {"prior_class": "year"},
    "little noise": {"noise_m": 300.0},
    "independent": {"mechanism": "independent"},
    "prior-shaped": {"mechanism": "prior-shaped", "prior": "preset"},
    "mixed": {"mechanism": "mixed", "prior": "preset"},
    "planar-laplace": {"mechanism": "planar-laplace"},
}
# Only the white share is tested where times are coarse, and mixed noise has little else: then a signer must vouch.
WHITE_COULD_PASS = ("coarse", "mixed")


@pytest.mark.parametrize("made", MADE)
def test_one_track_of_every_kind(made: str, tmp_path: Path) -> None:
    done, path = sf.protect(ride(), **MADE[made]), tmp_path / "r.gpx"  # type: ignore[arg-type]
    write_trace(done.release, path)
    found = judge(with_seal(with_file(done.body, path)), release=path)
    told = None if made in WHITE_COULD_PASS else True
    assert (found.unchanged, found.clean, found.plausible) == (True, True, told), found.lines()
    assert found.plausible or "one with the white share of the noise only" in found.reasons["plausible"]


@pytest.mark.parametrize("ending", ["gpx", "geojson", "csv", "parquet", "geoparquet", "gpkg"])
def test_a_kept_field_that_is_empty_everywhere(ending: str, tmp_path: Path) -> None:
    """Of 8 of 18 people every value near a cut was blanked, a namespace stayed, and the release was NOT GOOD."""
    trace = ride(heart_rate=np.full(COUNT, np.nan), elevation=np.arange(float(COUNT)))
    done, path = sf.protect(trace, keep=["heart_rate", "elevation"]), tmp_path / f"r.{ending}"
    write_trace(done.release, path)
    found = judge(with_seal(with_file(done.body, path)), release=path)
    assert found.ok, found.lines()


@pytest.mark.parametrize("keep", [[], ["trip_id"]])
def test_a_frame_with_its_trips(keep: list[str], tmp_path: Path) -> None:
    done = sf.protect(people(), person="user_id", keep=keep)
    path = tmp_path / "r.parquet"
    done.frame.to_parquet(path)
    found = judge(done.certificate, release=path)
    assert found.ok, found.lines()
    assert [name for name in found.exact if not name.startswith("ids")] == [
        "trip_id"
    ]  # frames in memory keep ids and trips


@pytest.mark.parametrize(
    "words",
    [
        ("ride.gpx", "-o", "out.gpx"),
        ("ride.gpx", "-o", "out.csv", "--keep", "elevation"),
        ("ride.gpx", "-o", "out.gpx", "--style", "smooth", "--sign", "me.pem"),
        ("people.csv", "-o", "out.csv", "--column", "id=user_id"),
        ("people.csv", "-o", "out.parquet", "--column", "id=user_id"),
        ("people.parquet", "-o", "out.parquet", "--column", "id=user_id", "--times", "coarse:300s"),
        ("rides", "-o", "out"),
        ("rides", "-o", "out", "--times", "relative"),
        ("rides.zip", "-o", "out", "--times", "shift"),
        ("rides", "-o", "out", "--times", "coarse:300s"),
        ("table", "-o", "out", "--column", "id=user_id"),
    ],
    ids=" ".join,
)
def test_every_command_that_protects(words: tuple[str, ...], tmp_path: Path) -> None:
    write_trace(ride(elevation=np.arange(float(COUNT))), tmp_path / "ride.gpx")
    people().to_csv(tmp_path / "people.csv", index=False)
    table = pa.Table.from_pandas(people(), preserve_index=False)
    pq.write_table(table, tmp_path / "people.parquet")
    (tmp_path / "rides").mkdir()
    for number in range(2):
        write_trace(ride(day=number), tmp_path / "rides" / f"{number}.gpx")
    shutil.make_archive(str(tmp_path / "rides"), "zip", tmp_path / "rides")
    (tmp_path / "table").mkdir()
    pq.write_table(table.select(["user_id", "lat", "lon", "time"]), tmp_path / "table" / "part.parquet")
    assert run("keys", "make", "me", folder=tmp_path)[0] == 0
    coarse = "coarse:300s" in words
    code, out, err = run("protect", *words, *(("--sign", "me.pem") if coarse else ()), folder=tmp_path)
    assert code == 0, out + err
    if coarse:
        said = run("verify", words[2], folder=tmp_path)[1]
        assert said.startswith("CANNOT BE TOLD: do not rely on this release before")
        assert "Plausible?         cannot be told" in said
    signer = ("--signer", "me.pub") if "--sign" in words or coarse else ()
    code, out, err = run("verify", words[2], *signer, folder=tmp_path)
    assert code == 0, out + err


def test_a_hidden_folder_that_keeps_what_is_blank_near_a_cut(tmp_path: Path) -> None:
    heart = np.full(COUNT, np.nan)
    heart[:20] = 120.0
    (tmp_path / "rides").mkdir()
    trace = ride(heart_rate=heart)
    trace = Trace(trace.lat_deg + np.linspace(0.0, 0.05, COUNT), trace.lon_deg, trace.times_s, None, trace.columns)
    write_trace(trace, tmp_path / "rides" / "one.gpx")
    place = f"{trace.lat_deg[0]:.6f},{trace.lon_deg[0]:.6f}"
    assert run("places", "add", "home", place, "--places", "me.places", folder=tmp_path)[0] == 0
    words = ("hide", "rides", "-o", "out", "--places", "me.places", "--keep", "heart_rate", "--unnamed", "warn")
    code, out, err = run(*words, folder=tmp_path)
    assert code == 0, out + err
    code, out, err = run("verify", "out", "--json", folder=tmp_path)
    assert json.loads(out)["clean"] is not False, out + err


def test_the_same_noise_has_the_same_verdict_and_warning_at_every_door(tmp_path: Path) -> None:
    """In 0.2.0 `protect --noise 30m` was NOT GOOD, and `hide --blur 30m` held."""
    (tmp_path / "rides").mkdir()
    for day in range(2):
        one = ride(day=day)
        gone = Trace(one.lat_deg + np.linspace(0.0, 0.05, COUNT), one.lon_deg, one.times_s)
        write_trace(gone, tmp_path / "rides" / f"{day}.gpx")
    assert run("places", "add", "home", "48.5,2.5", "--places", "me.places", folder=tmp_path)[0] == 0
    doors = {
        "file": ("protect", "rides/0.gpx", "-o", "file.gpx", "--noise", "30m"),
        "folder": ("protect", "rides", "-o", "folder", "--noise", "30m"),
        "hidden": ("hide", "rides", "-o", "hidden", "--places", "me.places", "--blur", "30m", "--unnamed", "warn"),
    }
    odds = "The worst odds it states are more than a million : 1 between places 200 m apart."
    for name, words in doors.items():
        code, out, err = run(*words, folder=tmp_path)
        assert code == 0, out + err
        assert f"Warning: this protects nothing. {odds}" in " ".join(out.split()), name
        said = json.loads(run("verify", words[3], "--json", folder=tmp_path)[1])
        hidden = name == "hidden"
        assert said["protection"] == ("places withheld" if hidden else "none")
        stated = f"Protection by the noise on the rest: none. {odds}" if hidden else odds
        assert stated in said["reasons"]["protection"]
        assert said["against"].endswith("not against somebody who smooths the rest") == hidden


def test_a_reader_who_has_read_enough_does_not_change_the_verdict(tmp_path: Path) -> None:
    """`verify ... | head` exited 1 in 0.2.0."""
    write_trace(ride(), tmp_path / "ride.gpx")
    assert run("protect", "ride.gpx", "-o", "out.gpx", folder=tmp_path)[0] == 0
    command = f"{sys.executable} -c 'from sfumato.cli import main; main()' verify out.gpx"
    shell = f"set -o pipefail; {command} | head -n 1"
    done = subprocess.run(["bash", "-c", shell], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout.startswith("Good")) == (0, True), done.stderr


TIMES = ("keep", "shift", "relative", "coarse:300s", "drop")


@pytest.fixture(scope="module")
def far_away(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two rides of one person and a dataset of three, who all leave home, and a places file of each."""
    folder = tmp_path_factory.mktemp("far")
    (folder / "rides").mkdir()
    (folder / "table").mkdir()
    (folder / "people").mkdir()
    away = np.linspace(0.0, 0.05, COUNT)
    for day in range(2):
        one = ride(day=day)
        write_trace(Trace(one.lat_deg + away, one.lon_deg, one.times_s), folder / "rides" / f"{day}.gpx")
    table = people().drop(columns="trip_id")
    table["lat"] += np.tile(away, 3)
    pq.write_table(pa.Table.from_pandas(table, preserve_index=False), folder / "table" / "part.parquet")
    for number in range(3):
        words = ("places", "add", "home", f"{48.5 + 0.2 * number},2.5", "--places", f"people/u{number}.places")
        assert run(*words, folder=folder)[0] == 0
    return folder


@pytest.mark.parametrize("times", TIMES)
@pytest.mark.parametrize("kind", ["rides", "table"])
def test_what_hide_makes_with_every_kind_of_times(kind: str, times: str, far_away: Path) -> None:
    """Files without times cannot be written again to compare; rows without times are looked at as they are."""
    out_name = f"{kind}-{times[:5]}"
    places = ("people/u0.places",) if kind == "rides" else ("people", "--column", "id=user_id")
    words = ("hide", kind, "-o", out_name, "--unnamed", "warn", "--times", times, "--places", *places)
    code, out, err = run(*words, folder=far_away)
    assert code == 0, out + err
    code, out, err = run("verify", out_name, "--json", folder=far_away)
    said, told = json.loads(out), None if (kind, times) == ("rides", "drop") else True
    assert (said["unchanged"], said["clean"], said["plausible"], code) == (True, told, True, 0 if told else 1), out
    assert (said["protection"], said["ok"]) == ("places withheld", bool(told))


@pytest.mark.parametrize("kind", ["rides", "table"])
def test_noise_without_times_can_never_be_told(kind: str, far_away: Path) -> None:
    words = ("protect", kind, "-o", f"{kind}-noise", "--times", "drop")
    code, out, err = run(*words, *(("--column", "id=user_id") if kind == "table" else ()), folder=far_away)
    assert code == 0, out + err
    code, out, _ = run("verify", f"{kind}-noise", "--json", folder=far_away)
    said = json.loads(out)
    assert (code, said["unchanged"], said["plausible"], said["protection"]) == (1, True, None, "as promised"), out


def test_one_track_without_times_has_no_certificate_and_says_so(far_away: Path) -> None:
    code, out, err = run("protect", "rides/0.gpx", "-o", "bare.gpx", "--times", "drop", folder=far_away)
    assert code == 0, out + err
    assert "No certificate: without times nobody could check it" in " ".join(out.split())
    assert not (far_away / "bare.gpx.certificate.json").exists()
    assert run("verify", "bare.gpx", folder=far_away)[0] == 2


@pytest.mark.parametrize(
    ("mechanism", "every"), [((), 1), (("--mechanism", "published"), 8)], ids=["secrets", "published"]
)
def test_noise_at_chosen_times_is_good_over_its_prior_only(
    mechanism: tuple[str, ...], every: int, tmp_path: Path
) -> None:
    one = ride()
    write_trace(Trace(one.lat_deg[::every], one.lon_deg[::every], one.times_s[::every]), tmp_path / "ride.gpx")
    words = ("protect", "ride.gpx", "-o", "out.gpx", "--secrets", "windows:10min", "--accept-odds", *mechanism)
    code, out, err = run(*words, folder=tmp_path)
    assert code == 0, out + err
    code, out, _ = run("verify", "out.gpx", "--json", folder=tmp_path)
    said = json.loads(out)
    assert (code, said["unchanged"], said["clean"]) == (1, True, True), out
    assert said["unmet"] == [
        "class: it holds over one prior only, no class; if that is enough for you, --require class=prior"
    ]
    enough = json.loads(run("verify", "out.gpx", "--require", "class=prior", "--json", folder=tmp_path)[1])
    assert enough["unmet"] == []
    assert enough["ok"] == (enough["plausible"] is True and enough["protection"] == "as promised"), enough
