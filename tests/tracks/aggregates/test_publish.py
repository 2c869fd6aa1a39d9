"""Tables of everybody: what they promise is what can be measured, and what they say holds."""

from __future__ import annotations

import json
import math
import re
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy.stats import beta
from typer.testing import CliRunner

from sfumato.accountant.ledger import read_ledger
from sfumato.base.errors import BudgetExceeded, InputError, MissingExtra
from sfumato.base.randomness import randomness
from sfumato.base.things.grid import Grid
from sfumato.cli import app
from sfumato.tracks.aggregates import opendp_noise
from sfumato.tracks.aggregates.bound_choice import CHOICES, chosen_bound
from sfumato.tracks.aggregates.check_table import judge_table
from sfumato.tracks.aggregates.contributions import at_most, shared_out
from sfumato.tracks.aggregates.holder import HeldLedger, publish
from sfumato.tracks.aggregates.levels import Levels
from sfumato.tracks.aggregates.noise_law import UseOfData, chance_of, reach_of, seldom_of
from sfumato.tracks.aggregates.opendp_noise import noisy_counts, noisy_keys
from sfumato.tracks.aggregates.person_rows import PersonRows
from sfumato.tracks.aggregates.public_table import PublicTable
from sfumato.tracks.answers.answer_files import write_answer
from sfumato.tracks.answers.maps.cells import outlines
from sfumato.tracks.certificates.document import with_seal

pytest.importorskip("opendp")
BOUNDS = (48.80, 2.25, 48.90, 2.45)
RUNS = 20_000


