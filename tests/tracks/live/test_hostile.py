"""What a hostile reader found false of live sharing, each with made-up people and weeks."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from starlette.requests import Request

from sfumato.base.errors import InputError
from sfumato.tracks.live.audiences import load_config
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.doors.broker import Broker
from sfumato.tracks.live.doors.commits import Commits
from sfumato.tracks.live.doors.web import LiveDoor, create_app, token_of
from sfumato.tracks.live.gate import Fate, Gate, Track
from sfumato.tracks.live.pipe import run_pipe
from sfumato.tracks.live.positions import Position, from_nmea
from sfumato.tracks.live.promises import promise_words
from sfumato.tracks.live.store import KEY_FILE, STORE_FILE, LiveStore, live_key
from sfumato.tracks.places.globe import Around
from sfumato.tracks.places.places_file import Places, change_places, place_at, save_places
from sfumato.tracks.places.zones import Zone, draw_zone

BEGIN_S = 1_781_000_000  # a Tuesday in June, in Ljubljana
LAT, LON = 46.05, 14.5
FILE = '[bridge]\nfolder = "live"\n'


class Now:
    """A clock that a test sets."""

    at_s: float = BEGIN_S + 100_000

    def __call__(self) -> float:
        return self.at_s


def _open(folder: Path, text: str, now: Now | None = None, *, piped: bool = False) -> Bridge:
    file = folder / "live.toml"
    file.write_text(FILE + text)
    config = load_config(file)
    key = live_key(config.folder)
    return Bridge(config, key, LiveStore(config.folder, key), clock=now or Now(), piped=piped)


def _again(bridge: Bridge, folder: Path, text: str) -> Bridge:
    bridge.store.close()
    return _open(folder, text)


def _at(minute: float, north_m: float, person: str = "me") -> Position:
    return Position(person, int(1000 * (BEGIN_S + 60 * minute)), LAT + north_m / 111_200, LON)


def _seen(bridge: Bridge, audience: str) -> list[int]:
    return [one.time_ms for one in bridge.view(bridge.config.audience(audience), "me")]


EXACT = '[audience.ana]\nsees = "exact"\nkeep = "1week"\n'


@pytest.mark.parametrize(
    "after",
    [
        '[audience.ana]\nsees = "blurred"\nnoise = "900m"\nkeep = "1week"\n',
        '[audience.ana]\nsees = "town"\nkeep = "1week"\n',
        '[audience.ana]\nsees = "exact"\nkeep = "1week"\ndelay = "144h"\n',
        '[audience.ana]\nsees = "exact"\nkeep = "1week"\nhours = "Sun 3:00-4:00"\n',
        '[audience.ana]\nsees = "exact"\nkeep = "1week"\npeople = ["somebody"]\n',
        '[audience.bo]\nsees = "exact"\nkeep = "1week"\n',
    ],
)
def test_what_was_kept_for_another_rule_is_deleted_before_anybody_sees_it(tmp_path: Path, after: str) -> None:
    bridge = _open(tmp_path, EXACT)
    bridge.take([_at(one, 300.0 * one) for one in range(5)])
    assert len(_seen(bridge, "ana")) == 5
    bridge = _again(bridge, tmp_path, EXACT)
    assert len(_seen(bridge, "ana")) == 5  # the same rule
    bridge = _again(bridge, tmp_path, after)
    bridge = _again(bridge, tmp_path, EXACT)
    assert not _seen(bridge, "ana")


def test_a_place_added_later_takes_back_what_is_not_yet_shown(tmp_path: Path) -> None:
    save_places(tmp_path / "p", Places.none(rng=1).add(place_at("work", LAT + 1, LON, radius_m=400.0, rng=1)))
    text = 'places = "p"\n[audience.ana]\nsees = "blurred"\nnoise = "900m"\nkeep = "1week"\n'
    bridge = _open(tmp_path, text)
    bridge.take([_at(one, 10.0 * one) for one in range(5)])
    assert len(_seen(bridge, "ana")) == 5
    change_places(tmp_path / "p", lambda was: was.add(place_at("home", LAT, LON, radius_m=400.0, rng=2)))
    bridge = _again(bridge, tmp_path, text)
    assert not _seen(bridge, "ana")


def test_what_was_measured_in_a_pause_is_not_shown_when_the_phone_sends_it_afterwards(tmp_path: Path) -> None:
    bridge = _open(tmp_path, EXACT)
    bridge.take([_at(0, 0)])
    bridge.store.pause("ana", 1000 * (BEGIN_S + 60))
    bridge.store.pause("ana", 1000 * (BEGIN_S + 1000))  # said twice: the first counts
    bridge.store.end_pause("ana", 1000 * (BEGIN_S + 600))
    bridge = _again(bridge, tmp_path, EXACT)
    bridge.take([_at(one, 300.0 * one) for one in range(1, 20)])  # it was without a network
    assert _seen(bridge, "ana") == [_at(one, 0).time_ms for one in (0, *range(10, 20))]


def test_a_lost_store_is_not_begun_anew_under_the_old_key(tmp_path: Path) -> None:
    bridge = _open(tmp_path, EXACT)
    bridge.store.pause("ana", 1)
    bridge.store.close()
    for file in tmp_path.glob(f"live/{STORE_FILE}*"):
        file.unlink()
    with pytest.raises(InputError, match="gone"):
        _open(tmp_path, EXACT)
    (tmp_path / "live" / KEY_FILE).rename(tmp_path / "old.key")
    assert _open(tmp_path, EXACT)


def test_a_paused_audience_that_waits_for_much_is_not_in_the_way_of_others(tmp_path: Path) -> None:
    text = (
        '[mqtt]\nurl = "mqtt://localhost"\n[audience.ana]\nsees = "exact"\ndelay = "5min"\nsend = ["mqtt:a"]\n'
        '[audience.bo]\nsees = "exact"\ndelay = "10min"\nsend = ["mqtt:b"]\n'
    )
    bridge = _open(tmp_path, text)
    bridge.take([_at(one / 10, one) for one in range(600)])
    bridge.store.pause("ana", 1000 * (BEGIN_S + 90_000))
    other = LiveStore(bridge.config.folder, live_key(bridge.config.folder))
    other.pause("ana", 1000 * BEGIN_S)
    other.add_link("sha256:x", "bo", "me", 1)  # another process wrote
    assert {one.audience for one in bridge.due()} == {"bo"}


def test_a_pipe_forgets_too_and_a_link_that_ended_is_gone_from_the_disk(tmp_path: Path) -> None:
    now = Now()
    text = '[audience.ana]\nsees = "blurred"\nnoise = "900m"\nkeep = "1h"\n'
    bridge = _open(tmp_path, text, now, piped=True)
    bridge.take([_at(one, 300.0 * one) for one in range(5)])
    bridge.store.add_link("sha256:ended", "ana", "me", 1000 * BEGIN_S)
    kept = bridge.store.visible("ana", "me", 10**14, most=9)[0]
    source, into = os.pipe()
    os.close(into)
    run_pipe(bridge, source, lambda _: None)
    os.close(source)
    assert not bridge.store.visible("ana", "me", 10**14, most=9)
    disk = b"".join(file.read_bytes() for file in (tmp_path / "live").iterdir())
    assert np.float64(kept.lat_deg).tobytes() not in disk
    assert b"sha256:ended" not in disk


def test_a_command_that_ends_does_not_take_the_log_from_two_stores_of_one_process(tmp_path: Path) -> None:
    first = _open(tmp_path, EXACT)
    second = LiveStore(first.config.folder, live_key(first.config.folder))
    assert not first.store.link("sha256:x", 1)
    say = "import sys; from pathlib import Path; from sfumato.tracks.live.store import LiveStore, live_key; "
    say += "f = Path(sys.argv[1]); store = LiveStore(f, live_key(f)); "
    for act, there in (('store.add_link("sha256:x", "ana", "me", 10**14)', True), ('store.revoke("ana")', False)):
        subprocess.run([sys.executable, "-c", f"{say}{act}; store.close()", str(first.config.folder)], check=True)
        assert (first.store.link("sha256:x", 1) is not None) is there
        assert (second.link("sha256:x", 1) is not None) is there
        first.take([_at(float(there), 300.0)])
    assert len(_seen(_open(tmp_path, EXACT), "ana")) == 2


# Zones without the future.

HOME = draw_zone(LAT, LON, radius_m=400.0, rng=5)
GATE = Gate((("home", HOME),))


def _off(zone: Zone, metres: float) -> tuple[float, float]:
    lat, lon = Around(zone.lat_deg, zone.lon_deg).to_degrees(np.array([[0.0, zone.radius_m + metres]]))
    return float(lat[0]), float(lon[0])


def test_late_points_after_a_restart_are_no_new_way_out(tmp_path: Path) -> None:
    zones = place_at("home", LAT, LON, radius_m=400.0, rng=6)
    save_places(tmp_path / "p", Places.none(rng=1).add(zones))
    text = f'places = "p"\n{EXACT}'
    bridge = _open(tmp_path, text)
    bridge.take([_at(one, 0) for one in (1, 3, 5)])
    bridge = _again(bridge, tmp_path, text)
    bridge.take([_at(2, 1500), _at(4, 1600)])  # two outliers of the receiver, each alone between two moments at home
    assert not _seen(bridge, "ana")
    bridge.take([_at(6, 2000), _at(7, 2300)])
    assert _seen(bridge, "ana") == [_at(one, 0).time_ms for one in (6, 7)]


def test_a_late_point_from_inside_ends_a_run_that_waits() -> None:
    track = Track()
    assert GATE.take(track, 0, HOME.lat_deg, HOME.lon_deg).fate is Fate.INSIDE
    assert GATE.take(track, 20, *_off(HOME, 60)).fate is Fate.HELD
    assert GATE.take(track, 50, *_off(HOME, 70)).fate is Fate.HELD
    assert GATE.take(track, 30, HOME.lat_deg, HOME.lon_deg).withhold_ms == (20, 50)
    assert GATE.take(track, 60, *_off(HOME, 300)).leave_ms == ()  # a new run; 20 alone was flicker
    assert GATE.take(track, 70, *_off(HOME, 400)).leave_ms == (60,)


def test_a_late_point_between_two_that_left_waits_where_a_later_one_has_made_them_flicker() -> None:
    track = Track()
    GATE.take(track, 0, HOME.lat_deg, HOME.lon_deg)
    for time, away_m in ((20, 60), (40, 70), (60, 300)):
        found = GATE.take(track, time, *_off(HOME, away_m))
    assert found.leave_ms == (20, 40)
    GATE.take(track, 50, HOME.lat_deg, HOME.lon_deg)  # late: 20 and 40 are flicker now, and cannot be taken back
    assert GATE.take(track, 30, *_off(HOME, 65)).fate is Fate.HELD
    assert GATE.take(track, 70, *_off(HOME, 350)).fate is Fate.HELD  # a new run since the late one
    assert GATE.take(track, 80, *_off(HOME, 400)).leave_ms == (70,)


# Doors.


def test_a_stream_writes_nothing_when_a_position_comes_that_its_reader_does_not_see(tmp_path: Path) -> None:
    bridge = _open(tmp_path, '[audience.ana]\nsees = "exact"\n[audience.bo]\nsees = "exact"\ndelay = "5min"\n')

    async def written(name: str) -> list[str]:
        commits = Commits(bridge)
        door = LiveDoor(bridge.config, commits, bridge)
        bridge.store.add_link(f"sha256:{name}", name, "me", 10**14)
        out, audience = list[str](), bridge.config.audience(name)
        answer = door._stream(
            lambda: f"data: {[one.time_ms for one in bridge.view(audience, 'me')]}\n\n", late=audience.delay_s > 0
        )

        async def read() -> None:
            async for part in answer.body_iterator:  # type: ignore[attr-defined]
                out.append(part)

        async def has_written(count: int) -> None:
            for _ in range(6000):
                if len(out) >= count:
                    return
                await asyncio.sleep(0.01)
            raise AssertionError(out)

        reading = asyncio.create_task(read())
        await has_written(2)
        for one in range(5):
            await commits.take(_at(one, 0, "somebody_else"))
            await asyncio.sleep(0.02)
        await commits.take(_at(9, 0) if name == "ana" else _at(10, 0))
        await (has_written(3) if name == "ana" else asyncio.sleep(0.1))  # what is not written has no moment to wait for
        reading.cancel()
        commits.close()
        return out

    first, beat, change = asyncio.run(written("ana"))
    assert (first, beat) == ("data: []\n\n", ": still here\n\n")
    assert str(_at(9, 0).time_ms) in change
    assert len(asyncio.run(written("bo"))) == 2  # what is shown late changes by the clock, not when a phone reports


def test_addresses_beside_those_there_are_and_odd_passwords_answer_nothing_else(tmp_path: Path) -> None:
    bridge = _open(tmp_path, EXACT)
    app = create_app(LiveDoor(bridge.config, Commits(bridge), bridge), [])
    assert app.router.redirect_slashes is False
    odd = Request(
        {"type": "http", "headers": [(b"authorization", "Basic \xe9".encode("latin-1"))], "query_string": b""}
    )
    assert token_of(odd) == ""


def test_what_the_bridge_itself_sent_to_the_broker_is_nobodys_position() -> None:
    acknowledged, taken, loop = list[int](), list[str](), asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()

    async def take(one: Position) -> None:
        taken.append(one.person)

    broker = Broker("mqtt://localhost", ("owntracks/+/+",), take, ["owntracks/{person}/sfumato"])
    broker._loop = loop
    broker._client = SimpleNamespace(ack=lambda mid, _qos: acknowledged.append(mid))  # type: ignore[assignment]
    payload = json.dumps({"_type": "location", "lat": LAT, "lon": LON, "tst": BEGIN_S}).encode()
    for mid, topic in enumerate(("owntracks/ana/sfumato", "owntracks/ana/phone")):
        broker._came(None, None, SimpleNamespace(topic=topic, payload=payload, mid=mid, qos=1))  # type: ignore[arg-type]
    while len(acknowledged) < 2:
        pass
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()
    assert taken == ["ana"]


def test_a_sentence_of_a_receiver_without_its_side_is_refused() -> None:
    body = "GPRMC,101010,A,4603.000,{},01430.000,E,0,0,090626,,"
    for side, found in (("N", 46.05), ("S", -46.05), ("", None), ("E", None), ("NS", None)):
        text, total = body.format(side), 0
        for letter in text.encode():
            total ^= letter
        line = f"${text}*{total:02X}"
        if found is None:
            with pytest.raises(InputError):
                from_nmea("me", line)
        else:
            one = from_nmea("me", line)
            assert one is not None
            assert one.lat_deg == pytest.approx(found)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ('sees = "blurred"\nnoise = "0.004m"', "blurs nothing"),
        ('sees = "exact"\nkeep = "1h"\ndelay = "1week"', "less than its delay"),
    ],
)
def test_sizes_that_blur_nothing_and_histories_that_never_show_are_refused(
    tmp_path: Path, text: str, words: str
) -> None:
    (tmp_path / "live.toml").write_text(f"{FILE}[audience.ana]\n{text}\n")
    with pytest.raises(InputError, match=words):
        load_config(tmp_path / "live.toml")


def test_check_says_what_a_broker_alone_can_lose(tmp_path: Path) -> None:
    mqtt = '[mqtt]\nurl = "mqtt://localhost"\ntopics = ["owntracks/+/+"]\n'
    for text, there in ((mqtt + EXACT, True), (EXACT, False)):
        (tmp_path / "live.toml").write_text(FILE + text)
        said = "\n".join(promise_words(load_config(tmp_path / "live.toml")))
        assert ("before its own disk has the message" in said) is there


def test_check_says_that_two_devices_share_one_noise(tmp_path: Path) -> None:
    digest = "sha256:" + "0" * 64
    text = f'{FILE}[person.me]\ndevices.phone = "{digest}"\ndevices.old = "{digest}"\n{EXACT}'
    (tmp_path / "live.toml").write_text(text)
    assert any("2 devices" in words for words in promise_words(load_config(tmp_path / "live.toml")))


def test_nothing_is_taken_back_before_what_is_still_on_its_way_to_the_broker() -> None:
    went, arrived = list[bytes](), set[int]()

    def publish(_topic: str, payload: bytes, **_how: object) -> SimpleNamespace:
        number = len(went)
        went.append(payload)
        return SimpleNamespace(rc=0, is_published=lambda: number in arrived)

    async def said(payload: bytes) -> bool:
        with contextlib.suppress(TimeoutError):
            return await asyncio.wait_for(broker.publish("share/me", payload), 0.05)
        return False

    async def take(_one: Position) -> None:
        pass

    broker = Broker("mqtt://localhost", (), take)
    broker._client = SimpleNamespace(is_connected=lambda: True, publish=publish)  # type: ignore[assignment]
    assert not asyncio.run(said(b"here"))  # the connection is lost meanwhile, and paho will send it again
    assert not asyncio.run(said(b""))
    assert went == [b"here"]
    arrived |= {0, 1}
    assert asyncio.run(said(b""))
    assert went == [b"here", b""]
