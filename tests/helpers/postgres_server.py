"""A PostgreSQL server of our own on a free port and a temporary folder, for tests, benchmarks and faults."""

from __future__ import annotations

import glob
import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path


def programs() -> Path | None:
    """The folder of initdb and pg_ctl, or None where PostgreSQL is not installed."""
    found = sorted(glob.glob("/usr/lib/postgresql/*/bin/initdb"))
    path = found[-1] if found else shutil.which("initdb")
    return Path(path).resolve().parent if path else None


def free_port() -> int:
    """A port nobody listens on right now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class PostgresServer:
    """One server; ``restart`` and ``kill`` are for fault tests."""

    folder: Path
    port: int

    @property
    def url(self) -> str:
        """Where sfumato finds it."""
        return f"postgresql://sfumato@127.0.0.1:{self.port}/postgres"

    def start(self) -> None:
        """Start and wait until it answers."""
        options = f"-p {self.port} -c listen_addresses=127.0.0.1 -c unix_socket_directories={self.folder}"
        self._run(
            "pg_ctl", "-D", str(self.folder / "data"), "-l", str(self.folder / "log"), "-o", options, "-w", "start"
        )

    def stop(self, mode: str = "fast") -> None:
        """Stop; ``immediate`` is a crash of the whole server."""
        self._run("pg_ctl", "-D", str(self.folder / "data"), "-m", mode, "-w", "stop")

    def processes(self) -> list[int]:
        """The server's own processes, the first one and its children."""
        first = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        children = Path(f"/proc/{first}/task/{first}/children").read_text().split()
        return [first, *map(int, children)]

    def create_database(self, name: str) -> str:
        """An empty database and its URL."""
        address = ("-h", "127.0.0.1", "-p", str(self.port), "-U", "sfumato")
        self._run("psql", *address, "-d", "postgres", "-c", f'CREATE DATABASE "{name}"')
        return f"postgresql://sfumato@127.0.0.1:{self.port}/{name}"

    def _run(self, program: str, *arguments: str) -> None:
        _run_unprivileged(program, *arguments, folder=self.folder)


@contextmanager
def postgres_server() -> Iterator[PostgresServer]:
    """A running server, removed afterwards."""
    folder = Path(tempfile.mkdtemp(prefix="sfumato-pg-"))
    server = PostgresServer(folder, free_port())
    try:
        if os.geteuid() == 0:
            shutil.chown(folder, "postgres", "postgres")
        _run_unprivileged(
            "initdb", "-D", str(folder / "data"), "-U", "sfumato", "-A", "trust", "-E", "UTF8", "--no-locale",
            folder=folder,
        )  # fmt: skip
        server.start()
        yield server
    finally:
        if (folder / "data" / "postmaster.pid").exists():
            server.stop("immediate")
        shutil.rmtree(folder, ignore_errors=True)


def _run_unprivileged(program: str, *arguments: str, folder: Path) -> None:
    # PostgreSQL refuses to run as root: become the package's own user.
    where = programs()
    assert where is not None
    command = [str(where / program), *arguments]
    if os.geteuid() == 0:
        command = ["setpriv", "--reuid=postgres", "--regid=postgres", "--clear-groups", *command]
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, cwd=folder, timeout=60)
