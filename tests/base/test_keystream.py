"""One key, one stream of words: whatever is asked for at once, and never the same words twice."""

from __future__ import annotations

import numpy as np
import pytest
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms, modes

from sfumato.base.errors import InputError
from sfumato.base.randomness import Keystream, derived_key, fresh_key, keyed_randomness

KEY = bytes(range(32))


def test_the_words_are_aes_256_in_counter_mode() -> None:
    expected = Cipher(algorithms.AES(KEY), modes.CTR(bytes(16))).encryptor().update(bytes(800))
    np.testing.assert_array_equal(Keystream(KEY).words(100), np.frombuffer(expected, dtype="<u8"))


def test_words_do_not_depend_on_how_many_are_asked_for_at_once() -> None:
    stream = Keystream(KEY)
    parts = [stream.words(count) for count in (1, 2, 3, 1000, 131_072, 5, 140_000)]
    whole = np.concatenate(parts)
    np.testing.assert_array_equal(whole, Keystream(KEY).words(whole.size))


def test_no_word_comes_twice_within_or_between_people() -> None:
    words = np.concatenate([Keystream(derived_key(KEY, b"%d" % person)).words(20_000) for person in range(50)])
    assert np.unique(words).size == words.size  # among 1e6 words of 64 bits: once in 4e7 runs


def test_fresh_keys_differ_and_seeded_ones_do_not() -> None:
    assert fresh_key() != fresh_key()
    assert len(fresh_key()) == 32
    assert fresh_key(7) == fresh_key(7) != fresh_key(8)


def test_a_derived_stream_is_marked_as_its_key_is() -> None:
    assert keyed_randomness(KEY, simulation=True).simulation
    real = keyed_randomness(KEY, simulation=False)
    assert not real.simulation
    assert "operating system" in real.source
    assert abs(real.normals(100_000).mean()) < 0.02


def test_a_short_key_is_refused() -> None:
    with pytest.raises(InputError):
        Keystream(b"short")
