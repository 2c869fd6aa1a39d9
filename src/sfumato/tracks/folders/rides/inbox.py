"""A folder into which files come: which of them are finished, and when to look again."""

from __future__ import annotations

import ctypes
import os
import select
import time
from pathlib import Path

_CLOSED_CAME_MADE = 0x8 | 0x80 | 0x100  # of inotify: closed after writing, moved here, made here
Stamp = tuple[int, int, int]


def stamp_of(path: Path) -> Stamp | None:
    """Size and times of a file; None where there is none."""
    try:
        seen = path.stat()
    except OSError:
        return None
    return seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns


def files_ready(inbox: Path, settle_s: float) -> tuple[dict[Path, Stamp], float | None]:
    """Files that nothing has touched for ``settle_s``, with size and times; and in how many seconds the next one is.

    A file that is copied with an old date counts from when it came here.
    """
    now, done, soonest = time.time(), dict[Path, Stamp](), list[float]()
    for path in sorted(inbox.rglob("*")):
        try:
            if not path.is_file():
                continue
            seen = path.stat()
        except OSError:
            continue  # gone since, or not to be read: the run that reads it says why
        age_s = now - max(seen.st_mtime, seen.st_ctime)
        if age_s >= settle_s or age_s < -settle_s:  # a clock that was set back makes no file wait for ever
            done[path] = (seen.st_size, seen.st_mtime_ns, seen.st_ctime_ns)
        else:
            soonest.append(settle_s - age_s)
    return done, min(soonest, default=None)


class Doorbell:
    """Rings when something comes into a folder: by inotify where there is, else after the longest wait."""

    def __init__(self, inbox: Path) -> None:
        self.inbox = inbox
        self._libc = ctypes.CDLL(None, use_errno=True) if os.name == "posix" else None
        begin = getattr(self._libc, "inotify_init1", None)
        self._handle: int = -1 if begin is None else begin(os.O_NONBLOCK | os.O_CLOEXEC)

    def listen(self) -> None:
        """From now on; before one looks, so that nothing comes unheard in between."""
        if self._libc is None or self._handle < 0:
            return
        for folder in (
            self.inbox,
            *(path for path in self.inbox.rglob("*") if path.is_dir()),
        ):  # again: no second watch
            self._libc.inotify_add_watch(self._handle, os.fsencode(folder), _CLOSED_CAME_MADE)

    def wait(self, seconds: float) -> None:
        """Until something has come since :meth:`listen`, at most so long."""
        if self._handle < 0:
            time.sleep(seconds)
        elif select.select([self._handle], [], [], seconds)[0]:
            os.read(self._handle, 1 << 16)
