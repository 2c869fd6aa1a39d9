"""Every size of map has its pages, its JSON and its files: 3,600, 10,000 and 100,000 cells.

Devices accept 65,536 cells, and so does a new campaign. What shows maps is tested beyond that: an older database may
hold larger ones.
"""

from __future__ import annotations

import gzip
import json
import time
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from collector_harness import campaign_request, client, create, operator, refused, run, settings

from sfumato.base.things.grid import Grid
from sfumato.collect.client.offer import Caps
from sfumato.collect.grids.grid_channel import uniform_channel
from sfumato.collect.service.models.kept import (
    Alarm,
    ChannelFacts,
    EstimateFacts,
    GridFields,
    LevelPerKm,
    Residual,
    Specification,
)
from sfumato.collect.service.pages.answer_views import MAP_CELLS
from sfumato.collect.service.pages.exports import MapTable, to_csv, to_geojson
from sfumato.collect.service.rounds.collector import Collector
from sfumato.collect.service.rounds.signed_offers import FIRST_PREVIOUS, new_cycle
from sfumato.collect.service.store.records import CellCounts, StoredCycle, StoredEstimate

SIDES = {3_600: (60, 60), 10_000: (100, 100), 100_000: (250, 400)}
FACTS = ChannelFacts(
    epsilon_per_km=LevelPerKm(lower=2.0, upper=2.0, exact=True), mutual_information_nats=1.0, distortion_m=500.0
)


def grid_of(cells: int) -> Grid:
    rows, columns = SIDES[cells]
    return Grid.from_bounds(48.0, 2.0, 48.0 + 0.002 * rows, 2.0 + 0.003 * columns, shape=(rows, columns))


def estimate_of(cells: int, *, seed: int = 0) -> StoredEstimate:
    facts = EstimateFacts(
        emd_to_previous_m=None,
        residual=Residual(statistic=1.0, p_value=0.5),
        alarm=Alarm(raised=False, reasons=()),
        change_capped=False,
        influence={"0.05": 10.0},
        spent_epsilon_per_km=2.0,
        gap_nats_per_report=0.0,
        target="reporters",
        interval_level=None,
        averaged_cycles=1,
        **dict(FACTS),
    )
    rng = np.random.default_rng(seed)
    shares, own = rng.dirichlet(np.full(cells, 0.5), size=2)
    unknown = np.full(cells, np.nan)
    return StoredEstimate(1, facts, shares, unknown, unknown, own)


def asked_of(cells: int) -> Specification:
    """A campaign of so many cells."""
    return Specification(
        title="Wide",
        grid=GridFields.of(grid_of(cells)),
        beta_per_m=0.001,
        cycle_duration_s=None,
        cycle_reports=1_000_000,
        minimum_cycle_s=0,
        minimum_tickets=1,
        floor=0.01,
        reporting="every-cycle",
        relayed=False,
        relayed_cap_reports=0,
    )


def with_a_closed_cycle(database: str, cells: int) -> StoredEstimate:
    """A campaign of so many cells with one closed cycle, put straight into the store."""
    estimate, grid, asked = estimate_of(cells), grid_of(cells), asked_of(cells)

    async def work() -> None:
        collector = Collector(settings(database, tick_s=60))
        await collector.start()

        def cycle(number: int, previous: str):
            return new_cycle(
                collector.signer,
                name="wide",
                specification=asked,
                number=number,
                channel=uniform_channel(grid, 0.001),
                facts=FACTS,
                previous=previous,
                now_s=1_790_000_000,
            )

        first = cycle(1, FIRST_PREVIOUS)
        campaign = await collector.store.create_campaign("wide", asked, first)
        assert campaign is not None
        opened = await collector.store.current_cycle(campaign.id)
        lease = {"closer": "me", "lease_until_s": 1e12}
        assert await collector.store.hand_over(opened, cycle(2, first.entry), minimum_tickets=0, **lease)
        assert await collector.store.finish_closing(opened, estimate, closer="me", late_until_s=0.0)
        await collector.stop()

    run(work())
    return estimate


