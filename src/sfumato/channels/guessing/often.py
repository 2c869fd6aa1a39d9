"""When compiled loops are worth their loading: once NumPy has been asked so often that it would have been paid.

A command that measures one channel of 36 cells needs microseconds of NumPy, and half a second to load compiled code. A
study that measures millions of them wants the code. So small measures begin with NumPy and go on compiled; both give
the same numbers to rounding (tests/channels/leakage/test_often.py).
"""

from __future__ import annotations

import sys
from functools import cache
from itertools import count
from types import ModuleType

import numpy as np
import numpy.typing as npt

from sfumato.base.arrays import FloatArray
from sfumato.base.things.channel import Channel

OFTEN = 20_000
"""Measures of small channels that take NumPy about as long as the compiled loops take to load."""
_DOUBLES = np.dtype(np.float64)
_asked = count().__next__


def compiled() -> ModuleType | None:
    """The loops, from the twenty-thousandth time on that they are asked for."""
    return None if _asked() < OFTEN else _loops()


def plain_prior(prior: npt.ArrayLike, channel: object) -> FloatArray | None:
    """The prior as it is, unchecked, where it and the channel can be handed to a loop, which looks it over."""
    p = getattr(prior, "probabilities", prior)
    if type(p) is not np.ndarray or p.dtype is not _DOUBLES or type(channel) is not Channel:
        return None
    return p if p.shape == channel.matrix.shape[:1] and p.strides == (8,) else None


@cache
def _loops() -> ModuleType | None:
    from sfumato.channels.guessing import guess_loops

    return guess_loops if "numba" in sys.modules else None  # without numba they are plain Python, and NumPy is quicker