def city(people: int = 400, rows: int = 30, seed: int = 0) -> pa.Table:
    """People around homes of their own, a trip every five rows, a stop that few or many use."""
    rng = np.random.default_rng(seed)
    home = np.array([48.85, 2.35]) + rng.normal(0, 0.015, (people, 2))
    where = np.repeat(home, rows, axis=0) + rng.normal(0, 0.003, (people * rows, 2))
    return pa.table(
        {
            "user_id": np.repeat([f"p{n}" for n in range(people)], rows),
            "lat": where[:, 0],
            "lon": where[:, 1],
            "time": np.tile(np.arange(rows) * 60 + 1_700_000_000, people),
            "trip_id": np.tile(np.arange(rows) // 5, people),
            "stop": [f"s{n}" for n in np.minimum(rng.zipf(1.4, people * rows), 300)],
        }
    )


def least_epsilon(with_them: np.ndarray, without: np.ndarray) -> float:
    """A lower bound (99.99 %) on epsilon: a cut is chosen on half of the runs, and counted on the others."""

    def bound(first: np.ndarray, second: np.ndarray, cut: float) -> float:
        hits = np.count_nonzero(first >= cut), np.count_nonzero(second >= cut)
        low = beta.ppf(0.0001, hits[0], len(first) - hits[0] + 1) if hits[0] else 1e-12
        return float(np.log(low / beta.ppf(0.9999, hits[1] + 1, len(second) - hits[1])))

    cuts = np.unique(np.quantile(np.r_[with_them, without], np.linspace(0.02, 0.98, 40)))
    best = max(cuts, key=lambda cut: bound(with_them[::2], without[::2], cut))
    return bound(with_them[1::2], without[1::2], best)


def noisy_runs(counts: np.ndarray, bound: int, epsilon: float) -> np.ndarray:
    """The count of the third key in many tables."""
    many = np.full(RUNS, counts[2], dtype=np.int64)
    return noisy_counts("audit", many, bound=bound, epsilon=epsilon, source=randomness())[0]


@pytest.mark.parametrize("kind", ["divided", "at most"])
def test_the_worst_neighbours_are_told_apart_as_well_as_epsilon_says_and_no_better(kind: str) -> None:
    crowd = PersonRows(np.arange(20), np.arange(20) % 4)
    them = PersonRows(np.r_[crowd.person, np.full(100_000, 99)], np.r_[crowd.key, np.full(100_000, 2)])
    counted = shared_out if kind == "divided" else lambda rows, keys: at_most(rows, keys, 8, randomness(1))
    with_them, without = (noisy_runs(counted(rows, 4), 1000 if kind == "divided" else 8, 1.0) for rows in (them, crowd))
    assert 0.7 <= least_epsilon(with_them, without) <= 1.0


def test_without_bounding_the_audit_finds_much_more_than_epsilon() -> None:
    crowd = PersonRows(np.arange(20), np.arange(20) % 4)
    them = PersonRows(np.r_[crowd.person, np.full(100, 99)], np.r_[crowd.key, np.full(100, 2)])
    unbounded = [np.bincount(rows.key, minlength=4) for rows in (them, crowd)]
    with_them, without = (noisy_runs(counts, 8, 1.0) for counts in unbounded)
    assert least_epsilon(with_them, without) > 3.0


@pytest.mark.slow
def test_a_name_that_one_person_has_is_released_with_probability_delta_at_most() -> None:
    epsilon, delta, bound = 1.0, 0.02, 3
    released, cost = 0, 0.0
    for _ in range(2000):
        found, spent = noisy_keys("n", {5: bound}, bound=bound, epsilon=epsilon, delta=delta, source=randomness())
        released, cost = released + bool(found), spent.delta
    assert released / 2000 <= delta
    assert released / 2000 >= delta / bound / 4  # and the threshold is not far beyond what it must be
    assert cost == pytest.approx(chance_of(spent))
    assert cost <= delta


def test_noise_and_its_reach_are_those_of_the_law() -> None:
    drawn, spent = noisy_counts("n", np.zeros(40_000, np.int64), bound=5, epsilon=0.5, source=randomness())
    a = math.exp(-1 / spent.scale)
    assert np.var(drawn) == pytest.approx(2 * a / (1 - a) ** 2, rel=0.06)
    assert spent.epsilon <= 0.5
    for confidence in (0.5, 0.9, 0.99):
        reach = reach_of(spent.scale, confidence)
        assert 2 * a ** (reach + 1) / (1 + a) <= 1 - confidence < 2 * a**reach / (1 + a)
        assert np.mean(np.abs(drawn) <= reach) == pytest.approx(1 - 2 * a ** (reach + 1) / (1 + a), abs=0.0125)
    least = seldom_of(spent.scale, 0.01)
    assert a**least / (1 + a) <= 0.01 < a ** (least - 1) / (1 + a)


def test_a_seed_draws_the_same_law_and_says_that_it_is_a_simulation() -> None:
    drawn, spent = noisy_counts("n", np.zeros(40_000, np.int64), bound=5, epsilon=0.5, source=randomness(1))
    a = math.exp(-1 / spent.scale)
    assert np.var(drawn) == pytest.approx(2 * a / (1 - a) ** 2, rel=0.06)
    found = publish(city(50), epsilon=1, cell_m=1000, bounds=BOUNDS, rng=1)
    assert found.guarantee.simulation
    assert "SIMULATION" in found.notes[0]
    again = publish(city(50), epsilon=1, cell_m=1000, bounds=BOUNDS, rng=1)
    assert found.to_table().equals(again.to_table())


def test_where_people_add_so_much_that_nothing_can_be_shown_a_smaller_bound_is_advised() -> None:
    stops = [f"s{n}" for n in range(150)]
    everywhere = pa.table({"user_id": np.repeat([f"p{n}" for n in range(300)], 150), "stop": stops * 300})
    nothing = publish(everywhere, "counts", epsilon=1, by=["stop"], delta=1e-6, rng=1)
    advised = re.search(r"Nothing is shown: .* --most (\d+): counts from about (\d+)\.", nothing.lines()[-1])
    assert advised
    less = publish(everywhere, "counts", epsilon=1, by=["stop"], delta=1e-6, most=int(advised[1]), rng=1)
    assert 0.5 * int(advised[2]) < less.terms["least"] < 1.5 * int(advised[2])
    assert "Nothing is shown" not in less.lines()[-1] or less.terms["rows"] == 0


def test_the_bound_is_chosen_near_what_few_people_pass() -> None:
    rng = np.random.default_rng(0)
    each = rng.poisson(20, 5000)
    chosen = [chosen_bound(each, epsilon=0.1, source=randomness(seed))[0] for seed in range(20)]
    assert set(chosen) <= {20, 30}
    assert set(chosen) <= set(CHOICES)
    few = [chosen_bound(each[:3], epsilon=0.1, source=randomness(seed))[0] for seed in range(20)]
    assert np.median(few) <= 30  # so few people cannot ask for much


def test_levels_of_a_grid_nest_and_values_become_consistent() -> None:
    grid = Grid.from_bounds(*BOUNDS, cell_size_m=700)
    levels = Levels.of_grid(grid)
    counts = np.random.default_rng(1).poisson(3, grid.cells).astype(np.int64)
    noisy, spent = levels.measure(counts, bound=1, epsilon=1.0, source=randomness(3))
    assert sum(one.epsilon for one in spent) <= 1.0
    whole = levels.whole(levels.consistent(noisy, spent))
    for level, (above, below) in enumerate(pairwise(whole)):
        sums = np.bincount(levels.parents[level + 1], weights=below, minlength=len(above))
        assert sums.tolist() == above.tolist()
        assert below.min() >= 0
    exact = [np.abs(noisy[-1] - counts).mean(), np.abs(whole[-1] - counts).mean()]
    assert exact[1] < exact[0]


def test_areas_shown_cover_every_cell_once() -> None:
    found = publish(city(), epsilon=1, cell_m=500, bounds=BOUNDS, rng=2)
    grid = Grid.from_bounds(*BOUNDS, cell_size_m=500)
    assert found.sizes is not None
    assert found.cells is not None
    assert int(found.sizes.sum()) == grid.cells
    lat, lon = grid.centres_deg()
    placed = found.cells.locate(lat, lon)
    assert (np.bincount(placed, minlength=found.cells.cells) == found.sizes).all()
    assert len(outlines(found.cells)) == found.cells.cells < grid.cells


def truth_of(found: PublicTable, table: pa.Table) -> np.ndarray:
    """People in each area, everybody divided as their rows are."""
    assert found.cells is not None
    at = found.cells.locate(table["lat"].to_numpy(), table["lon"].to_numpy())
    person = np.unique(np.asarray(table["user_id"].to_pylist()), return_inverse=True)[1]
    inside = at >= 0
    each = np.bincount(person[inside], minlength=person.max() + 1)[person[inside]]
    return np.bincount(at[inside], weights=1 / each, minlength=found.cells.cells)


def test_intervals_hold_where_areas_are_told_apart() -> None:
    table, held, shown = city(), 0, 0
    for seed in range(40):
        found = publish(table, epsilon=1, cell_m=700, bounds=BOUNDS, rng=seed)
        there = ~np.isnan(found.count)
        truth = truth_of(found, table)
        held += int(np.count_nonzero((found.low <= truth) & (truth <= found.high) & there))
        shown += int(there.sum())
        assert np.nansum(found.count) <= (found.terms["total"] or 0)
    assert held / shown >= 0.88


def test_small_counts_are_blank_and_the_rest_is_at_least_the_stated_least() -> None:
    found = publish(city(), "counts", epsilon=1, cell_m=1000, bounds=BOUNDS, rng=3, least=25)
    few = np.isnan(found.count)
    assert few.any()
    assert not few.all()
    assert found.terms["least"] >= 25
    assert np.nanmin(found.count) >= found.terms["least"]
    rows = found.to_table().to_pylist()
    assert all(row["low"] is None and row["high"] is None for row, small in zip(rows, few, strict=True) if small)


def test_trips_are_counted_by_their_ends_and_add_up() -> None:
    found = publish(city(), "flows", epsilon=20, cell_m=2000, bounds=BOUNDS, rng=1, most=6)
    assert found.terms["total"] == pytest.approx(400 * 6, abs=30)
    assert np.nansum(found.count) <= (found.terms["total"] or 0)
    assert {"from", "to", "from_lat", "to_lon"} <= set(found.to_table().column_names)


def test_stops_that_few_use_are_hidden_unless_all_stops_are_given() -> None:
    table = city()
    used = set(table["stop"].to_pylist())
    hidden = publish(table, "counts", epsilon=1, delta=1e-6, by=["stop"], rng=1)
    assert 0 < len(hidden.count) < len(used)
    assert hidden.terms["spent"][-1]["threshold"] > 30
    given = publish(table, "counts", epsilon=1, by=["stop"], values=["s1", "s2", "nowhere"], rng=1)
    assert given.to_table()["stop"].to_pylist() == ["s1", "s2", "nowhere"]
    assert given.count[0] == pytest.approx(400, abs=60)
    assert np.isnan(given.count[2])


def test_nobody_at_all_gives_a_table_of_noise_and_no_error() -> None:
    empty = city().slice(0, 0)
    found = publish(empty, epsilon=1, cell_m=1000, bounds=BOUNDS)
    assert np.nan_to_num(found.count).sum() < 200
    nobody = city(20).drop_columns(["user_id"]).append_column("user_id", pa.nulls(600, pa.string()))
    assert publish(nobody, "counts", epsilon=1, cell_m=1000, bounds=BOUNDS).terms["rows"] > 0


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        ({"cell_m": 500}, "rectangle"),
        ({"bounds": BOUNDS}, "one of three kinds"),
        ({"cell_m": 500, "bounds": BOUNDS, "delta": 1e-6}, "public as they are"),
        ({"question": "counts", "by": ["stop"]}, "Which values there are is data"),
        ({"question": "flows", "by": ["stop"], "delta": 1e-6}, "two for flows"),
        ({"cell_m": 500, "bounds": BOUNDS, "person": "nobody"}, "no column 'nobody'"),
        ({"cell_m": 500, "bounds": BOUNDS, "most": 3}, "counts as one"),
        ({"cell_m": 500, "bounds": BOUNDS, "epsilon": 0.0}, "greater than 0"),
        ({"question": "speeds", "cell_m": 500, "bounds": BOUNDS}, "no table 'speeds'"),
    ],
)
def test_what_would_tell_of_somebody_or_means_nothing_is_refused(asked: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=re.escape(said)):
        publish(city(5), **{"epsilon": 1.0, **asked})  # type: ignore[arg-type]


