"""Tables protected in parts are the table protected whole; types, names and order are the table's own."""

from __future__ import annotations

import json
import warnings
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest

import sfumato as sf
from sfumato.base.errors import InputError, NotCertified
from sfumato.base.randomness import fresh_key
from sfumato.base.things.frames import differences_m
from sfumato.tracks.folders.streams import protect_table
from sfumato.tracks.io.tables.wkb import encode_points
from sfumato.tracks.people.noise import choose_for_people
from sfumato.tracks.plan import Plan

pytestmark = pytest.mark.filterwarnings("ignore:Worst group")  # its people are made up side by side

PLAN = Plan(noise_m=200.0)
KEY = bytes(range(32))


def people(count: int = 5, rows: int = 40, seed: int = 0) -> pa.Table:
    rng = np.random.default_rng(seed)
    who = rng.integers(0, count, count * rows)
    return pa.table(
        {
            "user_id": pa.array([f"u{w}" for w in who]),
            "when": pa.array(1_700_000_000_000 + rng.permutation(count * rows) * 7000).cast(pa.timestamp("ms", "UTC")),
            "lat": 48.5 + rng.normal(size=count * rows) * 0.01,
            "lon": 2.5 + rng.normal(size=count * rows) * 0.01,
            "speed": rng.uniform(0, 9, count * rows),
        }
    ).rename_columns(["user_id", "time", "lat", "lon", "speed"])


def test_parts_by_person_are_the_whole() -> None:
    table = people()
    whole, _ = protect_table(table, PLAN, key=KEY)
    for person in range(5):
        mine = pa.compute.equal(table.column("user_id"), f"u{person}")
        part, _ = protect_table(table.filter(mine), PLAN, key=KEY)
        assert part.equals(whole.filter(pa.compute.equal(whole.column("user_id"), f"u{person}")))


def test_parts_by_day_and_by_file_are_the_whole_in_any_order() -> None:
    table = people(count=3, rows=60)
    day = 1_700_000_000_000 + 180 * 7000 // 3 * np.arange(4)  # three stretches of time that everybody is in
    whole, _ = protect_table(table, PLAN, key=KEY)
    moments = table.column("time").cast(pa.int64()).to_numpy()
    days = [pa.array((moments >= first) & (moments < last)) for first, last in pairwise(day)]
    files = [pa.array(np.arange(180) % 2 == k) for k in (1, 0)]  # every second row, as two files might have them
    for parts in (days, days[::-1], files):
        for part in parts:
            assert protect_table(table.filter(part), PLAN, key=KEY)[0].equals(whole.filter(part))


def test_two_days_under_one_key_do_not_begin_with_the_same_noise() -> None:
    """0.2.0 drew by order and time steps: the vector between two days was exact to 0.05 m."""
    minutes, day_ms = np.arange(60) * 60_000, 86_400_000
    moved = []
    for day in range(8):
        lat = np.full(60, 48.85 + 0.001 * day)
        times = pa.array(1_700_000_000_000 + day * day_ms + minutes).cast(pa.timestamp("ms", "UTC"))
        track = pa.table({"user_id": ["a"] * 60, "time": times, "lat": lat, "lon": np.full(60, 2.35)})
        out, certificate = protect_table(track, PLAN, key=KEY)
        assert certificate["releases"]["mode"] == "continuing"
        moved.append((out.column("lat").to_numpy() - lat) * 111_195.0)
    apart = np.abs(np.array(moved)[1:] - np.array(moved)[:1])
    assert np.quantile(apart, 0.05) > 1.0
    assert apart.mean() > 50.0


def test_another_size_under_one_key_is_another_noise() -> None:
    table = people(count=1)
    east = [protect_table(table, Plan(noise_m=size), key=KEY)[0].column("lon").to_numpy() for size in (200.0, 400.0)]
    once, twice = (lon - table.column("lon").to_numpy() for lon in east)
    assert abs(np.corrcoef(once, twice)[0, 1]) < 0.99  # scaled noise would give the truth away: 2 x - y


