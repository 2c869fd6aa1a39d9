"""A server on a real socket that answers what it is told to: the golden channel, or whatever an operator might try."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

GOLDEN = Path(__file__).resolve().parents[1] / "golden"
OFFERS = json.loads((GOLDEN / "offers.json").read_text())


class Collector:
    """Answers the golden channel and records every request; ``report`` scripts the answers to reports."""

    def __init__(self) -> None:
        self.seen: list[dict[str, Any]] = []
        self.document: dict[str, Any] = OFFERS["good"]
        self.log: list[Any] = OFFERS["log"]
        self.report: list[tuple[int, dict[str, Any]]] = []
        self.ticket: Callable[[dict[str, Any]], tuple[int, dict[str, Any]]] = lambda _asked: (
            200,
            {"ticket": "1-3-0-" + "0" * 32 + "-" + "0" * 64},
        )
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def reply(self) -> None:
                length = int(self.headers.get("Content-Length", 0))
                body = json.loads(self.rfile.read(length)) if length else None
                route = self.path.rsplit("/", 1)[1]
                outer.seen.append(
                    {
                        "path": self.path,
                        "route": route,
                        "body": body,
                        "port": self.client_address[1],
                        "headers": dict(self.headers),
                    }
                )
                status, answer = outer.answer(route)
                data = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Length", str(len(data)))
                self.end_headers()
                self.wfile.write(data)

            do_GET = do_POST = reply

            def log_message(self, *arguments: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"

    def answer(self, route: str) -> tuple[int, dict[str, Any]]:
        if route == "channel":
            return 200, self.document
        if route == "log":
            return 200, {"log": self.log}
        if route == "tickets":
            return self.ticket(self.bodies("tickets")[-1])
        return self.report.pop(0) if self.report else (200, {"duplicate": False})

    def bodies(self, route: str) -> list[dict[str, Any]]:
        return [item["body"] for item in self.seen if item["route"] == route]

    @contextmanager
    def running(self) -> Iterator[Collector]:
        """Until the end of the block."""
        thread = threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        try:
            yield self
        finally:
            self.server.shutdown()
            self.server.server_close()
            thread.join()
