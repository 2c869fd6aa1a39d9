"""Large arrays in Arrow's memory pool, which keeps what is freed: fresh pages cost more than filling them does."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.arrays import FloatArray, IntArray


def pooled_floats(count: int) -> FloatArray:
    """Not filled."""
    return np.frombuffer(pa.allocate_buffer(8 * count), dtype=np.float64)


def pooled_ints(count: int) -> IntArray:
    """Not filled."""
    return np.frombuffer(pa.allocate_buffer(8 * count), dtype=np.int64)


def pooled_words(count: int) -> npt.NDArray[np.int32]:
    """Of four bytes each, not filled."""
    return np.frombuffer(pa.allocate_buffer(4 * count), dtype=np.int32)
