"""One state, one person, one noise: whichever way a person comes in, and however their id is written."""

from __future__ import annotations

import itertools
import shutil
from pathlib import Path

import numpy as np
import pytest
from repository import ROOT
from typer.testing import CliRunner

import sfumato as sf
from sfumato.base.errors import InputError
from sfumato.base.things.traces import Trace
from sfumato.cli import app
from sfumato.tracks.certificates.person_ids import canonical_id, distinct_ids
from sfumato.tracks.certificates.state import NoiseState, load_state, person_key
from sfumato.tracks.noise.multiscale.ladder import shipped_ladder
from sfumato.tracks.people.door import protect_fleet
from sfumato.tracks.people.noise import protect_by
from sfumato.tracks.plan import Plan

OLD = ROOT / "tests" / "golden" / "v0_1"
TIMES = 1.7e9 + 60.0 * np.arange(6)


def walk(east: float = 0.0) -> Trace:
    return Trace(48.2 + 1e-4 * np.arange(6), np.full(6, 16.37 + east), TIMES)


def table(path: Path, *people: str) -> Path:
    rows = ["user_id,lat,lon,time"]
    for number, person in enumerate(people):
        trace = walk(0.01 * number)
        rows += [
            f'"{person}",{lat:.7f},{lon:.7f},{time:.0f}'
            for lat, lon, time in zip(trace.lat_deg, trace.lon_deg, trace.times_s, strict=True)
        ]
    path.write_text("\n".join(rows) + "\n")
    return path


def by_command(source: Path, state: Path, *more: str) -> list[tuple[str, Trace]]:
    out = source.with_name(f"{source.stem}_out.csv")
    done = CliRunner().invoke(
        app, ["protect", str(source), "-o", str(out), "--state", str(state), "--ids", "keep", *more]
    )
    if done.exit_code:
        assert isinstance(done.exception, Exception)
        raise done.exception
    return sf.read_traces(out)


@pytest.mark.parametrize(
    "same",
    [
        ("alice", "Alice", " alice ", "ALICE"),
        ("1", "1.0", "01", "+1", "1.", "1e+0"),
        ("1.50", "1.5"),
        ("zo\u00eb", "zoe\u0308", "ZO\u00cb"),
        ("-0", "0", "0.0"),
        ("a b", "a  b", "A\u00a0B", "a\tb"),
        ("eve", "eve\u200b", "\ufeffeve", "e\u00adve", "\uff45\uff56\uff45", "eve\x00"),
    ],
)
def test_one_person_has_one_id_however_it_is_written(same: tuple[str, ...]) -> None:
    assert len({canonical_id(person) for person in same}) == 1
    assert len({person_key(bytes(32), person) for person in same}) == 1
    for one, other in itertools.combinations(same, 2):
        with pytest.raises(InputError, match="same id") as caught:
            distinct_ids(["somebody", one, other])
        assert one.strip() not in str(caught.value) or one.strip().isdigit()


def test_different_people_keep_different_ids() -> None:
    people = ["1", "10", "0.1", "-1", "a", "b", "1e5", "100000", "a b", "ab", "ß x", "one person", ""][:-1]
    assert len({canonical_id(person) for person in people}) == len(people)
    assert len({person_key(bytes(32), person) for person in [*people, None]}) == len(people) + 1
    with pytest.raises(InputError, match="empty"):
        canonical_id("  ")


def test_every_way_in_draws_the_same_noise_for_the_same_person(tmp_path: Path) -> None:
    """The first edition drew two noises for alice (alone, and with bob): odds of 10.9 : 1 where 5 were promised."""
    state = tmp_path / "fleet.json"
    alone = by_command(table(tmp_path / "alone.csv", "alice"), state)
    together = by_command(table(tmp_path / "together.csv", "bob", "Alice", "3"), state)
    python = protect_fleet(Plan(), [("alice ", walk())], state=state)
    one = protect_by(Plan(), walk(), state=state, person="ALICE")
    gpx = tmp_path / "alice.gpx"
    sf.write_trace(walk(), gpx)
    named = by_command(gpx, state, "--ledger-person", "alice")
    expected = alone[0][1].lat_deg - walk().lat_deg
    for found in (
        dict(together)["Alice"],
        python.releases[0][1],
        one.release,
        sf.protect(walk(), state=load_state(state), person="alice").release,
        named[0][1],
    ):
        np.testing.assert_allclose(found.lat_deg - walk().lat_deg, expected, atol=2e-6)
    others = np.array([trace.lat_deg - walk().lat_deg for name, trace in together if name != "Alice"])
    assert np.abs(others - expected).max(axis=1).min() > 1e-5


