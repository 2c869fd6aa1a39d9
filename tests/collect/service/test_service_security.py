"""The door of the collector: sizes, shapes, rates, headers, and nothing remembered about who came."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from typing import Any

import made_tables
import pytest
from bad_bodies import BAD_BODIES
from collector_harness import (
    campaign_request,
    channel,
    client,
    close,
    create,
    operator,
    refused,
    report_body,
    send,
    ticket,
)
from starlette.testclient import TestClient
from tile_maker import town_tiles

from sfumato.base.errors import InputError
from sfumato.collect.service.door.guard import RateLimit
from sfumato.collect.service.rounds import collector as collector_module
from sfumato.collect.service.settings import TABLE, Settings

ENVELOPE = {"ok", "error", "errors", "status"}


@pytest.fixture(scope="module")
def town(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TestClient]:
    with client(f"sqlite:///{tmp_path_factory.mktemp('town')}/town.db") as visitor:
        create(visitor)
        yield visitor


@pytest.mark.parametrize("body", BAD_BODIES.values(), ids=BAD_BODIES.keys())
@pytest.mark.parametrize("path", ["reports", "tickets", "report-batches", "close", ""])
def test_a_bad_body_is_refused_in_the_envelope_and_never_with_5xx(town: TestClient, path: str, body: bytes) -> None:
    address = f"/api/v1/campaigns/town/{path}" if path else "/api/v1/campaigns"
    answer = town.post(address, content=body, headers={"content-type": "application/json", **operator()})
    assert 400 <= answer.status_code < 500
    assert set(answer.json()) == ENVELOPE
    assert (answer.json()["ok"], answer.json()["status"]) == (False, answer.status_code)
    assert answer.json()["error"]


def test_a_body_without_a_length_is_cut_off_at_the_limit(town: TestClient) -> None:
    def endless() -> Iterator[bytes]:
        yield b'{"cell": 1, "version": "'
        for _ in range(100):
            yield b"0" * 10_000

    answer = town.post(
        "/api/v1/campaigns/town/reports", content=endless(), headers={"content-type": "application/json"}
    )
    refused(answer, 413, "larger than 16384 bytes")


@pytest.mark.parametrize("path", ["reports", "tickets", "report-batches", "close", ""])
def test_a_body_without_a_length_is_too_large_on_every_route(town: TestClient, path: str) -> None:
    def endless() -> Iterator[bytes]:
        for _ in range(100):
            yield b"0" * 10_000

    address = f"/api/v1/campaigns/town/{path}" if path else "/api/v1/campaigns"
    headers = {"content-type": "application/json", **operator()}
    refused(town.post(address, content=endless(), headers=headers), 413, "The body is larger than")


@pytest.mark.parametrize("kind", ["text/plain", "application/x-www-form-urlencoded", "multipart/form-data", ""])
@pytest.mark.parametrize("path", ["reports", "tickets", "report-batches", "close", ""])
def test_only_a_body_that_calls_itself_json_is_read(town: TestClient, path: str, kind: str) -> None:
    address = f"/api/v1/campaigns/town/{path}" if path else "/api/v1/campaigns"
    headers = {**operator(), **({"content-type": kind} if kind else {})}
    answer = town.post(address, content=b'{"cycle": 1, "device": "' + b"0" * 64 + b'"}', headers=headers)
    refused(answer, 415, "Content-Type: application/json")
    assert set(answer.json()) == ENVELOPE


def test_nobody_but_the_operator_learns_whether_a_body_fits(town: TestClient) -> None:
    for path in ("/api/v1/campaigns", "/api/v1/campaigns/town/close", "/api/v1/campaigns/town/report-batches"):
        answer = town.post(path, content=b"{", headers={"content-type": "application/json"})
        refused(answer, 401, "needs the operator's token")


def test_an_unexpected_error_is_answered_like_any_other_and_its_message_is_logged_nowhere(
    town: TestClient, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    secret = "cell 17 of somebody"

    async def broken(*_: object) -> bool:
        raise ValueError(secret)

    monkeypatch.setattr("sfumato.collect.service.rounds.collector.Collector.count_report", broken)
    strict = TestClient(town.app, raise_server_exceptions=True)  # what the server process would log is raised here
    answer = strict.post("/api/v1/campaigns/town/reports", json=report_body(town))
    refused(answer, 500, "The server made a mistake")
    assert set(answer.json()) == ENVELOPE
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert "default-src 'none'" in answer.headers["content-security-policy"]
    assert secret not in answer.text + caplog.text
    assert "ValueError" in caplog.text


def test_a_campaign_that_hides_nothing_still_has_its_page(town: TestClient, monkeypatch: pytest.MonkeyPatch) -> None:
    # 0.2.0 created it; today no device would take part, and it is refused.
    monkeypatch.setattr(collector_module, "refuse_what_devices_refuse", lambda *_: None)
    create(town, "open", beta_per_m=10.0)
    page = town.get("/campaigns/open")
    assert page.status_code == 200
    assert "by a factor of 10^" in page.text


def test_an_error_never_repeats_what_was_sent(town: TestClient) -> None:
    secret = "48.8566,2.3522"
    for changes in ({"key": secret}, {"cell": secret}, {"version": secret}, {secret: 1}):
        answer = send(town, {**report_body(town), **changes})
        refused(answer, 422, "does not fit the schema")
        if secret not in changes:
            assert secret not in answer.text
    assert secret not in town.get(f"/api/v1/campaigns/{secret}").text


def test_every_answer_has_the_security_headers_and_no_cookie(town: TestClient) -> None:
    for path in (
        "/",
        "/index.json",
        "/campaigns/town",
        "/campaigns/town/dashboard",
        "/api/v1/campaigns",
        "/health",
        "/nope",
    ):
        headers = town.get(path).headers
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["referrer-policy"] == "no-referrer"
        assert headers["x-frame-options"] == "DENY"
        assert "geolocation=(self)" in headers["permissions-policy"]
        policy = headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "http" not in policy
        assert "set-cookie" not in headers


@pytest.mark.parametrize(
    "address", ["https://tiles.example/{z}/{x}/{y}.png", "//tiles.example/{z}/{x}/{y}", "/streets"]
)
def test_streets_from_another_host_are_refused_at_the_start(tmp_path: Path, address: str) -> None:
    with pytest.raises(InputError, match="no path of this site"):
        client(f"sqlite:///{tmp_path}/x.db", tile_url=address)


def test_the_operators_own_streets_are_served_by_ranges_and_nothing_else_is(tmp_path: Path) -> None:
    tiles, outline = tmp_path / "city.pmtiles", tmp_path / "city.geojson"
    town_tiles(tiles, south=48.84, west=2.30, north=48.87, east=2.34, zooms=range(12, 13))
    outline.write_text('{"type": "LineString", "coordinates": [[2.3, 48.84], [2.34, 48.87]]}')
    with client(f"sqlite:///{tmp_path}/x.db", tiles=str(tiles), outline=str(outline)) as visitor:
        create(visitor)
        first = visitor.get("/tiles/map.pmtiles", headers={"Range": "bytes=0-126"})
        assert (first.status_code, len(first.content)) == (206, 127)
        assert first.content == tiles.read_bytes()[:127]
        assert visitor.get("/tiles/outline.json").json()["type"] == "LineString"
        for page in ("/campaigns/town", "/campaigns/town/dashboard"):
            assert 'data-tiles="/tiles/map.pmtiles" data-outline="/tiles/outline.json"' in visitor.get(page).text
    with client(f"sqlite:///{tmp_path}/y.db") as visitor:
        assert visitor.get("/tiles/map.pmtiles").status_code == 404
    for name in ("tiles", "outline"):
        with pytest.raises(InputError, match=r"no PMTiles|no GeoJSON"):
            client(f"sqlite:///{tmp_path}/z.db", **{name: str(tmp_path / "y.db")})


def test_other_origins_are_refused_unless_listed(tmp_path: Path) -> None:
    asking = {"Origin": "https://other.example", "Access-Control-Request-Method": "POST"}
    with client(f"sqlite:///{tmp_path}/x.db") as visitor:
        assert "access-control-allow-origin" not in visitor.options("/api/v1/campaigns", headers=asking).headers
    with client(f"sqlite:///{tmp_path}/y.db", cors_origins="https://other.example") as visitor:
        answer = visitor.options("/api/v1/campaigns", headers=asking)
        assert answer.headers["access-control-allow-origin"] == "https://other.example"
        assert "access-control-allow-credentials" not in answer.headers
        asking["Origin"] = "https://evil.example"
        assert "access-control-allow-origin" not in visitor.options("/api/v1/campaigns", headers=asking).headers


def test_an_address_that_asks_too_often_is_told_to_wait(tmp_path: Path) -> None:
    with client(f"sqlite:///{tmp_path}/x.db", requests_per_minute_per_address=5) as visitor:
        statuses = [visitor.get("/health").status_code for _ in range(8)]
        assert statuses == [200] * 5 + [429] * 3
        refused = visitor.get("/health")
        assert int(refused.headers["retry-after"]) >= 1
        assert set(refused.json()) == ENVELOPE


def test_the_rate_limit_refills_counts_addresses_apart_and_remembers_none() -> None:
    limit = RateLimit(60)
    assert [limit.wait_s("203.0.113.7", now_s=0.0) for _ in range(60)] == [0.0] * 60
    assert limit.wait_s("203.0.113.7", now_s=0.0) == pytest.approx(1.0)
    assert limit.wait_s("203.0.113.8", now_s=0.0) == 0.0
    assert limit.wait_s("203.0.113.7", now_s=1.5) == 0.0
    assert limit.wait_s("127.0.0.1", now_s=0.0) == 0.0
    assert [limit.wait_s(f"2001:db8::{k:x}", now_s=0.0) for k in range(60)] == [0.0] * 60
    assert limit.wait_s("2001:db8::ffff", now_s=0.0) > 0, "a visitor has every address of its prefix"
    assert limit.wait_s("2001:db8:0:1::1", now_s=0.0) == 0.0
    kept = repr(vars(limit))
    assert "203.0.113" not in kept


def test_no_metric_is_labelled_by_anything_but_the_outcome(town: TestClient) -> None:
    body = report_body(town)
    send(town, body)
    send(town, body)
    text = town.get("/metrics", headers=operator()).text
    labels = set(re.findall(r"[{,]([a-z_]+)=", text))
    assert labels == {"outcome", "le"}
    assert body["version"] not in text
    assert "town" not in text
    assert re.search(r'sfumato_reports_total\{outcome="duplicate"\} [1-9]', text)


def test_metrics_are_for_the_operators_machine_or_token(town: TestClient) -> None:
    for wrong in ({}, {"Authorization": "Bearer " + "x" * 40}):
        refused(town.get("/metrics", headers=wrong), 401, "needs the operator's token")
    assert "sfumato_reports_total" in town.get("/metrics", headers=operator()).text
    here = TestClient(town.app, client=("127.0.0.1", 50000), base_url="http://127.0.0.1:8000")
    assert here.get("/metrics").status_code == 200
    # A page of elsewhere whose name was made to lead here (DNS rebinding) asks through the operator's own browser.
    refused(here.get("/metrics", headers={"Host": "rebound.example"}), 401, "needs the operator's token")


def test_health_readiness_and_the_server_page_answer(town: TestClient) -> None:
    assert town.get("/health").json()["state"] == "alive"
    assert town.get("/ready").json()["state"] == "ready"
    assert town.get("/api/v1/server").json()["server"]["name"] == "sfumato"


def test_every_page_has_its_json_twin(town: TestClient) -> None:
    for page, twin in (
        ("/", "/index.json"),
        ("/campaigns/town", "/campaigns/town.json"),
        ("/campaigns/town/dashboard", "/campaigns/town/dashboard.json"),
    ):
        assert town.get(page).headers["content-type"].startswith("text/html")
        answer = town.get(twin).json()
        assert answer["ok"] is True
    refused(town.get("/campaigns/nowhere"), 404, "no campaign of that name")


def test_the_dashboard_shows_the_latest_cycles_and_not_every_one_there_ever_was(
    town: TestClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    create(town, "long")
    for number in (1, 2, 3):
        body = report_body(town, "long", ticket=ticket(town, "long", cycle=number))
        assert send(town, body, "long").status_code == 200
        assert close(town, "long")["closed"]
    monkeypatch.setattr("sfumato.collect.service.routes.html.SHOWN_CYCLES", 2)
    shown = town.get("/campaigns/long/dashboard.json").json()["history"]
    assert [cycle["cycle"] for cycle in shown] == [2, 3]
    assert len(town.get("/api/v1/campaigns/long/cycles").json()["history"]) == 3
    assert town.get("/campaigns/long/dashboard").status_code == 200


def test_exports_agree_with_one_another(town: TestClient, tmp_path: Path) -> None:
    import csv
    import io

    import pyarrow.parquet as pq

    create(town, "files")
    refused(town.get("/api/v1/campaigns/files/estimate"), 404, "not closed (yet)")
    for cell in (3, 3, 8):
        send(town, report_body(town, "files", ticket=ticket(town, "files"), cell=cell), "files")
    close(town, "files")
    address = "/api/v1/campaigns/files/estimate"
    cycle = town.get(address).json()["cycle"]
    assert town.get(f"{address}.json?cycle=1").json()["cycle"] == cycle
    rows = list(csv.DictReader(io.StringIO(town.get(f"{address}.csv").text)))
    assert [float(row["estimate"]) for row in rows] == cycle["estimate"]
    assert sum(cycle["estimate"]) == pytest.approx(1)
    assert [int(row["reports"]) for row in rows] == cycle["counts"]
    assert {row["low"] for row in rows} == {row["high"] for row in rows} == {""}  # of three people: the areas alone
    assert all(area["low"] <= area["share"] <= area["high"] for area in cycle["areas"])
    shapes = town.get(f"{address}.geojson").json()["features"]
    assert [shape["properties"]["estimate"] for shape in shapes] == cycle["estimate"]
    ring = shapes[0]["geometry"]["coordinates"][0]
    area = sum(a[0] * b[1] - b[0] * a[1] for a, b in pairwise(ring))
    assert area > 0, "counter-clockwise, as RFC 7946 asks"
    assert ring[2][1] == pytest.approx(float(rows[0]["north"]))
    path = tmp_path / "estimate.parquet"
    path.write_bytes(town.get(f"{address}.parquet").content)
    table = pq.read_table(path)
    assert table["estimate"].to_pylist() == cycle["estimate"]
    geo = json.loads(table.schema.metadata[b"geo"])
    assert geo["columns"]["geometry"]["encoding"] == "WKB"
    shapely = pytest.importorskip("shapely")
    assert shapely.from_wkb(table["geometry"][0].as_py()).bounds == pytest.approx(
        tuple(float(rows[0][name]) for name in ("west", "south", "east", "north"))
    )
    geopandas = pytest.importorskip("geopandas")
    frame = geopandas.read_parquet(path)
    assert frame.crs.equals("OGC:CRS84")
    assert frame.geometry.is_valid.all()
    refused(town.get(f"{address}.csv?cycle=9"), 404, "not closed (yet)")


def test_a_campaign_that_cannot_work_is_refused_with_advice(town: TestClient) -> None:
    good = campaign_request("bad")
    grid = good["grid"]
    assert isinstance(grid, dict)
    wrongs: list[tuple[dict[str, Any], int, str]] = [
        ({"beta_per_m": None}, 409, "either beta_per_m or epsilon_per_km"),
        ({"epsilon_per_km": 1.0}, 409, "either beta_per_m or epsilon_per_km"),
        ({"beta_per_m": -1.0}, 422, "beta_per_m: Input should be greater than 0"),
        ({"name": "No Spaces"}, 422, "name: String should match pattern"),
        ({"floor": 0.0}, 422, "floor: Input should be greater than or equal to"),
        ({"grid": {**grid, "cell_size_m": 5.0}}, 409, "Use larger cells"),
        ({"grid": {**grid, "north": grid["south"]}}, 409, "south"),
        ({"grid": {**grid, "east": grid["west"]}}, 409, "east"),
        ({"minimum_tickets": 0}, 422, "minimum_tickets: Input should be greater than or equal to 1"),
        ({"reporting": "often"}, 422, "reporting: Input should be"),
        ({"extra": 1}, 422, "extra: Extra inputs are not permitted"),
    ]
    for changes, status, words in wrongs:
        refused(town.post("/api/v1/campaigns", json={**good, **changes}, headers=operator()), status, words)
    again = town.post("/api/v1/campaigns", json=campaign_request("town"), headers=operator())
    refused(again, 409, "already a campaign 'town'")


def test_every_setting_is_documented_with_its_default() -> None:
    page = made_tables.made((Path(__file__).resolve().parents[3] / "docs" / "deploy.md").read_text())
    for setting in TABLE:
        default = f"`{setting.default}`" if setting.default != "" else "(empty)"
        assert f"| `{setting.name}` | {default} |" in page, f"docs/deploy.md does not name {setting.name}"


def test_a_setting_out_of_range_or_unknown_is_refused() -> None:
    from sfumato.base.errors import InputError

    for changes, words in (
        ({"floor": 0}, "The setting floor is 0"),
        ({"minimum_tickets": 0}, "The setting minimum_tickets is 0"),
        ({"tick_s": "soon"}, "tick_s is not a number"),
        ({"no_such_setting": 1}, "There is no setting no_such_setting"),
    ):
        with pytest.raises(InputError, match=words):
            Settings.of(**changes)  # type: ignore[arg-type]
    assert Settings.from_environment({"SFUMATO_MINIMUM_TICKETS": "7"}).whole("minimum_tickets") == 7


def test_the_channel_route_needs_no_ticket_and_says_the_same_to_everybody(town: TestClient) -> None:
    one = town.get("/api/v1/campaigns/town/channel", headers={"user-agent": "a", "x-forwarded-for": "203.0.113.1"})
    two = town.get("/api/v1/campaigns/town/channel", headers={"user-agent": "b", "authorization": "Bearer x"})
    assert one.content == two.content
    assert channel(town)["version"] in one.headers["etag"]
