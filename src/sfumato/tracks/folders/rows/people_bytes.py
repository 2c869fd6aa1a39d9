"""Who has how many rows, as bytes: for each bucket the counts, the lengths of the ids, and the ids one after the other.

Ids are texts, or bytes, or of a type whose values are all equally long (numbers, moments): no others can be told apart
in a column. A serialised Arrow batch for each of the many small groups took most of the time that a bucket has.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import pyarrow as pa

from sfumato.base.arrays import IntArray
from sfumato.base.compiled import compiled

Bytes = npt.NDArray[np.uint8]
_WORD = 8


def people_bytes(counts: IntArray, ids: pa.Array | None, edges: IntArray) -> tuple[Bytes, IntArray]:
    """Of all buckets, and where each one's begin; bucket b has the people from ``edges[b]`` to the next."""
    if ids is None:
        return counts.astype("<i8").view(np.uint8), _WORD * edges
    at, data = _texts(ids)
    ends = 2 * _WORD * edges + at[edges] - at[0]
    out: Bytes = np.empty(int(ends[-1]), dtype=np.uint8)
    _fill(counts.astype("<i8").view(np.uint8), np.diff(at).astype("<i8").view(np.uint8), at, data, edges, ends, out)
    return out, ends


def people_from(
    parts: Sequence[tuple[int, bytes | memoryview]], kind: pa.DataType | None
) -> tuple[IntArray, pa.Array | None]:
    """Counts and ids of several buckets' bytes, each with its number of people, one after the other."""
    counts: IntArray = np.concatenate([np.frombuffer(part, "<i8", people) for people, part in parts]).astype(np.int64)
    if kind is None:
        return counts, None
    lengths = np.concatenate([np.frombuffer(part, "<i8", people, _WORD * people) for people, part in parts])
    data = pa.py_buffer(b"".join([memoryview(part)[2 * _WORD * people :] for people, part in parts]))
    if not _is_text(kind):
        stored = pa.uint8() if pa.types.is_boolean(kind) else kind
        return counts, pa.Array.from_buffers(stored, counts.size, [None, data]).cast(kind)
    wide = pa.large_string() if pa.types.is_string(kind) or pa.types.is_large_string(kind) else pa.large_binary()
    at = pa.py_buffer(np.concatenate([[0], np.cumsum(lengths)]).astype(np.int64))
    return counts, pa.Array.from_buffers(wide, counts.size, [None, at, data]).cast(kind)


def _is_text(kind: pa.DataType) -> bool:
    return any(
        is_kind(kind)
        for is_kind in (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary)
    )


def _texts(ids: pa.Array) -> tuple[IntArray, Bytes]:
    """Where each value begins in bytes, one entry more than there are; and the bytes."""
    ids = ids.cast(pa.uint8()) if pa.types.is_boolean(ids.type) else ids
    kind, buffers = ids.type, ids.buffers()
    data = np.frombuffer(buffers[-1] or b"", dtype=np.uint8)
    if not _is_text(kind):
        return (ids.offset + np.arange(len(ids) + 1)) * (kind.bit_width // 8), data
    wide = pa.types.is_large_string(kind) or pa.types.is_large_binary(kind)
    at = np.frombuffer(buffers[1], dtype=np.int64 if wide else np.int32)
    return at[ids.offset : ids.offset + len(ids) + 1].astype(np.int64), data


@compiled(nogil=True)
def _fill(
    counts: Bytes, lengths: Bytes, at: IntArray, data: Bytes, edges: IntArray, ends: IntArray, out: Bytes
) -> None:
    for bucket in range(edges.size - 1):
        first, last, to = edges[bucket], edges[bucket + 1], ends[bucket]
        for source in (counts, lengths):
            for place in range(_WORD * first, _WORD * last):
                out[to] = source[place]
                to += 1
        for place in range(at[first], at[last]):
            out[to] = data[place]
            to += 1
