"""A collector in a process of its own, started as people start it, for tests, benchmarks and faults."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import httpx
from postgres_server import free_port

TOKEN = "a-token-for-tests-only-0123456789abcdef"


class CollectorProcess:
    """``sfumato serve`` on a free port (or any other uvicorn application given by ``command``)."""

    def __init__(
        self, database: str, *, workers: int = 1, command: list[str] | None = None, **settings: object
    ) -> None:
        self.port = free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.database = database
        self.command = command or [
            sys.executable, "-c", "from sfumato.cli import main; main()", "serve",
            "--port", str(self.port), "--database", database, "--workers", str(workers),
        ]  # fmt: skip
        changes = {"database": database, "city": "none", "operator_token": TOKEN, **settings}
        self.environment = {
            **os.environ,
            **{f"SFUMATO_{name.upper()}": str(value) for name, value in changes.items()},
            "OMP_NUM_THREADS": "1",
            "OPENBLAS_NUM_THREADS": "1",
        }
        self.log = Path(tempfile.mkstemp(prefix="sfumato-serve-", suffix=".log")[1])
        self.process: subprocess.Popen[bytes] | None = None

    def start(self, *, within_s: float = 60.0) -> CollectorProcess:
        """Start and wait until it is ready."""
        with self.log.open("ab") as log:
            self.process = subprocess.Popen(
                self.command, env=self.environment, stdout=log, stderr=log, start_new_session=True
            )
        deadline = time.monotonic() + within_s
        while time.monotonic() < deadline:
            if self.process.poll() is not None:
                raise RuntimeError(
                    f"The collector ended with {self.process.returncode}: {self.log.read_text()[-2000:]}"
                )
            try:
                if httpx.get(f"{self.url}/ready", timeout=1).status_code == 200:
                    return self
            except httpx.HTTPError:
                time.sleep(0.02)
        raise RuntimeError(f"The collector was not ready in time: {self.log.read_text()[-2000:]}")

    def kill(self) -> None:
        """kill -9 the process and every worker of it."""
        assert self.process is not None
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()

    def terminate(self) -> float:
        """SIGTERM, and how many seconds it took to stop."""
        assert self.process is not None
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(timeout=15)
        return time.monotonic() - began

    def close(self) -> None:
        """Stop whatever still runs."""
        if self.process is not None and self.process.poll() is None:
            self.kill()
        self.log.unlink(missing_ok=True)

    def __enter__(self) -> CollectorProcess:
        """Start."""
        try:
            return self.start()
        except BaseException:
            self.close()
            raise

    def __exit__(self, *_: object) -> None:
        """Stop."""
        self.close()

    def create_campaign(self, name: str, **changes: object) -> dict[str, object]:
        """A small campaign; cycles close on request at one ticket unless told otherwise."""
        response = httpx.post(
            f"{self.url}/api/v1/campaigns", json=campaign_request(name, **changes), headers=operator(), timeout=60
        )
        assert response.status_code == 201, response.text
        return dict(response.json()["campaign"])


def campaign_request(name: str, **changes: object) -> dict[str, object]:
    """A campaign of 6 x 6 cells of 500 m in Paris."""
    return {
        "name": name,
        "grid": {"south": 48.84, "west": 2.30, "north": 48.8669, "east": 2.3408, "cell_size_m": 500.0},
        "beta_per_m": 0.001,
        "cycle_duration_s": 86_400,
        "minimum_cycle_s": 0,
        "minimum_tickets": 1,
        **changes,
    }


def operator() -> dict[str, str]:
    """The operator's header."""
    return {"Authorization": f"Bearer {TOKEN}"}