def test_numbers_as_ids_are_the_same_from_text_and_from_numbers(tmp_path: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    state = tmp_path / "s.json"
    releases = []
    for name, ids in {"whole": pa.int64(), "real": pa.float64(), "text": pa.string()}.items():
        trace, path = walk(), tmp_path / f"{name}.parquet"
        people = ["1"] * 6 if pa.types.is_string(ids) else [1] * 6
        columns = {"user_id": pa.array(people, ids), "lat": trace.lat_deg, "lon": trace.lon_deg, "time": trace.times_s}
        pq.write_table(pa.table(columns), path)
        releases.append(by_command(path, state)[0][1].lat_deg)
    np.testing.assert_allclose(releases, releases[:1] * 3, atol=2e-6)


def test_a_state_is_used_with_ids_or_without_never_both(tmp_path: Path) -> None:
    named, plain = tmp_path / "named.json", tmp_path / "plain.json"
    sf.protect(walk(), state=plain)
    protect_fleet(Plan(), [("alice", walk())], state=named)
    with pytest.raises(InputError, match="--ledger-person"):
        sf.protect(walk(), state=named)
    with pytest.raises(InputError, match="--one-person"):
        protect_fleet(Plan(), [("alice", walk())], state=plain)
    with pytest.raises(InputError, match="--one-person"):
        sf.protect(walk(), state=plain, person="alice")
    assert not load_state(plain).named
    assert load_state(named).named
    damaged = named.read_text().replace('"sfumato_state": 2', '"sfumato_state": 1')
    named.write_text(damaged)
    with pytest.raises(InputError, match="changed"):
        load_state(named)


def test_two_people_whose_ids_become_one_are_refused_before_anything_is_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="same id"):
        by_command(table(tmp_path / "t.csv", "bob", "Bob"), tmp_path / "s.json")
    assert not (tmp_path / "s.json").exists()
    assert not (tmp_path / "t_out.csv").exists()


def old(tmp_path: Path, name: str) -> Path:
    path = tmp_path / name
    shutil.copy(OLD / name, path)
    path.chmod(0o600)
    return path


def test_a_fleets_state_of_the_first_format_goes_on_with_the_noise_it_began(tmp_path: Path) -> None:
    state = old(tmp_path, "fleet_state.json")
    assert load_state(state).format == 1
    people = sf.read_traces(OLD / "fleet.csv")
    before = dict(sf.read_traces(OLD / "fleet_release.csv"))
    again = protect_fleet(Plan(), people, state=state)
    for person, trace in again.releases:
        np.testing.assert_allclose(trace.lat_deg, before[person].lat_deg, atol=1e-7)
        np.testing.assert_allclose(trace.lon_deg, before[person].lon_deg, atol=1e-7)


def test_a_state_of_the_first_format_is_refused_where_one_person_could_get_two_noises(tmp_path: Path) -> None:
    for name in ("fleet_state.json", "state.json"):
        with pytest.raises(InputError, match="first format"):
            by_command(table(tmp_path / "alone.csv", "alice"), old(tmp_path, name))


def test_a_state_of_the_first_format_stays_one_when_it_is_copied(tmp_path: Path) -> None:
    from sfumato.tracks.certificates.state import create_state

    state = load_state(old(tmp_path, "fleet_state.json"))
    create_state(tmp_path / "copy.json", state)
    assert load_state(tmp_path / "copy.json").format == 1
    assert load_state(tmp_path / "copy.json").key_of("bob", together=True) == state.key_of("bob", together=True)
    fresh = NoiseState.fresh(1.0, shipped_ladder().to_dict())
    assert fresh.format == 2


def test_a_table_without_ids_is_nobody_in_particular(tmp_path: Path) -> None:
    """It was the person "1": the named person was ignored, and a table with an id 1 continued somebody else's noise."""
    state = tmp_path / "fleet.json"
    (_, alice), *_ = by_command(table(tmp_path / "people.csv", "alice", "1"), state)
    bare = tmp_path / "bare.csv"
    people = table(tmp_path / "alice.csv", "alice").read_text().splitlines()
    names = people[0].split(",")
    drop = next(number for number, name in enumerate(names) if "id" in name or name == "user")
    bare.write_text("\n".join(",".join(v for i, v in enumerate(row.split(",")) if i != drop) for row in people) + "\n")
    with pytest.raises(InputError, match="has none"):
        by_command(bare, state)
    ((_, again),) = by_command(bare, state, "--ledger-person", "alice")
    assert again.lat_deg.tolist() == alice.lat_deg.tolist()
    own = tmp_path / "own.json"
    by_command(bare, own)
    with pytest.raises(InputError, match="without an id"):
        by_command(table(tmp_path / "one.csv", "1"), own)
    by_command(bare, old(tmp_path, "state.json"))  # one person's state of the first format goes on
