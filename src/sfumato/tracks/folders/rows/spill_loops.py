"""A round's rows into blocks, one for each bucket, compiled.

A block of n rows is n words for each plane, one plane after the other.
"""

from __future__ import annotations

import numpy as np

from sfumato.base.arrays import IntArray
from sfumato.base.compiled import compiled
from sfumato.base.pool import pooled_words
from sfumato.tracks.folders.rows.planes import Words


@compiled(nogil=True)
def rows_of_each(codes: Words, place: IntArray, people: int) -> IntArray:
    """Where the rows of each of so many people begin, in the order of ``place`` (by code; -1 is nobody's row)."""
    starts = np.zeros(people + 1, np.int64)
    for code in codes:
        if code >= 0:
            starts[place[code] + 1] += 1
    for person in range(people):
        starts[person + 1] += starts[person]
    return starts


@compiled(nogil=True)
def _deal(
    planes: Words, codes: Words, place: IntArray, starts: IntArray, begins: IntArray, order: Words, words: Words
) -> None:
    at = starts[:-1].copy()
    for row in range(codes.size):
        if codes[row] >= 0:
            person = place[codes[row]]
            order[at[person]] = row
            at[person] += 1
    for k in range(planes.shape[0]):  # one after the other: each fits into the processor's cache
        plane = planes[k]
        for bucket in range(begins.size - 1):
            first, rows = begins[bucket], begins[bucket + 1] - begins[bucket]
            to = planes.shape[0] * first + k * rows
            for i in range(rows):  # indices without a sign: nothing is counted from the end
                words[np.uint64(to + i)] = plane[np.uint32(order[np.uint64(first + i)])]


def blocks_of(planes: Words, codes: Words, place: IntArray, starts: IntArray, begins: IntArray) -> Words:
    """The usable rows of a round, one block after the other.

    ``place`` is by code, ``starts`` by place, ``begins`` by bucket, in rows.
    """
    rows = int(starts[-1])
    words = pooled_words(planes.shape[0] * rows)
    _deal(planes, codes, place, starts, begins, pooled_words(rows), words)
    return words
