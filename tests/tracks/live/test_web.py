"""HTTP in and out: what phones send, what audiences get, and the 404 that everything else is."""

from __future__ import annotations

import base64
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

pytest.importorskip("starlette")
from starlette.testclient import TestClient

from sfumato.tracks.live.audiences import load_config, token_hash
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.doors.commits import Commits
from sfumato.tracks.live.doors.page import events_text
from sfumato.tracks.live.doors.web import LiveDoor, create_app
from sfumato.tracks.live.store import LiveStore, live_key

START_S = 1_790_000_000
CONFIG = f"""
[bridge]
folder = "live"
[person.me]
devices.phone = "{token_hash("phone")}"
[audience.friends]
sees = "blurred"
noise = "900m"
tokens.ben = "{token_hash("ben")}"
[audience.family]
sees = "exact"
tokens.kim = "{token_hash("kim")}"
[audience.press]
sees = "town"
tokens.pat = "{token_hash("pat")}"
[audience.past]
sees = "exact"
until = 2026-01-01
tokens.old = "{token_hash("old")}"
"""


class Running:
    """The application with its store, and a clock of its own."""

    def __init__(self, folder: Path) -> None:
        (folder / "live.toml").write_text(CONFIG)
        config, self.now_s = load_config(folder / "live.toml"), START_S + 3600.0
        key = live_key(config.folder)
        bridges = [Bridge(config, key, LiveStore(config.folder, key), clock=lambda: self.now_s) for _ in range(2)]
        self.store = bridges[1].store
        self.door = LiveDoor(config, Commits(bridges[0]), bridges[1])
        self.client = TestClient(create_app(self.door, ()))

    def post(self, lat: float, second: int, token: str = "phone") -> int:
        """As OwnTracks does."""
        secret = base64.b64encode(f"me:{token}".encode()).decode()
        message = {"_type": "location", "lat": lat, "lon": 2.3456789, "tst": START_S + second}
        return int(self.client.post("/pub", json=message, headers={"authorization": f"Basic {secret}"}).status_code)

    def see(self, token: str) -> list[dict[str, object]]:
        """What the audience with this token gets."""
        found: list[dict[str, object]] = self.client.get("/see", headers={"authorization": f"Bearer {token}"}).json()[
            "people"
        ]
        return found


@pytest.fixture
def running(tmp_path: Path) -> Iterator[Running]:
    made = Running(tmp_path)
    with made.client:
        yield made


def test_phones_of_every_kind_post_and_each_audience_sees_its_own(running: Running) -> None:
    assert running.post(48.8512345, 0) == 200
    got = running.client.get(f"/osmand?id=phone&lat=48.8512345&lon=2.3456789&timestamp={START_S + 60}")
    assert got.status_code == 200
    body = {
        "device_id": "phone",
        "location": {"timestamp": "2026-09-21T13:35:20Z", "coords": {"latitude": 48.8512345, "longitude": 2.3456789}},
    }
    assert running.client.post("/traccar", json=body).status_code == 200
    (friend,), (kin,), (press,) = running.see("ben"), running.see("kim"), running.see("pat")
    assert (kin["lat"], kin["radius_68_m"]) == (48.8512345, 0.0)
    assert friend["lat"] != 48.8512345
    assert 500 < float(str(friend["radius_68_m"])) < 2500
    assert set(press) == {"person", "time", "name"}
    (message,) = running.client.get("/see/owntracks", headers={"authorization": "Bearer ben"}).json()
    assert message["_type"] == "location"
    assert message["acc"] == round(float(str(friend["radius_68_m"])))
    assert not running.see("old")


@pytest.mark.parametrize(
    "path", ["/", "/s/", "/s/x", "/s/x/events", "/see", "/see/events", "/pub", "/docs", "/openapi.json"]
)
def test_whatever_leads_nowhere_is_the_same_404(running: Running, path: str) -> None:
    found = running.client.get(path)
    assert (found.status_code, found.content) == (404, b"Not found\n")


