"""Where every random number comes from: the operating system's CSPRNG, or a seed that marks a *simulation*.

One primitive, 64-bit words; uniforms and normals are derived from words in one documented way, so that the same
words give the same draws in Python and in JavaScript. Uniforms use 52 bits at the centres of their cells,
(k + 1/2) / 2**52: with 53 the largest would round to 1.0 and its normal would be infinite.

A :class:`Keystream` is a long run of words from a short key: AES-256 in counter mode, one stream for each person. *As
good as the operating system's own.* ``os.urandom`` is itself a stream cipher (ChaCha20 on Linux) under a key that the
kernel gathered: every byte it gives is a function of 256 bits. A key of 32 bytes taken from it, stretched by AES-256 in
counter mode, is the same construction one step further out. Whoever could tell its words from uniform ones could tell
AES-256 from a random permutation (but for 2**-65 in 2**32 blocks, since a permutation repeats none), which is what
disks, TLS and the noise that continues under a state already rest on. What differs is who holds the key: here it is
ours, so that a job killed half-way draws the *same* noise again; it lies in a 0600 file until the job ends. The words
of a stream depend on its key alone: not on how many are asked for at once, on other streams, or on the machine. They
are little-endian.
"""

from __future__ import annotations

import hmac
import os
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.base.arrays import FloatArray, IntArray
from sfumato.base.errors import InputError

Words = npt.NDArray[np.uint64]


_CHUNK_BYTES = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class Randomness:
    """A source of 64-bit words. ``simulation`` is True for everything that is not the OS's own entropy."""

    words: Callable[[int], Words]
    simulation: bool
    source: str

    def uniforms(self, shape: int | tuple[int, ...]) -> FloatArray:
        """Independent uniforms in the open interval (0, 1)."""
        count = int(np.prod(shape))
        return uniforms_from_words(self.words(count)).reshape(shape)

    def normals(self, shape: int | tuple[int, ...]) -> FloatArray:
        """Independent standard normals, by the inverse distribution function of :meth:`uniforms`."""
        draws = self.uniforms(shape)
        scipy.special.ndtri(draws, out=draws)
        return draws

    def integers(self, below: int, shape: int | tuple[int, ...]) -> IntArray:
        """Exactly uniform integers in [0, below), by rejection."""
        if not 0 < below <= 1 << 63:
            raise InputError(f"below is {below}.", "It must lie in 1 .. 2**63.")
        count = int(np.prod(shape))
        limit = np.uint64(((1 << 64) // below) * below - 1)
        out = self.words(count)
        bad = np.flatnonzero(out > limit)
        while bad.size:
            out[bad] = self.words(bad.size)
            bad = bad[out[bad] > limit]
        return (out % np.uint64(below)).astype(np.int64).reshape(shape)

    def permutation(self, count: int) -> IntArray:
        """A uniformly random order of ``count`` things."""
        return np.argsort(self.words(count), kind="stable").astype(np.int64)


def uniforms_from_words(words: Words) -> FloatArray:
    """(word >> 12) + 1/2, over 2**52: exact in double precision, never 0 or 1."""
    out = (words >> np.uint64(12)).astype(np.float64)
    out += 0.5
    out *= 2.0**-52
    return out


def _system_words(count: int) -> Words:
    out = np.empty(count, dtype=np.uint64)
    view = out.view(np.uint8)
    for start in range(0, out.nbytes, _CHUNK_BYTES):
        stop = min(start + _CHUNK_BYTES, out.nbytes)
        view[start:stop] = np.frombuffer(os.urandom(stop - start), dtype=np.uint8)
    return out


Random = int | np.random.Generator | Randomness | None
"""What every random function takes as ``rng``: None for the operating system's entropy, else a *simulation*."""


def randomness(rng: Random = None) -> Randomness:
    """``None`` is the operating system's entropy; a seed or a NumPy Generator is a simulation and says so."""
    if isinstance(rng, Randomness):
        return rng
    if rng is None:
        return Randomness(_system_words, simulation=False, source="operating system CSPRNG (os.urandom)")
    if isinstance(rng, bool) or (not isinstance(rng, np.random.Generator) and not isinstance(rng, int | np.integer)):
        raise InputError("rng is neither None, a seed nor a numpy Generator.", "Leave it out for real releases.")
    if isinstance(rng, int | np.integer) and rng < 0:
        raise InputError("The seed is negative.", "Give a whole number from 0.")
    generator = np.random.default_rng(rng)

    def words(count: int) -> Words:
        return np.asarray(generator.bit_generator.random_raw(count), dtype=np.uint64)

    return Randomness(words, simulation=True, source="seeded generator (simulation)")


def stream_words(simulation: bool) -> str:
    """How a certificate names the words of a :class:`Keystream`."""
    whose = "seeded key (simulation)" if simulation else "key from the operating system CSPRNG"
    return f"{whose}, AES-256 in counter mode"


KEY_BYTES = 32
_ZEROS = memoryview(bytes(1 << 20))


def fresh_key(rng: Random = None) -> bytes:
    """32 bytes of the operating system's entropy, or of a seed (a simulation)."""
    return randomness(rng).words(KEY_BYTES // 8).astype("<u8").tobytes()


def derived_key(key: bytes, name: bytes) -> bytes:
    """The key called ``name`` below ``key``: HMAC-SHA-256, so that no derived key tells of another or of ``key``."""
    return hmac.digest(key, b"sfumato keystream 1\0" + name, "sha256")


class Keystream:
    """The words of one key, in order."""

    __slots__ = ("_cipher",)

    def __init__(self, key: bytes) -> None:
        if len(key) != KEY_BYTES:
            raise InputError("A stream's key has the wrong length.", "It is 32 bytes; derive it with derived_key.")
        self._cipher = Cipher(algorithms.AES(key), modes.CTR(bytes(16))).encryptor()

    def fill(self, words: Words) -> None:
        """The stream's next words, into ``words``: as many as it has room for."""
        view = memoryview(words.data).cast("B")
        for start in range(0, len(view), len(_ZEROS)):
            part = view[start : start + len(_ZEROS)]
            self._cipher.update_into(_ZEROS[: len(part)], part)
        if not np.little_endian:  # pragma: no cover
            words.byteswap(inplace=True)

    def words(self, count: int) -> Words:
        """The stream's next ``count`` words."""
        out = np.empty(count, dtype=np.uint64)
        self.fill(out)
        return out


def keyed_randomness(key: bytes, *, simulation: bool) -> Randomness:
    """What every mechanism can draw from, fed by one stream."""
    return Randomness(Keystream(key).words, simulation, stream_words(simulation))
