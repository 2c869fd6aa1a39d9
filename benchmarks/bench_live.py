"""What ``sfumato live`` takes per second: lines one by one and in batches, a fleet's state, HTTP beside a bare store.

    python benchmarks/bench_live.py [--quick]

Rates of lines are per second of processor time of this process, and on the clock. HTTP is per second of the server's
processor time, beside an endpoint of the same server that only stores the body, durable in the same way.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import resource
import sqlite3
import sys
import tempfile
import threading
import time
from collections.abc import Sequence
from pathlib import Path

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests" / "helpers"))

from live_harness import KilledProcess, free_port, live_process

from sfumato.tracks.live.audiences import load_config, token_hash
from sfumato.tracks.live.bridge import Bridge
from sfumato.tracks.live.doors.commits import Commits
from sfumato.tracks.live.pipe import run_pipe
from sfumato.tracks.live.positions import Position, from_line
from sfumato.tracks.live.store import LiveStore, live_key

START_S = 1_790_000_000
NEEDED = {"one by one": 5_000.0, "in batches": 20_000.0, "HTTP share": 0.5, "state MB": 200.0, "resumed s": 10.0}
CONFIG = f"""
[bridge]
folder = "live"
positions_per_minute = 0
[person.me]
devices.phone = "{token_hash("phone")}"
[audience.friends]
sees = "blurred"
noise = "900m"
"""


def main() -> int:
    """Run, print, and return 1 if a required number is missed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="A tenth of everything.")
    parser.add_argument("--bare", help=argparse.SUPPRESS)
    parser.add_argument("--port", type=int, help=argparse.SUPPRESS)
    asked = parser.parse_args()
    if asked.bare:
        serve_bare(asked.bare, asked.port)
        return 0
    share = 0.1 if asked.quick else 1.0
    found = lines(int(20_000 * share), int(200_000 * share))
    found |= fleet(int(100_000 * share))
    found |= http(10_000 if not asked.quick else 4_000)
    print(json.dumps(found, indent=1))
    short = [name for name in ("one by one", "in batches", "HTTP share") if found[name] < NEEDED[name]]
    return int(bool(short) or found["state MB"] > NEEDED["state MB"] or found["resumed s"] > NEEDED["resumed s"])


def bridge_in(folder: str, *, durable: bool) -> Bridge:
    """A bridge of one blurred audience."""
    file = Path(folder) / "live.toml"
    file.write_text(CONFIG)
    config = load_config(file)
    key = live_key(config.folder)
    return Bridge(config, key, LiveStore(config.folder, key, durable=durable), piped=True)


def lines(singles: int, many: int) -> dict[str, float]:
    """A client that waits for each answer, and one that does not."""
    with tempfile.TemporaryDirectory() as folder:
        bridge = bridge_in(folder, durable=False)
        bridge.take([from_line(_line(-1))])
        out = {}
        began, clock = time.process_time(), time.perf_counter()
        _piped(bridge, [_line(number) for number in range(singles)], waits=True)
        out["one by one"] = singles / (time.process_time() - began)
        out["one by one, on the clock"] = singles / (time.perf_counter() - clock)
        began, clock = time.process_time(), time.perf_counter()
        _piped(bridge, [_line(singles + number) for number in range(many)], waits=False)
        out["in batches"] = many / (time.process_time() - began)
        out["in batches, on the clock"] = many / (time.perf_counter() - clock)
        return out


def _line(number: int) -> bytes:
    return b'{"lat": %.6f, "lon": 2.35, "time": %d}\n' % (48.0 + number * 1e-6, START_S + 60 * number - 30_000_000)


def _piped(bridge: Bridge, rows: Sequence[bytes], *, waits: bool) -> None:
    read, write = os.pipe()
    answered = threading.Semaphore(0)

    def send() -> None:
        if waits:
            for row in rows:
                os.write(write, row)
                answered.acquire()
        else:
            with os.fdopen(os.dup(write), "wb") as stream:
                stream.writelines(rows)
        os.close(write)

    sender = threading.Thread(target=send)
    sender.start()
    run_pipe(bridge, read, lambda _text: answered.release())
    sender.join()
    os.close(read)