def test_a_link_shows_a_circle_without_any_outside_host_until_it_ends_or_is_revoked(running: Running) -> None:
    for number in range(3):
        running.post(48.8512345, 60 * number)
    running.store.add_link(token_hash("a-link"), "friends", "me", int(1000 * (running.now_s + 600)))
    found = running.client.get("/s/a-link")
    assert found.status_code == 200
    assert "<circle" in found.text
    assert "48.8512" not in found.text
    assert not re.findall(r"(?:src|href|url)\s*[=(]", found.text)
    assert "default-src 'none'" in found.headers["content-security-policy"]
    assert found.headers["referrer-policy"] == "no-referrer"
    running.store.revoke("friends")
    gone = running.client.get("/s/a-link")
    assert (gone.status_code, gone.content) == (404, b"Not found\n")
    running.store.add_link(token_hash("b-link"), "friends", "me", int(1000 * (running.now_s + 600)))
    running.now_s += 601
    ended = running.client.get("/s/b-link")
    assert (ended.status_code, ended.content, dict(ended.headers)) == (404, b"Not found\n", dict(gone.headers))
    running.store.add_link(token_hash("c-link"), "past", "me", int(1000 * (running.now_s + 600)))
    assert running.client.get("/s/c-link").status_code == 404


def test_wrong_tokens_and_damaged_bodies_are_refused_and_nothing_is_said_about_them(
    running: Running, capfd: pytest.CaptureFixture[str]
) -> None:
    assert running.post(48.8512345, 0, token="wrong") == 404
    secret = {"authorization": "Bearer phone"}
    for body in (
        b"{",
        b"[]",
        b"nan",
        b'{"_type":"location","lat":48.8512345,"lon":999,"tst":1790000000}',
        b"x" * 70_000,
    ):
        found = running.client.post("/pub", content=body, headers=secret)
        assert found.status_code == 422
        assert "48.85" not in found.text
    assert running.client.post("/pub", json={"_type": "waypoint"}, headers=secret).status_code == 200
    said = capfd.readouterr()
    assert "48.85" not in said.out + said.err
    assert not running.see("kim")


def test_too_many_positions_of_a_device_are_told_to_wait(running: Running) -> None:
    answers = [running.post(48.8, number) for number in range(130)]
    assert 429 in answers
    assert 110 <= answers.count(200) <= 128


def test_a_full_disk_is_a_503_and_the_position_can_be_sent_again(
    running: Running, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    def full(_batch: object) -> None:
        raise OSError(28, "48.8512345 did not fit")

    bridge = running.door.commits._bridge
    with monkeypatch.context() as broken:
        broken.setattr(bridge.store, "commit", full)
        assert running.post(48.8512345, 0) == 503
    assert "48.85" not in capfd.readouterr().out
    assert running.post(48.8512345, 0) == 200
    assert len(running.see("kim")) == 1


def test_events_say_what_changed(running: Running) -> None:
    running.post(48.8512345, 0)
    view = running.door.views.of(running.door.config.audience("friends"), "me")
    data = json.loads(events_text(view, running.door.config.zone).removeprefix("data: "))
    assert "<svg" in data
    assert "68 %" in data


def test_a_day_of_standing_still_moves_what_is_shown_ten_times_less_than_the_release(tmp_path: Path) -> None:
    import numpy as np

    from sfumato.base.things.frames import differences_m
    from sfumato.tracks.live.calm import CalmView
    from sfumato.tracks.live.chain import Chain, LiveNoise

    chain, count = Chain((900.0,)), 1440
    times = 1000 * (START_S + 60 * np.arange(count))
    here = np.full(count, 48.85), np.full(count, 2.35)
    lat, lon = LiveNoise(chain, b"s" * 32).release(["me"] * count, times, *here)[900.0]
    view = CalmView(chain.mechanism(900.0).kernel())
    shown = [view.add(*one) for one in zip(times.tolist(), lat.tolist(), lon.tolist(), strict=True)]
    places = np.array([one.lat_deg for one in shown]), np.array([one.lon_deg for one in shown])

    def steps(lat: np.ndarray, lon: np.ndarray) -> np.ndarray:
        return np.linalg.norm(differences_m(lat[:-1], lon[:-1], lat[1:], lon[1:]), axis=1)

    released, seen = steps(lat, lon), steps(*places)
    assert np.median(seen) * 10 <= np.median(released)
    assert seen.mean() * 10 <= released.mean()  # and no single jumps that a median hides
    assert seen[60:].max() < np.median(released)


def test_what_came_before_its_hour_is_not_seen(running: Running) -> None:
    running.now_s = START_S - 10
    running.post(48.8, 0)
    assert not running.see("kim")
