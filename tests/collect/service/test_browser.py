"""A person and an operator in a real browser: draw, look, reload, send, close the cycle, see the map change."""

from __future__ import annotations

import gzip
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import asked_hosts, driven, need_browser, need_entry
from collector_harness import TOKEN, CollectorProcess, close, create, crowd
from repository import ROOT
from tile_maker import town_tiles

PICTURES = ROOT / "test-output" / "browser"
HERE = {"latitude": 48.8531, "longitude": 2.3487}

pytestmark = [pytest.mark.browser, pytest.mark.service]


def browse(script: str, **options: Any) -> dict[str, Any]:
    return driven(script, pictures=PICTURES, **options)


@contextmanager
def town(folder: Path, **options: Any) -> Iterator[CollectorProcess]:
    """A server with a campaign of 165 cells."""
    bounds = {"south": 48.8286, "west": 2.2855, "north": 48.8756, "east": 2.3845, "cell_size_m": 500.0}
    with CollectorProcess(f"sqlite:///{folder / 'collector.db'}", **options) as collector:
        create(collector.visitor, title="A map of the town", grid=bounds)
        yield collector


@pytest.fixture(scope="module")
def journey(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CollectorProcess, dict[str, Any]]]:
    need_entry("participant")
    with town(tmp_path_factory.mktemp("collector")) as collector:
        for cycle in range(2):
            crowd(collector.visitor, 120, middle=(48.850, 2.330), seed=cycle)
            assert close(collector.visitor)["closed"]
        crowd(collector.visitor, 120, middle=(48.858, 2.350), seed=9)
        found = browse("journey.mjs", url=collector.url, campaign="town", token=TOKEN, place=HERE)
        yield collector, found


def test_the_report_is_shown_before_anything_is_sent(journey: tuple[CollectorProcess, dict[str, Any]]) -> None:
    _, found = journey
    assert "signed" in found["checked"]
    assert found["entriesBefore"] == 0
    assert found["postsBeforeSend"] == 0
    assert "Is it also your answer" in found["asked"], "where I am now is asked about before anything is drawn"
    assert (found["focusOnDraw"], found["entriesWhenAsked"]) == ("draw", 0)
    for words in ("This and nothing else", "ε per km", "exact", "A guesser's best chance", "Version of the blurring"):
        assert words in found["shown"]
    (drawn,) = found["stateDrawn"].values()
    assert drawn["state"] == "drawn"
    assert found["cell"].startswith(f"{drawn['cell']} ")
    assert "of 30 ε per km spent" in found["budget"]
    assert re.search(r"This square will be sent|By chance your own square was drawn", found["sentence"])
    assert found["foldsOpen"] == 0, "one glance: everything else is folded"


def test_reloading_or_moving_never_draws_again(journey: tuple[CollectorProcess, dict[str, Any]]) -> None:
    _, found = journey
    assert found["cellAfterReload"] == found["cellElsewhere"] == found["cell"]
    assert found["entriesAfterReload"] == 1


def test_the_report_sent_is_the_report_shown_and_holds_no_place(
    journey: tuple[CollectorProcess, dict[str, Any]],
) -> None:
    _, found = journey
    assert "counted in round 3" in found["sent"]
    assert found["buttonsAfterSend"] == 0
    posts = [one for one in found["requests"] if one["method"] == "POST"]
    assert [one["url"].rsplit("/", 1)[1] for one in posts] == ["tickets", "reports"]
    report = json.loads(posts[1]["body"])
    assert set(report) == {"cell", "version", "key", "ticket"}
    assert found["cell"].startswith(f"{report['cell']} ")
    everything = json.dumps(found["requests"]) + found["memory"]
    assert "48.85" not in everything
    assert "2.348" not in everything


