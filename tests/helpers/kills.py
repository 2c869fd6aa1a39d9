"""Work in a process of its own that is killed with SIGKILL: after a time, or just before it changes a folder."""

from __future__ import annotations

import os
import signal
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path

_CHANGES = ("os.rename", "os.link", "os.remove", "os.mkdir", "os.rmdir")


def killed_after(seconds: float, work: Callable[[], object]) -> bool:
    """Run ``work`` and kill it then; whether it was still running."""
    child, deadline = _started(work), time.monotonic() + seconds
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            assert os.WIFEXITED(status), "somebody else killed it"
            assert os.WEXITSTATUS(status) == 0, "the work failed by itself"
            return False
        time.sleep(0.005)
    os.kill(child, signal.SIGKILL)
    return _was_killed(child)


def killed_before_change(number: int, folder: Path, work: Callable[[], object]) -> bool:
    """Run ``work``, which dies before its change ``number`` of ``folder``; False where it made fewer, and ended."""
    left = number

    def watch(event: str, arguments: tuple[object, ...]) -> None:
        nonlocal left
        if event == "os.kill" or not _changes(event, arguments, str(folder)):
            return
        left -= 1
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    return _was_killed(_started(work, watch))


def _started(work: Callable[[], object], watch: Callable[[str, tuple[object, ...]], None] | None = None) -> int:
    child = os.fork()
    if child:
        return child
    try:  # pragma: no cover
        if watch is not None:
            sys.addaudithook(watch)
        work()
    except BaseException:
        traceback.print_exc(file=sys.__stderr__)
        os._exit(1)
    os._exit(0)


def _was_killed(child: int) -> bool:
    status = os.waitpid(child, 0)[1]
    assert os.WIFSIGNALED(status) or os.WEXITSTATUS(status) == 0, "the work failed by itself"
    return os.WIFSIGNALED(status)


def _changes(event: str, arguments: tuple[object, ...], folder: str) -> bool:
    if event == "open":
        flags = arguments[2]
        if not isinstance(flags, int) or not flags & (os.O_WRONLY | os.O_RDWR):
            return False
    elif event not in _CHANGES:
        return False
    return isinstance(arguments[0], str | Path) and os.path.abspath(arguments[0]).startswith(folder)
