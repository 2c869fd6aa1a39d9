"""Noise that continues: one secret key per person fixes the whole multiscale process, for all times, once and for all.

The process is drawn by halving time: the states at two far ends of time, then at their midpoint given both, and so on
down to milliseconds (Lévy's construction, exact because each scale is Markov). Every node's random words are the
AES-256 encryption of (its time, a counter) under the key, so a node always gets the same draw. Hence

  * a released time keeps its noise, an in-between time is drawn conditionally on everything around it,
  * releases may come in any order, overlap, and be made on several devices that share the key,
  * the state is 32 bytes; it never changes, so a crash can lose nothing and two runs cannot race.

:class:`KeptPath` draws the same bits one time at a time: of the nodes on the way to a time it keeps those that the last
one passed, too, so that a stream pays for the last few halvings only.

Whoever knows the key can undo every release, past and future. Noise of one key must never be used at two sizes (two
releases would solve for the truth), so the state also fixes variance and ladder.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes
from scipy.special import ndtri

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError
from sfumato.base.randomness import Words, uniforms_from_words
from sfumato.tracks.noise.interface import KEY_BYTES
from sfumato.tracks.noise.multiscale.ladder import Ladder
from sfumato.tracks.noise.multiscale.ladder_loops import BETWEEN_SLOTS, bisect_to, fill_between

FAR_END_MS = (1 << 32) * 1000  # about 136 years on either side of 1970
_LEVELS = 48
_CHUNK = 2048
_WHITE, _CONSTANT = 1 << 40, 1 << 41  # counters that no scale reaches


_Held = tuple[IntArray, FloatArray]
_held: dict[bytes, _Held] = {}


def _held_for(rates: FloatArray) -> _Held:
    """The matrices of pairs of steps under these rates, kept for the life of the process: a few ladders."""
    name = rates.tobytes()
    if name not in _held:
        if len(_held) >= 16:
            _held.clear()
        _held[name] = np.full((BETWEEN_SLOTS, 2), -1, dtype=np.int64), np.empty((BETWEEN_SLOTS, rates.size, 11))
    return _held[name]


def keyed_words(key: bytes, times_ms: IntArray, first_counter: int, per_time: int) -> Words:
    """(n, per_time) words: AES-256 of the blocks (time, counter), distinct for every pair."""
    if len(key) != KEY_BYTES:
        raise InputError("The key has the wrong length.", "The state file is damaged; restore it from a copy.")
    blocks = (per_time + 1) // 2
    plain = np.empty((times_ms.size, blocks, 2), dtype="<u8")
    plain[:, :, 0] = times_ms.astype(np.int64).view(np.uint64)[:, None]
    plain[:, :, 1] = first_counter + np.arange(blocks, dtype=np.uint64)
    encryptor = Cipher(algorithms.AES(key), modes.ECB()).encryptor()  # a keyed function of distinct single blocks
    words = np.frombuffer(encryptor.update(plain.tobytes()), dtype="<u8").reshape(times_ms.size, 2 * blocks)
    return words[:, :per_time].astype(np.uint64)


def _normals(key: bytes, times_ms: IntArray, first_counter: int, per_time: int) -> FloatArray:
    return np.asarray(ndtri(uniforms_from_words(keyed_words(key, times_ms, first_counter, per_time))))


def milliseconds(times_s: FloatArray) -> IntArray:
    """Times as whole milliseconds since 1970, refused outside 1834 .. 2106."""
    times = np.rint(np.asarray(times_s, dtype=np.float64) * 1000.0)
    if times.size and float(np.abs(times).max()) >= FAR_END_MS:
        raise InputError("A time lies outside the years 1834 to 2106.", "Continuing noise is defined between them.")
    return times.astype(np.int64)


def continuing_chunks(ladder: Ladder, times_ms: IntArray, key: bytes) -> Iterator[tuple[slice, FloatArray]]:
    """Unit-variance noise (east, north) at sorted distinct times, a chunk at a time."""
    rates = np.sqrt(3.0) / ladder.length_scales_s / 1000.0
    amplitudes = np.sqrt(ladder.variances)
    constant = np.sqrt(ladder.constant_share) * _normals(key, np.zeros(1, dtype=np.int64), _CONSTANT, 2)
    for start in range(0, times_ms.size, _CHUNK):
        part = times_ms[start : start + _CHUNK]
        nodes, left, right, found = bisect_to(part, -FAR_END_MS, FAR_END_MS, 2 + _LEVELS * part.size)
        states = np.empty((nodes.size, rates.size, 2, 2))
        normals = _normals(key, nodes, 0, 4 * rates.size)
        fill_between(nodes, left, right, rates, normals, states, 0, *_held_for(rates))
        noise = np.einsum("m,nmc->nc", amplitudes, states[found, :, :, 0]) + constant
        noise += np.sqrt(ladder.white_share) * _normals(key, part, _WHITE, 2)
        yield slice(start, start + part.size), noise


def continuing_path(ladder: Ladder, times_s: FloatArray, key: bytes) -> FloatArray:
    """Unit-variance noise (n, 2) at any times in any order; equal milliseconds have equal noise."""
    times, back = np.unique(milliseconds(times_s), return_inverse=True)
    out = np.empty((times.size, 2))
    for part, noise in continuing_chunks(ladder, times, key):
        out[part] = noise
    return np.asarray(out[back.reshape(-1)])


class KeptPath:
    """:func:`continuing_path` of one key, a time at a time; what it keeps saves work and changes nothing."""

    __slots__ = ("_amplitudes", "_blocks", "_constant", "_encrypt", "_nodes", "_rates", "_states", "_white")

    def __init__(self, ladder: Ladder, key: bytes) -> None:
        self._encrypt = Cipher(algorithms.AES(key), modes.ECB()).encryptor().update
        self._blocks = np.arange(2 * ladder.length_scales_s.size, dtype=np.uint64)
        self._white = np.sqrt(ladder.white_share)
        self._rates = np.sqrt(3.0) / ladder.length_scales_s / 1000.0
        self._amplitudes = np.sqrt(ladder.variances)
        self._constant = np.sqrt(ladder.constant_share) * _normals(key, np.zeros(1, dtype=np.int64), _CONSTANT, 2)[0]
        self._nodes: IntArray = np.empty(0, dtype=np.int64)
        self._states: FloatArray = np.empty((0, self._rates.size, 2, 2))

    def at(self, time_ms: int) -> tuple[float, float]:
        """Unit-variance noise, east and north, at one time."""
        query = np.array([time_ms], dtype=np.int64)
        nodes, left, right, found = bisect_to(query, -FAR_END_MS, FAR_END_MS, 2 + _LEVELS)
        both = min(nodes.size, self._nodes.size)
        differ = np.flatnonzero(nodes[:both] != self._nodes[:both])
        same = int(differ[0]) if differ.size else both
        if same < nodes.size:
            states = np.empty((nodes.size, self._rates.size, 2, 2))
            states[:same] = self._states[:same]
            drawn = self._drawn(nodes[same:], time_ms)
            normals = drawn[:-2].reshape(nodes.size - same, -1)
            fill_between(nodes, left, right, self._rates, normals, states, same, *_held_for(self._rates))
            self._nodes, self._states = nodes, states
        else:
            drawn = self._drawn(nodes[:0], time_ms)
        noise = self._amplitudes @ self._states[found[0], :, :, 0] + self._constant + self._white * drawn[-2:]
        return float(noise[0]), float(noise[1])

    def _drawn(self, nodes: IntArray, time_ms: int) -> FloatArray:
        """The normals of :func:`keyed_words` for these nodes, and the white ones of a time, from one call."""
        plain = np.empty((nodes.size * self._blocks.size + 1, 2), dtype="<u8")
        of_nodes = plain[:-1].reshape(nodes.size, self._blocks.size, 2)
        of_nodes[:, :, 0], of_nodes[:, :, 1] = nodes.view(np.uint64)[:, None], self._blocks
        plain[-1] = np.array([time_ms]).view(np.uint64)[0], _WHITE
        words = np.frombuffer(self._encrypt(plain.tobytes()), dtype="<u8").astype(np.uint64, copy=False)
        return np.asarray(ndtri(uniforms_from_words(words)))