def test_no_request_goes_to_another_host_and_no_address_depends_on_the_place(
    journey: tuple[CollectorProcess, dict[str, Any]],
) -> None:
    collector, found = journey
    assert asked_hosts(found, collector.url) == {urlsplit(collector.url).netloc}
    paths = {urlsplit(one["url"]).path for one in found["requests"] if one["url"].startswith("http")}
    campaign = "/campaigns/town"
    allowed = {campaign, f"{campaign}/dashboard", f"{campaign}/dashboard.json"}
    allowed |= {f"/api/v1{campaign}/{route}" for route in ("channel", "log", "places", "tickets", "reports")}
    maps = {path for path in paths if path.startswith(f"{campaign}/maps/")}
    assert maps <= {f"{campaign}/maps/{cycle}/1.json" for cycle in (1, 2, 3)}, "whole maps, the same for everybody"
    assert {path for path in paths if not path.startswith("/static/")} - maps == allowed
    assert not any(urlsplit(one["url"]).query for one in found["requests"])
    assert found["cookies"] == []
    assert found["problems"] == []


def test_closing_the_cycle_changes_the_map(journey: tuple[CollectorProcess, dict[str, Any]]) -> None:
    _, found = journey
    assert found["closed"]["closed"]
    assert (found["cycleBefore"], found["cycleAfter"]) == ("2", "3")
    assert found["mapChanged"]
    assert found["tableBefore"] != found["tableAfter"]
    assert found["charts"] >= 1  # so few reports tell no width: the reports per cycle alone
    assert re.match(r"With \d+ reports this map can(not)? tell", found["headline"])
    assert "alarm" in found["alarm"].lower()


def test_the_pages_work_by_keyboard_with_a_screen_reader_and_on_a_phone(
    journey: tuple[CollectorProcess, dict[str, Any]],
) -> None:
    _, found = journey
    assert found["keyboardReachesDraw"]
    assert found["focusOnReport"] == "status"
    assert found["live"] == "polite"
    assert found["unlabelled"] == []
    assert found["pressed"] == "true"
    assert "in one square" in found["legend"]
    assert found["slid"] == "2"
    assert found["rowsOfTwin"] == 165
    assert not any(value for name, value in found.items() if name.endswith("is too wide"))
    judged = {name: value for name, value in found.items() if name.endswith("is inaccessible")}
    assert len(judged) == 8
    assert judged == {name: [] for name in judged}  # axe-core, WCAG 2.2 A and AA, in light, dark and on a phone
    assert (PICTURES / "participant-phone-dark.png").stat().st_size > 20_000
    assert (PICTURES / "dashboard-light.png").stat().st_size > 20_000


def test_without_the_bundle_the_pages_are_complete_take_no_place_and_the_map_still_changes(tmp_path: Path) -> None:
    need_browser()
    with town(tmp_path, bundle=False) as collector:
        crowd(collector.visitor, 80, middle=(48.850, 2.330), seed=1)
        assert close(collector.visitor)["closed"]
        before = browse("fallback.mjs", url=collector.url, campaign="town", name="fallback-before")
        take_part_without_a_browser(collector, tmp_path)
        crowd(collector.visitor, 80, middle=(48.865, 2.360), seed=2)
        assert close(collector.visitor)["closed"]
        after = browse("fallback.mjs", url=collector.url, campaign="town", name="fallback")
    for found in (before, after):
        assert found["scripts"] == found["inputs"] == 0
        assert asked_hosts(found, collector.url) == {urlsplit(collector.url).netloc}
        assert "takes no place and sends nothing" in found["participant"]
        for words in ("ε per km", "Mutual information", "Distortion", "Residual test", "5 % fake reports", "No alarm"):
            assert words in found["dashboard"], words
    # As many rectangles as areas can be told apart: with so few reports, one.
    assert 1 <= len(before["dashboard shades"]) <= len(after["dashboard shades"]) < 165
    assert before["dashboard"] != after["dashboard"]
    assert "this map cannot tell parts of the area apart yet" in before["dashboard"]
    assert "Moved since the previous" in after["dashboard"]