def test_no_error_holds_a_place_of_anybody() -> None:
    broken = city(5).append_column("when", pa.array(["48.85123"] * 150))
    for columns in ({"lat": "user_id"}, {"lon": "user_id"}, {"time": "stop"}):
        with pytest.raises(InputError) as error:
            publish(broken, "flows", epsilon=1, cell_m=5000, bounds=BOUNDS, columns=columns)
        assert not re.search(r"\d\.\d{3}", str(error.value))


def test_without_opendp_it_is_said_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(opendp_noise, "dp", None)
    with pytest.raises(MissingExtra, match=re.escape("sfumato[aggregates]")):
        publish(city(5), epsilon=1, cell_m=500, bounds=BOUNDS)


def test_a_ledger_adds_tables_up_and_refuses_one_beyond_its_cap(tmp_path: Path) -> None:
    path = tmp_path / "year.json"
    ledger = HeldLedger(path, cap=1.5)
    first = publish(city(20), epsilon=1, cell_m=2000, bounds=BOUNDS, ledger=ledger)
    assert first.terms["ledger"] == {"releases": 1, "epsilon": pytest.approx(1.0), "cap": 1.5}
    with pytest.raises(BudgetExceeded):
        publish(city(20), epsilon=1, cell_m=2000, bounds=BOUNDS, ledger=HeldLedger(path))
    second = publish(city(20), "counts", epsilon=0.5, cell_m=2000, bounds=BOUNDS, ledger=HeldLedger(path))
    assert second.terms["ledger"]["releases"] == 2  # type: ignore[index]
    assert len(read_ledger(path).entries["everybody"]) == 2


