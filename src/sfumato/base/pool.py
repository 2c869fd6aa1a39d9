"""Large arrays in Arrow's memory pool, which keeps what is freed: fresh pages cost more than filling them does."""

from __future__ import annotations

import os
import platform
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import FloatArray, IntArray


def pooled_floats(count: int) -> FloatArray:
    """Not filled."""
    return np.frombuffer(pa.allocate_buffer(8 * count), dtype=np.float64)


def pooled_ints(count: int) -> IntArray:
    """Not filled."""
    return np.frombuffer(pa.allocate_buffer(8 * count), dtype=np.int64)


def pooled_words(count: int) -> npt.NDArray[np.int32]:
    """Of four bytes each, not filled."""
    return np.frombuffer(pa.allocate_buffer(4 * count), dtype=np.int32)


@contextmanager
def frugal_pool() -> Iterator[None]:
    """Arrow's memory from the C library meanwhile, where that is glibc and nobody chose another.

    Arrow's own default, mimalloc, gives pages back within milliseconds: a job over a dataset then spends processor time
    on fresh pages, and holds more. What was taken from one goes back there.
    """
    before = pa.default_memory_pool()
    chosen = before.backend_name != "mimalloc" or "ARROW_DEFAULT_MEMORY_POOL" in os.environ
    if chosen or platform.libc_ver()[0] != "glibc":
        yield
        return
    pa.set_memory_pool(pa.system_memory_pool())
    try:
        yield
    finally:
        pa.system_memory_pool().release_unused()
        pa.set_memory_pool(before)


def usable_cores() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