def test_noise_that_follows_the_order_of_rows_takes_no_key() -> None:
    for plan in (Plan(mechanism="independent", noise_m=200.0), Plan(noise_m=200.0, redraws=2)):
        with pytest.raises(InputError, match="a function of the time"):
            protect_table(people(), plan, key=KEY)


def test_rows_in_another_order_get_the_same_noise() -> None:
    table = people()
    order = np.random.default_rng(4).permutation(table.num_rows)
    whole, _ = protect_table(table, PLAN, key=KEY)
    shuffled, _ = protect_table(table.take(pa.array(order)), PLAN, key=KEY)
    assert shuffled.equals(whole.take(pa.array(order)))


def test_every_release_is_fresh_unless_seeded() -> None:
    table = people()
    one, other = (protect_table(table, PLAN)[0] for _ in range(2))
    assert not one.equals(other)
    seeded = [protect_table(table, PLAN, rng=3) for _ in range(2)]
    assert seeded[0][0].equals(seeded[1][0])
    assert seeded[0][1]["simulation"]
    assert not protect_table(table, PLAN, rng=4)[0].equals(seeded[0][0])


def test_noise_has_the_size_that_is_stated() -> None:
    table = people(400, 4)
    out, certificate = protect_table(table, PLAN)
    moved = differences_m(*(t.column(c).to_numpy() for t in (table, out) for c in ("lat", "lon")))
    assert abs(moved.std() / certificate["rms_noise_m"] - 1) < 0.1


@pytest.mark.parametrize(
    "kind",
    [
        *(pa.timestamp(unit, zone) for unit in ("s", "ms", "us", "ns") for zone in ("UTC", None)),
        pa.int64(),
        pa.float64(),
    ],
)
def test_times_come_back_in_their_own_type(kind: pa.DataType) -> None:
    table = people()
    moments = table.column("time")
    if pa.types.is_timestamp(kind):
        column = moments.cast(pa.timestamp("ms")).cast(kind, safe=False)
        if kind.tz:
            column = moments.cast(kind, safe=False)
    else:
        column = pa.compute.divide(moments.cast(pa.int64()), 1000).cast(kind)
    table = table.set_column(1, "time", column)
    out, _ = protect_table(table, PLAN, key=KEY, zone="UTC")
    assert out.column("time").equals(table.column("time"))
    hourly, _certificate = protect_table(table, Plan(noise_m=200.0, times="coarse:60min"), key=KEY, zone="UTC")
    assert hourly.schema.field("time").type == kind
    assert hourly.column("lat").equals(out.column("lat"))
    seconds = (
        pa.compute.divide(hourly.column("time").cast(pa.timestamp("ms")).cast(pa.int64()), 1000).to_numpy()
        if (pa.types.is_timestamp(kind))
        else hourly.column("time").to_numpy()
    )
    assert (seconds % 3600 == 0).all()


@pytest.mark.parametrize("ids", ["large_string", "int", "dictionary"])
def test_ids_of_any_type_are_the_same_people(ids: str) -> None:
    table = people()
    plain = pa.compute.utf8_slice_codeunits(table.column("user_id"), 1)
    whole, _ = protect_table(table.set_column(0, "user_id", plain), PLAN, key=KEY)
    kinds = {"large_string": pa.large_string(), "int": pa.int32()}
    other = plain.dictionary_encode() if ids == "dictionary" else plain.cast(kinds[ids])
    out, _ = protect_table(table.set_column(0, "user_id", other), PLAN, key=KEY)
    assert out.column("user_id").equals(other)
    assert out.column("lat").equals(whole.column("lat"))


