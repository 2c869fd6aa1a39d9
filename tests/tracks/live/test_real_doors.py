"""The doors of a bridge that really runs: events, servers it sends to, receivers, recordings."""

from __future__ import annotations

import http.client
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest

pytest.importorskip("starlette")
pytest.importorskip("paho.mqtt")
from live_harness import TOKEN, asked, broker_process, free_port, live_process, traccar
from paho.mqtt.enums import CallbackAPIVersion
from repository import ROOT

from sfumato.base.errors import InputError
from sfumato.cli.tracks.live.bridge import check, forget, pause
from sfumato.tracks.live.audiences import token_hash
from sfumato.tracks.live.positions import from_owntracks, json_object
from sfumato.tracks.live.store import LiveStore, live_key
from sfumato.tracks.places.places_file import Places, place_at, save_places

pytestmark = pytest.mark.service
COMPILING = "sfumato: compiling its loops, in the first run only ...\n"
RECORDED = ROOT.parent / "shared" / "data" / "formats" / "owntracks" / "owntracks-recorder_demo-iphone.rec"


@contextmanager
def running(folder: Path, audiences: str, *options: str, bridge: str = "", log: str = "") -> Iterator[str]:
    """A bridge with one person and one device; its address. ``log`` is all that it may say."""
    config, port = folder / "live.toml", free_port()
    config.write_text(
        f'[bridge]\nfolder = "live"\npositions_per_minute = 0\n{bridge}\n'
        f'[person.me]\ndevices.phone = "{token_hash(TOKEN)}"\n{audiences}'
    )
    one = live_process(config, port, *options)
    one.start()
    try:
        yield f"http://127.0.0.1:{port}"
        said = (folder / "bridge.log").read_text().replace(COMPILING, "")  # a fresh machine says it, when it is slow
        assert said == f"http://127.0.0.1:{port}\n{log}"  # and nothing is logged
    finally:
        one.end()


def audience(name: str, words: str) -> str:
    """An audience whose token is its name."""
    return f'[audience.{name}]\n{words}\ntokens.one = "{token_hash(name)}"\n'


def post(url: str, lat: float, lon: float, moment: int) -> None:
    """As OwnTracks does."""
    body = json.dumps({"_type": "location", "lat": lat, "lon": lon, "tst": moment}).encode()
    assert asked(f"{url}/pub", data=body, token=TOKEN)[0] == 200


def people(url: str, token: str) -> list[dict[str, object]]:
    """What an audience sees."""
    found: list[dict[str, object]] = json.loads(asked(f"{url}/see", token=token)[1])["people"]
    return found


def until(true: Callable[[], object], wait_s: float = 300.0) -> None:
    """Wait for something."""
    deadline = time.monotonic() + wait_s
    while not true():
        assert time.monotonic() < deadline, "it never came"
        time.sleep(0.1)


class Events:
    """Every byte of a stream of events, from now on."""

    def __init__(self, url: str, path: str, token: str = "") -> None:
        connection = http.client.HTTPConnection(urlsplit(url).netloc, timeout=300)
        connection.request("GET", path, headers={"authorization": f"Bearer {token}"})
        self.answer, self.came = connection.getresponse(), b""
        assert self.answer.status == 200
        assert self.answer.headers["content-type"].startswith("text/event-stream")
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        try:
            while part := self.answer.read1(65_536):
                self.came += part
        except (OSError, http.client.HTTPException):  # the bridge was ended
            pass

    def rows(self) -> list[object]:
        """What was told, in order."""
        return [json.loads(one[6:]) for one in self.came.decode().splitlines() if re.match("data: .", one)]


def test_events_come_as_positions_do_and_end_with_the_link(tmp_path: Path) -> None:
    now = int(time.time()) - 600
    with running(tmp_path, audience("friends", 'sees = "blurred"\nnoise = "900m"')) as url:
        store = LiveStore(tmp_path / "live", live_key(tmp_path / "live"))
        store.add_link(token_hash("a-link"), "friends", "me", 1000 * (now + 3600))
        told, page = Events(url, "/see/events", "friends"), Events(url, "/s/a-link/events")
        until(lambda: told.rows() == [[]])
        for at in range(3):
            post(url, 48.8612345, 2.3612345, now + 60 * at)
            until(lambda at=at: [row["time"] for row in told.rows()[-1]] == [now + 60 * at])  # type: ignore[misc]
        assert told.rows()[-1] == people(url, "friends")
        until(lambda: len(page.rows()) > 1 and "<circle" in str(page.rows()[-1]))
        store.revoke("friends")
        post(url, 48.8612345, 2.3612345, now + 300)
        until(lambda: b"event: gone" in page.came)
        assert b"48.8612345" not in told.came + page.came
        assert asked(f"{url}/s/a-link/events") == (404, b"Not found\n")