def run(*arguments: object) -> tuple[int, str]:
    """The command line's exit code and what it said."""
    done = CliRunner().invoke(app, [str(one) for one in arguments])
    return done.exit_code, done.output


@pytest.mark.parametrize("ending", ["csv", "parquet", "json", "geojson", "geoparquet"])
def test_a_table_is_published_signed_and_verified_and_no_change_passes(tmp_path: Path, ending: str) -> None:
    pq.write_table(city(), tmp_path / "raw.parquet")
    assert run("keys", "make", tmp_path / "me")[0] == 0
    table, certificate = tmp_path / f"t.{ending}", tmp_path / f"t.{ending}.certificate.json"
    cells = ("--cell", "1km", "--bounds", "48.8,2.25,48.9,2.45", "--sign", tmp_path / "me.pem")
    code, said = run("publish", "heatmap", tmp_path / "raw.parquet", "--epsilon", "1", "-o", table, *cells)
    assert code == 0, said
    assert "epsilon 1" in said
    assert "Written" in said
    code, said = run("verify", table, "--signer", tmp_path / "me.pub", "--require", "odds=3,signed")
    assert code == 0, said
    assert run("verify", table)[0] == 1  # nobody vouches for it
    assert run("verify", table, "--signer", tmp_path / "me.pub", "--require", "odds=2")[0] == 1
    document = json.loads(certificate.read_text())
    for change in (
        {"least": 1},
        {"spent": [{**one, "scale": one["scale"] / 10} for one in document["spent"]]},
        {"guarantee": {**document["guarantee"], "parameters": {"epsilon": 0.1, "delta": 0.0, "odds": 1.1}}},
        {"bound": 1},
    ):
        certificate.write_text(json.dumps({**document, **change}))
        assert run("verify", table)[0] == 1
    certificate.write_text(json.dumps(document))
    table.write_bytes(table.read_bytes().replace(b"1", b"2", 1) + b"\n")
    code, said = run("verify", table, "--signer", tmp_path / "me.pub")
    assert code == 1
    assert "NO" in said


def test_numbers_that_do_not_follow_from_each_other_are_found_even_when_sealed_anew(tmp_path: Path) -> None:
    found, path = publish(city(), epsilon=1, cell_m=1000, bounds=BOUNDS, rng=1), tmp_path / "t.csv"
    write_answer(found, path)
    document = dict(found.certificate(path))
    assert judge_table(document, release=path).unchanged
    half = [{**one, "scale": one["scale"] / 2} for one in document["spent"]]
    for change in ({"spent": half}, {"spent": []}, {"confidence": 0.5}, {"bound": 10}, {"total": 10**6}):
        assert judge_table(with_seal({**document, **change}), release=path).unchanged is False
    lies = with_seal({**document, **_said_again(found, {"least": found.terms["least"] + 40})})
    assert judge_table(lies, release=path).clean is False
    assert UseOfData(**document["spent"][0]).epsilon < 1


def _said_again(found: PublicTable, change: dict[str, object]) -> dict[str, object]:
    changed = replace(found, terms={**found.terms, **change})  # type: ignore[typeddict-item]
    return changed.to_dict()
