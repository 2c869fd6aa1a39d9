"""The bridge from positions to what audiences see: what leaves, what is kept, and what survives."""

from __future__ import annotations

import os
import struct
from pathlib import Path

import numpy as np
import pytest

from sfumato.base.errors import InputError
from sfumato.tracks.live.audiences import Schedule, load_config, token_hash
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.pipe import run_pipe
from sfumato.tracks.live.positions import (
    Position,
    from_gpsd,
    from_line,
    from_nmea,
    from_owntracks,
    from_query,
    from_traccar,
    position,
)
from sfumato.tracks.live.promises import EXAMPLE, audience_words, cost_rows, earlier_words, promise_words
from sfumato.tracks.live.store import LiveStore, Sight, live_key
from sfumato.tracks.places.places_file import Places, place_at, save_places

START_S = 1_790_000_000
EVERY_KIND = """
[bridge]
folder = "live"
time_zone = "UTC"
places = "me.places"
[audience.family]
sees = "exact"
keep = "1day"
[audience.friends]
sees = "blurred"
noise = "900m"
keep = "1day"
[audience.club]
sees = "blurred"
noise = "2km"
delay = "5min"
[audience.work]
sees = "zone"
[audience.press]
sees = "town"
[audience.nobody]
sees = "nothing"
"""


class Clock:
    """A time that a test sets."""

    now_s: float = START_S

    def __call__(self) -> float:
        return self.now_s


def _bridge(tmp_path: Path, text: str = EVERY_KIND, clock: Clock | None = None, *, piped: bool = False) -> Bridge:
    file = tmp_path / "live.toml"
    if not file.exists():
        file.write_text(text)
        home = place_at("home", 48.85, 2.35, radius_m=400.0, rng=1)
        save_places(tmp_path / "me.places", Places.none(rng=1).add(home))
    config = load_config(file)
    key = live_key(config.folder)
    store = LiveStore(config.folder, key)
    return Bridge(config, key, store, clock=clock or Clock(), piped=piped)


def _ride(count: int = 12, *, start_km: float = 2.0) -> list[Position]:
    """From home outwards, 300 m a minute."""
    lat = 48.85 + (start_km + 0.3 * np.arange(count)) / 111.2
    return [Position("me", 1000 * (START_S + 60 * at), float(one), 2.35) for at, one in enumerate(lat)]


def _by_audience(bridge: Bridge) -> dict[str, list[Sight]]:
    return {one.name: bridge.view(one, "me") for one in bridge.config.audiences}


def test_every_kind_of_audience_sees_its_own_and_nothing_else(tmp_path: Path) -> None:
    clock = Clock()
    bridge = _bridge(tmp_path, clock=clock)
    ride = _ride()
    bridge.take(ride)
    clock.now_s = START_S + 11 * 60 + 1
    seen = _by_audience(bridge)
    assert [(one.lat_deg, one.lon_deg) for one in seen["family"]] == [(one.lat_deg, one.lon_deg) for one in ride]
    assert len(seen["friends"]) == 12
    assert all(abs(one.lat_deg - true.lat_deg) > 1e-6 for one, true in zip(seen["friends"], ride, strict=True))
    assert [one.time_ms for one in seen["club"]] == [ride[6].time_ms]  # five minutes ago
    assert [one.name for one in seen["work"]] == ["away"]
    assert seen["press"][0].name is not None
    assert not seen["nobody"]


def test_inside_a_zone_only_its_name_leaves_and_leaving_waits(tmp_path: Path) -> None:
    clock = Clock()
    clock.now_s = START_S + 10_000
    bridge = _bridge(tmp_path, clock=clock)
    at_home = [Position("me", 1000 * (START_S - 100 + at), 48.85, 2.35) for at in range(5)]
    assert all(one.audience == "work" for taken in bridge.take(at_home) for one in taken.sights)
    assert [one.name for one in _by_audience(bridge)["work"]] == ["home"]
    out = _ride(2)
    bridge.take(out[:1])
    assert not _by_audience(bridge)["friends"]  # one point alone may be flicker
    bridge.take(out[1:])
    seen = _by_audience(bridge)
    assert [one.time_ms for one in seen["friends"]] == [one.time_ms for one in out]
    assert [one.name for one in seen["work"]] == ["away"]