def test_what_is_sent_on_reaches_owntracks_and_traccar_once_though_a_third_server_is_away(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now, away = int(time.time()) - 600, free_port()
    with traccar() as (theirs, came):
        to = f'["traccar:http://127.0.0.1:{theirs}/", "owntracks:http://127.0.0.1:{theirs}/pub"]'
        both = audience("friends", f'sees = "blurred"\nnoise = "900m"\nkeep = "1day"\nsend = {to}')
        nobody = audience("club", f'sees = "blurred"\nnoise = "2km"\nsend = ["traccar:http://127.0.0.1:{away}/"]')
        half = audience(
            "rest",
            f'sees = "exact"\nsend = ["owntracks:http://127.0.0.1:{theirs}/rest", "traccar:http://127.0.0.1:{away}/"]',
        )
        with running(tmp_path, both + nobody + half) as url:
            for at in range(150):  # more than are looked at together
                post(url, 48.8612345, 2.3612345, now + at)
            until(lambda: len([one for one in came if not one.startswith("/rest")]) >= 300)
            until(lambda: len({one for one in came if one.startswith("/rest")}) == 150)
            time.sleep(5.0)  # those that did not arrive are tried again meanwhile
            store = LiveStore(tmp_path / "live", live_key(tmp_path / "live"))
            kept = {one.time_ms // 1000: one for one in store.visible("friends", "me", 10**15, most=1000)}
            waiting = store.waiting(10**15)
    check(tmp_path / "live.toml", json=False)
    assert "150 positions to be sent on to club did not arrive yet, one for 1" in capsys.readouterr().out
    queries = [parse_qs(urlsplit(one).query) for one in came if one.startswith("/?")]
    posted = [json.loads(one.partition(" ")[2]) for one in came if one.startswith("/pub ")]
    rest = [json.loads(one.partition(" ")[2])["tst"] for one in came if one.startswith("/rest ")]
    assert sorted(int(one["timestamp"][0]) for one in queries) == list(range(now, now + 150))
    assert sorted(one["tst"] for one in posted) == list(range(now, now + 150))
    assert len(rest) == len(set(rest)) == 150  # once, though the other target never answered
    assert waiting == {"club": (150, 1000 * now), "rest": (150, 1000 * now)}
    for one in queries:
        mine = kept[int(one["timestamp"][0])]
        assert (one["lat"], one["lon"], one["id"]) == ([f"{mine.lat_deg:.7f}"], [f"{mine.lon_deg:.7f}"], ["me"])
        assert float(one["accuracy"][0]) > 100
    assert all(one["_type"] == "location" and one["acc"] > 100 and one["tid"] == "me" for one in posted)


def test_what_a_server_refuses_for_good_is_set_aside_and_told_and_what_it_cannot_take_now_is_sent_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    now, busy = int(time.time()) - 600, [503, 429, 408, 302]

    def answers(path: str) -> int:
        if path.startswith("/busy"):
            return busy.pop() if busy else 200
        return 400 if path.startswith("/no") else 200

    with traccar(answers) as (theirs, came):
        to = f'["traccar:http://127.0.0.1:{theirs}/no", "owntracks:http://127.0.0.1:{theirs}/pub"]'
        log = "The traccar server of friends answers 400: what it refuses is not sent again.\n"
        busy_to = f'["traccar:http://127.0.0.1:{theirs}/busy"]'
        some = audience("friends", f'sees = "blurred"\nnoise = "900m"\nsend = {to}')
        with running(tmp_path, some + audience("club", f'sees = "exact"\nsend = {busy_to}'), log=log) as url:
            for at in range(3):
                post(url, 48.8612345, 2.3612345, now + at)
            until(lambda: not busy and len([one for one in came if one.startswith("/busy")]) == 7)
            until(lambda: not LiveStore(tmp_path / "live", live_key(tmp_path / "live")).waiting(10**15))
            time.sleep(3.0)
    assert len([one for one in came if one.startswith("/no")]) == 3
    assert len([one for one in came if one.startswith("/pub")]) == 3
    check(tmp_path / "live.toml", json=False)
    said = capsys.readouterr().out
    assert "3 positions of friends set aside: its traccar server answered 400, the last" in said
    assert "did not arrive" not in said


def test_what_a_broker_retains_is_taken_back_after_a_pause_after_forgetting_and_when_the_audience_is_no_more(
    tmp_path: Path,
) -> None:
    client = pytest.importorskip("paho.mqtt.client")
    broker = broker_process(tmp_path)
    if broker is None:
        pytest.skip("mosquitto is not installed")
    now, kept, heard = int(time.time()) - 600, dict[str, bytes](), list[str]()

    def came(_client: object, _data: object, message: Any) -> None:
        kept[message.topic] = message.payload
        heard.append(message.topic)

    broker.start()
    friend = client.Client(CallbackAPIVersion.VERSION2)
    friend.on_connect = lambda one, *_rest: one.subscribe("share/#", qos=1)
    friend.on_message = came
    friend.connect("127.0.0.1", broker.port)
    friend.loop_start()
    mqtt = f'[mqtt]\nurl = "mqtt://127.0.0.1:{broker.port}"\n'
    ana, bo = (
        audience(name, f'sees = "blurred"\nnoise = "900m"\nsend = ["mqtt:share/{name}/{{person}}"]')
        for name in ("ana", "bo")
    )
    try:
        with running(tmp_path, mqtt + ana + bo) as url:
            post(url, 48.8612345, 2.3612345, now)
            until(lambda: len(kept) == 2 and all(kept.values()))
            pause(tmp_path / "live.toml", "ana", end=False)
            until(lambda: kept["share/ana/me"] == b"")
            assert kept["share/bo/me"]
            forget(tmp_path / "live.toml", "bo", person="me")
            until(lambda: kept["share/bo/me"] == b"")
            post(url, 48.8612345, 2.3612345, now + 60)
            until(lambda: kept["share/bo/me"] != b"")
            assert kept["share/ana/me"] == b""
        (tmp_path / "bridge.log").unlink()
        with running(tmp_path, mqtt + ana):
            until(lambda: kept["share/bo/me"] == b"")
        late = client.Client(CallbackAPIVersion.VERSION2)
        late.on_message, heard[:] = came, []
        late.connect("127.0.0.1", broker.port)
        late.subscribe("share/#", qos=1)
        late.loop_start()
        time.sleep(1.0)
        assert not heard
        late.loop_stop()
    finally:
        friend.loop_stop()
        broker.end()


def _nmea(lat: float, lon: float, moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC)
    fields = f"{int(lat):02d}{lat % 1 * 60:09.6f},N,{int(lon):03d}{lon % 1 * 60:09.6f},E"
    body = f"GPRMC,{at:%H%M%S}.00,A,{fields},0.0,0.0,{at:%d%m%y},,,A"
    total = 0
    for letter in body.encode():
        total ^= letter
    return f"$GPGSV,1,1,00*79\r\n${body}*{total:02X}\r\n"


def _gpsd(lat: float, lon: float, moment: float) -> str:
    at = datetime.fromtimestamp(moment, UTC).isoformat().replace("+00:00", "Z")
    version, fix = (
        {"class": "VERSION", "release": "3.22"},
        {"class": "TPV", "mode": 3, "time": at, "lat": lat, "lon": lon},
    )
    return f"{json.dumps(version)}\r\n{json.dumps({'class': 'TPV', 'mode': 0})}\r\n{json.dumps(fix)}\r\n"


@pytest.mark.parametrize("speaks", [_nmea, _gpsd])
def test_a_receiver_over_tcp_is_read_and_called_again_when_it_hangs_up(
    tmp_path: Path, speaks: Callable[[float, float, float], str]
) -> None:
    now, asked_for = int(time.time()) - 600, list[bytes]()
    listening = socket.create_server(("127.0.0.1", 0))

    def serve() -> None:
        for call in range(2):
            one, _ = listening.accept()
            asked_for.append(one.recv(100))
            one.sendall(speaks(48.8612345 + call / 100, 2.3612345, now + call).encode())
            one.close()

    threading.Thread(target=serve, daemon=True).start()
    where = f"me@127.0.0.1:{listening.getsockname()[1]}"
    with running(tmp_path, audience("kin", 'sees = "exact"'), "--receiver", where) as url:
        until(lambda: [row["time"] for row in people(url, "kin")] == [now + 1])
        (row,) = people(url, "kin")
        assert row["lat"] == pytest.approx(48.8712345, abs=1e-7)
        assert row["lon"] == pytest.approx(2.3612345, abs=1e-7)
    assert len(asked_for) == 2
    assert asked_for[0].startswith(b'?WATCH={"enable":true,"json":true}')
    listening.close()


def test_from_inside_a_zone_not_a_byte_is_sent_but_its_name(tmp_path: Path) -> None:
    save_places(tmp_path / "me.places", Places.none(rng=1).add(place_at("home", 48.85, 2.35, radius_m=400.0, rng=1)))
    now = int(time.time()) - 3600
    path = [48.9012345 - at * 0.002 for at in range(20)] + [
        48.8501234 + at / 1e5 for at in range(20)
    ]  # home, and there
    blurred = 'sees = "blurred"\nnoise = "900m"\nkeep = "1day"'
    with traccar() as (theirs, came):
        to = f'\nsend = ["traccar:http://127.0.0.1:{theirs}/", "owntracks:http://127.0.0.1:{theirs}/pub"]'
        words = (
            audience("friends", blurred + to) + audience("press", 'sees = "town"') + audience("work", 'sees = "zone"')
        )
        with running(tmp_path, words, bridge='places = "me.places"') as url:
            streams = {name: Events(url, "/see/events", name) for name in ("friends", "press", "work")}
            inside = list[int]()
            for at, lat in enumerate(path):
                post(url, lat, 2.35, now + 60 * at)
                if [(row["time"], row["name"]) for row in people(url, "work")] == [(now + 60 * at, "home")]:
                    inside.append(now + 60 * at)
            until(lambda: streams["work"].rows()[-1] and streams["work"].rows()[-1][0]["time"] == now + 60 * 39)  # type: ignore[index]
            store = LiveStore(tmp_path / "live", live_key(tmp_path / "live"))
            until(lambda: not store.waiting(10**15))
            seen = b"".join(asked(f"{url}/see", token=name)[1] for name in ("friends", "press"))
    assert len(inside) >= 20
    assert inside[-1] == now + 60 * 39
    to_others = seen + streams["friends"].came + streams["press"].came + "\n".join(came).encode()
    told = {int(one) for one in re.findall(rb"\b1\d{9}\b", to_others)}
    assert len(told) >= 5
    assert not told & set(inside)
    assert max(told) < inside[0]
    work = streams["work"].came
    assert b'"home"' in work
    assert not re.search(rb"lat|lon|acc|radius|\d\.\d{2,}", work)
    for lat in path:
        assert f"{lat:.5f}".encode() not in work
        assert f"{lat!r}".encode() not in to_others + work


@pytest.mark.skipif(not RECORDED.exists(), reason="../shared/data is not here: the recorded messages of OwnTracks")
def test_recorded_messages_of_owntracks_go_through_the_door(tmp_path: Path) -> None:
    rows = [json_object(line.split("\t")[-1]) for line in RECORDED.read_text().splitlines() if line.strip()]
    told = {int(str(row["tst"])): row for row in rows if row.get("_type") == "location"}
    assert len(told) > 10
    with running(tmp_path, audience("kin", 'sees = "exact"\nkeep = "5000week"')) as url:
        for row in rows:
            try:
                expected = from_owntracks("me", row) is None or 200
            except InputError:
                expected = 422
            answer = asked(f"{url}/pub", data=json.dumps(row).encode(), token=TOKEN)[0]
            assert answer == (422 if expected == 422 else 200)
        kept = LiveStore(tmp_path / "live", live_key(tmp_path / "live")).visible("kin", "me", 10**15, most=10**6)
    assert {one.time_ms // 1000 for one in kept} == set(told)
    for one in kept:
        assert one.lat_deg in [row["lat"] for row in rows if str(row.get("tst")) == str(one.time_ms // 1000)]
