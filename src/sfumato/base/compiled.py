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


def compile_loop(**options: object) -> Callable[[Callable[Inputs, Output]], Callable[Inputs, Output]]:
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


if numba is not None:

    class _Compiling(event.Listener):  # type: ignore[misc]  # numba has no types
        """Says once per process that loops of sfumato are being compiled, when that has taken more than a second."""

        def __init__(self) -> None:
            self.depth, self.began_s, self.spent_s, self.said = 0, 0.0, 0.0, False

        def on_start(self, happening: event.Event) -> None:
            """Numba begins to compile a function (it says nothing of one that it loads from the disk)."""
            self.began_s = self.began_s if self.depth else time.perf_counter()
            self.depth += 1

        def on_end(self, happening: event.Event) -> None:
            """It has compiled one."""
            self.depth -= 1
            since_s = time.perf_counter() - self.began_s
            self.spent_s += 0.0 if self.depth else since_s
            spent_s = self.spent_s + (since_s if self.depth else 0.0)
            module = getattr(getattr(happening.data.get("dispatcher"), "py_func", None), "__module__", "")
            if spent_s > _SAY_AFTER_S and not self.said and str(module).startswith("sfumato."):
                self.said = True
                sys.stderr.write("sfumato: compiling its loops, in the first run only ...\n")
                sys.stderr.flush()

    event.register("numba:compile", _Compiling())
