"""Large arrays in Arrow's memory pool, which keeps what is freed: fresh pages cost more than filling them does."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from sfumato.arrays import FloatArray, IntArray


def pooled_floats(count: int) -> FloatArray:
    """Not filled."""
    return np.frombuffer(pa.allocate_buffer(8 * count), dtype=np.float64)


def pooled_ints(count: int) -> IntArray:
    """Not filled."""
    return np.frombuffer(pa.allocate_buffer(8 * count), dtype=np.int64)
