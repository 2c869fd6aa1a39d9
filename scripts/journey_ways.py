"""The six ways through the house, from real runs: what is laid out before each, and what is then walked.

Each way has a folder that is thrown away. What it needs is made there first, by this script or by another process, so
that nothing of the package has run in the process that is walked.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import io
import math
import os
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path

_TOKEN = "a-token-for-journeys-only-0123456789"
_RIDE = "ride.gpx"


@dataclass(frozen=True)
class Way:
    """One way: what a person does, what must be there before, and who does it (a command, unless told otherwise)."""

    words: str
    prepare: Callable[[], None]
    act: Callable[[str], None]


def _command(words: str) -> None:
    """Run a command in this process."""
    app = import_module("sfumato.cli").app
    with contextlib.redirect_stdout(io.StringIO()):
        app(words.split(), standalone_mode=False)


def _elsewhere(words: str) -> None:
    """Run a command in a process of its own."""
    start = "from sfumato.cli import main; main()"
    subprocess.run([sys.executable, "-c", start, *words.split()], check=True, capture_output=True)


def _sample_ride() -> None:
    package = Path(import_module("sfumato").__file__ or "").parent
    shutil.copy(next(package.rglob("sample_ride.gpx")), _RIDE)


def _ride(number: int, moment: int) -> tuple[float, float, float]:
    """Where somebody is after so many half minutes of a ride from home: latitude, longitude, seconds since 1970."""
    angle, metres = 0.9 * number, 150.0 * moment
    lat = 48.85 + metres * math.cos(angle) / 111_000.0
    return lat, 2.35 + metres * math.sin(angle) / 73_000.0, 1.7e9 + 86_400.0 * number + 30.0 * moment


def _rides() -> None:
    """A folder of rides, each a file, and a places file with the home they begin at."""
    Path("rides").mkdir()
    for number in range(3):
        rows = [_ride(number, moment) for moment in range(60)]
        times = [f"2026-03-0{number + 1}T08:{moment // 2:02d}:{30 * (moment % 2):02d}Z" for moment in range(60)]
        points = "".join(
            f'<trkpt lat="{lat:.6f}" lon="{lon:.6f}"><time>{time}</time></trkpt>'
            for (lat, lon, _), time in zip(rows, times, strict=True)
        )
        text = f'<gpx version="1.1" creator="journey"><trk><trkseg>{points}</trkseg></trk></gpx>'
        Path(f"rides/{number}.gpx").write_text(text, "utf-8")
    _elsewhere("places add home 48.85,2.35 --places me.places --zone 400m")


def _people() -> None:
    """A folder of Parquet with three people in two files."""
    pa, pq = import_module("pyarrow"), import_module("pyarrow.parquet")
    Path("people").mkdir()
    for part in range(2):
        rows = [(f"p{who}", *_ride(who, 30 * part + moment)) for who in range(3) for moment in range(30)]
        user, lat, lon, time = zip(*rows, strict=True)
        columns = {
            "user_id": user,
            "lat": lat,
            "lon": lon,
            "time": pa.array([int(t) for t in time], pa.timestamp("s", "UTC")),
        }
        pq.write_table(pa.table(columns), f"people/{part}.parquet")


def _release() -> None:
    _sample_ride()
    _elsewhere("protect ride.gpx -o out.gpx --certificate out.json")


def _collector() -> None:
    settings = {"DATABASE": "sqlite:///collector.db", "CITY": "none", "OPERATOR_TOKEN": _TOKEN, "BACKUP_FOLDER": ""}
    os.environ |= {f"SFUMATO_{name}": value for name, value in settings.items()}


def _collect(_: str) -> None:
    """A collector in this process: a campaign, its channel, reports of four devices, the cycle closed, the map seen."""
    home = import_module("sfumato").__path__[0]
    door = next(path for path in Path(home).rglob("app.py") if "def create_app" in path.read_text("utf-8"))
    module = ".".join(door.relative_to(Path(home).parent).with_suffix("").parts)
    asyncio.run(_days_work(import_module(module).create_app()))


async def _days_work(app: object) -> None:
    httpx = import_module("httpx")
    operator = {"Authorization": f"Bearer {_TOKEN}"}
    grid = {"south": 48.84, "west": 2.30, "north": 48.8669, "east": 2.3408, "cell_size_m": 500.0}
    asked: dict[str, object] = {"name": "town", "grid": grid, "beta_per_m": 0.001, "promise": "mutual-information"}
    asked |= {"reporting": "every-cycle", "cycle_duration_s": 86_400, "minimum_cycle_s": 0, "minimum_tickets": 1}
    asked["rehearsal"] = True
    here = "/api/v1/campaigns"
    lifespan = app.router.lifespan_context(app)  # type: ignore[attr-defined]
    async with lifespan, httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://town.test") as visitor:
        (await visitor.post(here, json=asked, headers=operator)).raise_for_status()
        channel = (await visitor.get(f"{here}/town/channel")).raise_for_status().json()
        for cell in (7, 7, 8, 14):
            device = hashlib.sha256(secrets.token_bytes(32)).hexdigest()
            tag = {"cycle": 1, "device": device}
            ticket = (await visitor.post(f"{here}/town/tickets", json=tag)).raise_for_status().json()["ticket"]
            report = {"cell": cell, "version": channel["version"], "key": secrets.token_hex(16), "ticket": ticket}
            (await visitor.post(f"{here}/town/reports", json=report)).raise_for_status()
        (await visitor.post(f"{here}/town/close", json={}, headers=operator)).raise_for_status()
        (await visitor.get("/campaigns/town/dashboard")).raise_for_status()


WAYS: dict[str, Way] = {
    "TRACE": Way("protect ride.gpx -o out.gpx --certificate out.json", _sample_ride, _command),
    "COLLECTION": Way("collect simulate --cycles 2 --rounds 1", lambda: None, _command),
    "DATASET": Way("protect people/ -o protected/ --certificate people.json", _people, _command),
    "HIDE": Way("hide rides/ -o shared/ --places me.places --certificate shared.json", _rides, _command),
    "ANSWERS": Way(
        "estimate heatmap out.gpx --certificate out.json -o map.geojson --picture map.svg", _release, _command
    ),
    "SERVICE": Way("serve: a campaign, its channel, reports, the cycle closed, the dashboard", _collector, _collect),
}
