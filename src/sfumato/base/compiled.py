"""Loops compiled by numba where it is installed: kept on disk, announced while they are made, plain Python without it.

The first call of a loop compiles it, some 20 s of processor time for all of them, and numba keeps the result beside
the file or in the user's cache folder (``NUMBA_CACHE_DIR`` moves it), so that the next process loads it. Whoever waits
for more than a second is told so on standard error. Without numba everything works, slowly, after one warning.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from typing import ParamSpec, TypeVar

try:
    import numba
    from numba.core import event
except ImportError:
    numba = None
    warnings.warn(
        "numba is not installed: sfumato's loops run as plain Python, tens to hundreds of times slower. "
        "Install it with: pip install numba.",
        RuntimeWarning,
        stacklevel=2,
    )

Inputs = ParamSpec("Inputs")
Output = TypeVar("Output")
_SAY_AFTER_S = 1.0


def compiled(**options: object) -> Callable[[Callable[Inputs, Output]], Callable[Inputs, Output]]:
    """``numba.njit`` with a cache and these options, for a function whose type is kept; without numba, the function."""

    def compile_later(function: Callable[Inputs, Output]) -> Callable[Inputs, Output]:
        if numba is None:
            return function
        try:
            made: Callable[Inputs, Output] = numba.njit(cache=True, **options)(function)
        except RuntimeError:  # no folder that could be written to: compile in every process
            made = numba.njit(**options)(function)
        return made

    return compile_later


class _Compiling:
    """Says once per process that loops of sfumato are being compiled, when that has taken more than a second."""

    def __init__(self) -> None:
        self.depth, self.began_s, self.spent_s, self.said = 0, 0.0, 0.0, False

    def notify(self, happening: event.Event) -> None:
        """Called by numba when it starts and ends to compile a function (not when it loads one from the disk)."""
        now_s = time.perf_counter()
        if happening.is_start:
            self.began_s = self.began_s if self.depth else now_s
            self.depth += 1
            return
        self.depth -= 1
        self.spent_s += 0.0 if self.depth else now_s - self.began_s
        spent_s = self.spent_s + (now_s - self.began_s if self.depth else 0.0)
        module = getattr(getattr(happening.data.get("dispatcher"), "py_func", None), "__module__", "")
        if spent_s > _SAY_AFTER_S and not self.said and str(module).startswith("sfumato."):
            self.said = True
            sys.stderr.write("sfumato: compiling its loops, in the first run only ...\n")
            sys.stderr.flush()


if numba is not None:
    event.Listener.register(_Compiling)
    event.register("numba:compile", _Compiling())
