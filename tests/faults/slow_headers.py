"""``python tests/faults/slow_headers.py --requests 4200``: half-sent requests from one address, and who is served.

A collector of its own is started; 127.0.0.2 sends half a header thousands of times and holds what it gets; 127.0.0.3
then sends reports. Prints how many of them were counted, and how long the slowest took.
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import socket
import sys
import tempfile
import time
from pathlib import Path

import httpx

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "helpers"))
from collector_harness import CollectorProcess, create, report_body, send


def main() -> int:
    """Run the attack; 1 if anybody else was turned away."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=4200)
    parser.add_argument("--reports", type=int, default=20)
    asked = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, 2 * asked.requests + 500)), hard))
    with tempfile.TemporaryDirectory() as folder, CollectorProcess(f"sqlite:///{folder}/x.db") as running:
        create(running.visitor, "town")
        held = []
        for _ in range(asked.requests):
            with contextlib.suppress(OSError):
                half = socket.create_connection(("127.0.0.1", running.port), 5, source_address=("127.0.0.2", 0))
                held.append(half)
                half.sendall(b"GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ")
        slowest_s, counted = 0.0, 0
        transport = httpx.HTTPTransport(local_address="127.0.0.3")
        with httpx.Client(base_url=running.url, transport=transport, timeout=30) as visitor:
            for _ in range(asked.reports):
                began = time.monotonic()
                counted += send(visitor, report_body(visitor)).status_code == 200
                slowest_s = max(slowest_s, time.monotonic() - began)
        for half in held:
            half.close()
    print(f"{len(held)} half-sent requests from one address; of {asked.reports} reports from another {counted} were")
    print(f"counted, the slowest (channel, ticket, report) in {1000 * slowest_s:.0f} ms")
    return int(counted < asked.reports)


if __name__ == "__main__":
    sys.exit(main())
