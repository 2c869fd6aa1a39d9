"""A disk of a few megabytes of its own, to be filled or made read-only: where this machine lets a test mount one."""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def small_disk(size_mb: int = 4) -> Iterator[Path | None]:
    """The folder of a mounted tmpfs; None where mounting is not permitted."""
    folder = Path(tempfile.mkdtemp(prefix="sfumato-disk-"))
    command = ["mount", "-t", "tmpfs", "-o", f"size={size_mb}m", "tmpfs", str(folder)]
    mounted = os.geteuid() == 0 and subprocess.run(command, capture_output=True, check=False).returncode == 0
    try:
        yield folder if mounted else None
    finally:
        if mounted:
            subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)
        folder.rmdir()


def fill_up(folder: Path) -> Path:
    """A file that takes every byte that is left; called again, it takes what was given back meanwhile."""
    ballast = folder / "ballast"
    with ballast.open("ab", buffering=0) as file:
        size = 65536
        while size:
            try:
                file.write(b"x" * size)
            except OSError:
                size //= 2
    return ballast


def remount(folder: Path, how: str) -> None:
    """Make the disk ``ro`` or ``rw``."""
    subprocess.run(["mount", "-o", f"remount,{how}", str(folder)], check=True, capture_output=True)
