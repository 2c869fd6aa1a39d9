"""A week of somebody's life with a bridge: they move, restore a copy, lose files, and forget a link in the wild."""

from __future__ import annotations

import shutil
import time
from pathlib import Path

import pytest

from sfumato.cli.tracks.live.bridge import check, link, pause, revoke
from sfumato.tracks.live import owners_word
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
    return Bridge(config, key, LiveStore(config.folder, key), clock=lambda: NOW_S + 7200.0)


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
    bridge.take([_at(45), _at(-60, 600.0)])
    assert _seen(bridge) == [_at(-60).time_ms]


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


BOTH = (
    '[audience.ana]\nsees = "exact"\nkeep = "1week"\n[audience.bo]\nsees = "blurred"\nnoise = "900m"\nkeep = "1week"\n'
)


def test_a_start_that_is_killed_while_it_notices_a_copy_has_opened_nothing_the_next_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    bridge = _open(tmp_path, HEAD + BOTH)
    bridge.store.add_link(token_hash("in the wild"), "ana", "me", 1000 * (NOW_S + 10**6))
    bridge.store.close()
    _copy(tmp_path, "copy")
    bridge = _open(tmp_path, HEAD + BOTH)
    for _ in range(3):
        bridge.store.revoke("ana")
    bridge.store.close()
    shutil.copy(tmp_path / "copy", tmp_path / "live" / STORE_FILE)

    def killed(*_words: object, **_more: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        patched.setattr(owners_word, "write_text", killed)
        with pytest.raises(KeyboardInterrupt):
            _open(tmp_path, HEAD + BOTH)
    bridge = _open(tmp_path, HEAD + BOTH)
    assert bridge.paused == {"ana", "bo"}
    assert bridge.store.link(token_hash("in the wild"), 1000 * NOW_S) is None


def test_a_copy_made_while_the_bridge_ran_is_noticed_and_gives_no_second_place_the_noise_of_a_moment(
    tmp_path: Path,
) -> None:
    bridge = _open(tmp_path, HEAD + BOTH)
    bridge.take([_at(10)])
    bridge.tidy()  # the log is cut: the file is whole
    _copy(tmp_path, "copy")
    bridge.take([_at(30, 1000.0), _at(5, 1000.0)])  # one late: before the last that the copy knows
    bridge.tidy()
    bridge.store.close()
    shutil.copy(tmp_path / "copy", tmp_path / "live" / STORE_FILE)
    bridge = _open(tmp_path, HEAD + BOTH)
    assert bridge.paused == {"ana", "bo"}
    for name in ("ana", "bo"):
        bridge.store.end_pause(name, 1000 * NOW_S)
    bridge = _open(tmp_path, HEAD + BOTH)
    bridge.take([_at(30, 4000.0), _at(5, 4000.0)])
    assert not _seen(bridge)
    assert not bridge.view(bridge.config.audience("bo"), "me")
    turn = (tmp_path / "live" / TURN_FILE).read_text()
    bridge.tidy()
    bridge.tidy()
    assert int((tmp_path / "live" / TURN_FILE).read_text()) == int(turn) + 1  # not while nothing comes


def test_whoever_names_one_more_place_and_stays_silent_is_not_shown_from_inside_it(tmp_path: Path) -> None:
    bridge = _open(tmp_path)
    bridge.take([_at(3), _at(2)])
    change_places(tmp_path / "p", lambda was: was.add(place_at("new home", LAT, LON, radius_m=400.0, rng=2)))
    bridge.tidy()
    assert not _seen(bridge)


def test_two_people_who_change_places_files_are_not_shown_from_inside_their_new_zones(tmp_path: Path) -> None:
    for name, lat in (("a.places", LAT), ("b.places", LAT + 1)):
        save_places(tmp_path / name, Places.none(rng=1).add(place_at("home", lat, LON, radius_m=400.0, rng=1)))
    text = '[bridge]\nfolder = "live"\n[person.me]\nplaces = "{}"\n[person.you]\nplaces = "{}"\n' + ANA
    bridge = _open(tmp_path, text.format("b.places", "a.places"))
    bridge.take([_at(3), _at(2)])
    assert len(_seen(bridge)) == 2
    bridge.store.close()
    bridge = _open(tmp_path, text.format("a.places", "b.places"))
    assert not _seen(bridge)


def test_late_points_around_what_was_sent_before_there_were_zones_are_no_run(tmp_path: Path) -> None:
    bare = '[bridge]\nfolder = "live"\n'
    bridge = _open(tmp_path, bare + ANA)
    bridge.take([_at(30)])
    bridge.store.close()
    save_places(tmp_path / "h", Places.none(rng=1).add(place_at("home", LAT, LON, radius_m=400.0, rng=1)))
    bridge = _open(tmp_path, f'{bare}places = "h"\n{ANA}')
    bridge.take([_at(31, 2000.0), _at(29, 2100.0)])  # between them a moment at home
    assert not _seen(bridge)
    bridge.take([_at(20, 2200.0), _at(19, 2300.0)])
    assert _seen(bridge) == [_at(one).time_ms for one in (29, 20, 19)]


def test_whoever_reads_the_file_without_the_key_does_not_read_in_it_when_somebody_was_at_home(tmp_path: Path) -> None:
    config = tmp_path / "live.toml"
    save_places(tmp_path / "h", Places.none(rng=1).add(place_at("the cabin", LAT, LON, radius_m=400.0, rng=1)))
    config.write_text(f'[bridge]\nfolder = "live"\nplaces = "h"\n{ANA}')
    asked = load_config(config)
    key = live_key(asked.folder)
    for piped in (False, True):
        bridge = Bridge(asked, key, LiveStore(asked.folder, key), clock=lambda: NOW_S + 7200.0, piped=piped)
        bridge.take([_at(200 - at + 1000 * piped) for at in range(200)])
        fates = [fate for (fate,) in bridge.store._db.execute("SELECT fate FROM used")]
        bridge.store._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        assert b"the cabin" not in (tmp_path / "live" / STORE_FILE).read_bytes()
        if not piped:
            assert set(fates) == {None}
        bridge.store.close()
    told = [fates.count(one) for one in range(4)]
    assert sum(told) == 200
    assert min(told) > 20


def test_what_a_broker_keeps_longer_than_the_audience_may_look_back_is_taken_back(tmp_path: Path) -> None:
    bridge = _open(tmp_path)
    bridge.take([_at(3), _at(2)])
    bridge.store.retain("ana", "me", "share/me")
    bridge.tidy()
    assert not bridge.store.kept_topics()
    bridge.clock = lambda: NOW_S + 7 * 86_400.0
    bridge.tidy()
    assert bridge.store.kept_topics() == [("ana", "me", "share/me")]