def fleet(people: int) -> dict[str, float]:
    """Everybody's state on disk and in memory, and the time until a killed bridge takes positions again."""
    with tempfile.TemporaryDirectory() as folder:
        bridge = bridge_in(folder, durable=True)
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for start in range(0, people, 5_000):
            some = range(start, min(start + 5_000, people))
            bridge.take([Position(f"person {one}", 1000 * START_S, 48.0, 2.0 + one * 1e-6) for one in some])
        memory = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
        disk = sum(file.stat().st_size for file in bridge.config.folder.iterdir()) / 1e6
        clock = time.perf_counter()
        again = bridge_in(folder, durable=True)
        again.take([Position("person 0", 1000 * (START_S + 60), 48.0, 2.0)])
        resumed = time.perf_counter() - clock
        return {"people": people, "state MB": max(memory, disk), "on disk MB": disk, "resumed s": resumed}


class Bodies:
    """Stores bodies, in the same kind of file and transaction as the bridge."""

    def __init__(self, folder: Path) -> None:
        self._db = sqlite3.connect(folder / "bare.db", isolation_level=None, check_same_thread=False)
        self._db.execute("PRAGMA journal_mode = WAL")
        self._db.execute("PRAGMA synchronous = FULL")
        self._db.execute("CREATE TABLE body (id INTEGER PRIMARY KEY, text BLOB)")

    def take(self, bodies: Sequence[bytes]) -> list[bool]:
        """One transaction."""
        self._db.execute("BEGIN IMMEDIATE")
        self._db.executemany("INSERT INTO body (text) VALUES (?)", [(body,) for body in bodies])
        self._db.execute("COMMIT")
        return [True] * len(bodies)


def serve_bare(folder: str, port: int) -> None:
    """The yardstick: the same server, the same grouping of transactions, and the body stored as it came."""
    bare = Commits(Bodies(Path(folder)))  # type: ignore[arg-type]

    async def store(request: Request) -> Response:
        await bare.take(await request.body())  # type: ignore[arg-type]
        return Response("[]")

    app = Starlette(routes=[Route("/pub", store, methods=["POST"])])
    uvicorn.run(app, port=port, access_log=False, log_level="warning", server_header=False, date_header=False)


def http(requests: int) -> dict[str, float]:
    """Durable positions per second of the server's processor time, beside the yardstick's, in turns."""
    with tempfile.TemporaryDirectory() as folder:
        bridge_in(folder, durable=True)
        ports = free_port(), free_port()
        ours = live_process(Path(folder) / "live.toml", ports[0])
        command = [sys.executable, __file__, "--bare", folder, "--port", str(ports[1])]
        theirs = KilledProcess(command, ports[1], Path(folder) / "bare.log")
        rates: dict[int, list[float]] = {port: [] for port in ports}
        try:
            ours.start()
            theirs.start()
            for turn in range(4):
                for one in (ours, theirs):
                    assert one.process is not None
                    before = _cpu_s(one.process.pid)
                    asyncio.run(_send(one.port, range(turn * requests, (turn + 1) * requests)))
                    rates[one.port].append(requests / (_cpu_s(one.process.pid) - before))
        finally:
            ours.end()
            theirs.end()
        mine, plain = (sorted(rates[port][1:])[1] for port in ports)  # the first turn compiles
        return {"HTTP/s": mine, "HTTP, only stored/s": plain, "HTTP share": mine / plain}


def _cpu_s(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _send(port: int, numbers: range) -> None:
    work = iter(numbers)

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        for number in work:
            body = b'{"_type": "location", "lat": %.6f, "lon": 2.35, "tst": %d}' % (
                48 + number * 1e-6,
                START_S + number,
            )
            head = b"POST /pub HTTP/1.1\r\nhost: a\r\nauthorization: Bearer phone\r\ncontent-length: %d\r\n\r\n"
            writer.write(head % len(body) + body)
            answer = await reader.readuntil(b"\r\n\r\n")
            assert b" 200 " in answer[:20], answer
            await reader.readexactly(2)
        writer.close()

    await asyncio.gather(*(one() for _ in range(64)))


if __name__ == "__main__":
    sys.exit(main())
