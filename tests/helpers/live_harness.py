"""A bridge and a broker as real processes that can be killed, and a Traccar that writes down what it is sent."""

from __future__ import annotations

import contextlib
import http.client
import http.server
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

TOKEN = "a device's token for tests"
_RUN = "from sfumato.cli import main; main()"


def free_port() -> int:
    """A port that nobody has at the moment."""
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return int(one.getsockname()[1])


class KilledProcess:
    """A command that is started again after it was killed."""

    def __init__(self, command: list[str], port: int, log: Path) -> None:
        self._command, self._log, self.port = command, log, port
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, wait_s: float = 300.0) -> None:
        """Start, and wait until the port answers."""
        with self._log.open("ab") as log:
            self.process = subprocess.Popen(self._command, stdout=log, stderr=log, cwd=self._log.parent)
        deadline = time.monotonic() + wait_s
        while time.monotonic() < deadline:
            assert self.process.poll() is None, self._log.read_text()
            try:
                socket.create_connection(("127.0.0.1", self.port), timeout=1).close()
                return
            except OSError:
                time.sleep(0.05)
        raise AssertionError(f"no answer: {self._log.read_text()}")

    def end(self, how: int = signal.SIGKILL) -> None:
        """Kill it, or ask it to stop."""
        if self.process is not None:
            self.process.send_signal(how)
            self.process.wait(30)
            self.process = None


def live_process(config: Path, port: int, *options: str) -> KilledProcess:
    """``sfumato live run``."""
    command = [sys.executable, "-c", _RUN, "live", "run", str(config), "--port", str(port), *options]
    return KilledProcess(command, port, config.parent / "bridge.log")


def broker_process(folder: Path) -> KilledProcess | None:
    """A mosquitto that writes what it has to disk after every change; None where it is not installed."""
    found = shutil.which("mosquitto") or shutil.which("mosquitto", path="/usr/sbin")
    if found is None:
        return None
    port, config = free_port(), folder / "mosquitto.conf"
    config.write_text(
        f"listener {port} 127.0.0.1\nallow_anonymous true\npersistence true\npersistence_location {folder}/\n"
        "autosave_interval 1\nautosave_on_changes true\nuser root\nmax_queued_messages 0\n"
    )
    return KilledProcess([found, "-c", str(config)], port, folder / "broker.log")


def asked(url: str, *, data: bytes | None = None, token: str = "", wait_s: float = 300.0) -> tuple[int, bytes]:
    """Status and body; 0 where nobody answered."""
    headers = {"authorization": f"Bearer {token}"} if token else {}
    try:
        with urllib.request.urlopen(urllib.request.Request(url, data, headers), timeout=wait_s) as answer:
            return answer.status, answer.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()
    except (OSError, http.client.HTTPException):
        return 0, b""


class Witness:
    """Between a broker and its client: which messages it was handed, and which of them it acknowledged.

    MQTT 3.1.1: PUBLISH is 3 (its number behind the topic), PUBACK 4, each with its length in sevens of bits.
    """

    def __init__(self, broker: int) -> None:
        self._server = socket.create_server(("127.0.0.1", 0))
        self.port, self._broker = int(self._server.getsockname()[1]), broker
        self.handed, self.acknowledged = set[bytes](), set[bytes]()
        threading.Thread(target=self._listen, daemon=True).start()

    def _listen(self) -> None:
        while True:
            client = self._server.accept()[0]
            try:
                broker = socket.create_connection(("127.0.0.1", self._broker), timeout=5)
            except OSError:
                client.close()
                continue
            broker.settimeout(None)
            waiting = dict[bytes, bytes]()  # of this connection
            for ends in ((broker, client, True), (client, broker, False)):
                threading.Thread(target=self._pass, args=(*ends, waiting), daemon=True).start()

    def _pass(self, source: socket.socket, to: socket.socket, down: bool, waiting: dict[bytes, bytes]) -> None:
        stream = source.makefile("rb")
        try:
            while head := stream.read(1):
                size, shift, packet = 0, 0, head
                while True:
                    packet += (digit := stream.read(1))
                    size, shift = size | (digit[0] & 127) << shift, shift + 7
                    if digit[0] < 128:
                        break
                packet += (body := stream.read(size))
                if down and head[0] >> 4 == 3 and head[0] & 6:
                    after = 2 + int.from_bytes(body[:2], "big")
                    waiting[body[after : after + 2]] = body[after + 2 :]
                    self.handed.add(body[after + 2 :])
                if not down and head[0] >> 4 == 4 and body[:2] in waiting:
                    self.acknowledged.add(waiting.pop(body[:2]))
                to.sendall(packet)
        except (OSError, IndexError):
            pass
        for one in (source, to):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)


@contextlib.contextmanager
def traccar(answers: Callable[[str], int] = lambda _path: 200) -> Iterator[tuple[int, list[str]]]:
    """Its port, and the addresses that were asked for, each with what was posted to it; ``answers`` gives statuses."""
    came = list[str]()

    class Take(http.server.BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            self.path += " " + self.rfile.read(int(self.headers["content-length"])).decode()
            self.do_GET()

        def do_GET(self) -> None:
            came.append(self.path)
            self.send_response(answers(self.path))
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, *_words: object) -> None:
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Take)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.server_address[1], came
    finally:
        server.shutdown()
