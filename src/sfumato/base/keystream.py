"""A long run of random words from a short key: AES-256 in counter mode, one stream for each person.

*As good as the operating system's own.* ``os.urandom`` is itself a stream cipher (ChaCha20 on Linux) under a key that
the kernel gathered: every byte it gives is a function of 256 bits. A key of 32 bytes taken from it, stretched by
AES-256 in counter mode, is the same construction one step further out. Whoever could tell its words from uniform ones
could tell AES-256 from a random permutation (but for 2**-65 in 2**32 blocks, since a permutation repeats none), which
is what disks, TLS and the noise that continues under a state already rest on. What differs is who holds the key: here
it is ours, so that a job killed half-way draws the *same* noise again; it lies in a 0600 file until the job ends.

The words of a stream depend on its key alone: not on how many are asked for at once, on other streams, or on the
machine. They are little-endian.
"""

from __future__ import annotations

import hmac

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.base.errors import InputError
from sfumato.base.randomness import Random, Randomness, Words, randomness, stream_words

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
