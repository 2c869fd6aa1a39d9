"""Multiscale noise for many people at once, each from a keystream of their own: the same law as a path drawn alone.

A person's noise is a function of their key and their times, and of nothing else: not of who else is in the table, in
how many parts it came, or on how many cores it was drawn.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Sequence

import numpy as np

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.pool import pooled_floats
from sfumato.base.randomness import Keystream, Words
from sfumato.tracks.noise.multiscale.ladder import Ladder, normals_per_time
from sfumato.tracks.noise.multiscale.ladder_loops import SLOTS, advance_people

_WORDS = 1 << 16  # held at once: half a MiB, which stays in the processor's cache
_SPARE = 1.04  # words per normal: 1.02 are used on average


class _Room(threading.local):
    """A thread's own words, kept from call to call: fresh pages cost more than the words in them."""

    def __init__(self) -> None:
        self.words: Words = np.empty(_WORDS, dtype=np.uint64)
        self.more: Words = np.empty(_WORDS, dtype=np.uint64)


_room = _Room()


def streamed_paths(ladder: Ladder, times_ms: IntArray, starts: IntArray, keys: Sequence[bytes]) -> FloatArray:
    """Unit-variance noise (n, 2). ``times_ms`` holds each person's times in order, from ``starts[p]`` to the next.

    ``starts`` has one entry more than there are people, the last one the number of rows.
    """
    width, rates = normals_per_time(ladder), math.sqrt(3.0) / ladder.length_scales_s
    out = pooled_floats(2 * times_ms.size).reshape(-1, 2)
    held = np.empty((SLOTS, 7, rates.size)), np.full(SLOTS, -1, dtype=np.int64)
    wanted = (np.diff(starts) * (width * _SPARE)).astype(np.int64) + 8 * width + 64
    first = 0
    while first < len(keys):
        last, used = first, 0
        while last < len(keys) and (last == first or used + wanted[last] <= _WORDS):
            used += int(wanted[last])
            last += 1
        _draw(ladder, rates, times_ms, starts[first : last + 1], keys[first:last], wanted[first:last], held, out)
        first = last
    return out


def _draw(
    ladder: Ladder,
    rates: FloatArray,
    times_ms: IntArray,
    starts: IntArray,
    keys: Sequence[bytes],
    wanted: IntArray,
    held: tuple[FloatArray, IntArray],
    out: FloatArray,
) -> None:
    """One person whose words may not all fit, or several whose words do."""
    words, more = _room.words[:_WORDS], _room.more[:_WORDS]
    room = np.minimum(wanted, _WORDS)
    word_end = np.cumsum(room)
    word_at = word_end - room
    streams = [Keystream(key) for key in keys]
    for stream, begin, end in zip(streams, word_at, word_end, strict=True):
        stream.fill(words[begin:end])
    row_at, row_end = starts[:-1].copy(), starts[1:].copy()
    state, begun = np.zeros((len(keys), normals_per_time(ladder))), np.zeros(len(keys), dtype=np.int64)
    shares = math.sqrt(ladder.white_share), math.sqrt(ladder.constant_share)
    amplitudes = np.sqrt(ladder.variances)
    advance_people(
        times_ms, row_at, row_end, words, word_at, word_end, rates, amplitudes, *shares, state, begun, *held, out
    )
    for p in np.flatnonzero(row_at < row_end).tolist():  # the words did not reach: those left, then the stream's next
        one = slice(p, p + 1)
        left = words[word_at[p] : word_end[p]]
        while row_at[p] < row_end[p]:
            more[: left.size] = left
            streams[p].fill(more[left.size :])
            at, end = np.zeros(1, dtype=np.int64), np.array([_WORDS])
            advance_people(
                times_ms, row_at[one], row_end[one], more, at, end, rates, amplitudes, *shares, state[one],
                begun[one], *held, out,
            )  # fmt: skip
            left = more[int(at[0]) :].copy()