def test_the_live_trace_follows_watch_position_and_goes_on_after_a_reload(tmp_path: Path) -> None:
    need_entry("participant")
    if not (ROOT / "clients" / "js" / "dist" / "sfumato.js").exists():
        pytest.skip("clients/js is not built: run `make web`")
    with town(tmp_path) as collector:
        found = browse("live.mjs", url=collector.url)
    first, second = found["first"], found["second"]
    # Between two places the test tool says "position unavailable" (code 2); the client passes that on and goes on.
    assert {error[:2] for error in [*first["errors"], *second["errors"]]} <= {"2 "}
    assert len(first["released"]) >= 3
    assert len(second["released"]) >= 3
    moved = [(one["latDeg"] - 48.85, one["lonDeg"] - 2.34) for one in first["released"]]
    assert all(abs(lat) > 1e-5 or abs(lon) > 1e-5 for lat, lon in moved)
    assert [entry["what"] for entry in second["memory"]["entries"]] == [
        "live trace"
    ]  # debited once, also after a reload
    state_1, state_2 = (one["memory"]["live"]["live"]["state"] for one in (first, second))
    assert state_1["constant"] == state_2["constant"]  # the same process
    assert state_2["time_s"] > state_1["time_s"]
    assert asked_hosts(found, collector.url) == {urlsplit(collector.url).netloc}


def test_streets_are_the_operators_own_and_what_is_looked_at_is_never_asked_for(tmp_path: Path) -> None:
    need_entry("participant")
    tiles = town_tiles(tmp_path / "town.pmtiles", south=48.8286, west=2.2855, north=48.8756, east=2.3845)
    with town(tmp_path, tiles=tiles) as collector:
        crowd(collector.visitor, 60, middle=(48.850, 2.330), seed=1)
        assert close(collector.visitor)["closed"]
        found = browse("tiles.mjs", url=collector.url, campaign="town")
        assert asked_hosts(found, collector.url) == {urlsplit(collector.url).netloc}
    assert found["streets"] == found["dashboardStreets"] == "streets"
    assert found["dashboardLanguage"] == "fr"
    assert found["dashboardHeadline"].startswith("Avec 60 réponses, cette carte")
    assert found["dashboardTitle"] == "Où se situent les réponses, tour 1"
    assert found["dashboardButtons"] == ["Zones distinguées", "Tous les carrés", "Ce tour seul"]
    assert found["chosenLanguage"] == "de"
    assert found["chosenMap"].endswith("/campaigns/town/dashboard?language=de")
    assert found["dashboardInaccessible"] == []
    assert found["askedMeanwhile"] == found["askedUntilDrawn"] == 0, "zooming, moving, tapping, drawing ask nobody"
    assert (found["language"], found["button"]) == ("fr", "Utiliser ma position")
    assert (found["tapped"], found["drawnByTap"]) == ("Oui, tirer mon carré depuis ce lieu", 0)
    assert re.search(r"sera envoyé|votre propre carré", found["sentence"])
    assert found["german"] == "Dieses Quadrat senden"
    assert found["inaccessible"] == []
    assert found["problems"] == []


def test_the_participants_page_is_light_and_soon_of_use(journey: tuple[CollectorProcess, dict[str, Any]]) -> None:
    collector, found = journey
    asked = {urlsplit(one["url"]).path for one in found["requests"] if one["url"].startswith("http")}
    paths = {"/campaigns/town", *(path for path in asked if path.startswith("/static/"))}
    assert {"/static/bundle/participant.js", "/static/bundle/land.js", "/static/bundle/en.js"} <= paths
    assert sum(len(gzip.compress(collector.visitor.get(path).content)) for path in paths) < 250_000
    assert found["interactiveMs"] < 8_000  # 2 s on a machine that does nothing else


def take_part_without_a_browser(collector: CollectorProcess, folder: Path) -> None:
    """The way the fallback page names: the Python client, the place typed on standard input."""
    command = [sys.executable, "-m", "sfumato.collect.client", collector.url, "town", "--yes", "--longest-delay", "0"]
    environment = {**os.environ, "SFUMATO_DEVICE": str(folder / "device.json")}
    run = subprocess.run(
        command, input="48.8531 2.3487\n", env=environment, capture_output=True, text=True, timeout=60, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "What will be sent" in run.stdout
    assert "counted" in run.stdout
    assert "48.853" not in run.stdout