def test_coordinates_of_other_types_come_back_in_them() -> None:
    table = people()
    whole, _ = protect_table(table, PLAN, key=KEY)
    small = table.set_column(2, "lat", table.column("lat").cast(pa.float32()))
    out, _ = protect_table(small, PLAN, key=KEY)
    assert out.schema.field("lat").type == pa.float32()
    blob = pa.Array.from_buffers(
        pa.binary(21),
        table.num_rows,
        [None, pa.py_buffer(encode_points(table["lat"].to_numpy(), table["lon"].to_numpy()))],
    ).cast(pa.binary())
    geo = {
        "version": "1.1.0",
        "primary_column": "geometry",
        "columns": {"geometry": {"encoding": "WKB", "bbox": [1, 2, 3, 4]}},
    }
    shaped = (
        table.drop_columns(["lat", "lon"])
        .append_column("geometry", blob)
        .replace_schema_metadata({"geo": json.dumps(geo)})
    )
    out, _ = protect_table(shaped, PLAN, key=KEY)
    assert out.column_names == ["user_id", "time", "geometry"]
    assert b"bbox" not in out.schema.metadata[b"geo"]
    assert out.column("geometry")[0].as_py() == encode_points(whole["lat"].to_numpy()[:1], whole["lon"].to_numpy()[:1])


def test_bad_rows_are_counted_and_left_out_or_refused() -> None:
    table = people()
    lat = table.column("lat").to_numpy().copy()
    lat[0], lat[1] = np.nan, 400.0
    who = [None, *table.column("user_id").to_pylist()[1:]]
    who[2] = None
    bad = table.set_column(2, "lat", pa.array(lat)).set_column(0, "user_id", pa.array(who))
    bad = pa.concat_tables([bad, bad.slice(5, 1)])  # a second row at one time
    with pytest.warns(UserWarning, match="4 of 201 rows cannot be used"):
        out, certificate = protect_table(bad, PLAN, key=KEY)
    assert out.num_rows == certificate["points"] == 197
    whole, _ = protect_table(table.slice(3), PLAN, key=KEY)
    assert out.equals(whole)
    with pytest.raises(InputError, match="second points of one person at one time \\(1\\)"):
        protect_table(bad, PLAN, strict=True)


def test_a_certificate_of_a_table_verifies() -> None:
    table = people(3).sort_by([("user_id", "ascending"), ("time", "ascending")])
    out, certificate = protect_table(table, PLAN)
    assert sf.verify(certificate, release=sf.read_traces(out)).checks
    assert "counter mode" in certificate["randomness"]


def test_a_kept_column_that_is_the_position_is_refused() -> None:
    table = people()
    disguised = table.set_column(4, "speed", table.column("lat"))
    with pytest.raises(InputError, match="true position"):
        protect_table(disguised, Plan(noise_m=200.0, keep=("speed",)))
    kept, _ = protect_table(table, Plan(noise_m=200.0, keep=("speed",)))
    assert kept.column("speed").equals(table.column("speed"))


def test_other_mechanisms_are_drawn_person_by_person() -> None:
    table = people(2, 10)
    out, certificate = protect_table(table, Plan(noise_m=200.0, mechanism="independent"), rng=1)
    assert certificate["mechanism"] == "independent"
    assert out.num_rows == 20


def test_noise_that_does_not_move_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "sfumato.tracks.people.noise.streamed_paths", lambda _, times_ms, *rest: np.zeros((times_ms.size, 2))
    )
    with pytest.raises(NotCertified):
        protect_table(people(), PLAN)


def test_the_key_is_in_no_repr() -> None:
    key = fresh_key()
    assert key.hex() not in repr(choose_for_people(PLAN, key=key))
    assert str(key) not in repr(choose_for_people(PLAN, key=key))


def test_no_warning_where_nothing_is_wrong() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        protect_table(people(1), PLAN)


def test_rows_that_name_nobody_share_no_noise_under_a_key() -> None:
    """Two people's tables without ids had the same noise at the same moments: the way between them was released."""
    nameless = people().drop_columns(["user_id"]).slice(0, 40)
    with pytest.raises(InputError, match="nothing says whose the rows are"):
        protect_table(nameless, PLAN, key=KEY)
    assert protect_table(nameless, PLAN, key=KEY, one_person=True)[1]["people"] == 1
