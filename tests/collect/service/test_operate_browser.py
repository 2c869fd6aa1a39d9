"""An operator in a real browser: signs in, draws an area, creates, shares, closes, ends, archives, deletes."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest
from browsing import asked_hosts, driven, need_entry
from collector_harness import TOKEN, CollectorProcess, create, crowd
from qr_reader import modules_of_svg, read_qr
from repository import ROOT
from tile_maker import lyon

PICTURES = ROOT / "test-output" / "operate"
pytestmark = [pytest.mark.browser, pytest.mark.service]


@pytest.fixture(scope="module")
def day(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[CollectorProcess, dict[str, Any]]]:
    need_entry("operate")
    folder = tmp_path_factory.mktemp("collector")
    with CollectorProcess(
        f"sqlite:///{folder / 'x.db'}", backup_folder=folder / "kept", tiles=lyon(folder)
    ) as collector:
        create(collector.visitor, "old", title="Old", minimum_tickets=50)
        crowd(collector.visitor, 60, "old")
        yield collector, driven("operate.mjs", pictures=PICTURES, url=collector.url, token=TOKEN)


Day = tuple[CollectorProcess, dict[str, Any]]


def test_a_wrong_token_is_refused_and_not_kept_and_the_right_one_stays_in_the_tab(day: Day) -> None:
    _, found = day
    assert found["said"]["refused"] == "Not done: that is not an operator's token."
    assert found["keptAfterRefusal"] == {}
    assert found["navBefore"] == ["sfumato", "EN", "FR", "DE", "ES"]  # the languages of the door, nothing behind it
    assert found["said"]["accepted"] == "Signed in as operator."
    assert found["kept"] == [[TOKEN], [], ""]  # sessionStorage; localStorage; cookies
    assert found["keptAfterSignOut"] == {}
    assert found["cookies"] == []


def test_the_token_is_in_no_address_and_nobody_else_is_asked(day: Day) -> None:
    collector, found = day
    assert asked_hosts(found, collector.url) == {urlsplit(collector.url).netloc}
    assert not any(TOKEN in one["url"] or TOKEN in (one["body"] or "") for one in found["requests"])
    # A browser writes a line for every refusal it meets: the two tokens and the name that was taken.
    assert len(found["problems"]) == 3
    assert all("Failed to load resource" in line for line in found["problems"])


def test_the_area_is_drawn_by_mouse_by_finger_by_keyboard_and_typed(day: Day) -> None:
    _, found = day
    for way in ("byMouse", "byFinger", "byKeyboard"):
        south, west, north, east = map(float, found[way])
        assert 45.6 < south < north < 45.9
        assert 4.7 < west < east < 5.0
    assert len({tuple(found[way]) for way in ("byMouse", "byFinger", "byKeyboard")}) == 3
    grid = found["created"]["campaign"]["grid"]
    assert (grid["rows"], grid["columns"], grid["north_deg"], grid["west_deg"]) == (23, 22, 45.8, 4.78)


def test_the_operators_map_has_their_own_streets_and_asks_once_for_what_it_has(day: Day) -> None:
    _, found = day
    assert {urlsplit(one["url"]).path for one in found["requests"] if "tiles" in one["url"]} == {"/tiles/map.pmtiles"}
    assert found["tilesAskedAgain"] == 0


def test_the_plan_stands_beside_the_map_and_is_announced(day: Day) -> None:
    _, found = day
    for words in (
        "With about 500 people you will be able to tell areas about",
        "Each report costs 2 per km",
        "95 of 100",
    ):
        assert words in found["plan"], words
    assert found["planByNumbers"].startswith("With about 500 people")
    assert found["live"] == "polite"


def test_what_was_typed_is_what_the_campaign_says(day: Day) -> None:
    _, found = day
    made = found["created"]["campaign"]
    assert (made["title"], made["name"]) == ("Où roulez-vous à Lyon ?", "ou-roulez-vous-a-lyon")
    assert (made["question"], made["organiser"]) == ("Where do you cycle most often?", "City of Lyon")
    assert (made["contact"], made["language"], made["ends_at_s"]) == ("velo@example.org", "fr", 2_193_091_200)
    assert found["said"]["created"] == "The campaign runs. Give the link away."
    assert found["said"]["taken"].startswith("Not done: There is already a campaign 'old'.")
    assert found["titleStays"] == "Old"


def test_no_campaign_is_opened_to_people_with_brackets_in_its_notice(day: Day) -> None:
    collector, found = day
    assert found["openedWithBrackets"] == 0
    notice = collector.visitor.get("/campaigns/ou-roulez-vous-a-lyon/privacy-notice").text
    assert "[" not in notice
    assert "Office for data protection, Lyon" in notice
    assert found["costWords"].endswith("1 km apart by a factor of at most 7.4.")


def test_a_stand_shows_the_code_and_about_how_many_and_paper_has_the_privacy_sentence(day: Day) -> None:
    _, found = day
    assert found["noStreets"] == 0  # this server has tiles
    assert found["stand"][0] == "Be among the first"
    assert found["stand"][1] > 300, "as wide as the phone"
    assert found["standRules"] == []
    for words in ("n’envoie que ce carré", "On peut participer jusqu’au 30 juin 2039", "sfumato", "City of Lyon"):
        assert words in found["poster"], words


def test_the_qr_code_on_the_screen_and_in_the_file_is_the_link(day: Day) -> None:
    collector, found = day
    assert found["address"] == f"{collector.url}/campaigns/ou-roulez-vous-a-lyon"
    assert read_qr(modules_of_svg(found["qr"])) == found["address"]
    assert read_qr(modules_of_svg(found["qrFile"])) == found["address"]
    assert [one.rpartition("=")[2] for one in found["notices"]] == ["en", "fr", "de", "es"]


def test_close_pause_end_archive_and_delete_say_what_they_did(day: Day) -> None:
    _, found = day
    said = found["said"]
    assert said["closed"] == "Cycle 1 is closed and its map is published."
    assert said["notClosed"].startswith("Cycle 2 stays open: fewer than 50 tickets")
    assert found["files"] == ["geojson", "csv", "parquet", "json"]
    assert (found["paused"], found["afterEscape"], found["ended"], found["archived"]) == (
        "paused",
        "running",
        "ended",
        "archived",
    )
    assert "cannot be taken back" in found["endDialog"]
    assert found["focusInDialog"] == "confirm-no"  # what is safe has the focus
    assert "1 published cycle with 60 reports" in found["deleteDialog"]
    assert "never given again" in found["deleteDialog"]
    assert found["disabledBefore"]
    assert (said["deleted"], found["gone"]) == ("Old is deleted.", 410)
    assert (found["backups"], found["backupsAfter"]) == (1, 0)
    for act in ("create", "close", "pause", "end", "archive", "delete", "backup"):
        assert f"\t{act}\t" in found["log"], act


def test_every_screen_is_accessible_in_light_dark_and_on_a_phone(day: Day) -> None:
    _, found = day
    assert len(found["looks"]) == 18
    assert {name: look for name, look in found["looks"].items() if look["wide"] or look["rules"]} == {}
    assert found["unlabelled"] == []
    assert (found["focusOnToken"], found["focusOnHeading"]) == ("token", "screen")
    assert (PICTURES / "operate-new-phone.png").stat().st_size > 20_000


def test_the_screens_are_no_part_of_the_participants_bundle(day: Day) -> None:
    collector, _ = day
    page = collector.visitor.get("/campaigns/ou-roulez-vous-a-lyon").text
    assert "operate.js" not in page
    assert json.dumps("operate") not in collector.visitor.get("/static/bundle/participant.js").text
