"""A week of somebody's life with a bridge: they move, restore a copy, lose files, and forget a link in the wild."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from sfumato.cli.tracks.live.bridge import check, link, pause, revoke
from sfumato.tracks.live.audiences import load_config, token_hash
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.owners_word import TURN_FILE
from sfumato.tracks.live.positions import Position
from sfumato.tracks.live.store import STORE_FILE, LiveStore, live_key
from sfumato.tracks.places.places_file import Places, change_places, place_at, save_places

LAT, LON = 48.85, 2.35
HEAD = '[bridge]\nfolder = "live"\nplaces = "p"\n[person.me]\n'
ANA = '[audience.ana]\nsees = "exact"\nkeep = "1week"\n'
NOW_S = int(time.time())


def _open(folder: Path, text: str = HEAD + ANA) -> Bridge:
    if not (folder / "p").exists():
        save_places(folder / "p", Places.none(rng=1).add(place_at("work", LAT + 1, LON, radius_m=400.0, rng=1)))
    (folder / "live.toml").write_text(text)
    config = load_config(folder / "live.toml")
    key = live_key(config.folder)
    return Bridge(config, key, LiveStore(config.folder, key), clock=lambda: NOW_S + 600.0)


def _at(minutes_ago: float, north_m: float = 0.0) -> Position:
    return Position("me", int(1000 * (NOW_S - 60 * minutes_ago)), LAT + north_m / 111_200, LON)


def _seen(bridge: Bridge) -> list[int]:
    return [one.time_ms for one in bridge.view(bridge.config.audience("ana"), "me")]


def _copy(folder: Path, to: str) -> None:
    shutil.copy(folder / "live" / STORE_FILE, folder / to)


@pytest.mark.parametrize("lost", ["the turn is newer", "the whole folder", "the turn is damaged"])
def test_last_weeks_copy_shows_nothing_that_was_revoked_forgotten_or_paused_since(
    tmp_path: Path, lost: str, capsys: pytest.CaptureFixture[str]
) -> None:
    bridge = _open(tmp_path)
    bridge.take([_at(90 - one, 300.0 * one) for one in range(5)])
    bridge.store.add_link(token_hash("in the wild"), "ana", "me", 1000 * (NOW_S + 10**6))
    bridge.store.close()
    _copy(tmp_path, "copy")
    bridge = _open(tmp_path)
    assert len(_seen(bridge)) == 5  # an ordinary start
    bridge.store.close()
    revoke(tmp_path / "live.toml", "ana", link=None)
    pause(tmp_path / "live.toml", "ana", end=False)
    for file in (tmp_path / "live").glob(f"{STORE_FILE}*"):
        file.unlink()
    shutil.copy(tmp_path / "copy", tmp_path / "live" / STORE_FILE)
    if lost != "the turn is newer":
        (tmp_path / "live" / TURN_FILE).unlink()
    if lost == "the turn is damaged":
        (tmp_path / "live" / TURN_FILE).write_text("many\n")
    check(tmp_path / "live.toml", json=False)
    assert "is a COPY from before" in capsys.readouterr().out
    bridge = _open(tmp_path)
    assert bridge.store.link(token_hash("in the wild"), 1000 * NOW_S) is None
    bridge.take([_at(60), _at(30)])
    assert not _seen(bridge)
    pause(tmp_path / "live.toml", "ana", end=True)
    said = check(tmp_path / "live.toml", json=False) or capsys.readouterr().out
    assert "COPY" not in said
    assert "PAUSED" not in said
    bridge.take([_at(45), _at(-1, 600.0)])
    assert _seen(bridge) == [_at(-1).time_ms]


def test_whoever_lost_the_file_and_begins_anew_is_paused_until_they_say_otherwise(tmp_path: Path) -> None:
    bridge = _open(tmp_path)
    bridge.take([_at(9)])
    bridge.store.close()
    for file in (tmp_path / "live").glob("live.[dk]*"):
        file.unlink()
    bridge = _open(tmp_path)
    bridge.take([_at(8), _at(7)])
    assert not _seen(bridge)


def test_whoever_moves_is_not_sent_by_the_old_zones_though_nothing_was_started_again(tmp_path: Path) -> None:
    bridge = _open(tmp_path)
    bridge.take([_at(90, 900.0), _at(89, 1200.0), _at(80), _at(79)])
    assert len(_seen(bridge)) == 4
    change_places(tmp_path / "p", lambda was: was.add(place_at("new home", LAT, LON, radius_m=800.0, rng=2)))
    bridge.take([_at(70), _at(69)])
    assert not _seen(bridge)  # from inside, and what was kept by the old zones
    bridge.take([_at(one, 9000.0 - 100 * one) for one in (50, 49, 48)])
    assert len(_seen(bridge)) == 3
    kept = (tmp_path / "p").read_bytes()
    (tmp_path / "p").write_bytes(b"damaged")
    for _ in range(2):
        with pytest.raises(RuntimeError, match="places cannot be read"):
            bridge.take([_at(40, 9000.0)])
    (tmp_path / "p").write_bytes(kept)
    assert bridge.take([_at(40, 9000.0)])[0].outcome == "new"


def test_check_tells_links_that_are_in_the_wild_and_pauses(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _open(tmp_path).take([_at(1)])
    config = tmp_path / "live.toml"
    for lasts in ("2h", "8h"):
        link(config, "ana", "me", lasts)
    pause(config, "ana", end=False)
    capsys.readouterr()
    check(config, json=False)
    said = capsys.readouterr().out
    assert "2 links of ana open, the last for 8 h" in said
    assert "ana is PAUSED (`sfumato live pause" in said
    revoke(config, "ana", link=None)
    capsys.readouterr()
    check(config, json=False)
    assert "open, the last" not in capsys.readouterr().out