@pytest.mark.parametrize("cells", [3_600, 10_000, pytest.param(100_000, marks=pytest.mark.slow)])
def test_a_large_map_has_its_page_its_twin_its_pages_and_its_files(tmp_path: Path, cells: int) -> None:
    database = f"sqlite:///{tmp_path}/wide.db"
    estimate = with_a_closed_cycle(database, cells)
    with client(database, tick_s=60) as visitor:
        page = visitor.get("/campaigns/wide/dashboard")
        assert page.status_code == 200
        assert "No interval" in page.text
        assert visitor.get("/campaigns/wide").status_code == 200
        twin = visitor.get("/campaigns/wide/dashboard.json")
        assert len(twin.content) < 20_000
        pages = twin.json()["map_pages"]
        assert pages == -(-cells // MAP_CELLS)
        parts = [visitor.get(f"/campaigns/wide/maps/1/{k + 1}.json").json()["map"] for k in range(pages)]
        assert [value for part in parts for value in part["estimate"]] == estimate.probabilities.tolist()
        assert estimate.this_cycle is not None
        assert [value for part in parts for value in part["this_cycle"]] == estimate.this_cycle.tolist()
        assert {part["low"] for part in parts} == {None}
        refused(visitor.get(f"/campaigns/wide/maps/1/{pages + 1}.json"), 404, "fewer pages")
        refused(visitor.get("/campaigns/wide/maps/2/1.json"), 404, "not closed (yet)")
        address = "/api/v1/campaigns/wide/estimate"
        shapes = visitor.get(f"{address}.geojson").json()["features"]
        assert [shape["properties"]["this_cycle"] for shape in shapes] == estimate.this_cycle.tolist()
        assert shapes[-1]["properties"]["low"] is None
        lines = visitor.get(f"{address}.csv").text.splitlines()
        assert "low,high,reports,this_cycle," in lines[0]
        assert len(lines) == cells + 1
        (tmp_path / "map.parquet").write_bytes(visitor.get(f"{address}.parquet").content)
        table = pq.read_table(tmp_path / "map.parquet")
        assert table["estimate"].to_pylist() == estimate.probabilities.tolist()
        assert table["low"].null_count == cells
        assert visitor.get(address).json()["cycle"]["estimate"] == estimate.probabilities.tolist()


@pytest.mark.slow
def test_geojson_and_csv_of_a_hundred_thousand_cells_come_in_small_pieces() -> None:
    cells = 100_000
    nobody = np.zeros(cells, dtype=np.int64)
    closed = StoredCycle(1, 1, "", "", "", FACTS, "closed", 0, None, 86_400, 0, 1, 0)
    table = MapTable.of(asked_of(cells), closed, estimate_of(cells), CellCounts(1, "", nobody, nobody))
    began = time.process_time()
    first = next(iter(to_geojson(table)))
    assert time.process_time() - began < 0.1, "the first piece does not wait for the last"
    assert first.startswith(b'{"type": "FeatureCollection"')
    for write in (to_geojson, to_csv):
        sizes = [len(piece) for piece in write(table)]
        assert len(sizes) > 100
        assert max(sizes) < 1_000_000
    assert len(json.loads(b"".join(to_geojson(table)))["features"]) == cells


def test_what_many_look_at_is_compressed_named_and_not_sent_twice(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/wide.db"
    with_a_closed_cycle(database, 3_600)
    with client(database, tick_s=60) as visitor:
        for address in (
            "/campaigns/wide/dashboard",
            "/campaigns/wide/dashboard.json",
            "/campaigns/wide/maps/1/1.json",
            "/api/v1/campaigns/wide/estimate",
            "/api/v1/campaigns/wide/estimate.geojson",
            "/api/v1/campaigns/wide/estimate.csv",
        ):
            whole = visitor.get(address, headers={"accept-encoding": "identity"})
            assert "content-encoding" not in whole.headers
            with visitor.stream("GET", address, headers={"accept-encoding": "gzip"}) as packed:
                assert packed.headers["content-encoding"] == "gzip"
                raw = b"".join(packed.iter_raw())
            assert gzip.decompress(raw) == whole.content
            assert len(raw) < 0.6 * len(whole.content), address
            again = visitor.get(address, headers={"if-none-match": whole.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")
            assert again.headers["etag"] == whole.headers["etag"]


def test_the_dashboard_is_made_again_only_when_it_would_say_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from sfumato.collect.service.routes import html as routes

    made = []
    true = routes._numbers

    async def counted(collector: Collector, name: str) -> object:
        made.append(name)
        return await true(collector, name)

    monkeypatch.setattr(routes, "_numbers", counted)
    with client(f"sqlite:///{tmp_path}/town.db", tick_s=60) as visitor:
        create(visitor)
        for _ in range(20):
            first = visitor.get("/campaigns/town/dashboard.json")
        assert made == ["town"]
        monkeypatch.setattr("sfumato.collect.service.door.looks._FRESH_S", -1.0)
        assert visitor.get("/campaigns/town/dashboard.json").content == first.content
        assert made == ["town"], "looked at again, found the same"
        create(visitor, "other")
        assert visitor.get("/campaigns/other/dashboard.json").headers["etag"] != first.headers["etag"]


def test_a_grid_that_devices_refuse_is_refused_at_creation_in_words(tmp_path: Path) -> None:
    most = Caps().cells
    with client(f"sqlite:///{tmp_path}/wide.db", cells_limit=most) as visitor:
        grid = {"south": 48.0, "west": 2.0, "north": 48.0 + 300 * 100 / 111_200, "east": 2.41, "cell_size_m": 100.0}
        answer = visitor.post("/api/v1/campaigns", json=campaign_request("wide", grid=grid), headers=operator())
        refused(answer, 409, f"cells; devices accept {most}")
    with client(f"sqlite:///{tmp_path}/other.db") as visitor:
        answer = visitor.post("/api/v1/campaigns", json=campaign_request("wide", grid=grid), headers=operator())
        refused(answer, 409, "Use larger cells")


@pytest.mark.parametrize("address", ["/campaigns/town", "/campaigns/town/privacy-notice", "/static/favicon.svg",
                                     "/api/v1/campaigns/town/channel"])  # fmt: skip
def test_pages_files_and_the_channel_are_sent_compressed_to_who_takes_that(tmp_path: Path, address: str) -> None:
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as visitor:
        create(visitor, "town")
        plain = visitor.get(address, headers={"accept-encoding": "identity"})
        packed = visitor.get(address, headers={"accept-encoding": "gzip"})
        assert "content-encoding" not in plain.headers
        assert packed.headers["content-encoding"] == "gzip"
        assert "accept-encoding" in packed.headers["vary"]
        assert packed.content == plain.content
        assert int(packed.headers["content-length"]) < len(plain.content)
        if address.startswith("/static"):
            again = visitor.get(address, headers={"if-none-match": packed.headers["etag"]})
            assert (again.status_code, again.content) == (304, b"")


@pytest.mark.slow
def test_a_participants_page_of_the_largest_map_with_intervals_is_light(tmp_path: Path) -> None:
    grid = {"south": 48.0, "west": 2.0, "north": 48.2246, "east": 2.3350, "cell_size_m": 500.0}
    with client(f"sqlite:///{tmp_path}/x.db", tick_s=60) as visitor:
        assert create(visitor, "wide", grid=grid)["cells"] == 2500
        sent = {
            path: int(visitor.get(path, headers={"accept-encoding": "gzip"}).headers["content-length"])
            for path in ("/campaigns/wide", "/api/v1/campaigns/wide/channel")
        }
        print(sent)
        assert sum(sent.values()) <= 19_500, "scripts, coast, names and log are 100 kB more"