def test_a_point_sent_again_after_a_restart_gets_the_same_noise_and_another_place_of_its_moment_is_refused(
    tmp_path: Path,
) -> None:
    ride, clock = _ride(), Clock()
    clock.now_s = START_S + 10_000
    one = _bridge(tmp_path / "a", clock=clock) if (tmp_path / "a").mkdir() is None else None
    assert one is not None
    one.take(ride)
    before = _by_audience(one)["friends"]
    again = one.take(ride[3:5])
    assert [taken.outcome for taken in again] == ["again", "again"]
    moved = Position("me", ride[3].time_ms, ride[3].lat_deg + 0.001, ride[3].lon_deg)
    assert one.take([moved])[0].outcome == "second"
    one.store.forget("friends")
    one.store._db.executescript("DELETE FROM used; UPDATE person SET track = NULL")  # a store from before it was taken
    fresh = _bridge(tmp_path / "a", clock=clock)
    fresh.take(ride)
    assert [(s.lat_deg, s.lon_deg) for s in _by_audience(fresh)["friends"]] == [(s.lat_deg, s.lon_deg) for s in before]


def test_a_pipe_that_was_killed_before_it_answered_answers_a_point_that_is_sent_again_with_the_same_noise(
    tmp_path: Path,
) -> None:
    some = [Position("me", 1000 * (START_S - 60), 48.85, 2.35), *_ride(3)]

    def told(one: Bridge, batch: list[Position]) -> list[list[Sight]]:
        return [[s for s in taken.sights if not s.held and not s.unsent] for taken in one.take(batch)]

    def again() -> Bridge:
        return _bridge(tmp_path, piped=True)

    first = told(again(), some)
    assert [len(row) for row in first] == [1, 4, 4, 4]  # a name at home; then exact, blurred, name, town
    killed = again()
    for row, one in zip(first, some, strict=True):
        assert told(killed, [one]) == [row]
    assert told(killed, [*reversed(some), some[0]]) == [*reversed(first), first[0]]
    killed.store.pause("friends", 1000 * START_S)
    assert [[one.audience for one in row] for row in told(again(), some[1:])] == [["family", "work", "press"]] * 3
    file = tmp_path / "live.toml"
    file.write_text(file.read_text().replace("900m", "950m"))
    assert told(again(), some) == [[]] * 4  # by other rules nothing is told again


def test_no_true_coordinate_is_at_rest_but_sealed(tmp_path: Path) -> None:
    bridge = _bridge(tmp_path)
    ride = _ride(30)
    bridge.take([Position("me", 1000 * (START_S - 60 * at), 48.85, 2.35) for at in range(5, 0, -1)])
    bridge.take(ride)
    kept = b"".join(file.read_bytes() for file in (tmp_path / "live").iterdir())
    for one in ride:
        for value in (one.lat_deg, one.lon_deg):
            assert struct.pack("<d", value) not in kept
            assert struct.pack(">d", value) not in kept
        assert f"{one.lat_deg:.5f}".encode() not in kept
    assert all(os.stat(file).st_mode & 0o077 == 0 for file in (tmp_path / "live").iterdir())
    assert "48." not in repr(ride[0])


def test_a_pause_holds_for_every_door_at_once_and_what_was_measured_meanwhile_is_never_shown(tmp_path: Path) -> None:
    clock = Clock()
    clock.now_s = START_S + 10_000
    bridge = _bridge(tmp_path, clock=clock)
    ride = _ride()
    bridge.take(ride[:6])
    other = LiveStore(bridge.config.folder, live_key(bridge.config.folder))
    other.pause("friends", 1)
    bridge.take(ride[6:9])
    assert not _by_audience(bridge)["friends"]
    other.end_pause("friends", 1000 * START_S)
    bridge.take(ride[9:])
    assert [one.time_ms for one in _by_audience(bridge)["friends"]] == [one.time_ms for one in ride[:6] + ride[9:]]


def test_hours_ends_and_forgetting(tmp_path: Path) -> None:
    clock = Clock()
    text = (
        '[bridge]\nfolder = "live"\n[audience.a]\nsees = "exact"\nkeep = "1week"\nhours = "Mon-Fri 8:00-18:00"\n'
        "until = 2026-09-23T12:00:00Z\n"
    )
    bridge = _bridge(tmp_path, text, clock)
    one = bridge.config.audiences[0]
    monday = 1_789_948_800  # 2026-09-21 00:00 UTC
    times = [monday + 3600 * hour for hour in (7, 8, 17, 18, 32, 56 + 24)]
    bridge.take([Position("me", 1000 * at, 1.0, 1.0) for at in times])
    clock.now_s = monday + 40 * 3600
    assert [sight.time_ms // 1000 for sight in bridge.view(one, "me")] == [times[1], times[2], times[4]]
    clock.now_s = monday + 60.5 * 3600
    assert not bridge.view(one, "me")
    bridge.tidy()
    assert not bridge.store.visible("a", "me", 10**15, most=10)
    night = Schedule.parse("Fri 22:00-2:00")
    saturday = np.datetime64("2026-09-26T01:00").astype(object)
    assert night.holds(saturday)
    assert not night.holds(saturday.replace(day=25))


def test_lines_in_are_lines_out_for_each_audience_and_refusals_repeat_nothing(tmp_path: Path) -> None:
    bridge = _bridge(tmp_path, '[bridge]\nfolder = "live"\n[audience.friends]\nsees = "blurred"\nnoise = "900m"\n',
                     piped=True)  # fmt: skip
    read, write = os.pipe()
    os.write(write, b'{"lat": 1.2345678, "lon": 2, "time": 1790000000}\n{"lat": 91.2345678, "lon": 2, "time": 1}\nno\n')
    os.close(write)
    out = list[str]()
    run_pipe(bridge, read, out.append)
    text = "".join(out)
    assert '"audience": "friends"' in text
    assert text.count("error") == 2
    assert "2345678" not in text


@pytest.mark.parametrize(
    ("found", "lat"),
    [
        (from_owntracks("a", {"_type": "location", "lat": 52.3, "lon": 10.0, "tst": START_S}), 52.3),
        (from_query("a", {"lat": "52.3", "lon": "10", "timestamp": str(START_S)}), 52.3),
        (from_query("a", {"lat": "52.3", "lon": "10", "time": "2026-09-21T10:00:00Z"}), 52.3),
        (
            from_traccar(
                "a",
                {"location": {"timestamp": "2026-09-21T10:00:00.5Z", "coords": {"latitude": 52.3, "longitude": 10}}},
            ),
            52.3,
        ),
        (from_nmea("a", "$GPRMC,123519,A,4807.038,N,01131.000,E,022.4,084.4,230320,003.1,W*65"), 48.1173),
        (from_gpsd("a", {"class": "TPV", "mode": 3, "lat": 52.3, "lon": 10.0, "time": "2026-09-21T10:00:00Z"}), 52.3),
        (from_line(b'{"lat": 52.3, "lon": 10, "time": 1790000000, "person": "b"}'), 52.3),
    ],
)
def test_every_way_in_is_a_position(found: Position | None, lat: float) -> None:
    assert found is not None
    assert found.lat_deg == pytest.approx(lat, abs=1e-4)


@pytest.mark.parametrize(
    ("lat", "lon", "when"),
    [(91, 0, START_S), (0, 361, START_S), ("x", 0, START_S), (0, 0, None), (0, 0, 5), (float("nan"), 0, START_S),
     (True, 0, START_S), (0, 0, "tomorrow"), (0, 0, float("inf"))],
)  # fmt: skip
def test_what_is_no_position_is_refused_without_repeating_it(lat: object, lon: object, when: object) -> None:
    with pytest.raises(InputError) as refused:
        position("a", lat, lon, when)
    assert "91" not in str(refused.value)


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ('sees = "blurry"', "sees ="),
        ('sees = "blurred"', "noise"),
        ('sees = "exact"\nnoise = "9m"', "noise"),
        ('sees = "exact"\ndelay = "1min"', "5min"),
        ('sees = "exact"\nhours = "8-18"', "schedule"),
        ('sees = "exact"\nuntil = "soon"', "until"),
        ('sees = "zone"', "places"),
        ('sees = "exact"\nsend = ["mqtt:a"]', "broker"),
        ('sees = "exact"\ncolour = "red"', "colour"),
        ('sees = "exact"\ntokens.a = "secret"', "token"),
    ],
)
def test_a_file_that_does_not_say_all_is_refused_with_what_to_write(tmp_path: Path, more: str, says: str) -> None:
    file = tmp_path / "live.toml"
    file.write_text(f"[audience.a]\n{more}\n")
    with pytest.raises(InputError, match=says):
        load_config(file)


def test_check_says_who_sees_what_and_what_a_year_costs(tmp_path: Path) -> None:
    bridge = _bridge(tmp_path)
    words = " ".join(audience_words(one, bridge.config) for one in bridge.config.audiences)
    assert "club: sees of everybody a position blurred by 2 km per coordinate, 5 min after" in words
    promises = " ".join(promise_words(bridge.config))
    for told in ("4.76 : 1", "Together", "Zone names (work)", "Exact: family"):
        assert told in promises
    assert [what.split(",")[0] for what, _ in cost_rows(bridge.config)][:1] == ["home"]
    assert not earlier_words({"me": [900.0]}, bridge.config.chain)
    assert "add" not in earlier_words({"me": [300.0, 900.0]}, bridge.config.chain)[0]


def test_the_example_can_be_read_and_a_token_is_found_by_its_hash(tmp_path: Path) -> None:
    file = tmp_path / "live.toml"
    file.write_text(EXAMPLE.replace('# devices.phone = "sha256:..."', f'devices.phone = "{token_hash("t")}" #'))
    config = load_config(file)
    assert config.person_of("t") == "me"
    assert config.person_of("u") is None
